"""Where each clause is posted, and what its posting holds: the loops behind `index.building`.

A clause's least likely predicate decides the tokens. The next likely predicate on codes becomes the
filter, the next two go into the entry itself, and the others into the rest: most candidates die
before a second cache miss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.compiling import kernel
from caddis.matching.tables import (
    COLUMN,
    CONTAINS,
    COUNT,
    ENTRY_LINK,
    ENTRY_REST,
    ENTRY_WIDTH,
    FIRST,
    HIGH,
    INTERVALS,
    KIND,
    LOW,
    OWN_FILTER,
    POINT_FILTER,
    RANGE_FILTER,
    TEXT,
)

EVERY_EVENT = -1
"""The access predicate of a clause that is tried on every event."""
NONE = -2
"""What stands where there is no predicate."""


class ClauseArrays(NamedTuple):
    """The clauses, with the least likely predicate of each first."""

    starts: Int64s
    members: Int32s
    owner: Int32s


@kernel
def ordered_members(starts: Int64s, members: Int32s, likelihood: Floats) -> Int32s:
    """The members with each clause's least likely predicate first."""
    # Insertion sort: clauses have a handful of predicates, and equal ones keep their order.
    ordered = members.copy()
    for clause in range(len(starts) - 1):
        for i in range(starts[clause] + 1, starts[clause + 1]):
            moving = ordered[i]
            j = i - 1
            while j >= starts[clause] and likelihood[ordered[j]] > likelihood[moving]:
                ordered[j + 1] = ordered[j]
                j -= 1
            ordered[j + 1] = moving
    return ordered


@kernel
def access_predicates(
    starts: Int64s, ordered: Int32s, predicates: Int32s, on_array: Bools
) -> Int32s:
    """The predicate that each clause is posted under: values before texts, else EVERY_EVENT.

    Only single elements of arrays are tokens: a row would carry a wider interval once for each of
    its elements in it.
    """
    access = np.full(len(starts) - 1, EVERY_EVENT, np.int32)
    for clause in range(len(access)):
        for i in range(starts[clause], starts[clause + 1]):
            predicate = ordered[i]
            kind = predicates[predicate, KIND]
            on_values = kind <= INTERVALS and not on_array[predicate]
            single = predicates[predicate, LOW] == predicates[predicate, HIGH]
            if on_values or (kind == CONTAINS and single):
                access[clause] = predicate
                break
            if kind == TEXT and access[clause] == EVERY_EVENT:
                access[clause] = predicate
    return access


@kernel(forceinline=True)
def covering_level(low: int, high: int) -> int:
    """The lowest level at which at most two dyadic intervals cover low..high."""
    level = 0
    while (high >> level) - (low >> level) > 1:
        level += 1
    return level


@kernel
def count_postings(access: Int32s, predicates: Int32s) -> int:
    """How many postings there are at most: two nodes cover an interval."""
    total = 0
    for predicate in access:
        several = predicate >= 0 and predicates[predicate, KIND] == INTERVALS
        total += 2 * predicates[predicate, COUNT] if several else 2
    return total


@kernel
def post_clauses(access: Int32s, predicates: Int32s, intervals: Int32s, posted: Int32s) -> int:
    """Fill `posted` with rows of (clause, low, high, level, token); level -1 without codes."""
    used = 0
    for clause in range(len(access)):
        predicate = access[clause]
        if predicate < 0 or predicates[predicate, KIND] == TEXT:
            posted[used, 0], posted[used, 3], posted[used, 4] = clause, -1, predicate
            used += 1
            continue
        low, high = predicates[predicate, LOW], predicates[predicate, HIGH]
        several = predicates[predicate, KIND] == INTERVALS
        # Each interval of a list is posted by itself, so that each of its values is a token.
        for i in range(predicates[predicate, COUNT] if several else 1):
            if several:
                place = predicates[predicate, FIRST] + i
                low, high = intervals[place, 0], intervals[place, 1]
            level = covering_level(low, high)
            for token in range(low >> level, (high >> level) + 1):
                posted[used, 0], posted[used, 1], posted[used, 2] = clause, low, high
                posted[used, 3], posted[used, 4] = level, token
                used += 1
    return used


