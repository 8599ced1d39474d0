"""What brokers compare of events: filters, tokens and points of whole batches.

Each column is gone through by its distinct values, which are hashed once; all that follows is done
with arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from caddis.arrays import Floats, Int32s, Words
from caddis.matching import values_of
from caddis.sealed.design import SealedColumn, StreamDesign
from caddis.sealed.keys import MatchingKey, Randomness, cells_of, tokens_of
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

Routing = tuple[bytes, bytes, bytes]
"""Filter, tokens and point of an event."""


@dataclass(slots=True)
class _Parts:
    """What has been gathered of a batch so far."""

    points: Floats
    elements: list[Hashed] = field(default_factory=list)
    owners: list[Int32s] = field(default_factory=list)
    tokens: list[Words] = field(default_factory=list)


class EventRouting:
    """Makes filters, tokens and points for a stream in an epoch."""

    def __init__(self, key: MatchingKey, design: StreamDesign) -> None:
        self._design = design
        self._columns = design.columns
        self._hashed = HashedValues(key, design)
        self._coordinates = Coordinates(design)
        self._transform = Transform.of(key, design)

    def of(
        self, events: pa.RecordBatch, randomness: Randomness, *, compressed: bool
    ) -> list[Routing]:
        """By row, what brokers compare; compressed: whether filters are in their shorter form."""
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
