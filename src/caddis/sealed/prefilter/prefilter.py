"""Bloom filters, and which clauses may match which events by their filters alone.

    words[row, i // 64], bit i % 64     whether place i of the row's filter is set

A clause may match an event only if its filter is included in the event's: each of its places is set
there, too. Places come from keyed hashes (`caddis.sealed.keys`); no key is needed to compare.

The paper puts a clause in the list of every place of its filter. Here it stands in one list, that
of its rarest place, and within it under the next rarest ones: its keys (`PrefilterArrays`). A batch
has a bitmap of rows for each place. Going down a list, the bitmaps of the keys are intersected.
What neighbours share is done once; where no row is left, all that share those keys are passed over.
Only the rows that have all keys of a filter are compared with its words.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bools, Bytes, Int32s, Int64s, Words
from caddis.errors import FilterError
from caddis.sealed.design import MOST_BITS, WORD
from caddis.sealed.prefilter.kernels import (
    Places,
    PrefilterArrays,
    choose_keys,
    find_pairs,
    in_row_order,
    set_places,
    turned,
)

Kind = TypeVar("Kind", bound=np.generic)

MANY = np.iinfo(np.uint8).max
"""A count that stands for itself and all above it."""

KEYS = 8
"""Keys of a filter: after this many, few rows are left, and comparing whole words is cheaper."""

ROWS_AT_ONCE = 4096
"""Rows that are turned together: a bitmap of 64 words for each place."""

SAMPLE_ROWS = 512
"""Events that are enough to tell a rare place from a frequent one."""


def check_bits(bits: int) -> None:
    """Refuse a number of bits that filters cannot have."""
    if bits < WORD or bits % WORD or bits > MOST_BITS:
        raise FilterError(f"filters have a multiple of {WORD} bits up to {MOST_BITS}, not {bits}")


def of_one_size(filters: Words, words: int) -> Words:
    """Filters as kernels read them; FilterError unless each has this number of words."""
    if filters.ndim != 2 or filters.shape[1] != words:
        shape = " by ".join(map(str, filters.shape))
        raise FilterError(f"filters have {words} words each here; these are {shape}")
    return read_only(np.ascontiguousarray(filters, np.uint64))


def filters_from(places: Int32s, starts: Int64s, bits: int) -> Words:
    """Filters of that many bits; row r has the places places[starts[r]:starts[r + 1]].

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
    """A view that cannot be written to.

    Arrays in mapped files are such; if all are, a kernel is compiled once.
    """
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
        """Put elements in, given their places; a place that occurs twice counts twice."""
        self._counts = np.minimum(self._counts + self._times(places), MANY).astype(np.uint8)

    def remove(self, places: Int32s | list[int]) -> None:
        """Take elements out again; FilterError, and no change, if one of them was not put in."""
        times = self._times(places)
        if np.any(times > self._counts):
            raise FilterError("what is to be removed is not in the filter")
        fallen = (self._counts - times).astype(np.uint8)
        self._counts = np.where(self._counts == MANY, self._counts, fallen)

    def filter(self) -> Words:
        """The filter of what is in, as one row."""
        held = np.flatnonzero(self._counts).astype(np.int32)
        return filters_from(held, np.array([0, len(held)]), self.bits)

    def _times(self, places: Int32s | list[int]) -> Int64s:
        """How often each place occurs."""
        named = np.asarray(places, np.int32).reshape(-1)
        _check_places(named, self.bits)
        return np.bincount(named, minlength=self.bits)


def _check_places(places: Int32s, bits: int) -> None:
    if len(places) and not 0 <= places.min() <= places.max() < bits:
        raise FilterError(f"places in a filter of {bits} bits are from 0 to {bits - 1}")


class Candidates(NamedTuple):
    """Pairs of rows and clauses that may match, rows ascending.

    inspected: how many pairs had their words compared to find them.
    """

    rows: Int32s
    clauses: Int32s
    inspected: int


