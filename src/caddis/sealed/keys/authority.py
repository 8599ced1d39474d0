"""The key authority: who may publish and read what, from which epoch to which.

It alone has the streams' secrets, from which the keys of every epoch follow. Rotating a stream
begins its next epoch. A subscriber who is revoked is entitled up to the epoch that this ends; a
publisher is refused from that moment on. An authority is never changed: each change gives a new
one, with a greater version.

    >>> import os
    >>> import pyarrow as pa
    >>> from caddis.sealed.keys import Identity, KeyRing
    >>> ann = Identity.new("ann", os.urandom)
    >>> design = StreamDesign.of("homes", pa.schema([("city", pa.string())]))
    >>> authority = Authority.new(os.urandom).register(ann.public).add_stream(design, os.urandom)
    >>> authority = authority.grant("ann", "homes", "subscriber").rotate("homes")
    >>> KeyRing.open(ann, authority.issue("ann")).epochs("homes")
    (1, 2)

All its secrets are in one file that only its owner can read. A change reads the file and writes the
authority that follows, under the file's lock: of two changes at once, the second begins with what
the first has left.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from caddis.errors import AccessError, KeyFileError
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys.directory import (
    FIRST_EPOCH,
    ROLES,
    Directory,
    PublisherEntry,
    Role,
    Spans,
    StreamEntry,
    ended,
    is_open,
    opened,
    span_from_json,
)
from caddis.sealed.keys.documents import (
    KEY_BYTES,
    Fields,
    Json,
    base64_text,
    checked_name,
    document,
    fingerprint,
    locked,
    opened_document,
    read_secret,
    write_secret,
)
from caddis.sealed.keys.identities import PublicIdentity
from caddis.sealed.keys.rings import Bundle, Material, Package, Purpose, wrapped
from caddis.sealed.keys.secrets import SECRET_BYTES, ContentKey, MatchingKey, Randomness

AUTHORITY = "authority"
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
        """The stream's name, which its design has."""
        return self.design.stream

    def rotated(self, *, at_once: bool = False) -> Stream:
        """The stream in its next epoch.

        at_once: whether the earlier epochs are no longer accepted.
        """
        epoch = self.epoch + 1
        oldest = epoch if at_once else max(self.accepted_from, epoch - self.overlap)
        return dataclasses.replace(self, epoch=epoch, accepted_from=oldest)

    def material(self, epoch: int, role: Role, name: str) -> Material:
        """What a party in this role gets for an epoch."""
        matching = MatchingKey.of(self.secret, self.name, epoch)
        content = ContentKey.of(self.secret, self.name, epoch)
        own = content.sealing_key(name).secret if role == "publisher" else content.secret
        return Material(self.design, matching.secret, own)


