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

from caddis.arrays import Anys, Bools, Int32s, Int64s
from caddis.compiling import inner_kernel, kernel
from caddis.matching.index import NOTHING
from caddis.models import NO, UNASKED, YES, Marks
from caddis.ordering.kernels.layout import DROPPED, REFUSED, SATISFIED, Clauses, GraphArrays

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
    need_of: Int32s, need_starts: Int64s, need_literals: Int32s, needs: Anys
) -> Int32s:
    """The literals of the open clauses; `needs` comes to say where those of each lie."""
    total = 0
    for q in range(len(need_of)):
        total += need_starts[need_of[q] + 1] - need_starts[need_of[q]]
    literals, used = np.empty(total, np.int32), 0
    for q in range(len(need_of)):
        needs[q].start = used
        for at in range(need_starts[need_of[q]], need_starts[need_of[q] + 1]):
            literals[used] = need_literals[at]
            used += 1
        needs[q].count = used - needs[q].start
    return literals


@kernel
def weigh(
    open_of: Int32s,
    clauses: Int32s,
    link_starts: Int64s,
    pinned: Bools,
    needs: Anys,
    waits: Anys,
) -> None:
    """Count the links that wait for each open clause, and see if one waits for it alone."""
    for i in range(len(open_of)):
        if open_of[i] >= 0:
            needs[open_of[i]].weight += link_starts[clauses[i] + 1] - link_starts[clauses[i]]
            waits[open_of[i]].pinned |= pinned[clauses[i]]


@kernel
def share_links(
    events: Int32s,
    clauses: Int32s,
    open_of: Int32s,
    share_starts: Int64s,
    shares: Int32s,
    links: int,
    waits: Anys,
) -> tuple[Int32s, Bools]:
    """The shared links of open clauses, numbered event by event, and which are done already."""
    most = total = 0
    for i in range(len(events)):
        size = share_starts[clauses[i] + 1] - share_starts[clauses[i]]
        most += size
        if open_of[i] >= 0:
            waits[open_of[i]].count += size
    for q in range(len(waits)):
        waits[q].start = total
        total += waits[q].count
        waits[q].count = 0
    out, done, used = np.empty(total, np.int32), np.zeros(most, np.bool_), 0
    stamp, slot = np.empty(links, np.int32), np.empty(links, np.int32)
    for link in range(links):
        stamp[link] = -1
    for i in range(len(events)):
        for s in range(share_starts[clauses[i]], share_starts[clauses[i] + 1]):
            link = shares[s]
            if stamp[link] != events[i]:
                stamp[link], slot[link] = events[i], used
                used += 1
            if open_of[i] >= 0:
                wait = waits[open_of[i]]
                out[wait.start + wait.count] = slot[link]
                wait.count += 1
            elif open_of[i] == DECIDED:
                done[slot[link]] = True
    return out, done[:used]


MANY = 12
"""From this number on, equal clauses are found by hashing instead of comparing all pairs."""


@inner_kernel(borrows=True)
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


@inner_kernel(borrows=True)
def close(clause: int, verdict: int, waits: Anys, shares: Int32s, done: Bools) -> bool:
    """Give a clause and its twins their verdict, and say whether that satisfied a shared link."""
    news = False
    while clause >= 0:
        wait = waits[clause]
        wait.verdict = verdict
        if verdict == SATISFIED:
            for i in range(wait.start, wait.start + wait.count):
                news |= not done[shares[i]]
                done[shares[i]] = True
        clause = wait.twin
    return news


@inner_kernel(borrows=True)
def is_waited_for(clause: int, waits: Anys, shares: Int32s, done: Bools) -> bool:
    """Whether any link still waits for a clause or its twins."""
    # A pinned clause has a link that no other clause can satisfy.
    while clause >= 0:
        wait = waits[clause]
        if wait.pinned:
            return True
        for i in range(wait.start, wait.start + wait.count):
            if not done[shares[i]]:
                return True
        clause = wait.twin
    return False


@inner_kernel(borrows=True)
def need_the_same(one: int, other: int, needs: Anys, literals: Int32s) -> bool:
    """Whether two clauses need the same; the literals of both are in one order."""
    first, second = needs[one], needs[other]
    if first.count != second.count:
        return False
    for i in range(first.count):
        if literals[first.start + i] != literals[second.start + i]:
            return False
    return True


