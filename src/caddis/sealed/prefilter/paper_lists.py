"""The paper's prefilter, to the letter: candidate lists by bit, and the default list (Figure 4).

    lists[starts[i]:starts[i + 1]]   the clauses whose filter has bit i set
    default                          the clauses whose filter is empty

A clause is in as many lists as its filter has bits. An event traverses the lists of its own bits
and the default list; a clause that it finds is tested for inclusion, once. This is the baseline
that `prefilter` is measured against, and compiled like it.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Int32s, Int64s, Words
from caddis.sealed.design import WORD
from caddis.sealed.prefilter.filters import of_one_size, read_only
from caddis.sealed.prefilter.paper_kernels import fill_lists, list_lengths, traverse
from caddis.sealed.prefilter.prefilter import Candidates


class PaperLists:
    """Finds the clauses whose filters are included in those of events, event by event.

    >>> clauses = np.array([[0b0110], [0b0001], [0b0000]], np.uint64)
    >>> found = PaperLists.build(clauses).candidates(np.array([[0b0111], [0b1000]], np.uint64))
    >>> list(zip(found.rows.tolist(), found.clauses.tolist()))
    [(0, 2), (0, 1), (0, 0), (1, 2)]
    """

    def __init__(self, filters: Words, starts: Int64s, lists: Int32s, default: Int32s) -> None:
        self.filters, self.default = read_only(filters), read_only(default)
        self.starts, self.lists = read_only(starts), read_only(lists)

    @classmethod
    def build(cls, filters: Words, sample: Words | None = None) -> PaperLists:  # noqa: ARG003
        """Of clauses' filters; the paper asks for no sample."""
        filters = of_one_size(filters, filters.shape[1])
        lengths = list_lengths(filters)
        starts = np.zeros(filters.shape[1] * WORD + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        default = np.flatnonzero(~filters.any(axis=1)).astype(np.int32)
        return cls(filters, starts, fill_lists(filters, starts), default)

    def __len__(self) -> int:
        return len(self.filters)

    @property
    def nbytes(self) -> int:
        """Of all arrays."""
        arrays = (self.filters, self.starts, self.lists, self.default)
        return sum(array.nbytes for array in arrays)

    def candidates(self, events: Words) -> Candidates:
        """The pairs (row of events, clause) where the clause's filter is included in the row's."""
        events = of_one_size(events, self.filters.shape[1])
        pairs, inspected = traverse(self.filters, self.starts, self.lists, self.default, events)
        return Candidates(pairs[:, 0].copy(), pairs[:, 1].copy(), inspected)
