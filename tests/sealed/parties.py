"""A small world for tests: an authority, who is granted what, and sealed events by hand."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from caddis.sealed.design import StreamDesign
from caddis.sealed.events.wire import Header, sealed_schema, signed_bytes
from caddis.sealed.keys.authority import Authority
from caddis.sealed.keys.identities import Identity

SCHEMA = pa.schema([("city", pa.string()), ("price", pa.int32())])


class Chance:
    """Random bytes that are the same in each run of a test, all of which are written down."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self.drawn: list[bytes] = []

    def __call__(self, size: int) -> bytes:
        self.drawn.append(self._random.randbytes(size))
        return self.drawn[-1]


@dataclass
class World:
    """Its parties' identities, and the authority that knows them."""

    authority: Authority
    identities: dict[str, Identity]
    chance: Chance

    def grant(self, name: str, role: Any, stream: str = "homes", **more: Any) -> None:
        self.authority = self.authority.grant(name, stream, role, **more)

    def revoke(self, name: str, stream: str | None = "homes", **more: Any) -> None:
        self.authority = self.authority.revoke(name, stream, **more)

    def rotate(self, stream: str = "homes", times: int = 1) -> None:
        for _ in range(times):
            self.authority = self.authority.rotate(stream)


def world(
    names: Sequence[str] = ("pat", "ann", "bo"), streams: Sequence[str] = ("homes",)
) -> World:
    chance = Chance()
    identities = {name: Identity.new(name, chance) for name in names}
    authority = Authority.new(chance)
    for identity in identities.values():
        authority = authority.register(identity.public)
    for stream in streams:
        authority = authority.add_stream(design(stream), chance)
    return World(authority, identities, chance)


def design(stream: str = "homes") -> StreamDesign:
    return StreamDesign.of(stream, SCHEMA, padding=0)


@dataclass(frozen=True)
class Sealed:
    """A sealed event whose parts are as long as they must be; what is in them does not matter."""

    header: Header
    filter: bytes = b"\x00" + bytes(8)
    tokens: bytes = b""
    point: bytes = bytes(8 * design().dimensions)
    payload: bytes = b"p" * 40
    signature: bytes = b""

    def signed_by(self, identity: Identity) -> "Sealed":
        routing = self.filter, self.tokens, self.point
        return replace(
            self, signature=identity.signing.sign(signed_bytes(self.header, routing, self.payload))
        )

    def with_header(self, **changed: Any) -> "Sealed":
        return replace(self, header=replace(self.header, **changed))

    def row(self) -> dict[str, Any]:
        header = {name: getattr(self.header, name) for name in self.header.__slots__}
        parts = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if name != "header"
        }
        return {**header, **parts}


def sealed(identity: Identity, number: int = 0, **header: Any) -> Sealed:
    """An event as its publisher signs it."""
    plain = Header(f"e{number}", "homes", 1, identity.name, 7, number)
    return Sealed(replace(plain, **header)).signed_by(identity)


def batch(*events: "Sealed | dict[str, Any]") -> pa.RecordBatch:
    rows = [event if isinstance(event, dict) else event.row() for event in events]
    schema = sealed_schema(pa.string() if isinstance(rows[0]["event_id"], str) else pa.int64())
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    return pa.RecordBatch.from_pylist(rows, nullable)
