"""Where each clause is posted, and what its posting holds: the loops behind `index.building`.

A clause's least likely predicate decides the tokens. The next likely predicate on codes becomes the
filter, the next two go into the entry itself, and the others into the rest: most candidates die
before a second cache miss.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.compiling import inner_kernel, kernel
from caddis.matching.tables import (
    COLUMN,
    CONTAINS,
    COUNT,
    ENTRY_REST,
    FIRST,
    FIRST_TEST,
    HIGH,
    INTERVALS,
    KIND,
    LOW,
    OWN_FILTER,
    POINT_FILTER,
    RANGE_FILTER,
    SECOND_TEST,
    TEXT,
)

EVERY_EVENT = -1
"""The access predicate of a clause that is tried on every event."""
NONE = -2
"""What stands where there is no predicate."""


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
    starts: Int64s, ordered: Int32s, predicates: Int32s, on_array: Bools, access: Int32s
) -> None:
    """The predicate that each clause is posted under: values before texts, else EVERY_EVENT.

    Only single elements of arrays are tokens: a row would carry a wider interval once for each of
    its elements in it.
    """
    for clause in range(len(access)):
        access[clause] = EVERY_EVENT
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
            # The lowest level at which at most two dyadic intervals cover it.
            level = 0
            while (high >> level) - (low >> level) > 1:
                level += 1
            for token in range(low >> level, (high >> level) + 1):
                posted[used, 0], posted[used, 1], posted[used, 2] = clause, low, high
                posted[used, 3], posted[used, 4] = level, token
                used += 1
    return used


@inner_kernel
def filter_predicate(begin: int, end: int, members: Int32s, predicates: Int32s, access: int) -> int:
    """A clause's least likely predicate on codes besides its access predicate; NONE without one.

    One that asks for a single value is preferred: a run of those is a hash join.
    """
    first = NONE
    for i in range(begin, end):
        predicate = members[i]
        if predicate == access or predicates[predicate, KIND] > INTERVALS:
            continue
        if predicates[predicate, LOW] == predicates[predicate, HIGH]:
            return int(predicate)
        if first == NONE:
            first = int(predicate)
    return first


@inner_kernel
def fill_entry(
    begin: int,
    end: int,
    members: Int32s,
    predicates: Int32s,
    access: int,
    chosen: int,
    entry: Int32s,
    rest: Int32s,
    used: int,
) -> int:
    """Put a clause's next two predicates on codes into an entry, and give where the rest ends.

    access, chosen: its access predicate and its filter, which are done. A predicate of several
        intervals is only done if it is the access predicate: filter and entry hold no more than its
        hull, so it stands in the rest, too.
    """
    place, test = used, FIRST_TEST
    used += 1
    for i in range(begin, end):
        predicate = members[i]
        kind, done = predicates[predicate, KIND], predicate == chosen
        if predicate == access:
            continue
        if kind <= INTERVALS and not done and test <= SECOND_TEST:
            low = predicates[predicate, LOW]
            entry[test], entry[test + 1] = predicates[predicate, COLUMN], low
            entry[test + 2] = predicates[predicate, HIGH] - low
            test, done = test + SECOND_TEST, True
        if kind == INTERVALS or not done:
            rest[used] = predicate
            used += 1
    rest[place] = used - place - 1
    # A rest without predicates takes no place.
    if rest[place] == 0:
        return place
    entry[ENTRY_REST] = place
    return used


@kernel
def fill_postings(
    posted: Int32s,
    access: Int32s,
    starts: Int64s,
    members: Int32s,
    predicates: Int32s,
    filters: Int32s,
    entries: Int32s,
    rest: Int32s,
) -> int:
    """Fill in filters (kind, column, low, span) and entries, and give the length of the rest."""
    # A literal is a type of its own to numba, for which `fill_entry` would be compiled once more.
    used = int(np.int64(0))
    for p in range(len(posted)):
        clause = posted[p, 0]
        begin, end, own, chosen = starts[clause], starts[clause + 1], access[clause], NONE
        # A range is posted under wider nodes: its own interval has to be the filter.
        if posted[p, 3] > 0:
            filters[p, 0], filters[p, 1] = OWN_FILTER, predicates[own, COLUMN]
            filters[p, 2], filters[p, 3] = posted[p, 1], posted[p, 2] - posted[p, 1]
        else:
            chosen = filter_predicate(begin, end, members, predicates, own)
        if chosen != NONE:
            low, span = predicates[chosen, LOW], predicates[chosen, HIGH] - predicates[chosen, LOW]
            filters[p, 0] = POINT_FILTER if span == 0 else RANGE_FILTER
            filters[p, 1], filters[p, 2], filters[p, 3] = predicates[chosen, COLUMN], low, span
        used = fill_entry(begin, end, members, predicates, own, chosen, entries[p], rest, used)
    return used
