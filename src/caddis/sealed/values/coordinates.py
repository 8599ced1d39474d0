"""The plain vectors behind sealed points: where each column stands, and what asks about it.

    (h, h²)        by column, in the scheme "aspe": h = cell / 65536 - 1/2; null is (0, 1/4)
    (o, -o)        by ordered column: o = order - 1/2; null is (-3/4, -3/4)
    1              the constant
    padding        of `aspe.Transform`; first half: random in points, 0 in queries; second: reversed

A point p fulfils a query q if q · p >= 0. Equality with cells c is -Σ w (h - c)², which is linear
in h and h²; `order >= o` is (1 at o, -o at the constant). All of them are exact in doubles, and a
null fails each by a quarter or more. Coordinates lie around 0, and nulls among them, since the
length of the vectors is what counts against rounding: see `aspe.tolerance`.

The order of a value is a number from 0 to 1. A value that is not above another never has the higher
order; values that are close may have the same. Sealed products tell orders apart from about 2^-38
on, so each type spends its digits where its values are:

    small whole numbers and decimals    evenly between the lowest and the highest: all told apart
    other whole numbers and decimals    as the bits of their double: to one part in 2^26
    float, double                       as their bits: to one part in 2^26
    date                                evenly over the years 1 to 9999: all told apart
    timestamp                           evenly over the years 1600 to 2400: to a tenth of a second
    string                              its first six bytes: four of them for sure

What lies outside has the order of the nearer end.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import cast

import numpy as np
import pyarrow as pa

from caddis.arrays import Floats, Int32s, Int64s
from caddis.errors import SealedError
from caddis.language import exact_limits, is_floating, is_text
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys import Randomness

TEXT_BYTES = 6

EVEN_SPAN = 1 << 34
"""Exact types with at most this many values have evenly spaced orders, which are told apart."""

DATES = (-719_162, 2_932_896)
"""0001-01-01 and 9999-12-31, in days since 1970."""

TIMESTAMPS = (-11_676_096_000_000_000, 13_569_465_600_000_000)
"""1600-01-01 and 2400-01-01, in µs since 1970."""

LARGEST = 10**300
"""Above all decimals, and still a double."""


def orders_of(keys: Sequence[int | bytes], type_: pa.DataType) -> Floats:
    """The order of each key; keys: as `caddis.language` makes them from values of the type.

    >>> orders_of([-5, 0, 2**31 - 1], pa.int32()).round(3)
    array([0.5, 0.5, 1. ])
    >>> orders_of([b"", b"Cork", b"Galway", b"Galway Bay"], pa.string()).round(3)
    array([0.   , 0.263, 0.279, 0.279])
    """
    if is_text(type_):
        return _text_orders(cast("Sequence[bytes]", keys))
    numbers = cast("Sequence[int]", keys)
    limits = _limits(type_)
    if limits is not None:
        return _even_orders(numbers, *limits)
    return _bit_orders(numbers) if is_floating(type_) else _double_orders(numbers)


def _limits(type_: pa.DataType) -> tuple[int, int] | None:
    """The keys between which orders are evenly spaced, if they are."""
    if pa.types.is_boolean(type_):
        return 0, 1
    if pa.types.is_date(type_):
        return DATES
    if pa.types.is_timestamp(type_):
        return TIMESTAMPS
    if is_floating(type_):
        return None
    low, high = exact_limits(type_)
    return (low, high) if high - low < EVEN_SPAN else None


def _text_orders(texts: Sequence[bytes]) -> Floats:
    starts = b"".join(text[:TEXT_BYTES].ljust(TEXT_BYTES, b"\0") for text in texts)
    digits = np.frombuffer(starts, np.uint8).reshape(-1, TEXT_BYTES)
    places = 256.0 ** -np.arange(1, TEXT_BYTES + 1)
    orders: Floats = (digits * places).sum(axis=1)
    return orders


def _even_orders(keys: Sequence[int], low: int, high: int) -> Floats:
    # Each step rounds a function that never falls, so orders never fall either.
    inside = np.clip(_limited(keys), low, high)
    return (inside - low) / np.float64(high - low)


def _limited(keys: Sequence[int]) -> Int64s:
    """Keys as 64-bit integers; a key beyond them becomes the nearest one."""
    try:
        return np.array(keys, np.int64)
    except OverflowError:
        return np.array([min(max(key, -(2**63)), 2**63 - 1) for key in keys], np.int64)


def _double_orders(keys: Sequence[int]) -> Floats:
    try:
        doubles = np.array(keys, np.int64).astype(np.float64)
    except OverflowError:
        doubles = np.array([float(min(max(key, -LARGEST), LARGEST)) for key in keys])
    bits: Int64s = doubles.view(np.int64)
    return _spread(np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits))


def _bit_orders(keys: Sequence[int]) -> Floats:
    return _spread(np.array(keys, np.int64))


def _spread(bits: Int64s) -> Floats:
    """From the 64-bit integers to [0, 1]."""
    return (bits.view(np.uint64) ^ np.uint64(2**63)).astype(np.float64) / 2.0**64


CELLS = 65_536
"""A cell is 16 bits of a value's hash: squares of so many bits are still exact in doubles."""

