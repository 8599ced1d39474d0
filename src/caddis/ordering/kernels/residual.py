"""The residual graph of one event: what is still undecided.

Clauses point at the literals that they still need; links point at their clauses. A false answer
kills every clause that needed it; a true one thins them; a clause with nothing left satisfies its
links, and clauses that lead nowhere else leave with them. Clauses that have come to need the same
become one, with the others as its twins. A policy only ever asks this graph what an answer would
settle.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Floats, Int32s
from caddis.models import NO, UNASKED, YES, Marks
from caddis.ordering.kernels.layout import DROPPED, REFUSED, SATISFIED, Clauses

MANY = 12
"""From so many clauses on, equal ones are found by hashing instead of comparing all pairs."""


@njit(cache=True)
def thin(literals: Int32s, start: int, count: int, known: Marks) -> int:
    """Take out what is answered; how many literals are left, or -1 if one is not true."""
    kept = start
    for i in range(start, start + count):
        literal = literals[i]
        answer = known[literal >> 1]
        if answer == UNASKED:
            literals[kept] = literal
            kept += 1
        elif answer != (NO if literal & 1 else YES):
            return -1
    return kept - start


@njit(cache=True)
def thin_chance(literals: Int32s, start: int, end: int, known: Marks, chances: Floats) -> float:
    """How likely what is left of a clause holds; -1 if one of its literals is not true."""
    chance = 1.0
    for i in range(start, end):
        literal = literals[i]
        answer = known[literal >> 1]
        if answer == UNASKED:
            chance *= chances[literal]
        elif answer != (NO if literal & 1 else YES):
            return -1.0
    return chance


@njit(cache=True)
def close(clause: int, verdict: int, clauses: Clauses) -> bool:
    """Give a clause and its twins their verdict; whether that satisfied a shared link."""
    news, done = False, clauses.done
    while clause >= 0:
        clauses.verdicts[clause] = verdict
        if verdict == SATISFIED:
            for i in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
                news = news or not done[clauses.shares[i]]
                done[clauses.shares[i]] = True
        clause = clauses.twins[clause]
    return news


@njit(cache=True)
def waits(clause: int, clauses: Clauses) -> bool:
    """Whether any link still waits for a clause or its twins."""
    while clause >= 0:
        if clauses.pinned[clause]:
            return True
        for i in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
            if not clauses.done[clauses.shares[i]]:
                return True
        clause = clauses.twins[clause]
    return False


@njit(cache=True)
def need_the_same(one: int, other: int, clauses: Clauses) -> bool:
    """Whether two clauses need the same; the literals of both are in one order."""
    if clauses.literal_counts[one] != clauses.literal_counts[other]:
        return False
    start, shift = clauses.literal_starts[one], clauses.literal_starts[other]
    for i in range(clauses.literal_counts[one]):
        if clauses.literals[start + i] != clauses.literals[shift + i]:
            return False
    return True


@njit(cache=True)
def join_twins(first: int, other: int, clauses: Clauses) -> None:
    """Hang a clause and its twins behind another."""
    last, twins = other, clauses.twins
    while twins[last] >= 0:
        last = twins[last]
    twins[last] = twins[first]
    twins[first] = other
    clauses.weights[first] += clauses.weights[other]


@njit(cache=True)
def merge_few(begin: int, count: int, clauses: Clauses) -> int:
    """Make clauses that need the same one, by comparing all pairs; how many are left."""
    kept, order = begin, clauses.order
    for i in range(begin, begin + count):
        clause, place = order[i], begin
        while place < kept and not need_the_same(order[place], clause, clauses):
            place += 1
        if place < kept:
            join_twins(order[place], clause, clauses)
        else:
            order[kept] = clause
            kept += 1
    return kept - begin


@njit(cache=True)
def hashed(literals: Int32s, start: int, count: int) -> int:
    """A hash of a clause's literals."""
    value = np.uint64(0xCBF29CE484222325)
    for i in range(start, start + count):
        value = (value ^ np.uint64(literals[i] + 1)) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    return np.int64(value & np.uint64(0x7FFFFFFFFFFFFFFF))  # type: ignore[return-value]


@njit(cache=True)
def merge_many(begin: int, count: int, clauses: Clauses) -> int:
    """The same as `merge_few`, by hashing."""
    size = 32
    while size < 2 * count:
        size *= 2
    slots = np.full(size, -1, np.int32)
    kept, order = begin, clauses.order
    for i in range(begin, begin + count):
        clause = order[i]
        start, length = clauses.literal_starts[clause], clauses.literal_counts[clause]
        slot = hashed(clauses.literals, start, length) & (size - 1)
        while slots[slot] >= 0 and not need_the_same(slots[slot], clause, clauses):
            slot = (slot + 1) & (size - 1)
        if slots[slot] >= 0:
            join_twins(slots[slot], clause, clauses)
        else:
            slots[slot] = clause
            order[kept] = clause
            kept += 1
    return kept - begin


@njit(cache=True)
def drop_idle(begin: int, count: int, clauses: Clauses) -> int:
    """Drop the clauses that no link waits for; how many are left."""
    kept, order = begin, clauses.order
    for i in range(begin, begin + count):
        clause = order[i]
        if waits(clause, clauses):
            order[kept] = clause
            kept += 1
        else:
            close(clause, DROPPED, clauses)
    return kept - begin


@njit(cache=True)
def settle(begin: int, count: int, clauses: Clauses, known: Marks, news: bool) -> int:
    """Bring an event's clauses up to what is known of it; how many are still open.

    news: whether shared links may have been satisfied since the last time.
    """
    kept, thinned, order, counts = begin, False, clauses.order, clauses.literal_counts
    for i in range(begin, begin + count):
        clause = order[i]
        left = thin(clauses.literals, clauses.literal_starts[clause], counts[clause], known)
        if left > 0:
            thinned = thinned or left < counts[clause]
            counts[clause] = left
            order[kept] = clause
            kept += 1
        else:
            news = close(clause, SATISFIED if left == 0 else REFUSED, clauses) or news
    count = kept - begin
    if news:
        count = drop_idle(begin, count, clauses)
    if not thinned or count < 2:
        return count
    if count < MANY:
        return merge_few(begin, count, clauses)
    return merge_many(begin, count, clauses)
