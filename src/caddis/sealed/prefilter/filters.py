"""Bloom filters as rows of 64-bit words: what is in an event, and what a clause asks for.

    words[row, i // 64], bit i % 64     whether place i of the row's filter is set

A clause may match an event only if its filter is included in the event's: each of its places is
set there, too. Where the places of an element come from is the affair of `secret_keys`; no key is
needed to compare.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bools, Bytes, Int32s, Int64s, Words
from caddis.errors import FilterError
from caddis.sealed.design import MOST_BITS, WORD
from caddis.sealed.prefilter.kernels import set_places

Kind = TypeVar("Kind", bound=np.generic)

MANY = np.iinfo(np.uint8).max
"""A count that stands for itself and all above it."""


def check_bits(bits: int) -> None:
    """Refuse a size that filters cannot have."""
    if bits < WORD or bits % WORD or bits > MOST_BITS:
        raise FilterError(f"filters have a multiple of {WORD} bits up to {MOST_BITS}, not {bits}")


def of_one_size(filters: Words, words: int) -> Words:
    """Filters as kernels read them; refused unless they have so many words."""
    if filters.ndim != 2 or filters.shape[1] != words:
        shape = " by ".join(map(str, filters.shape))
        raise FilterError(f"filters have {words} words each here; these are {shape}")
    return read_only(np.ascontiguousarray(filters, np.uint64))


def filters_from(places: Int32s, starts: Int64s, bits: int) -> Words:
    """Filters of so many bits; row r has the places places[starts[r]:starts[r + 1]].

    >>> filters_from(np.array([0, 2, 64], np.int32), np.array([0, 2, 2, 3]), bits=128)
    array([[5, 0],
           [0, 0],
           [0, 1]], dtype=uint64)
    """
    check_bits(bits)
    _check_places(places, bits)
    filters = np.zeros((len(starts) - 1, bits // WORD), np.uint64)
    named, begins = np.ascontiguousarray(places, np.int32), np.ascontiguousarray(starts, np.int64)
    set_places(filters, read_only(named), read_only(begins))
    return filters


def included(inner: Words, outer: Words) -> Bools:
    """Row by row: whether all that is set in one filter is set in the other.

    >>> included(np.array([[5], [8]], np.uint64), np.array([[7], [7]], np.uint64))
    array([ True, False])
    """
    return np.asarray(~np.any(inner & ~outer, axis=-1))


def read_only(array: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    """A view that cannot be written to, as of mapped files: kernels are compiled for those."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


class CountingFilter:
    """A Bloom filter that elements can be taken out of again: it counts who set each place.

    A count is a byte. One that has reached `MANY` no longer knows how many there are, so it never
    falls: the filter may then seem to hold what was removed, but never misses what is in.

    >>> held = CountingFilter(bits=64)
    >>> held.add([3, 5])
    >>> held.add([5])
    >>> held.remove([3, 5])
    >>> held.filter()
    array([[32]], dtype=uint64)
    >>> held.remove([3])
    Traceback (most recent call last):
    caddis.errors.FilterError: what is to be removed is not in the filter
    """

    def __init__(self, bits: int) -> None:
        check_bits(bits)
        self.bits = bits
        self._counts: Bytes = np.zeros(bits, np.uint8)

    def add(self, places: Int32s | list[int]) -> None:
        """Put elements in, by their places; a place that comes twice counts twice."""
        self._counts = np.minimum(self._counts + self._times(places), MANY).astype(np.uint8)

    def remove(self, places: Int32s | list[int]) -> None:
        """Take out elements that were put in; nothing changes if one of them was not."""
        times = self._times(places)
        if np.any(times > self._counts):
            raise FilterError("what is to be removed is not in the filter")
        fallen = (self._counts - times).astype(np.uint8)
        self._counts = np.where(self._counts == MANY, self._counts, fallen)

    def filter(self) -> Words:
        """The filter of what is in, one row."""
        held = np.flatnonzero(self._counts).astype(np.int32)
        return filters_from(held, np.array([0, len(held)]), self.bits)

    def _times(self, places: Int32s | list[int]) -> Int64s:
        """By place: how often it occurs."""
        named = np.asarray(places, np.int32).reshape(-1)
        _check_places(named, self.bits)
        return np.bincount(named, minlength=self.bits)


def _check_places(places: Int32s, bits: int) -> None:
    if len(places) and not 0 <= places.min() <= places.max() < bits:
        raise FilterError(f"places in a filter of {bits} bits are from 0 to {bits - 1}")
