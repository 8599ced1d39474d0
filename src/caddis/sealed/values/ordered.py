"""The order of a value as a number from 0 to 1, for points.

A value that is not above another never has the higher order; values that are close may have the
same. Sealed products tell orders apart from about 2^-38 on (see `aspe.tolerance`), so that each
type spends its digits where values are:

    small whole numbers and decimals    evenly between the lowest and the highest: all told apart
    other whole numbers and decimals    as the bits of their double: to one part in 2^26
    float, double                       as their bits: to one part in 2^26
    date                                evenly over the years 1 to 9999: all told apart
    timestamp                           evenly over the years 1600 to 2400: to a tenth of a second
    string                              its first six bytes: four of them for sure

What lies outside has the order of the end that is nearer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pyarrow as pa

from caddis.arrays import Floats, Int64s
from caddis.language.columns import exact_limits, is_floating, is_text

TEXT_BYTES = 6

EVEN_SPAN = 1 << 34
"""Exact types with at most so many values have evenly spaced orders."""

DATES = (-719_162, 2_932_896)
"""0001-01-01 and 9999-12-31, in days since 1970."""

TIMESTAMPS = (-11_676_096_000_000_000, 13_569_465_600_000_000)
"""1600-01-01 and 2400-01-01, in µs since 1970."""

LARGEST = 10**300
"""Above all decimals, and still a double."""


def orders_of(keys: Sequence[int | bytes], type_: pa.DataType) -> Floats:
    """By key, as `language.columns` makes them of values of the type: its order.

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
    """Between which keys orders are evenly spaced, if they are."""
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
    """Each step is a rounding of a function that never falls, so orders never fall either."""
    inside = np.clip(_limited(keys), low, high)
    return (inside - low) / np.float64(high - low)


def _limited(keys: Sequence[int]) -> Int64s:
    """Keys as 64-bit integers; what is beyond them becomes the nearest."""
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
