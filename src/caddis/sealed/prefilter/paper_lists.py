"""The paper's prefilter, to the letter: candidate lists by bit, and the default list (Figure 4).

    lists[starts[i]:starts[i + 1]]   the clauses whose filter has bit i set
    default                          the clauses whose filter is empty

A clause is in as many lists as its filter has bits set. An event traverses the lists of its own
bits and the default list; each clause that it meets is tested for inclusion, once. This is the
baseline against which `Prefilter` is measured, and it is compiled as well. Each loop has a plain
twin in the tests.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Int32s, Int64s, Words, offsets_of
from caddis.compiling import kernel
from caddis.sealed.prefilter.kernels import ONE, enlarged, lowest_place
from caddis.sealed.prefilter.prefilter import Candidates, of_one_size, read_only


@kernel
def list_lengths(filters: Words) -> Int64s:
    """How many filters have each place set."""
    lengths = np.zeros(64 * filters.shape[1], np.int64)
    for row in range(len(filters)):
        for word in range(filters.shape[1]):
            rest = filters[row, word]
            while rest:
                lengths[64 * word + lowest_place(rest)] += 1
                rest &= rest - ONE
    return lengths


@kernel
def fill_lists(filters: Words, starts: Int64s) -> Int32s:
    """The lists of all places, one behind the other: which filters have the place set."""
    lists = np.empty(starts[-1], np.int32)
    ends = starts[:-1].copy()
    for row in range(len(filters)):
        for word in range(filters.shape[1]):
            rest = filters[row, word]
            while rest:
                place = 64 * word + lowest_place(rest)
                lists[ends[place]] = row
                ends[place] += 1
                rest &= rest - ONE
    return lists


@kernel
def traverse(
    filters: Words, starts: Int64s, lists: Int32s, default: Int32s, events: Words
) -> tuple[Int32s, int]:
    """The pairs (event, clause) that may match, event by event, and how many were tested."""
    pairs = np.empty((1024, 2), np.int32)
    # The event that met a clause last: nothing needs to be cleared between two events.
    visited = np.full(len(filters), -1, np.int32)
    used, inspected = 0, 0
    for event in range(len(events)):
        while used + len(default) > len(pairs):
            pairs = enlarged(pairs)
        for i in range(len(default)):
            pairs[used, 0], pairs[used, 1] = event, default[i]
            used += 1
        for word in range(events.shape[1]):
            rest = events[event, word]
            while rest:
                place = 64 * word + lowest_place(rest)
                rest &= rest - ONE
                begin, end = starts[place], starts[place + 1]
                while used + end - begin > len(pairs):
                    pairs = enlarged(pairs)
                used, seen = go_through(
                    filters, lists, begin, end, events, event, visited, pairs, used
                )
                inspected += seen
    return pairs[:used], inspected


@kernel
def go_through(
    filters: Words,
    lists: Int32s,
    begin: int,
    end: int,
    events: Words,
    event: int,
    visited: Int32s,
    pairs: Int32s,
    used: int,
) -> tuple[int, int]:
    """Test the clauses of a list that the event has not met before.

    Returns where the pairs end now, and how many were tested.
    """
    seen = 0
    for i in range(begin, end):
        clause = lists[i]
        if visited[clause] == event:
            continue
        visited[clause] = event
        seen += 1
        missing = False
        for word in range(filters.shape[1]):
            if filters[clause, word] & ~events[event, word]:
                missing = True
                break
        if not missing:
            pairs[used, 0], pairs[used, 1] = event, clause
            used += 1
    return used, seen


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
    def build(cls, filters: Words) -> PaperLists:
        """Build the lists of clauses; filters: one row a clause."""
        filters = of_one_size(filters, filters.shape[1])
        starts = offsets_of(list_lengths(filters))
        default = np.flatnonzero(~filters.any(axis=1)).astype(np.int32)
        return cls(filters, starts, fill_lists(filters, starts), default)

    def __len__(self) -> int:
        return len(self.filters)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.filters, self.starts, self.lists, self.default)
        return sum(array.nbytes for array in arrays)

    def candidates(self, events: Words) -> Candidates:
        """The pairs (row of events, clause) where the clause's filter is included in the row's."""
        events = of_one_size(events, self.filters.shape[1])
        pairs, inspected = traverse(self.filters, self.starts, self.lists, self.default, events)
        return Candidates(pairs[:, 0].copy(), pairs[:, 1].copy(), inspected)
