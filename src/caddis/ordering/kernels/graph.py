"""From candidate pairs to residual graphs: loops of `graph`.

The pairs of one event that have the same need become one open clause. Tables by need and by link
are stamped with the event, so that nothing has to be cleared between events.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Bools, Int32s, Int64s
from caddis.matching.index import NOTHING

DECIDED, IGNORED = -1, -2
"""In place of an open clause: the pair is a match already; it leads nowhere."""


@njit(cache=True)
def group_pairs(
    events: Int32s, clauses: Int32s, of_clause: Int32s, needs: int, count: int
) -> tuple[Int32s, Int32s, Int64s]:
    """By pair: its open clause, DECIDED or IGNORED; by open clause: its need; starts by event.

    Pairs are sorted by event.
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
        if stamp[need] != events[i]:
            stamp[need], slot[need] = events[i], used
            need_of[used] = need
            used += 1
            starts[events[i] + 1] += 1
        open_of[i] = slot[need]
    for event in range(count):
        starts[event + 1] += starts[event]
    return open_of, need_of[:used], starts


@njit(cache=True)
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


@njit(cache=True)
def weigh(
    open_of: Int32s, clauses: Int32s, link_starts: Int64s, pinned: Bools, count: int
) -> tuple[Int32s, Bools]:
    """By open clause: how many links wait for it, and whether one waits for it alone."""
    weights, is_pinned = np.zeros(count, np.int32), np.zeros(count, np.bool_)
    for i in range(len(open_of)):
        q = open_of[i]
        if q >= 0:
            weights[q] += link_starts[clauses[i] + 1] - link_starts[clauses[i]]
            is_pinned[q] = is_pinned[q] or pinned[clauses[i]]
    return weights, is_pinned


@njit(cache=True)
def share_links(
    events: Int32s,
    clauses: Int32s,
    open_of: Int32s,
    share_starts: Int64s,
    shares: Int32s,
    links: int,
    count: int,
) -> tuple[Int64s, Int32s, Bools]:
    """By open clause: its shared links, numbered event by event; and which are done already."""
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


@njit(cache=True)
def doubled(flags: Bools) -> Bools:
    """The flags with as many again, off."""
    larger = np.zeros(2 * len(flags), np.bool_)
    for i in range(len(flags)):
        larger[i] = flags[i]
    return larger
