"""Loops over the words of Bloom filters; each has a plain twin in the tests."""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Int32s, Int64s, Words

ONE = np.uint64(1)
PAIRS = np.uint64(0x5555555555555555)
FOURS = np.uint64(0x3333333333333333)
EIGHTS = np.uint64(0x0F0F0F0F0F0F0F0F)
SUM = np.uint64(0x0101010101010101)


@njit(cache=True, forceinline=True)
def ones_of(word: np.uint64) -> np.int64:
    """How many bits are set; the compiler knows this form and makes one instruction of it."""
    word = word - ((word >> ONE) & PAIRS)
    word = (word & FOURS) + ((word >> np.uint64(2)) & FOURS)
    word = (word + (word >> np.uint64(4))) & EIGHTS
    return np.int64((word * SUM) >> np.uint64(56))


@njit(cache=True, forceinline=True)
def lowest_place(word: np.uint64) -> np.int64:
    """The place of the lowest bit that is set; 64 if none is."""
    return np.int64(ones_of(~word & (word - ONE)))


@njit(cache=True)
def set_places(filters: Words, places: Int32s, starts: Int64s) -> None:
    """Set the places of each row."""
    for row in range(len(filters)):
        for i in range(starts[row], starts[row + 1]):
            place = places[i]
            filters[row, place >> 6] |= ONE << np.uint64(place & 63)


@njit(cache=True)
def enlarged(pairs: Int32s) -> Int32s:
    """A copy with twice the room."""
    larger = np.empty((2 * len(pairs), 2), np.int32)
    larger[: len(pairs)] = pairs
    return larger
