"""A party's keys, unwrapped: what it needs to seal and to open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from caddis.errors import AccessError, KeyFileError, NotEntitled
from caddis.sealed.keys.bundles import BUNDLE, Bundle, Material
from caddis.sealed.keys.documents import check_signer, fingerprint
from caddis.sealed.keys.entitlements import Role, as_text, spans_of
from caddis.sealed.keys.identities import Identity
from caddis.sealed.keys.secrets import (
    ContentKey,
    MatchingKey,
    PublisherKeys,
    SealingKey,
    SubscriberKeys,
)
from caddis.sealed.keys.wrapping import unwrapped

DOING: Mapping[Role, str] = {"publisher": "publish", "subscriber": "read"}


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys of one party, by topic, role and epoch.

    version: of the directory at the time when the bundle was issued.
    authority: the key of the authority who signed the bundle.
    """

    identity: Identity
    version: int
    authority: bytes
    _keys: Mapping[tuple[str, Role], Mapping[int, Material]] = field(repr=False)

    @classmethod
    def open(cls, identity: Identity, bundle: Bundle, authority: str | None = None) -> KeyRing:
        """Unwrap a bundle; authority: the fingerprint of the only one to believe."""
        check_signer(BUNDLE, bundle.authority, authority)
        if bundle.recipient != identity.name:
            raise AccessError(f"this bundle is for {bundle.recipient!r}, not for {identity.name!r}")
        keys: dict[tuple[str, Role], dict[int, Material]] = {}
        for package in bundle.packages:
            purpose = package.purpose
            material = Material.from_bytes(unwrapped(package.wrapped, identity.receiving, purpose))
            if material.design.topic != purpose.topic:
                raise KeyFileError(f"a package of {purpose.topic!r} has another topic's design")
            keys.setdefault((purpose.topic, purpose.role), {})[purpose.epoch] = material
        return cls(identity, bundle.version, bundle.authority, keys)

    @classmethod
    def read(cls, identity: Path, bundle: Path, authority: str | None = None) -> KeyRing:
        """From the files of a party."""
        return cls.open(Identity.read(Path(identity)), Bundle.read(Path(bundle)), authority)

    @property
    def name(self) -> str:
        """Whose keys these are."""
        return self.identity.name

    @property
    def fingerprint(self) -> str:
        """Of the authority's key."""
        return fingerprint(self.authority)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that it has keys of, in whatever role."""
        return tuple(sorted({topic for topic, _ in self._keys}))

    def epochs(self, topic: str, role: Role | None = None) -> tuple[int, ...]:
        """The epochs of a topic that it has keys of, ascending; in one role, or in any."""
        found = {
            epoch
            for (named, its_role), by_epoch in self._keys.items()
            if named == topic and role in (None, its_role)
            for epoch in by_epoch
        }
        return tuple(sorted(found))

    def publisher_keys(self, topic: str, epoch: int | None = None) -> PublisherKeys:
        """To seal events; of the newest epoch, unless another is asked for."""
        epoch, material = self._material(topic, "publisher", epoch)
        matching = MatchingKey(topic, epoch, material.matching)
        sealing = SealingKey(topic, epoch, self.name, material.content)
        return PublisherKeys(self.name, material.design, matching, sealing, self.identity.signing)

    def subscriber_keys(self, topic: str, epoch: int | None = None) -> SubscriberKeys:
        """To seal subscriptions and open events; of the newest epoch, unless another is asked."""
        epoch, material = self._material(topic, "subscriber", epoch)
        matching = MatchingKey(topic, epoch, material.matching)
        content = ContentKey(topic, epoch, material.content)
        return SubscriberKeys(self.name, material.design, matching, content)

    def _material(self, topic: str, role: Role, epoch: int | None) -> tuple[int, Material]:
        by_epoch = self._keys.get((topic, role), {})
        if not by_epoch:
            theirs = sorted(named for named, its_role in self._keys if its_role == role)
            raise NotEntitled(
                f"{self.name!r} has no keys to {DOING[role]} {topic!r}; "
                f"it has them for: {', '.join(map(repr, theirs)) or 'no topic'}"
            )
        wanted = max(by_epoch) if epoch is None else epoch
        if wanted not in by_epoch:
            raise NotEntitled(
                f"{self.name!r} has no key to {DOING[role]} {topic!r} in epoch {wanted}; "
                f"it has those of epochs {as_text(spans_of(list(by_epoch)))}"
            )
        return wanted, by_epoch[wanted]
