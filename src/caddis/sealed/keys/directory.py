"""What everybody may know: who publishes what from which epoch to which, and where streams are.

The authority signs it; brokers need nothing else to tell which events to accept. It has no secret
in it, and names neither columns nor subscribers. Each change of the authority gives it a greater
version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from caddis.sealed.design import SCHEMES, Outline
from caddis.sealed.keys.documents import (
    KEY_BYTES,
    Fields,
    Json,
    base64_text,
    fingerprint,
    read_public,
    sealed_document,
    signed_document,
    verified_document,
    verify,
    write_public,
)

DIRECTORY = "directory"

Role: TypeAlias = Literal["publisher", "subscriber"]
ROLES: tuple[Role, ...] = get_args(Role)

FIRST_EPOCH = 1


@dataclass(frozen=True, slots=True)
class Span:
    """Epochs from `first` to `last`, both included.

    An open span has no last epoch: it goes on with every rotation.
    """

    first: int
    last: int | None = None

    def __contains__(self, epoch: int) -> bool:
        return self.first <= epoch and (self.last is None or epoch <= self.last)

    def epochs(self, now: int) -> range:
        """Those epochs that have begun; now: the present one."""
        return range(self.first, (now if self.last is None else self.last) + 1)


Spans: TypeAlias = tuple[Span, ...]
"""Spans that neither overlap nor touch: who was revoked and granted again has a gap between."""


def is_open(spans: Spans) -> bool:
    """Whether the entitlement goes on."""
    return bool(spans) and spans[-1].last is None


def covers(spans: Spans, epoch: int) -> bool:
    """Whether an epoch is in one of the spans."""
    return any(epoch in span for span in spans)


def opened(spans: Spans, since: int) -> Spans:
    """Spans that are open from an epoch on, and what there was before.

    >>> opened((Span(1, 2),), since=5)
    (Span(first=1, last=2), Span(first=5, last=None))
    >>> opened((Span(1, 2),), since=3)
    (Span(first=1, last=None),)
    """
    before = [span for span in spans if span.last is not None and span.last < since - 1]
    joined = [span.first for span in spans if span not in before]
    return (*before, Span(min(since, *joined) if joined else since))


def ended(spans: Spans, last: int) -> Spans:
    """Spans that are no longer open after this epoch.

    >>> ended((Span(1, 2), Span(5)), last=7)
    (Span(first=1, last=2), Span(first=5, last=7))
    """
    assert is_open(spans)
    return (*spans[:-1], Span(spans[-1].first, last))


def as_text(spans: Iterable[Span]) -> str:
    """Spans as people read them.

    >>> as_text([Span(1, 2), Span(4, 4), Span(6)])
    '1–2, 4, from 6 on'
    """
    return ", ".join(map(_span_text, spans)) or "none"


def spans_of(epochs: Sequence[int]) -> Spans:
    """The spans that cover these epochs and no others.

    >>> as_text(spans_of([1, 2, 5]))
    '1–2, 5'
    """
    spans: list[Span] = []
    for epoch in sorted(set(epochs)):
        if spans and spans[-1].last == epoch - 1:
            spans[-1] = Span(spans[-1].first, epoch)
        else:
            spans.append(Span(epoch, epoch))
    return tuple(spans)


def _span_text(span: Span) -> str:
    if span.last is None:
        return f"from {span.first} on"
    return str(span.first) if span.first == span.last else f"{span.first}–{span.last}"


@dataclass(frozen=True, slots=True)
class PublisherEntry:
    """A publisher's key, and in which epochs of which streams it may or might publish.

    compromised: whether others have the key, too; nothing that it signed is then believed.
    """

    name: str
    verifying: bytes
    grants: Mapping[str, Spans]
    compromised: bool = False


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """A stream's present epoch, the first one whose events are still accepted, and its outline."""

    name: str
    epoch: int
    accepted_from: int
    outline: Outline

    @property
    def accepted(self) -> range:
        """The epochs whose events are accepted now."""
        return range(self.accepted_from, self.epoch + 1)