Grant: TypeAlias = tuple[str, Role, str]
"""A stream, a role in it, and the name of the party that has it."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Parties, streams and grants as they are at one version."""

    signing: Ed25519PrivateKey = field(repr=False)
    version: int = 0
    parties: Mapping[str, PublicIdentity] = field(default_factory=dict)
    streams: Mapping[str, Stream] = field(default_factory=dict)
    grants: Mapping[Grant, Spans] = field(default_factory=dict)
    compromised: frozenset[str] = frozenset()
    """Parties whose private keys others have, too."""

    @classmethod
    def new(cls, randomness: Randomness) -> Authority:
        """An authority that knows nobody yet."""
        return cls(Ed25519PrivateKey.from_private_bytes(randomness(KEY_BYTES)))

    @property
    def key(self) -> bytes:
        """The public key with which its directories and bundles are verified."""
        return self.signing.public_key().public_bytes_raw()

    @property
    def fingerprint(self) -> str:
        """A short name for its public key."""
        return fingerprint(self.key)

    def register(self, party: PublicIdentity) -> Authority:
        """Make a party known. That alone entitles it to nothing."""
        known = self.parties.get(party.name)
        if known == party:
            return self
        if known is not None:
            raise AccessError(
                f"{party.name!r} is registered with other keys ({known.fingerprint}); a party "
                "with new keys registers under a new name, and its old name is revoked"
            )
        return self._changed(parties={**self.parties, party.name: party})

    def add_stream(
        self, design: StreamDesign, randomness: Randomness, *, overlap: int = 1
    ) -> Authority:
        """Begin a stream, in its first epoch.

        overlap: how many epochs are still accepted, after a rotation, before the present one.
        """
        name = checked_name(design.stream, "a stream")
        if name in self.streams:
            raise AccessError(f"the stream {name!r} exists already; its design cannot be changed")
        if overlap < 0:
            raise AccessError(f"the overlap of epochs is 0 or more, not {overlap}")
        stream = Stream(design, randomness(SECRET_BYTES), overlap=overlap)
        return self._changed(streams={**self.streams, name: stream})

    def grant(self, name: str, stream: str, role: Role, *, since: int | None = None) -> Authority:
        """Entitle a party from the present epoch on.

        since: an earlier epoch, from which on a subscriber may read.
        """
        self._check_keys(name)
        if role not in ROLES:
            raise AccessError(f"a role is {' or '.join(ROLES)}, not {role!r}")
        now = self.stream(stream).epoch
        first = now if since is None else since
        if not FIRST_EPOCH <= first <= now:
            raise AccessError(
                f"{stream!r} is in epoch {now}; nobody can be entitled since epoch {since}"
            )
        if first < now and role == "publisher":
            raise AccessError(
                f"a publisher is entitled from epoch {now} on, not since epoch {since}"
            )
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
        """Take grants back: those of one stream or of all, in one role or in both.

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
        """Take everything back for good from a party whose private keys others have, too.

        It is revoked everywhere, at once, and gets no keys any more. Readers refuse all that was
        ever signed with its key: a thief can sign today for an epoch in which the party was
        entitled, and nobody can tell that from what the party published itself.
        """
        self.party(name)
        if name in self.compromised:
            return self
        is_granted = any(self._open(name, None, None))
        revoked = self.revoke(name, at_once=True) if is_granted else self
        known = self.compromised | {name}
        return dataclasses.replace(revoked, version=revoked.version + 1, compromised=known)

    def rotate(self, stream: str, *, at_once: bool = False) -> Authority:
        """Begin the next epoch of a stream.

        at_once: whether the earlier epochs are no longer accepted.
        """
        rotated = self.stream(stream).rotated(at_once=at_once)
        return self._changed(streams={**self.streams, stream: rotated})

    def issue(self, name: str) -> Bundle:
        """The keys of all epochs that a party is entitled to, wrapped to it and signed."""
        party = self._check_keys(name)
        packages = tuple(self._packages(party))
        return Bundle.signed(name, self.version, packages, self.signing)

    def directory(self) -> Directory:
        """What everybody may know of publishers and streams, signed."""
        streams = [
            StreamEntry(stream.name, stream.epoch, stream.accepted_from, stream.design.outline)
            for stream in self.streams.values()
        ]
        return Directory.signed(self.version, list(self._publishers()), streams, self.signing)

    def party(self, name: str) -> PublicIdentity:
        """A registered party; AccessError if there is none of this name."""
        if name not in self.parties:
            raise AccessError(
                f"{name!r} is not registered; registered are: {_listed(self.parties)}"
            )
        return self.parties[name]

    def stream(self, name: str) -> Stream:
        """A stream; AccessError if there is none of this name."""
        if name not in self.streams:
            raise AccessError(f"there is no stream {name!r}; streams are: {_listed(self.streams)}")
        return self.streams[name]

    def spans(self, name: str, stream: str, role: Role) -> Spans:
        """The epochs that a party is or was entitled to."""
        return self.grants.get((stream, role, name), ())

    def _check_keys(self, name: str) -> PublicIdentity:
        """A registered party whose keys nobody else has."""
        party = self.party(name)
        if name in self.compromised:
            raise AccessError(
                f"others have the keys of {name!r}, too; it must register new ones under a new name"
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

    def _changed(self, **changes: Any) -> Authority:
        return dataclasses.replace(self, version=self.version + 1, **changes)


def _listed(names: Iterable[str]) -> str:
    known = sorted(names)
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return (", ".join(map(repr, known[:LISTED])) or "none yet") + more


Change = Callable[[Authority], Authority]


def create_authority(path: Path, authority: Authority) -> None:
    """Write an authority into a new file."""
    write_secret(path, authority_json(authority))


def read_authority(path: Path) -> Authority:
    """The authority in a file."""
    return read_secret(path, authority_from_json)


def change_authority(path: Path, change: Change) -> tuple[Authority, Authority]:
    """Change the authority in a file: returns it as it was, and as it is now."""
    # Read once before the lock, so that a path without an authority leaves no lock file behind.
    before = read_authority(path)
    with locked(path):
        before = read_authority(path)
        after = change(before)
        if after is not before:
            write_secret(path, authority_json(after), replace=True)
    return before, after


def authority_json(authority: Authority) -> Json:
    """Plain values, secrets among them, from which `authority_from_json` makes the authority."""
    content: Json = {
        "signing": base64_text(authority.signing.private_bytes_raw()),
        "version": authority.version,
        "parties": [party.as_json() for party in authority.parties.values()],
        "streams": [_stream_json(stream) for stream in authority.streams.values()],
        "grants": [
            {"stream": stream, "role": role, "name": name, "first": span.first, "last": span.last}
            for (stream, role, name), spans in authority.grants.items()
            for span in spans
        ],
        "compromised": sorted(authority.compromised),
    }
    return document(AUTHORITY, content)


def authority_from_json(plain: object) -> Authority:
    """The authority that `authority_json` gave."""
    content = opened_document(AUTHORITY, plain)
    parties = [PublicIdentity.from_json(one.plain) for one in content.several("parties")]
    streams = [_stream(one) for one in content.several("streams")]
    grants: dict[Grant, Spans] = {}
    for one in content.several("grants"):
        grant = one.text("stream"), one.choice("role", ROLES), one.text("name")
        grants[grant] = (*grants.get(grant, ()), span_from_json(one))
    authority = Authority(
        Ed25519PrivateKey.from_private_bytes(content.data("signing", KEY_BYTES)),
        content.whole("version"),
        {party.name: party for party in parties},
        {stream.name: stream for stream in streams},
        grants,
        frozenset(content.texts("compromised")),
    )
    if any(
        stream not in authority.streams or name not in authority.parties
        for stream, _, name in grants
    ):
        raise KeyFileError("a grant names a party or a stream that does not exist")
    return authority


def _stream_json(stream: Stream) -> Json:
    return {
        "design": stream.design.as_json(),
        "secret": base64_text(stream.secret),
        "epoch": stream.epoch,
        "accepted_from": stream.accepted_from,
        "overlap": stream.overlap,
    }


def _stream(fields: Fields) -> Stream:
    return Stream(
        StreamDesign.from_json(fields.json("design")),
        fields.data("secret", SECRET_BYTES),
        fields.whole("epoch", 1),
        fields.whole("accepted_from", 1),
        fields.whole("overlap"),
    )
