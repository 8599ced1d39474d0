"""The key authority: who may publish and read what, from which epoch to which.

It alone has the streams' secrets; the keys of every epoch follow from them. Rotating a stream begins
its next epoch. A subscriber who is revoked is entitled up to the epoch that this ends, a publisher
is not accepted any more from that moment on. An authority is never changed: each change gives a new
one, with a greater version.

    >>> import os
    >>> import pyarrow as pa
    >>> from caddis.sealed.keys.identities import Identity
    >>> from caddis.sealed.keys.rings import KeyRing
    >>> ann = Identity.new("ann", os.urandom)
    >>> design = StreamDesign.of("homes", pa.schema([("city", pa.string())]))
    >>> authority = Authority.new(os.urandom).register(ann.public).add_stream(design, os.urandom)
    >>> authority = authority.grant("ann", "homes", "subscriber").rotate("homes")
    >>> KeyRing.open(ann, authority.issue("ann")).epochs("homes")
    (1, 2)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from caddis.errors import AccessError
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys.directory import Directory, PublisherEntry, StreamEntry
from caddis.sealed.keys.documents import KEY_BYTES, checked_name, fingerprint
from caddis.sealed.keys.entitlements import (
    FIRST_EPOCH,
    ROLES,
    Purpose,
    Role,
    Spans,
    ended,
    is_open,
    opened,
    wrapped,
)
from caddis.sealed.keys.identities import PublicIdentity
from caddis.sealed.keys.rings import Bundle, Material, Package
from caddis.sealed.keys.secrets import SECRET_BYTES, ContentKey, MatchingKey, Randomness

LISTED = 10


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream as its authority knows it.

    overlap: how many epochs before the present one are still accepted after a rotation, so that
        it loses nothing that is on its way.
    """

    design: StreamDesign
    secret: bytes = field(repr=False)
    epoch: int = FIRST_EPOCH
    accepted_from: int = FIRST_EPOCH
    overlap: int = 1

    @property
    def name(self) -> str:
        """The design's."""
        return self.design.stream

    def rotated(self, *, at_once: bool = False) -> Stream:
        """In its next epoch; at once: the earlier ones are no longer accepted."""
        epoch = self.epoch + 1
        oldest = epoch if at_once else max(self.accepted_from, epoch - self.overlap)
        return dataclasses.replace(self, epoch=epoch, accepted_from=oldest)

    def material(self, epoch: int, role: Role, name: str) -> Material:
        """What a party gets for an epoch."""
        matching = MatchingKey.of(self.secret, self.name, epoch)
        content = ContentKey.of(self.secret, self.name, epoch)
        own = content.sealing_key(name).secret if role == "publisher" else content.secret
        return Material(self.design, matching.secret, own)


