"""The plain vectors behind sealed points: where each column stands, and what asks about it.

    (h, h²)        by column, in the scheme "aspe": h = cell / 65536 - 1/2; null is (0, 1/4)
    (o, -o)        by ordered column: o = order - 1/2; null is (-3/4, -3/4)
    1              the constant
    padding        of `aspe.Transform`; first half: random in points, 0 in queries; second: reversed

A point p fulfils a query q if q · p >= 0. Equality with cells c is -Σ w (h - c)², which is linear
in h and h²; `order >= o` is (1 at o, -o at the constant). All of them are exact in doubles, and a
null fails each by a quarter or more. Coordinates lie about 0 and nulls among them, since what
counts against rounding is the length of the vectors: see `aspe.tolerance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import numpy as np

from caddis.arrays import Floats, Int32s, Int64s
from caddis.errors import ConfidentialError
from caddis.sealed.design import TopicDesign
from caddis.sealed.keys.secrets import Randomness

CELLS = 65_536

NULL_CELL = (0.0, 0.25)
NULL_ORDER = (-0.75, -0.75)


class Coordinates:
    """Plain points and queries of a topic; columns are named by their place in `design.columns`.

    size: of plain vectors, which have no padding yet.

    >>> import os, pyarrow as pa
    >>> schema = pa.schema([("city", pa.string()), ("price", pa.int32())])
    >>> coordinates = Coordinates(TopicDesign.of("homes", schema))
    >>> points = coordinates.null_points(2)
    >>> coordinates.put_orders(points, 1, np.array([0]), np.array([0.5]))
    >>> points @ coordinates.at_least(1, 0.25) >= 0
    array([ True, False])
    """

    def __init__(self, design: TopicDesign) -> None:
        columns = design.columns
        self._names = [one.column.name for one in columns]
        single = [at for at, one in enumerate(columns) if not one.column.repeated]
        hashed = single if design.scheme == "aspe" else []
        ordered = [at for at in single if columns[at].ordered]
        self._cell_places = {at: 2 * i for i, at in enumerate(hashed)}
        self._order_places = {at: 2 * (len(hashed) + i) for i, at in enumerate(ordered)}
        self.size = 2 * (len(hashed) + len(ordered)) + 1
        assert self.size + design.padding == design.dimensions
        nulls = NULL_CELL * len(hashed) + NULL_ORDER * len(ordered) + (1.0,)
        self._null = np.array(nulls, np.float64)

    def null_points(self, rows: int) -> Floats:
        """Points of events whose columns are all null, to be filled by the methods below."""
        return np.tile(self._null, (rows, 1))

    def put_cells(
        self, points: Floats, column: int, rows: Int32s | Int64s, cells: Int32s | Int64s
    ) -> None:
        """Set the column's cells, from 0 to 65,535, in these rows of the points."""
        place = self._cell_place(column)
        h = cells / CELLS - 0.5
        points[rows, place] = h
        points[rows, place + 1] = h * h

    def put_orders(
        self, points: Floats, column: int, rows: Int32s | Int64s, orders: Floats
    ) -> None:
        """Set the column's orders (see `ordering_keys`) in these rows of the points."""
        place = self._order_place(column)
        o = orders - 0.5
        points[rows, place] = o
        points[rows, place + 1] = -o

    def equality(self, terms: Sequence[tuple[int, int]], randomness: Randomness) -> Floats:
        """Fulfilled if each of these columns is in its cell, as in (column, cell).

        Its value is -Σ w (h - c)² with random weights of 16 bits from 1 to 2, so that no rounding
        is needed but one, of the constant, and that only for many columns.
        """
        weights = 1 + np.frombuffer(randomness(2 * len(terms)), "<u2") / CELLS
        query = np.zeros(self.size)
        constants = []
        for (column, cell), weight in zip(terms, weights.tolist(), strict=True):
            place = self._cell_place(column)
            c = cell / CELLS - 0.5
            query[place] += 2 * weight * c
            query[place + 1] -= weight
            constants.append(weight * c * c)
        query[-1] = -fsum(constants)
        return query

    def at_least(self, column: int, order: float) -> Floats:
        """Fulfilled if the column's order is this or above."""
        query = np.zeros(self.size)
        query[self._order_place(column)] = 1.0
        query[-1] = -(order - 0.5)
        return query

    def at_most(self, column: int, order: float) -> Floats:
        """Fulfilled if the column's order is this or below."""
        query = np.zeros(self.size)
        query[self._order_place(column) + 1] = 1.0
        query[-1] = order - 0.5
        return query

    def _cell_place(self, column: int) -> int:
        if column not in self._cell_places:
            raise ConfidentialError(f"points do not carry the value of {self._names[column]!r}")
        return self._cell_places[column]

    def _order_place(self, column: int) -> int:
        if column not in self._order_places:
            raise ConfidentialError(f"points do not carry the order of {self._names[column]!r}")
        return self._order_places[column]
