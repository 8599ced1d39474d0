"""From (row, entry) pairs to matches: the predicates that an entry has no room for."""

from __future__ import annotations

from caddis.arrays import Int32s, Int64s
from caddis.compiling import inner_kernel, kernel
from caddis.matching.kernels.layout import BatchArrays, IndexArrays
from caddis.matching.tables import (
    COLUMN,
    CONTAINS,
    COUNT,
    ENTRY_LINK,
    ENTRY_REST,
    FIRST,
    HIGH,
    INTERVALS,
    KIND,
    LACKS,
    LOW,
    TEXT,
)

REFUSED, ACCEPTED, UNDECIDED = range(3)


@inner_kernel
def has_element(low: int, high: int, elements: Int32s, begin: int, end: int) -> int:
    """Whether an array contains a code of low..high: 1 yes, 0 no, -1 unknown for a null in it."""
    answer = 0
    for e in range(begin, end):
        # A null may be the element that is looked for: LACKS is only true if none is null.
        if elements[e] == 0:
            answer = -1
        elif low <= elements[e] <= high:
            return 1
    return answer


@inner_kernel
def predicate_holds(
    predicate: Int32s,
    row: int,
    intervals: Int32s,
    codes: Int32s,
    element_base: Int64s,
    element_start: Int64s,
    elements: Int32s,
) -> int:
    """REFUSED, ACCEPTED, or UNDECIDED for a text that has to be looked at."""
    kind, column = predicate[KIND], predicate[COLUMN]
    low, high, first = predicate[LOW], predicate[HIGH], predicate[FIRST]
    code = codes[column, row]
    if kind in (CONTAINS, LACKS):
        if code == 0:
            return REFUSED
        base = element_base[column] + row
        found = has_element(low, high, elements, element_start[base], element_start[base + 1])
        return ACCEPTED if found == (1 if kind == CONTAINS else 0) else REFUSED
    # The hull of all intervals comes first: most codes that are refused lie outside of it.
    if code < low or code > high:
        return REFUSED
    if kind == TEXT:
        return UNDECIDED
    if kind == INTERVALS:
        for i in range(first, first + predicate[COUNT]):
            if intervals[i, 0] <= code <= intervals[i, 1]:
                return ACCEPTED
        return REFUSED
    return ACCEPTED


@kernel
def decide(index: IndexArrays, batch: BatchArrays, out: Int32s) -> int:
    """Turn (row, entry) in place into (row, link, undecided rest or -1), if the rest holds."""
    # Pairs overwrite those before them: what is kept never gets ahead of what is read.
    entries, rest, predicates = index.entries, index.rest, index.predicates
    intervals, codes = index.intervals, batch.codes
    base, starts, elements = batch.element_base, batch.element_start, batch.elements
    kept = 0
    for i in range(len(out)):
        row, entry = out[i, 0], out[i, 1]
        place = entries[entry, ENTRY_REST]
        answer = ACCEPTED
        if place >= 0:
            for r in range(place + 1, place + 1 + rest[place]):
                holds = predicate_holds(
                    predicates[rest[r]], row, intervals, codes, base, starts, elements
                )
                # An undecided text does not end the loop: a cheap predicate may still refuse.
                if holds != ACCEPTED:
                    answer = holds
                if holds == REFUSED:
                    break
        out[kept, 0] = row
        out[kept, 1] = entries[entry, ENTRY_LINK]
        out[kept, 2] = place if answer == UNDECIDED else -1
        kept += answer != REFUSED
    return kept