@dataclass(frozen=True, slots=True)
class Directory:
    """Publishers and streams, signed by the authority.

    version: grows with every change of the authority.
    authority: its public key.
    """

    version: int
    publishers: Mapping[str, PublisherEntry]
    streams: Mapping[str, StreamEntry]
    authority: bytes
    signature: bytes = field(repr=False)

    @classmethod
    def signed(
        cls,
        version: int,
        publishers: Collection[PublisherEntry],
        streams: Collection[StreamEntry],
        key: Ed25519PrivateKey,
    ) -> Directory:
        """A new directory, signed with the authority's key."""
        content = _content(version, publishers, streams)
        return cls.from_json(signed_document(DIRECTORY, content, key))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the authority's key."""
        return fingerprint(self.authority)

    def may_publish(self, name: str, stream: str) -> bool:
        """Whether a publisher may publish in a stream now."""
        return is_open(self.grants(name, stream))

    def grants(self, name: str, stream: str) -> Spans:
        """The epochs in which a publisher may or might publish; none if it is unknown."""
        entry = self.publishers.get(name)
        return () if entry is None else entry.grants.get(stream, ())

    def verify(self, authority: str | None = None) -> None:
        """Refuse a directory that was changed, or that another authority signed.

        authority: the fingerprint of the only one to believe; without it, any is believed.
        """
        content = _content(self.version, self.publishers.values(), self.streams.values())
        verify(DIRECTORY, content, self.authority, self.signature, authority)

    def as_json(self) -> Json:
        """Plain values, from which `from_json` makes the same directory."""
        content = _content(self.version, self.publishers.values(), self.streams.values())
        return sealed_document(DIRECTORY, content, self.authority, self.signature)

    @classmethod
    def from_json(cls, plain: object, authority: str | None = None) -> Directory:
        """The directory that `as_json` gave, if its signature fits; authority: see `verify`."""
        content, signer, signature = verified_document(DIRECTORY, plain, authority)
        publishers = [_publisher(one) for one in content.several("publishers")]
        streams = [_stream(one) for one in content.several("streams")]
        return cls(
            content.whole("version"),
            {entry.name: entry for entry in publishers},
            {entry.name: entry for entry in streams},
            signer,
            signature,
        )

    @classmethod
    def read(cls, path: Path, authority: str | None = None) -> Directory:
        """The directory in a file; authority: see `verify`."""
        return read_public(Path(path), lambda plain: cls.from_json(plain, authority))

    def write(self, path: Path, *, replace: bool = True) -> None:
        """Write it into a file, in place of the one that was there."""
        write_public(Path(path), self.as_json(), replace=replace)


def _content(
    version: int, publishers: Collection[PublisherEntry], streams: Collection[StreamEntry]
) -> Json:
    return {
        "version": version,
        "publishers": [_publisher_json(one) for one in publishers],
        "streams": [_stream_json(one) for one in streams],
    }


def _publisher_json(entry: PublisherEntry) -> Json:
    grants = [
        {"stream": stream, "first": span.first, "last": span.last}
        for stream, spans in entry.grants.items()
        for span in spans
    ]
    return {
        "name": entry.name,
        "verifying": base64_text(entry.verifying),
        "grants": grants,
        "compromised": entry.compromised,
    }


def _publisher(fields: Fields) -> PublisherEntry:
    grants: dict[str, Spans] = {}
    for grant in fields.several("grants"):
        stream = grant.text("stream")
        grants[stream] = (*grants.get(stream, ()), span_from_json(grant))
    verifying = fields.data("verifying", KEY_BYTES)
    return PublisherEntry(fields.text("name"), verifying, grants, fields.flag("compromised"))


def span_from_json(fields: Fields) -> Span:
    """A span of epochs in JSON; without a last one, it is open."""
    last = fields.whole("last", least=1) if fields.has("last") else None
    return Span(fields.whole("first", least=1), last)


def _stream_json(entry: StreamEntry) -> Json:
    return {
        "name": entry.name,
        "epoch": entry.epoch,
        "accepted_from": entry.accepted_from,
        "bits": entry.outline.bits,
        "dimensions": entry.outline.dimensions,
        "scheme": entry.outline.scheme,
    }


def _stream(fields: Fields) -> StreamEntry:
    scheme = fields.choice("scheme", SCHEMES)
    outline = Outline(fields.whole("bits", 1), fields.whole("dimensions"), scheme)
    epochs = fields.whole("epoch", 1), fields.whole("accepted_from", 1)
    return StreamEntry(fields.text("name"), *epochs, outline)
