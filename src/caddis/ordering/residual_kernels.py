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

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.models import NO, UNASKED, YES, Marks
from caddis.ordering.layout import DROPPED, REFUSED, SATISFIED

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
def close(
    clause: int,
    verdict: int,
    twins: Int32s,
    share_starts: Int64s,
    shares: Int32s,
    done: Bools,
    verdicts: Marks,
) -> bool:
    """Give a clause and its twins their verdict; whether that satisfied a shared link."""
    news = False
    while clause >= 0:
        verdicts[clause] = verdict
        if verdict == SATISFIED:
            for i in range(share_starts[clause], share_starts[clause + 1]):
                news = news or not done[shares[i]]
                done[shares[i]] = True
        clause = twins[clause]
    return news


@njit(cache=True)
def waits(
    clause: int,
    twins: Int32s,
    pinned: Bools,
    share_starts: Int64s,
    shares: Int32s,
    done: Bools,
) -> bool:
    """Whether any link still waits for a clause or its twins."""
    while clause >= 0:
        if pinned[clause]:
            return True
        for i in range(share_starts[clause], share_starts[clause + 1]):
            if not done[shares[i]]:
                return True
        clause = twins[clause]
    return False


@njit(cache=True)
def same_literals(literals: Int32s, one: int, other: int, count: int) -> bool:
    """Whether two clauses of the same length need the same; their literals are in one order."""
    for i in range(count):
        if literals[one + i] != literals[other + i]:
            return False
    return True


@njit(cache=True)
def join_twins(first: int, other: int, twins: Int32s, weights: Int32s) -> None:
    """Hang a clause and its twins behind another."""
    last = other
    while twins[last] >= 0:
        last = twins[last]
    twins[last] = twins[first]
    twins[first] = other
    weights[first] += weights[other]


@njit(cache=True)
def merge_few(
    order: Int32s,
    begin: int,
    count: int,
    literal_starts: Int64s,
    literal_counts: Int32s,
    literals: Int32s,
    twins: Int32s,
    weights: Int32s,
) -> int:
    """Make one of clauses that need the same, comparing all pairs; how many are left."""
    kept = begin
    for i in range(begin, begin + count):
        clause, twin = order[i], -1
        for j in range(begin, kept):
            other = order[j]
            if literal_counts[other] == literal_counts[clause] and same_literals(
                literals, literal_starts[other], literal_starts[clause], literal_counts[clause]
            ):
                twin = other
                break
        if twin >= 0:
            join_twins(twin, clause, twins, weights)
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
    return np.int64(value & np.uint64(0x7FFFFFFFFFFFFFFF))


@njit(cache=True)
def merge_many(
    order: Int32s,
    begin: int,
    count: int,
    literal_starts: Int64s,
    literal_counts: Int32s,
    literals: Int32s,
    twins: Int32s,
    weights: Int32s,
) -> int:
    """The same as `merge_few`, by hashing."""
    size = 32
    while size < 2 * count:
        size *= 2
    slots = np.empty(size, np.int32)
    for slot in range(size):
        slots[slot] = -1
    kept = begin
    for i in range(begin, begin + count):
        clause = order[i]
        start, length = literal_starts[clause], literal_counts[clause]
        slot = hashed(literals, start, length) & (size - 1)
        while slots[slot] >= 0:
            other = slots[slot]
            if literal_counts[other] == length and same_literals(
                literals, literal_starts[other], start, length
            ):
                break
            slot = (slot + 1) & (size - 1)
        if slots[slot] >= 0:
            join_twins(slots[slot], clause, twins, weights)
        else:
            slots[slot] = clause
            order[kept] = clause
            kept += 1
    return kept - begin


@njit(cache=True)
def settle(
    begin: int,
    count: int,
    order: Int32s,
    literal_starts: Int64s,
    literal_counts: Int32s,
    literals: Int32s,
    twins: Int32s,
    weights: Int32s,
    pinned: Bools,
    share_starts: Int64s,
    shares: Int32s,
    done: Bools,
    verdicts: Marks,
    known: Marks,
    news: bool,
) -> int:
    """Bring an event's graph up to what is known of it; how many clauses are still open.

    news: whether shared links may have been satisfied since the last time.
    """
    kept, thinned = begin, False
    for i in range(begin, begin + count):
        clause = order[i]
        left = thin(literals, literal_starts[clause], literal_counts[clause], known)
        if left > 0:
            thinned = thinned or left < literal_counts[clause]
            literal_counts[clause] = left
            order[kept] = clause
            kept += 1
        else:
            verdict = SATISFIED if left == 0 else REFUSED
            news = close(clause, verdict, twins, share_starts, shares, done, verdicts) or news
    count = kept - begin
    if news:
        kept = begin
        for i in range(begin, begin + count):
            clause = order[i]
            if waits(clause, twins, pinned, share_starts, shares, done):
                order[kept] = clause
                kept += 1
            else:
                close(clause, DROPPED, twins, share_starts, shares, done, verdicts)
        count = kept - begin
    if not thinned or count < 2:
        return count
    if count < MANY:
        return merge_few(
            order, begin, count, literal_starts, literal_counts, literals, twins, weights
        )
    return merge_many(order, begin, count, literal_starts, literal_counts, literals, twins, weights)
