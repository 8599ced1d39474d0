"""What a party gets from the authority: a bundle of wrapped keys, and the ring that it becomes.

    Authority.issue ─▶ Bundle: a Package for each stream, role and epoch ─KeyRing.open─▶ keys

Each package is wrapped to the party's key and the whole is signed by the authority, so that it may
go through any hands: they see what it has keys for, and nothing of the keys. Wrapping is RFC 9180
(HPKE): X25519 agrees on a secret with the recipient's public key, HKDF-SHA256 makes a key of it,
and AES-256-GCM seals. What the keys are for is bound to them: a package that is passed off as one
for another stream, epoch, role or recipient does not open.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from caddis.errors import AccessError, KeyFileError, NotEntitled
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys.directory import ROLES, Role, as_text, spans_of
from caddis.sealed.keys.documents import (
    Fields,
    Json,
    base64_text,
    check_signer,
    fingerprint,
    read_public,
    sealed_document,
    signed_document,
    verified_document,
    write_public,
)
from caddis.sealed.keys.identities import Identity
from caddis.sealed.keys.secrets import (
    SECRET_BYTES,
    ContentKey,
    MatchingKey,
    PublisherKeys,
    SealingKey,
    SubscriberKeys,
    framed,
)

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


@dataclass(frozen=True, slots=True)
class Purpose:
    """Whose keys a package holds, and for what."""

    stream: str
    epoch: int
    role: Role
    recipient: str

    def as_bytes(self) -> bytes:
        """Bytes that no two purposes share."""
        parts = self.stream, str(self.epoch), self.role, self.recipient
        return b"caddis package 1" + b"".join(framed(part.encode()) for part in parts)


def wrapped(material: bytes, receiving: bytes, purpose: Purpose) -> bytes:
    """Key material that only the owner of this public X25519 key can unwrap."""
    try:
        key = X25519PublicKey.from_public_bytes(receiving)
        return SUITE.encrypt(material, key, info=purpose.as_bytes())
    except ValueError:
        raise AccessError(
            f"nothing can be wrapped to {purpose.recipient!r}: its key is no X25519 key"
        ) from None


def unwrapped(package: bytes, receiving: X25519PrivateKey, purpose: Purpose) -> bytes:
    """The key material again."""
    try:
        return SUITE.decrypt(package, receiving, info=purpose.as_bytes())
    except (InvalidTag, ValueError):
        raise AccessError(
            f"the package of {purpose.stream!r}, epoch {purpose.epoch}, does not open with the "
            f"keys of {purpose.recipient!r}: it was wrapped to other keys, or changed"
        ) from None


BUNDLE = "bundle"


@dataclass(frozen=True, slots=True)
class Package:
    """Wrapped keys, and what they are for."""

    purpose: Purpose
    wrapped: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Bundle:
    """All packages of a party, signed by the authority.

    recipient: the party's name.
    version: that of the directory when the bundle was issued.
    authority: its public key.
    """

    recipient: str
    version: int
    packages: tuple[Package, ...]
    authority: bytes
    signature: bytes = field(repr=False)

    @classmethod
    def signed(
        cls, recipient: str, version: int, packages: tuple[Package, ...], key: Ed25519PrivateKey
    ) -> Bundle:
        """A new bundle, signed with the authority's key."""
        content = _content(recipient, version, packages)
        return cls.from_json(signed_document(BUNDLE, content, key))

    def as_json(self) -> Json:
        """Plain values, from which `from_json` makes the same bundle."""
        content = _content(self.recipient, self.version, self.packages)
        return sealed_document(BUNDLE, content, self.authority, self.signature)

    @classmethod
    def from_json(cls, plain: object, authority: str | None = None) -> Bundle:
        """The bundle that `as_json` gave, if its signature fits.

        authority: the fingerprint of the only one to believe; without it, any is believed.
        """
        content, signer, signature = verified_document(BUNDLE, plain, authority)
        recipient = content.text("recipient")
        packages = tuple(_package(one, recipient) for one in content.several("packages"))
        return cls(recipient, content.whole("version"), packages, signer, signature)

    @classmethod
    def read(cls, path: Path, authority: str | None = None) -> Bundle:
        """The bundle in a file; authority: as for `from_json`."""
        return read_public(Path(path), lambda plain: cls.from_json(plain, authority))

    def write(self, path: Path, *, replace: bool = True) -> None:
        """Write it into a file, in place of the one that was there."""
        write_public(Path(path), self.as_json(), replace=replace)


@dataclass(frozen=True, slots=True)
class Material:
    """What is in a package: a stream's design and the secrets of one epoch.

    content: of the content key for a subscriber, of the sealing key for a publisher.
    """

    design: StreamDesign
    matching: bytes = field(repr=False)
    content: bytes = field(repr=False)

    def as_bytes(self) -> bytes:
        """The bytes that are wrapped."""
        plain = {
            "design": self.design.as_json(),
            "matching": base64_text(self.matching),
            "content": base64_text(self.content),
        }
        return json.dumps(plain).encode()

    @classmethod
    def from_bytes(cls, unwrapped: bytes) -> Material:
        """From the bytes that were unwrapped."""
        try:
            plain = json.loads(unwrapped)
        except (ValueError, RecursionError):
            plain = None
        fields = Fields(plain, "what is in a package")
        design = StreamDesign.from_json(fields.json("design"))
        matching = fields.data("matching", SECRET_BYTES)
        return cls(design, matching, fields.data("content", SECRET_BYTES))


