"""What a sealed event is made of, and what its signature and its payload's seal cover.

    event_id      as the publisher names it: a string or a whole number
    topic, epoch  whose keys it is sealed with
    publisher     who signed it
    run, number   which event of which run of that publisher it is; no two have the same
    filter        its Bloom filter, in the form of `wire`
    tokens        of its values, 8 bytes each, ascending; none in the scheme "aspe"
    point         its coordinates, 8 bytes each
    payload       nonce, the event (a row of Arrow, in the form of `payloads`), tag: AES-256-GCM
    signature     Ed25519, of all of the above

The payload is bound to everything but the signature: its associated data are the header and the
hash of what brokers compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import pyarrow as pa

from caddis.errors import EventError
from caddis.sealed.keys.secrets import framed

NONCE_BYTES = 12
TAG_BYTES = 16
SIGNATURE_BYTES = 64

ROUTING = ("filter", "tokens", "point")


def sealed_schema(event_id: pa.DataType) -> pa.Schema:
    """Of sealed events whose ids have this type."""
    if not (pa.types.is_string(event_id) or pa.types.is_int64(event_id)):
        raise EventError(f"ids of sealed events are STRING or BIGINT, not {event_id}")
    whole, text, data = pa.int64(), pa.string(), pa.binary()
    fields = [
        ("event_id", event_id),
        ("topic", text),
        ("epoch", whole),
        ("publisher", text),
        ("run", whole),
        ("number", whole),
        ("filter", data),
        ("tokens", data),
        ("point", data),
        ("payload", data),
        ("signature", data),
    ]
    return pa.schema([pa.field(name, type_, nullable=False) for name, type_ in fields])


@dataclass(frozen=True, slots=True)
class Header:
    """What everybody may read of a sealed event."""

    event_id: str | int
    topic: str
    epoch: int
    publisher: str
    run: int
    number: int

    def as_bytes(self) -> bytes:
        """One string of bytes for each header, and none for two."""
        kind = b"text" if isinstance(self.event_id, str) else b"whole"
        parts = [kind, str(self.event_id).encode(), self.topic.encode(), self.publisher.encode()]
        numbers = (self.epoch, self.run, self.number)
        parts += [number.to_bytes(8, "little", signed=True) for number in numbers]
        return b"".join(map(framed, parts))


def associated_data(header: Header, routing: tuple[bytes, bytes, bytes]) -> bytes:
    """What the payload's seal covers beside the payload; routing: filter, tokens and point."""
    digest = sha256(b"".join(map(framed, routing))).digest()
    return b"caddis payload 1" + header.as_bytes() + digest


def signed_bytes(header: Header, routing: tuple[bytes, bytes, bytes], payload: bytes) -> bytes:
    """What the publisher's signature covers."""
    parts = b"".join(map(framed, (*routing, payload)))
    return b"caddis event 1" + header.as_bytes() + sha256(parts).digest()
