"""What everybody may know: who publishes what, and how far each stream has come.

The authority signs it; brokers need nothing else to tell which events to accept. It has no secret
in it, neither names of columns nor of subscribers. Each change of the authority gives it a greater
version.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from caddis.errors import KeyFileError
from caddis.sealed.design import SCHEMES, Outline
from caddis.sealed.keys.documents import (
    KEY_BYTES,
    Fields,
    Json,
    base64_text,
    fingerprint,
    sealed_document,
    signed_document,
    verified_document,
    verify,
)
from caddis.sealed.keys.entitlements import Span, Spans, is_open
from caddis.sealed.keys.files import read_public, write_public

DIRECTORY = "directory"


@dataclass(frozen=True, slots=True)
class PublisherEntry:
    """A publisher's key, and on which streams it may or could publish.

    compromised: whether others have the key, too; then nothing that it signed is believed.
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
    """Publishers and streams, signed by the authority."""

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
        """A new one, signed with the authority's key."""
        content = _content(version, publishers, streams)
        return cls.from_json(signed_document(DIRECTORY, content, key))

    @property
    def fingerprint(self) -> str:
        """Of the authority's key."""
        return fingerprint(self.authority)

    def may_publish(self, name: str, stream: str) -> bool:
        """Whether a publisher may publish on a stream now."""
        return is_open(self.grants(name, stream))

    def grants(self, name: str, stream: str) -> Spans:
        """The epochs in which it may or could; none, if it is unknown."""
        entry = self.publishers.get(name)
        return () if entry is None else entry.grants.get(stream, ())

    def verify(self, authority: str | None = None) -> None:
        """Refuse a directory that was changed, or is of another authority than this fingerprint."""
        content = _content(self.version, self.publishers.values(), self.streams.values())
        verify(DIRECTORY, content, self.authority, self.signature, authority)

    def as_json(self) -> Json:
        """Plain values, from which `from_json` makes the same."""
        content = _content(self.version, self.publishers.values(), self.streams.values())
        return sealed_document(DIRECTORY, content, self.authority, self.signature)

    @classmethod
    def from_json(cls, plain: object, authority: str | None = None) -> Directory:
        """From what `as_json` gave, if its signature fits.

        authority: the fingerprint of the only one to believe; without it, any is.
        """
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
        """From a file."""
        return read_public(Path(path), lambda plain: cls.from_json(plain, authority))

    def write(self, path: Path, *, replace: bool = True) -> None:
        """Into a file, in place of the one that was there."""
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
        grants[stream] = (*grants.get(stream, ()), span_of(grant))
    verifying = fields.data("verifying", KEY_BYTES)
    return PublisherEntry(fields.text("name"), verifying, grants, fields.flag("compromised"))


def span_of(fields: Fields) -> Span:
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
    named = fields.text("scheme")
    scheme = next((one for one in SCHEMES if one == named), None)
    if scheme is None:
        raise KeyFileError("this directory names a scheme that this version does not know")
    outline = Outline(fields.whole("bits", 1), fields.whole("dimensions"), scheme)
    epochs = fields.whole("epoch", 1), fields.whole("accepted_from", 1)
    return StreamEntry(fields.text("name"), *epochs, outline)
