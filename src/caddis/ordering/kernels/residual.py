"""The residual graph of one event: built from candidate pairs, settled by answers.

Clauses point at the literals that they still need; links point at their clauses. A false answer
kills every clause that needed it; a true one thins them; a clause with nothing left satisfies its
links, and clauses that lead nowhere else leave with them. Clauses that have come to need the same
become one, with the others as its twins. A policy only ever asks this graph what an answer would
settle.

Building a graph, the pairs of one event that have the same need become one open clause. Tables by
need and by link are stamped with the event, so that nothing has to be cleared between events.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.compiling import inner_kernel, kernel
from caddis.matching.index import NOTHING
from caddis.models import NO, UNASKED, YES, Marks
from caddis.ordering.kernels.layout import DROPPED, REFUSED, SATISFIED, Clauses

DECIDED, IGNORED = -1, -2
"""What stands for the open clause of a pair that is a match already, or that leads nowhere."""


@kernel
def group_pairs(
    events: Int32s, clauses: Int32s, of_clause: Int32s, needs: int, count: int
) -> tuple[Int32s, Int32s, Int64s]:
    """Join the pairs of each event that have the same need.

    Pairs are sorted by event. Gives the open clause of each pair (or DECIDED, or IGNORED), the need
    of each open clause, and where the open clauses of each event start.
    """
    open_of = np.empty(len(events), np.int32)
    need_of = np.empty(len(events), np.int32)
    starts = np.zeros(count + 1, np.int64)
    stamp, slot = np.empty(needs, np.int32), np.empty(needs, np.int32)
    for need in range(needs):
        stamp[need] = -1
    used = 0
    for i in range(len(events)):
        need = of_clause[clauses[i]]
        if need < 0:
            open_of[i] = DECIDED if need == NOTHING else IGNORED
            continue
        # A stamp of another event means that this one has not met the need yet.
        if stamp[need] != events[i]:
            stamp[need], slot[need] = events[i], used
            need_of[used] = need
            used += 1
            starts[events[i] + 1] += 1
        open_of[i] = slot[need]
    for event in range(count):
        starts[event + 1] += starts[event]
    return open_of, need_of[:used], starts


@kernel
def copy_literals(
    need_of: Int32s, need_starts: Int64s, need_literals: Int32s
) -> tuple[Int64s, Int32s, Int32s]:
    """Starts, counts and literals of the open clauses."""
    starts = np.empty(len(need_of), np.int64)
    counts = np.empty(len(need_of), np.int32)
    total = 0
    for q in range(len(need_of)):
        starts[q] = total
        counts[q] = need_starts[need_of[q] + 1] - need_starts[need_of[q]]
        total += counts[q]
    literals = np.empty(total, np.int32)
    for q in range(len(need_of)):
        begin = need_starts[need_of[q]]
        for j in range(counts[q]):
            literals[starts[q] + j] = need_literals[begin + j]
    return starts, counts, literals


@kernel
def weigh(
    open_of: Int32s, clauses: Int32s, link_starts: Int64s, pinned: Bools, count: int
) -> tuple[Int32s, Bools]:
    """How many links wait for each open clause, and whether one of them waits for it alone."""
    weights, is_pinned = np.zeros(count, np.int32), np.zeros(count, np.bool_)
    for i in range(len(open_of)):
        q = open_of[i]
        if q >= 0:
            weights[q] += link_starts[clauses[i] + 1] - link_starts[clauses[i]]
            is_pinned[q] = is_pinned[q] or pinned[clauses[i]]
    return weights, is_pinned


@kernel
def share_links(
    events: Int32s,
    clauses: Int32s,
    open_of: Int32s,
    share_starts: Int64s,
    shares: Int32s,
    links: int,
    count: int,
) -> tuple[Int64s, Int32s, Bools]:
    """The shared links of each open clause, numbered event by event, and which are done already."""
    starts = np.zeros(count + 1, np.int64)
    for i in range(len(events)):
        if open_of[i] >= 0:
            starts[open_of[i] + 1] += share_starts[clauses[i] + 1] - share_starts[clauses[i]]
    for q in range(count):
        starts[q + 1] += starts[q]
    filled = starts[:-1].copy()
    out = np.empty(starts[-1], np.int32)
    stamp, slot = np.empty(links, np.int32), np.empty(links, np.int32)
    for link in range(links):
        stamp[link] = -1
    # How many links there are shows only at the end, so the flags grow.
    total = 0
    done = np.zeros(64, np.bool_)
    for i in range(len(events)):
        clause = clauses[i]
        for s in range(share_starts[clause], share_starts[clause + 1]):
            link = shares[s]
            if stamp[link] != events[i]:
                stamp[link], slot[link] = events[i], total
                total += 1
                if total > len(done):
                    done = doubled(done)
            if open_of[i] >= 0:
                out[filled[open_of[i]]] = slot[link]
                filled[open_of[i]] += 1
            elif open_of[i] == DECIDED:
                done[slot[link]] = True
    return starts, out, done[:total].copy()


@inner_kernel
def doubled(flags: Bools) -> Bools:
    """Copy the flags, and add as many again that are off."""
    larger = np.zeros(2 * len(flags), np.bool_)
    for i in range(len(flags)):
        larger[i] = flags[i]
    return larger


MANY = 12
"""From this number on, equal clauses are found by hashing instead of comparing all pairs."""


@inner_kernel
def thin(literals: Int32s, start: int, count: int, known: Marks) -> int:
    """Take out what is answered, and give how many literals are left; -1 if one is not true.

    An unknown answer makes neither a concept nor its negation true.
    """
    # What is left is moved together in place, in the order that the plan gave it.
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


@inner_kernel
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


@inner_kernel
def close(clause: int, verdict: int, clauses: Clauses) -> bool:
    """Give a clause and its twins their verdict, and say whether that satisfied a shared link."""
    news, done = False, clauses.done
    while clause >= 0:
        clauses.verdicts[clause] = verdict
        if verdict == SATISFIED:
            for i in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
                news = news or not done[clauses.shares[i]]
                done[clauses.shares[i]] = True
        clause = clauses.twins[clause]
    return news


@inner_kernel
def waits(clause: int, clauses: Clauses) -> bool:
    """Whether any link still waits for a clause or its twins."""
    # A pinned clause has a link that no other clause can satisfy.
    while clause >= 0:
        if clauses.pinned[clause]:
            return True
        for i in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
            if not clauses.done[clauses.shares[i]]:
                return True
        clause = clauses.twins[clause]
    return False


@inner_kernel
def need_the_same(one: int, other: int, clauses: Clauses) -> bool:
    """Whether two clauses need the same; the literals of both are in one order."""
    if clauses.literal_counts[one] != clauses.literal_counts[other]:
        return False
    start, shift = clauses.literal_starts[one], clauses.literal_starts[other]
    for i in range(clauses.literal_counts[one]):
        if clauses.literals[start + i] != clauses.literals[shift + i]:
            return False
    return True


@inner_kernel
def join_twins(first: int, other: int, clauses: Clauses) -> None:
    """Hang a clause and its twins behind another one."""
    # Twins are a list: that of the other clause goes between the first clause and its own twins.
    last, twins = other, clauses.twins
    while twins[last] >= 0:
        last = twins[last]
    twins[last] = twins[first]
    twins[first] = other
    clauses.weights[first] += clauses.weights[other]


@inner_kernel
def merge_few(begin: int, count: int, clauses: Clauses) -> int:
    """Make one clause of those that need the same, by comparing all pairs; gives how many are left.

    Literals are in the plan's order, so equal needs are equal letter by letter.
    """
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


@inner_kernel
def hashed(literals: Int32s, start: int, count: int) -> int:
    """A hash of a clause's literals, in their order."""
    # FNV's start and a multiplier of golden ratio; the shift brings high bits down, since slots are
    # taken from the low ones.
    value = np.uint64(0xCBF29CE484222325)
    for i in range(start, start + count):
        value = (value ^ np.uint64(literals[i] + 1)) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    return np.int64(value & np.uint64(0x7FFFFFFFFFFFFFFF))  # type: ignore[return-value]


@inner_kernel
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


@inner_kernel
def drop_idle(begin: int, count: int, clauses: Clauses) -> int:
    """Drop the clauses that no link waits for, and give how many are left."""
    kept, order = begin, clauses.order
    for i in range(begin, begin + count):
        clause = order[i]
        if waits(clause, clauses):
            order[kept] = clause
            kept += 1
        else:
            close(clause, DROPPED, clauses)
    return kept - begin


@inner_kernel
def settle(begin: int, count: int, clauses: Clauses, known: Marks, news: bool) -> int:
    """Draw the conclusions of what is known of an event, and give how many clauses are still open.

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
    # Clauses can only have become idle if a link was satisfied, and equal only if one was thinned.
    if news:
        count = drop_idle(begin, count, clauses)
    if not thinned or count < 2:
        return count
    if count < MANY:
        return merge_few(begin, count, clauses)
    return merge_many(begin, count, clauses)