class Prefilter:
    """Finds the clauses whose filters are included in those of events.

    >>> clauses = np.array([[0b0110], [0b0001], [0b0000]], np.uint64)
    >>> found = Prefilter.build(clauses).candidates(np.array([[0b0111], [0b1000]], np.uint64))
    >>> list(zip(found.rows.tolist(), found.clauses.tolist()))
    [(0, 2), (0, 1), (0, 0), (1, 2)]
    """

    def __init__(self, arrays: PrefilterArrays) -> None:
        self.arrays = PrefilterArrays._make(read_only(np.asarray(array)) for array in arrays)

    @classmethod
    def build(cls, filters: Words, sample: Words | None = None) -> Prefilter:
        """Build the lists of clauses.

        filters: one row a clause.
        sample: filters of events like those to come, which show what is rare. Without any, an event
            is taken to look like some clauses put together.
        """
        words = filters.shape[1]
        check_bits(words * WORD)
        filters = of_one_size(filters, words)
        empty = ~filters.any(axis=1)
        filled = np.flatnonzero(~empty).astype(np.int32)
        events = _spread(sample) if sample is not None and len(sample) else _imagined(filters)
        keys = choose_keys(filters, filled, turned(of_one_size(events, words)), KEYS)
        order = np.lexsort(keys.T[::-1])
        keys, clauses = keys[order], filled[order]
        starts = np.searchsorted(keys[:, 0], np.arange(words * WORD + 1))
        default = np.flatnonzero(empty).astype(np.int32)
        return cls(PrefilterArrays(filters[clauses], keys, _shared(keys), starts, clauses, default))

    def __len__(self) -> int:
        return len(self.arrays.clauses) + len(self.arrays.default)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays)

    def candidates(self, events: Words) -> Candidates:
        """The pairs (row of events, clause) where the clause's filter is included in the row's.

        They are held in memory, twice for a while: with a million clauses, a few thousand rows at
        a time are enough.
        """
        events = of_one_size(events, self.arrays.filters.shape[1])
        room = np.empty((ROWS_AT_ONCE, 2), np.int32)
        found = [(np.empty(0, np.int32), np.empty(0, np.int32))]
        inspected = 0
        for first in range(0, len(events), ROWS_AT_ONCE):
            block = events[first : first + ROWS_AT_ONCE]
            room, used, compared = find_pairs(self.arrays, block, turned(block), room)
            clauses, default = self.arrays.clauses, self.arrays.default
            rows, named = in_row_order(room[:used], clauses, default, len(block))
            found.append((rows + np.int32(first), named))
            inspected += compared
        all_rows, all_clauses = map(np.concatenate, zip(*found, strict=True))
        return Candidates(all_rows, all_clauses, inspected)


def _shared(keys: Places) -> Bytes:
    """How many of its first keys each row shares with the row before."""
    same = np.zeros(keys.shape, np.uint8)
    same[1:] = keys[1:] == keys[:-1]
    counts: Bytes = np.multiply.accumulate(same, axis=1).sum(axis=1, dtype=np.uint8)
    return counts


def _spread(sample: Words) -> Words:
    """At most SAMPLE_ROWS rows, from all over the sample."""
    rows = np.linspace(0, len(sample) - 1, min(len(sample), SAMPLE_ROWS)).astype(np.int64)
    return sample[rows]


def _imagined(filters: Words) -> Words:
    """Filters of made-up events, each as full as Bloom filters should be: clauses put together."""
    count, words = filters.shape
    if not count:
        return np.zeros((1, words), np.uint64)
    # A filter is best when half of its bits are set: unite as many clauses as it takes for that.
    few = filters[:: max(1, count // SAMPLE_ROWS)]
    share = float(np.bitwise_count(few).mean()) / WORD
    united = min(count, int(np.clip(log(0.5) / log(1 - min(max(share, 0.01), 0.5)), 1, 64)))
    rows = min(count * WORD, SAMPLE_ROWS)
    # A step of this size (a prime near 2^32 over the golden ratio) meets clauses from all over.
    step = 2_654_435_761
    events = np.zeros((rows, words), np.uint64)
    for first in range(0, united * rows, rows):
        events |= filters[np.arange(first, first + rows, dtype=np.int64) * step % count]
    return events