def _content(recipient: str, version: int, packages: tuple[Package, ...]) -> Json:
    return {
        "recipient": recipient,
        "version": version,
        "packages": [
            {
                "stream": package.purpose.stream,
                "epoch": package.purpose.epoch,
                "role": package.purpose.role,
                "wrapped": base64_text(package.wrapped),
            }
            for package in packages
        ],
    }


def _package(fields: Fields, recipient: str) -> Package:
    role = fields.choice("role", ROLES)
    purpose = Purpose(fields.text("stream"), fields.whole("epoch", 1), role, recipient)
    return Package(purpose, fields.data("wrapped"))


DOING: Mapping[Role, str] = {"publisher": "publish", "subscriber": "read"}


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys of one party, by stream, role and epoch.

    name: the party's.
    version: that of the directory when the bundle was issued.
    authority: the public key of the authority who signed the bundle.
    """

    name: str
    version: int
    authority: bytes
    _keys: Mapping[tuple[str, Role], Mapping[int, Material]] = field(repr=False)
    _signing: Ed25519PrivateKey | None = field(default=None, repr=False)
    """What the party signs its events with, unless the ring is for reading alone."""

    @classmethod
    def open(cls, identity: Identity, bundle: Bundle, authority: str | None = None) -> KeyRing:
        """Unwrap a bundle.

        authority: the fingerprint of the only authority to believe; without it, any is believed.
        """
        check_signer(BUNDLE, bundle.authority, authority)
        if bundle.recipient != identity.name:
            raise AccessError(f"this bundle is for {bundle.recipient!r}, not for {identity.name!r}")
        keys: dict[tuple[str, Role], dict[int, Material]] = {}
        for package in bundle.packages:
            purpose = package.purpose
            material = Material.from_bytes(unwrapped(package.wrapped, identity.receiving, purpose))
            if material.design.stream != purpose.stream:
                raise KeyFileError(f"a package of {purpose.stream!r} has another stream's design")
            keys.setdefault((purpose.stream, purpose.role), {})[purpose.epoch] = material
        return cls(identity.name, bundle.version, bundle.authority, keys, identity.signing)

    @classmethod
    def read(cls, identity: Path, bundle: Path, authority: str | None = None) -> KeyRing:
        """Open the keys in a party's files; authority: as for `open`."""
        return cls.open(Identity.read(Path(identity)), Bundle.read(Path(bundle)), authority)

    def for_reading(self, stream: str) -> KeyRing:
        """Only what opens the events of one stream: it signs nothing, so it may go to workers."""
        self.subscriber_keys(stream)
        subscriber: tuple[str, Role] = (stream, "subscriber")
        return KeyRing(
            self.name, self.version, self.authority, {subscriber: self._keys[subscriber]}
        )

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the authority's key."""
        return fingerprint(self.authority)

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams for which there are keys, in either role."""
        return tuple(sorted({stream for stream, _ in self._keys}))

    def epochs(self, stream: str, role: Role | None = None) -> tuple[int, ...]:
        """The epochs of a stream for which there are keys, ascending; in one role, or in either."""
        found = {
            epoch
            for (named, its_role), by_epoch in self._keys.items()
            if named == stream and role in (None, its_role)
            for epoch in by_epoch
        }
        return tuple(sorted(found))

    def publisher_keys(self, stream: str, epoch: int | None = None) -> PublisherKeys:
        """The keys to seal events with; of the newest epoch, unless another one is asked for."""
        epoch, material = self._material(stream, "publisher", epoch)
        matching = MatchingKey(stream, epoch, material.matching)
        sealing = SealingKey(stream, epoch, self.name, material.content)
        assert self._signing is not None, "a ring for reading has no keys of a publisher"
        return PublisherKeys(self.name, material.design, matching, sealing, self._signing)

    def subscriber_keys(self, stream: str, epoch: int | None = None) -> SubscriberKeys:
        """The keys to seal subscriptions and open events with; epoch: by default the newest."""
        epoch, material = self._material(stream, "subscriber", epoch)
        matching = MatchingKey(stream, epoch, material.matching)
        content = ContentKey(stream, epoch, material.content)
        return SubscriberKeys(self.name, material.design, matching, content)

    def _material(self, stream: str, role: Role, epoch: int | None) -> tuple[int, Material]:
        by_epoch = self._keys.get((stream, role), {})
        if not by_epoch:
            theirs = sorted(named for named, its_role in self._keys if its_role == role)
            raise NotEntitled(
                f"{self.name!r} has no keys to {DOING[role]} {stream!r}; "
                f"it has them for: {', '.join(map(repr, theirs)) or 'no stream'}"
            )
        wanted = max(by_epoch) if epoch is None else epoch
        if wanted not in by_epoch:
            raise NotEntitled(
                f"{self.name!r} has no key to {DOING[role]} {stream!r} in epoch {wanted}; "
                f"it has those of epochs {as_text(spans_of(list(by_epoch)))}"
            )
        return wanted, by_epoch[wanted]