Grant: TypeAlias = tuple[str, Role, str]
"""Stream, role and name of a party."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Parties, streams and grants at one time."""

    signing: Ed25519PrivateKey = field(repr=False)
    version: int = 0
    parties: Mapping[str, PublicIdentity] = field(default_factory=dict)
    streams: Mapping[str, Stream] = field(default_factory=dict)
    grants: Mapping[Grant, Spans] = field(default_factory=dict)
    compromised: frozenset[str] = frozenset()
    """Parties whose private keys others have, too."""

    @classmethod
    def new(cls, randomness: Randomness) -> Authority:
        """One that knows nobody yet."""
        return cls(Ed25519PrivateKey.from_private_bytes(randomness(KEY_BYTES)))

    @property
    def key(self) -> bytes:
        """The public key that its directories and bundles are verified with."""
        return self.signing.public_key().public_bytes_raw()

    @property
    def fingerprint(self) -> str:
        """A short name of its public key."""
        return fingerprint(self.key)

    def register(self, party: PublicIdentity) -> Authority:
        """Make a party known; that alone entitles it to nothing."""
        known = self.parties.get(party.name)
        if known == party:
            return self
        if known is not None:
            raise AccessError(
                f"{party.name!r} is registered with other keys ({known.fingerprint}); a party "
                "with new keys registers under a new name, and the old one is revoked"
            )
        return self._changed(parties={**self.parties, party.name: party})

    def add_stream(
        self, design: StreamDesign, randomness: Randomness, *, overlap: int = 1
    ) -> Authority:
        """Begin a stream, in its first epoch."""
        name = checked_name(design.stream, "a stream")
        if name in self.streams:
            raise AccessError(f"the stream {name!r} is there already; its design cannot be changed")
        if overlap < 0:
            raise AccessError(f"{overlap} epochs cannot overlap; none can, or some")
        stream = Stream(design, randomness(SECRET_BYTES), overlap=overlap)
        return self._changed(streams={**self.streams, name: stream})

    def grant(self, name: str, stream: str, role: Role, *, since: int | None = None) -> Authority:
        """Entitle a party from the present epoch on; since: a subscriber, from an earlier one."""
        self._check_keys(name)
        if role not in ROLES:
            raise AccessError(f"a role is {' or '.join(ROLES)}, not {role!r}")
        now = self.stream(stream).epoch
        first = now if since is None else since
        if not FIRST_EPOCH <= first <= now:
            raise AccessError(f"{stream!r} is in epoch {now}; nobody can be entitled since {since}")
        if first < now and role == "publisher":
            raise AccessError(f"a publisher is entitled from epoch {now} on, not since {since}")
        spans = self.spans(name, stream, role)
        granted = opened(spans, first)
        if granted == spans:
            return self
        return self._changed(grants={**self.grants, (stream, role, name): granted})

    def revoke(
        self,
        name: str,
        stream: str | None = None,
        role: Role | None = None,
        *,
        at_once: bool = False,
    ) -> Authority:
        """Take grants back: those on one stream or all, in one role or both.

        A stream that loses a subscriber is rotated. at_once: its earlier epochs, which the
        subscriber can still read, are no longer accepted; what is on its way in them is lost.
        """
        self.party(name)
        if stream is not None:
            self.stream(stream)
        taken = list(self._open(name, stream, role))
        if not taken:
            place = "any stream" if stream is None else repr(stream)
            raise AccessError(f"{name!r} is no {role or 'publisher or subscriber'} of {place}")
        grants, streams = dict(self.grants), dict(self.streams)
        for grant in taken:
            grants[grant] = ended(grants[grant], self.streams[grant[0]].epoch)
        for left in sorted({stream for stream, role, _ in taken if role == "subscriber"}):
            streams[left] = streams[left].rotated(at_once=at_once)
        return self._changed(grants=grants, streams=streams)

    def distrust(self, name: str) -> Authority:
        """Take everything back from a party whose private keys others have, too, and for good.

        It is revoked everywhere, at once, and gets no keys any more. Readers refuse all that was
        ever signed with its key: nobody can tell what it published from what a thief signs today,
        as of an epoch in which it was entitled.
        """
        self.party(name)
        if name in self.compromised:
            return self
        is_granted = any(self._open(name, None, None))
        revoked = self.revoke(name, at_once=True) if is_granted else self
        known = self.compromised | {name}
        return dataclasses.replace(revoked, version=revoked.version + 1, compromised=known)

    def rotate(self, stream: str, *, at_once: bool = False) -> Authority:
        """Begin the next epoch of a stream; at once: the earlier ones are no longer accepted."""
        rotated = self.stream(stream).rotated(at_once=at_once)
        return self._changed(streams={**self.streams, stream: rotated})

    def issue(self, name: str) -> Bundle:
        """A party's keys, of all epochs that it is entitled to, wrapped to it and signed."""
        party = self._check_keys(name)
        packages = tuple(self._packages(party))
        return Bundle.signed(name, self.version, packages, self.signing)

    def directory(self) -> Directory:
        """What everybody may know, signed."""
        streams = [
            StreamEntry(stream.name, stream.epoch, stream.accepted_from, stream.design.outline)
            for stream in self.streams.values()
        ]
        return Directory.signed(self.version, list(self._publishers()), streams, self.signing)

    def party(self, name: str) -> PublicIdentity:
        """A registered party."""
        if name not in self.parties:
            raise AccessError(
                f"{name!r} is not registered; registered are: {_listed(self.parties)}"
            )
        return self.parties[name]

    def stream(self, name: str) -> Stream:
        """A stream that has begun."""
        if name not in self.streams:
            raise AccessError(f"there is no stream {name!r}; streams are: {_listed(self.streams)}")
        return self.streams[name]

    def spans(self, name: str, stream: str, role: Role) -> Spans:
        """The epochs that a party is or was entitled to."""
        return self.grants.get((stream, role, name), ())

    def _check_keys(self, name: str) -> PublicIdentity:
        """A registered party whose keys are its own."""
        party = self.party(name)
        if name in self.compromised:
            raise AccessError(
                f"others have the keys of {name!r}, too; it registers new ones under a new name"
            )
        return party

    def _open(self, name: str, stream: str | None, role: Role | None) -> Iterator[Grant]:
        for grant, spans in self.grants.items():
            wanted = stream in (None, grant[0]) and role in (None, grant[1]) and grant[2] == name
            if wanted and is_open(spans):
                yield grant

    def _packages(self, party: PublicIdentity) -> Iterator[Package]:
        for (name, role, owner), spans in self.grants.items():
            if owner != party.name:
                continue
            stream = self.streams[name]
            for epoch in (epoch for span in spans for epoch in span.epochs(stream.epoch)):
                purpose = Purpose(name, epoch, role, owner)
                material = stream.material(epoch, role, owner).as_bytes()
                yield Package(purpose, wrapped(material, party.receiving, purpose))

    def _publishers(self) -> Iterator[PublisherEntry]:
        for party in self.parties.values():
            grants = {
                stream: spans
                for (stream, role, name), spans in self.grants.items()
                if role == "publisher" and name == party.name
            }
            if grants:
                known = party.name in self.compromised
                yield PublisherEntry(party.name, party.verifying, grants, known)

    def _changed(
        self,
        parties: Mapping[str, PublicIdentity] | None = None,
        streams: Mapping[str, Stream] | None = None,
        grants: Mapping[Grant, Spans] | None = None,
    ) -> Authority:
        return Authority(
            self.signing,
            self.version + 1,
            self.parties if parties is None else parties,
            self.streams if streams is None else streams,
            self.grants if grants is None else grants,
            self.compromised,
        )


def _listed(names: Iterable[str]) -> str:
    known = sorted(names)
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return (", ".join(map(repr, known[:LISTED])) or "none yet") + more