NULL_CELL = (0.0, 0.25)
"""No value: h² would be 0 for h = 0. A null is a quarter away from every cell."""

NULL_ORDER = (-0.75, -0.75)
"""Below every order in both coordinates, so that no bound holds."""


class Coordinates:
    """Plain points and queries of a stream; a column is given by its place in `design.columns`.

    size: how many coordinates plain vectors have, which are not padded yet.

    >>> import os, pyarrow as pa
    >>> schema = pa.schema([("city", pa.string()), ("price", pa.int32())])
    >>> coordinates = Coordinates(StreamDesign.of("homes", schema))
    >>> points = coordinates.null_points(2)
    >>> coordinates.put_orders(points, 1, np.array([0]), np.array([0.5]))
    >>> points @ coordinates.at_least(1, 0.25) >= 0
    array([ True, False])
    """

    def __init__(self, design: StreamDesign) -> None:
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
        """Set a column's cells, from 0 to 65,535, in these rows of the points."""
        place = self._cell_place(column)
        h = cells / CELLS - 0.5
        points[rows, place] = h
        points[rows, place + 1] = h * h

    def put_orders(
        self, points: Floats, column: int, rows: Int32s | Int64s, orders: Floats
    ) -> None:
        """Set a column's orders (see `orders_of`) in these rows of the points."""
        place = self._order_place(column)
        o = orders - 0.5
        points[rows, place] = o
        points[rows, place + 1] = -o

    def equality(self, terms: Sequence[tuple[int, int]], randomness: Randomness) -> Floats:
        """A query that holds if each of these columns is in its cell; terms: (column, cell).

        Its value is -Σ w (h - c)² with random weights of 16 bits from 1 to 2. So nothing is rounded
        but the constant, and that only for many columns.
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
        """A query that holds if the column's order is this or above."""
        query = np.zeros(self.size)
        query[self._order_place(column)] = 1.0
        query[-1] = -(order - 0.5)
        return query

    def at_most(self, column: int, order: float) -> Floats:
        """A query that holds if the column's order is this or below."""
        query = np.zeros(self.size)
        query[self._order_place(column) + 1] = 1.0
        query[-1] = order - 0.5
        return query

    def _cell_place(self, column: int) -> int:
        if column not in self._cell_places:
            raise SealedError(f"points do not carry the value of {self._names[column]!r}")
        return self._cell_places[column]

    def _order_place(self, column: int) -> int:
        if column not in self._order_places:
            raise SealedError(f"points do not carry the order of {self._names[column]!r}")
        return self._order_places[column]
