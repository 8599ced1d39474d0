"""Publishers seal events, a batch at a time.

    events ─▶ filters, tokens, points                       what brokers compare: `EventRouting`
    events ─row by row─▶ AES-256-GCM ─▶ payloads ─▶ Ed25519     what subscribers open, signed

Brokers' parts are made column by column. Each column is gone through by its distinct values, which
are hashed once; all that follows is done with arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from caddis.arrays import Floats, Int32s, Words
from caddis.errors import EventError, SealedError
from caddis.language import is_text, sql_type
from caddis.matching import values_of
from caddis.sealed.design import SealedColumn, StreamDesign
from caddis.sealed.events.payloads import Payloads
from caddis.sealed.events.wire import (
    NONCE_BYTES,
    Header,
    Routing,
    associated_data,
    sealed_schema,
    signed_bytes,
)
from caddis.sealed.keys import MatchingKey, PublisherKeys, Randomness, cells_of, tokens_of
from caddis.sealed.prefilter import encode
from caddis.sealed.values import (
    Coordinates,
    DistinctValues,
    Hashed,
    HashedValues,
    Transform,
    distinct_values,
    filters_of,
    orders_of,
    present_rows,
    sorted_tokens,
)

MOST_RUNS = 1 << 63
"""Runs are numbered by a BIGINT, so a random one has 63 bits."""


class EventSealer:
    """Seals the events of a publisher in one stream and one epoch.

    randomness: os.urandom; anything else is for tests.
    run: the number of this run, which no two sealers may share; by default a random one.
    compressed: whether filters are sent in their shorter form.
    """

    def __init__(
        self,
        keys: PublisherKeys,
        *,
        randomness: Randomness,
        run: int | None = None,
        compressed: bool = False,
    ) -> None:
        self._keys = keys
        self._randomness = randomness
        self._compressed = compressed
        self._routing = EventRouting(keys.matching, keys.design)
        self._payloads = Payloads(keys.design)
        self._cipher = AESGCM(keys.sealing.secret)
        self._number = 0
        self.run = int.from_bytes(randomness(8), "little") >> 1 if run is None else run
        if not 0 <= self.run < MOST_RUNS:
            raise SealedError(f"the number of a run is a BIGINT of 0 or more, not {run}")

    def seal(self, batch: pa.RecordBatch, event_key: str = "event_id") -> pa.RecordBatch:
        """Seal the events of a batch, row by row.

        event_key: the column of ids, which everybody may read.
        """
        ids = _event_ids(batch, event_key)
        rows = self._payloads.rows_of(batch, event_key)
        routing = self._routing.of(rows, self._randomness, compressed=self._compressed)
        headers = [self._next_header(event_id) for event_id in ids.to_pylist()]
        payloads = list(self._sealed_payloads(rows, headers, routing))
        sign = self._keys.signing.sign
        signatures = [
            sign(signed_bytes(*parts)) for parts in zip(headers, routing, payloads, strict=True)
        ]
        columns = [[getattr(header, name) for header in headers] for name in Header.__slots__[1:]]
        columns += [list(parts) for parts in zip(*routing, strict=True)] or [[], [], []]
        columns += [payloads, signatures]
        schema = sealed_schema(ids.type)
        typed = zip(columns, schema.types[1:], strict=True)
        arrays = [ids, *(pa.array(column, type_) for column, type_ in typed)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _next_header(self, event_id: str | int) -> Header:
        key, number = self._keys.matching, self._number
        self._number += 1
        return Header(event_id, key.stream, key.epoch, self._keys.name, self.run, number)

    def _sealed_payloads(
        self, rows: pa.RecordBatch, headers: list[Header], routing: list[Routing]
    ) -> Iterator[bytes]:
        # Random nonces are safe for AES-GCM as long as a key seals fewer than 2^32 events.
        nonces = self._randomness(NONCE_BYTES * len(headers))
        events = zip(headers, routing, self._payloads.written(rows), strict=True)
        for row, (header, compared, plain) in enumerate(events):
            nonce = nonces[NONCE_BYTES * row : NONCE_BYTES * (row + 1)]
            yield nonce + self._cipher.encrypt(nonce, plain, associated_data(header, compared))


def _event_ids(batch: pa.RecordBatch, event_key: str) -> pa.Array:
    """The ids of events, as STRING or BIGINT."""
    names = batch.schema.names
    if names.count(event_key) != 1:
        raise EventError(f"events need one column {event_key!r}; these have {', '.join(names)}")
    ids = batch.column(names.index(event_key))
    type_ = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    if not (is_text(type_) or pa.types.is_integer(type_)):
        raise EventError(f"ids of events are texts or whole numbers, not {sql_type(type_)}")
    if ids.null_count:
        raise EventError(f"{ids.null_count:,} events have a null {event_key}")
    try:
        return ids.cast(pa.string() if is_text(type_) else pa.int64())
    except pa.ArrowInvalid:
        raise EventError(f"{event_key!r} has numbers that are too large for BIGINT") from None


@dataclass(slots=True)
class _Parts:
    """What has been gathered from a batch so far."""

    points: Floats
    elements: list[Hashed] = field(default_factory=list)
    owners: list[Int32s] = field(default_factory=list)
    tokens: list[Words] = field(default_factory=list)


class EventRouting:
    """Makes what brokers compare of the events of a stream in an epoch."""

    def __init__(self, key: MatchingKey, design: StreamDesign) -> None:
        self._design = design
        self._columns = design.columns
        self._hashed = HashedValues(key, design)
        self._coordinates = Coordinates(design)
        self._transform = Transform.of(key, design)

    def of(
        self, events: pa.RecordBatch, randomness: Randomness, *, compressed: bool
    ) -> list[Routing]:
        """Filter, tokens and point of each row.

        compressed: whether filters are sent in their shorter form.
        """
        rows = events.num_rows
        parts = _Parts(self._coordinates.null_points(rows))
        for place, sealed in enumerate(self._columns):
            array = values_of(events, sealed.column)
            if array is not None:
                self._add(parts, place, sealed, array)
        filters = encode(filters_of(parts.elements, rows, self._design), compressed=compressed)
        starts, tokens = sorted_tokens(parts.owners, parts.tokens, rows)
        points = self._transform.points(parts.points, randomness).astype("<f8", copy=False)
        data, ends = tokens.astype("<u8", copy=False).tobytes(), (8 * starts).tolist()
        return [
            (filters[row], data[ends[row] : ends[row + 1]], points[row].tobytes())
            for row in range(rows)
        ]

    def _add(self, parts: _Parts, place: int, sealed: SealedColumn, array: pa.Array) -> None:
        values = distinct_values(array, sealed.column)
        digests = self._hashed.of(place, values.keys)
        parts.elements.append(Hashed(values.rows, values.places, digests))
        if self._design.presence:
            present = present_rows(array)
            first = np.zeros(len(present), np.int64)
            parts.elements.append(Hashed(present, first, self._hashed.presence(place)))
        if self._design.scheme == "tokens":
            parts.owners.append(values.rows)
            parts.tokens.append(tokens_of(digests)[values.places])
        elif not sealed.column.repeated:
            cells = cells_of(digests)[values.places]
            self._coordinates.put_cells(parts.points, place, values.rows, cells)
        if sealed.ordered:
            self._put_orders(parts.points, place, sealed, values)

    def _put_orders(
        self, points: Floats, place: int, sealed: SealedColumn, values: DistinctValues
    ) -> None:
        orders = orders_of(values.keys, sealed.column.type)[values.places]
        self._coordinates.put_orders(points, place, values.rows, orders)
