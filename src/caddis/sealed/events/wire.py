"""What a sealed event is made of, what its signature and its payload's seal cover, and reading it.

    event_id      as the publisher names it: a string or a whole number
    stream, epoch whose keys it is sealed with
    publisher     who signed it
    run, number   which event of which run of that publisher it is; no two have the same
    filter        its Bloom filter, in the form of `wire`
    tokens        of its values, 8 bytes each, ascending; none in the scheme "aspe"
    point         its coordinates, 8 bytes each
    payload       nonce, the event (a row of Arrow, in the form of `payloads`), tag: AES-256-GCM
    signature     Ed25519, of all of the above

The payload is bound to everything but the signature: its associated data are the header and the
hash of what brokers compare.

Anybody may have written the rows that are read. A missing column, or one of another type, is a
mistake of the whole batch. What is wrong with one row (nulls, bytes that are no text, parts that
are too short) concerns that row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from caddis.errors import EventError
from caddis.sealed.keys import framed

NONCE_BYTES = 12
TAG_BYTES = 16
SIGNATURE_BYTES = 64

ROUTING = ("filter", "tokens", "point")
Routing: TypeAlias = tuple[bytes, bytes, bytes]
"""What brokers compare: filter, tokens and point of an event."""


def sealed_schema(event_id: pa.DataType) -> pa.Schema:
    """The schema of sealed events whose ids have this type."""
    if not (pa.types.is_string(event_id) or pa.types.is_int64(event_id)):
        raise EventError(f"ids of sealed events are STRING or BIGINT, not {event_id}")
    whole, text, data = pa.int64(), pa.string(), pa.binary()
    fields = [
        ("event_id", event_id),
        ("stream", text),
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
    stream: str
    epoch: int
    publisher: str
    run: int
    number: int

    def as_bytes(self) -> bytes:
        """Bytes that no two headers share."""
        kind = b"text" if isinstance(self.event_id, str) else b"whole"
        parts = [kind, str(self.event_id).encode(), self.stream.encode(), self.publisher.encode()]
        numbers = (self.epoch, self.run, self.number)
        parts += [number.to_bytes(8, "little", signed=True) for number in numbers]
        return b"".join(map(framed, parts))


def associated_data(header: Header, routing: Routing) -> bytes:
    """What the payload's seal covers beside the payload itself."""
    digest = sha256(b"".join(map(framed, routing))).digest()
    return b"caddis payload 1" + header.as_bytes() + digest


def signed_bytes(header: Header, routing: Routing, payload: bytes) -> bytes:
    """What the publisher's signature covers."""
    parts = b"".join(map(framed, (*routing, payload)))
    return b"caddis event 1" + header.as_bytes() + sha256(parts).digest()


TEXTS = ("stream", "publisher")
WHOLES = ("epoch", "run", "number")
PARTS = ("filter", "tokens", "point", "payload", "signature")
NUMBER_BYTES = 8
LONGEST = 60

Value = TypeVar("Value", str, int, bytes)


@dataclass(frozen=True, slots=True)
class SealedRow:
    """A row with all its parts."""

    header: Header
    routing: Routing
    payload: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that lacks something; event_id and publisher: as far as it has them."""

    event_id: str | int | None
    publisher: str | None
    problem: str


class _Unreadable(Exception):
    """What is wrong with a row."""


def sealed_rows(batch: pa.RecordBatch) -> Iterator[SealedRow | UnreadableRow]:
    """Read a batch of sealed events row by row."""
    columns = _columns(batch)
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        try:
            yield _read(row)
        except _Unreadable as problem:
            yield UnreadableRow(_or_none(_event_id, row), _or_none(_publisher, row), str(problem))


def shown(value: object) -> str:
    """A value that anybody may have made up, short enough for a message.

    >>> shown("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'"
    """
    if isinstance(value, str) and len(value) > LONGEST:
        value = value[:LONGEST] + "..."
    return repr(value)


def _columns(batch: pa.RecordBatch) -> dict[str, list[object]]:
    """The values of each column by its name; texts as bytes, since they may be no texts at all."""
    names = batch.schema.names
    missing = [name for name in sealed_schema(pa.string()).names if names.count(name) != 1]
    if missing:
        raise EventError(
            f"sealed events have one column {missing[0]!r}; these have {', '.join(names)}"
        )
    kinds: dict[str, Callable[[pa.DataType], bool]] = {
        "event_id": lambda type_: _is_text(type_) or pa.types.is_integer(type_),
        **dict.fromkeys(TEXTS, _is_text),
        **dict.fromkeys(WHOLES, pa.types.is_integer),
        **dict.fromkeys(PARTS, _is_binary),
    }
    found = {}
    for name, is_right in kinds.items():
        column = batch.column(names.index(name))
        if not is_right(column.type):
            raise EventError(f"the column {name!r} of sealed events cannot be {column.type}")
        text = _is_text(column.type)
        found[name] = column.cast(pa.large_binary()).to_pylist() if text else column.to_pylist()
    return found


def _read(row: dict[str, object]) -> SealedRow:
    epoch, run, number = (_whole(row, name) for name in WHOLES)
    header = Header(_event_id(row), _text(row, "stream"), epoch, _publisher(row), run, number)
    filter_, tokens, point, payload, signature = (_present(row, name, bytes) for name in PARTS)
    if not filter_:
        raise _Unreadable("its filter is empty")
    if len(tokens) % NUMBER_BYTES:
        raise _Unreadable(f"its tokens have {len(tokens)} bytes, no multiple of {NUMBER_BYTES}")
    if len(point) % NUMBER_BYTES or not np.isfinite(np.frombuffer(point, "<f8")).all():
        raise _Unreadable("its point is not made of finite numbers of 8 bytes")
    least = NONCE_BYTES + TAG_BYTES
    if len(payload) < least:
        raise _Unreadable(f"its payload has {len(payload)} bytes; it has {least} at least")
    if len(signature) != SIGNATURE_BYTES:
        raise _Unreadable(f"its signature has {len(signature)} bytes, not {SIGNATURE_BYTES}")
    return SealedRow(header, (filter_, tokens, point), payload, signature)


def _present(row: dict[str, object], name: str, type_: type[Value]) -> Value:
    value = row[name]
    if not isinstance(value, type_):
        raise _Unreadable(f"its {name} is missing")
    return value


def _whole(row: dict[str, object], name: str) -> int:
    value = _present(row, name, int)
    if not 0 <= value < 2**63:
        raise _Unreadable(f"its {name} is {value}; it is a BIGINT of 0 or more")
    return value


def _text(row: dict[str, object], name: str) -> str:
    try:
        return _present(row, name, bytes).decode()
    except UnicodeDecodeError:
        raise _Unreadable(f"its {name} is no UTF-8 text") from None


def _publisher(row: dict[str, object]) -> str:
    return _text(row, "publisher")


def _event_id(row: dict[str, object]) -> str | int:
    value = row["event_id"]
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise _Unreadable(f"its event_id is {value}; it is a BIGINT or a STRING")
        return value
    return _text(row, "event_id")


Read = TypeVar("Read")


def _or_none(read: Callable[[dict[str, object]], Read], row: dict[str, object]) -> Read | None:
    try:
        return read(row)
    except _Unreadable:
        return None


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _is_binary(type_: pa.DataType) -> bool:
    return bool(pa.types.is_binary(type_) or pa.types.is_large_binary(type_))
