"""Which clauses may match which events, by their Bloom filters alone, for whole batches.

The paper puts a clause in the list of every place of its filter. Here it stands in one list, that
of its rarest place, and in it under the next rarest ones: its keys (`prefilter_layout`).

A batch has a bitmap of rows for each place. Going down a list, the bitmaps of the keys are
intersected; what neighbours share is done once, and where no row is left all who share that are
passed over. Only the rows that have all keys of a filter are compared with its words.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from caddis.arrays import Bytes, Int32s, Words
from caddis.sealed.design import WORD
from caddis.sealed.prefilter.filters import check_bits, of_one_size, read_only
from caddis.sealed.prefilter.kernels import (
    Places,
    PrefilterArrays,
    choose_keys,
    find_pairs,
    in_row_order,
    turned,
)

__all__ = ["Candidates", "Prefilter", "PrefilterArrays"]

KEYS = 8
ROWS_AT_ONCE = 4096
SAMPLE_ROWS = 512


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
        """Of clauses' filters.

        sample: filters of events like those to come, from which it is learnt what is rare; if there
            is none, an event is thought to be like some clauses put together.
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
        """Of all arrays."""
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
    """How many first keys each row has in common with the row before."""
    same = np.zeros(keys.shape, np.uint8)
    same[1:] = keys[1:] == keys[:-1]
    counts: Bytes = np.multiply.accumulate(same, axis=1).sum(axis=1, dtype=np.uint8)
    return counts


def _spread(sample: Words) -> Words:
    """At most SAMPLE_ROWS rows, from all over the sample."""
    rows = np.linspace(0, len(sample) - 1, min(len(sample), SAMPLE_ROWS)).astype(np.int64)
    return sample[rows]


def _imagined(filters: Words) -> Words:
    """Filters of events, each as full as Bloom filters should be: some clauses put together."""
    count, words = filters.shape
    if not count:
        return np.zeros((1, words), np.uint64)
    few = filters[:: max(1, count // SAMPLE_ROWS)]
    share = float(np.bitwise_count(few).mean()) / WORD
    united = min(count, int(np.clip(log(0.5) / log(1 - min(max(share, 0.01), 0.5)), 1, 64)))
    rows = min(count * WORD, SAMPLE_ROWS)
    step = 2_654_435_761
    events = np.zeros((rows, words), np.uint64)
    for first in range(0, united * rows, rows):
        events |= filters[np.arange(first, first + rows, dtype=np.int64) * step % count]
    return events