@inner_kernel(borrows=True)
def join_twins(first: int, other: int, needs: Anys, waits: Anys) -> None:
    """Hang a clause and its twins behind another one."""
    # Twins are a list: that of the other clause goes between the first clause and its own twins.
    last = waits[other]
    while last.twin >= 0:
        last = waits[last.twin]
    last.twin = waits[first].twin
    waits[first].twin = other
    needs[first].weight += needs[other].weight


@inner_kernel(borrows=True)
def merge_few(begin: int, count: int, clauses: Clauses) -> int:
    """Make one clause of those that need the same, by comparing all pairs; gives how many are left.

    Literals are in the plan's order, so equal needs are equal letter by letter.
    """
    kept, order, needs, literals = begin, clauses.order, clauses.needs, clauses.literals
    for i in range(begin, begin + count):
        clause, place = order[i], begin
        while place < kept and not need_the_same(order[place], clause, needs, literals):
            place += 1
        if place < kept:
            join_twins(order[place], clause, needs, clauses.waits)
        else:
            order[kept] = clause
            kept += 1
    return kept - begin


@inner_kernel(borrows=True)
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
    slots = np.empty(size, np.int32)
    for slot in range(size):
        slots[slot] = -1
    kept, order, needs, literals = begin, clauses.order, clauses.needs, clauses.literals
    for i in range(begin, begin + count):
        clause = order[i]
        slot = hashed(literals, needs[clause].start, needs[clause].count) & (size - 1)
        while slots[slot] >= 0 and not need_the_same(slots[slot], clause, needs, literals):
            slot = (slot + 1) & (size - 1)
        if slots[slot] >= 0:
            join_twins(slots[slot], clause, needs, clauses.waits)
        else:
            slots[slot] = clause
            order[kept] = clause
            kept += 1
    return kept - begin


@inner_kernel(borrows=True)
def drop_idle(begin: int, count: int, clauses: Clauses) -> int:
    """Drop the clauses that no link waits for, and give how many are left."""
    kept, order, waits, done = begin, clauses.order, clauses.waits, clauses.done
    for i in range(begin, begin + count):
        clause = order[i]
        if is_waited_for(clause, waits, clauses.shares, done):
            order[kept] = clause
            kept += 1
        else:
            close(clause, DROPPED, waits, clauses.shares, done)
    return kept - begin


@inner_kernel(borrows=True)
def settle(begin: int, count: int, clauses: Clauses, known: Marks, news: bool) -> int:
    """Draw the conclusions of what is known of an event, and give how many clauses are still open.

    news: whether shared links may have been satisfied since the last time.
    """
    kept, thinned, order = begin, False, clauses.order
    for i in range(begin, begin + count):
        clause = order[i]
        need = clauses.needs[clause]
        left = thin(clauses.literals, need.start, need.count, known)
        if left > 0:
            thinned |= left < need.count
            need.count = left
            order[kept] = clause
            kept += 1
        else:
            verdict = SATISFIED if left == 0 else REFUSED
            news |= close(clause, verdict, clauses.waits, clauses.shares, clauses.done)
    count = kept - begin
    # Clauses can only have become idle if a link was satisfied, and equal only if one was thinned.
    if news:
        count = drop_idle(begin, count, clauses)
    if not thinned or count < 2:
        return count
    if count < MANY:
        return merge_few(begin, count, clauses)
    return merge_many(begin, count, clauses)


@kernel
def settle_events(events: Int32s, graph: GraphArrays, news: bool) -> Int32s:
    """Draw the conclusions of what is known of events, and give those that are still open."""
    still, kept = np.empty(len(events), np.int32), 0
    for event in events:
        begin, count = graph.starts[event], graph.counts[event]
        left = settle(begin, count, graph.clauses, graph.known[event], news)
        graph.counts[event] = left
        if left > 0:
            still[kept] = event
            kept += 1
    return still[:kept]


@kernel
def tell(events: Int32s, concepts: Int32s, answers: Marks, known: Marks) -> None:
    """Note answers, a row for each event and a column for each concept, where none is known yet."""
    for i in range(len(events)):
        for j in range(len(concepts)):
            # What is known already stays: it may have come with the event from another broker.
            if known[events[i], concepts[j]] == UNASKED:
                known[events[i], concepts[j]] = answers[i, j]
