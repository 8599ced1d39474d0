"""Loops over the paper's candidate lists; each has a plain twin in the tests."""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Int32s, Int64s, Words
from caddis.sealed.prefilter.filter_kernels import ONE, enlarged, lowest_place


@njit(cache=True)
def list_lengths(filters: Words) -> Int64s:
    """By place: how many filters have it set."""
    lengths = np.zeros(64 * filters.shape[1], np.int64)
    for row in range(len(filters)):
        for word in range(filters.shape[1]):
            rest = filters[row, word]
            while rest:
                lengths[64 * word + lowest_place(rest)] += 1
                rest &= rest - ONE
    return lengths


@njit(cache=True)
def fill_lists(filters: Words, starts: Int64s) -> Int32s:
    """The lists of all places, one behind the other."""
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


@njit(cache=True)
def traverse(
    filters: Words, starts: Int64s, lists: Int32s, default: Int32s, events: Words
) -> tuple[Int32s, int]:
    """The pairs (event, clause) that may match, event by event; how many were tested."""
    pairs = np.empty((1024, 2), np.int32)
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


@njit(cache=True)
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
    """Test the clauses of a list that the event has not met; where pairs end, how many tested."""
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