@kernel
def next_inline(
    clause: int, clauses: ClauseArrays, predicates: Int32s, done: Int32s, single: bool
) -> int:
    """A clause's least likely predicate on codes that is not done yet; NONE if there is none.

    If `single`, one that asks for a single value is preferred: a run of those is a hash join.
    """
    first = NONE
    for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
        predicate = clauses.members[i]
        if is_one_of(predicate, done) or predicates[predicate, KIND] > INTERVALS:
            continue
        if not single or predicates[predicate, LOW] == predicates[predicate, HIGH]:
            return int(predicate)
        if first == NONE:
            first = int(predicate)
    return first


@kernel
def is_one_of(predicate: int, done: Int32s) -> bool:
    """Whether a predicate is in a short list."""
    for other in done:
        if predicate == other:
            return True
    return False


@kernel
def fill_rest(
    clause: int,
    clauses: ClauseArrays,
    predicates: Int32s,
    done: Int32s,
    rest: Int32s,
    used: int,
) -> int:
    """Write down the predicates that are still to be decided, and give where the rest ends.

    A predicate of several intervals is only done if it is the access predicate (the first):
    filter and entry hold no more than its hull.
    """
    place = used
    used += 1
    for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
        predicate = clauses.members[i]
        hull = predicates[predicate, KIND] == INTERVALS
        if predicate != done[0] and (hull or not is_one_of(predicate, done)):
            rest[used] = predicate
            used += 1
    # A rest without predicates takes no place.
    rest[place] = used - place - 1
    return used if used > place + 1 else place


@kernel
def fill_tests(
    clause: int, clauses: ClauseArrays, predicates: Int32s, done: Int32s, entry: Int32s
) -> None:
    """Put the next two predicates into an entry, and mark them as done."""
    for test in range(2):
        predicate = next_inline(clause, clauses, predicates, done, False)
        if predicate == NONE:
            return
        done[2 + test] = predicate
        entry[3 * test] = predicates[predicate, COLUMN]
        entry[3 * test + 1] = predicates[predicate, LOW]
        entry[3 * test + 2] = predicates[predicate, HIGH] - predicates[predicate, LOW]


@kernel
def fill_postings(
    posted: Int32s,
    access: Int32s,
    clauses: ClauseArrays,
    predicates: Int32s,
    rest: Int32s,
) -> tuple[Int32s, Int32s, int]:
    """Filters (kind, column, low, span) and entries, a row for each posting; the rest's length."""
    filters = np.zeros((len(posted), 4), np.int32)
    entries = np.full((len(posted), ENTRY_WIDTH), -1, np.int32)
    # What is done: the access predicate, the filter and the two tests of the entry.
    done = np.empty(4, np.int32)
    used = 0
    for p in range(len(posted)):
        clause, own = posted[p, 0], posted[p, 3] > 0
        done[:] = NONE
        done[0] = access[clause]
        # A range is posted under wider nodes: its own interval has to be the filter.
        if own:
            filters[p, 0], filters[p, 1] = OWN_FILTER, predicates[done[0], COLUMN]
            filters[p, 2], filters[p, 3] = posted[p, 1], posted[p, 2] - posted[p, 1]
        else:
            done[1] = next_inline(clause, clauses, predicates, done, True)
        if done[1] != NONE:
            low, high = predicates[done[1], LOW], predicates[done[1], HIGH]
            filters[p, 0] = POINT_FILTER if low == high else RANGE_FILTER
            filters[p, 1], filters[p, 2] = predicates[done[1], COLUMN], low
            filters[p, 3] = high - low
        fill_tests(clause, clauses, predicates, done, entries[p])
        entries[p, ENTRY_LINK] = clauses.owner[clause]
        end = fill_rest(clause, clauses, predicates, done, rest, used)
        if end > used:
            entries[p, ENTRY_REST] = used
        used = end
    return filters, entries, used
