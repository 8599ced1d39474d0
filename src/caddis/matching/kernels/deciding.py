"""The rows of a batch by their codes, and from (row, entry) pairs to matches.

A column is radix-sorted once a batch; the rows of a token, or of a dyadic interval of codes, are
then one stretch of the result. `decide` tests the predicates that an entry has no room for, and
`in_row_order` sorts what is left by row.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s
from caddis.compiling import kernel
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


@kernel
def sort_by_code(codes: Int32s, rows: Int32s, limit: int) -> tuple[Int32s, Int32s]:
    """Sort codes below `limit`, and their rows with them: a stable radix sort, 11 bits a pass.

    The counters of a pass (2,048 of 8 bytes) fit the first-level cache, and two passes do for four
    million codes.
    """
    count = len(codes)
    shift = 0
    while True:
        starts = np.zeros(2049, np.int64)
        for i in range(count):
            starts[((codes[i] >> shift) & 2047) + 1] += 1
        for digit in range(2048):
            starts[digit + 1] += starts[digit]
        next_codes, next_rows = np.empty(count, np.int32), np.empty(count, np.int32)
        for i in range(count):
            digit = (codes[i] >> shift) & 2047
            place = starts[digit]
            starts[digit] = place + 1
            next_codes[place] = codes[i]
            next_rows[place] = rows[i]
        codes, rows = next_codes, next_rows
        shift += 11
        # All higher digits are zero.
        if limit >> shift == 0:
            return codes, rows


@kernel
def first_numbers(count: int) -> Int32s:
    """The numbers 0, 1, 2, ..."""
    numbers = np.empty(count, np.int32)
    for i in range(count):
        numbers[i] = i
    return numbers


@kernel
def rows_of_column(batch: BatchArrays, column: int) -> tuple[Int32s, Int32s]:
    """The codes of a column, or of an array's elements, and the rows that carry them."""
    base, count = batch.element_base[column], batch.codes.shape[1]
    if base < 0:
        return batch.codes[column], first_numbers(count)
    first = batch.element_start[base]
    codes = batch.elements[first : batch.element_start[base + count]]
    rows = np.empty(len(codes), np.int32)
    for row in range(count):
        for e in range(batch.element_start[base + row], batch.element_start[base + row + 1]):
            rows[e - first] = row
    return codes, rows


@kernel
def without_repeats(codes: Int32s, rows: Int32s) -> int:
    """Drop what equals its predecessor (an element twice in one array); gives how many stay."""
    kept = 0
    for i in range(len(codes)):
        if kept == 0 or codes[i] != codes[kept - 1] or rows[i] != rows[kept - 1]:
            codes[kept] = codes[i]
            rows[kept] = rows[i]
            kept += 1
    return kept


@kernel
def distinct_starts(codes: Int32s, count: int) -> Int64s:
    """Where each distinct code begins in sorted codes, and the end."""
    starts = np.empty(count + 1, np.int64)
    found = 0
    for i in range(count):
        if i == 0 or codes[i] != codes[i - 1]:
            starts[found] = i
            found += 1
    starts[found] = count
    return starts[: found + 1]


@kernel
def first_at_least(sorted_codes: Int32s, code: int) -> int:
    """Where the first code that is not below `code` stands."""
    low, high = 0, len(sorted_codes)
    while low < high:
        middle = (low + high) >> 1
        if sorted_codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


REFUSED, ACCEPTED, UNDECIDED = range(3)


@kernel
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


@kernel
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
def decide(index: IndexArrays, batch: BatchArrays, out: Int32s, used: int) -> int:
    """Turn (row, entry) in place into (row, link, undecided rest or -1), if the rest holds."""
    # Pairs overwrite those before them: what is kept never gets ahead of what is read.
    entries, rest, predicates = index.entries, index.rest, index.predicates
    intervals, codes = index.intervals, batch.codes
    base, starts, elements = batch.element_base, batch.element_start, batch.elements
    kept = 0
    for i in range(used):
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


@kernel
def in_row_order(found: Int32s, rows: int, several: Bools) -> tuple[Int32s, Int32s]:
    """Rows and links sorted by row; a link with `several` clauses once a row."""
    # A counting sort: there are as many keys as rows, and pairs of a row keep their order.
    starts = np.zeros(rows + 1, np.int64)
    for i in range(len(found)):
        starts[found[i, 0] + 1] += 1
    for row in range(rows):
        starts[row + 1] += starts[row]
    links = np.empty(len(found), np.int32)
    sorted_rows = np.empty(len(found), np.int32)
    for i in range(len(found)):
        place = starts[found[i, 0]]
        starts[found[i, 0]] = place + 1
        sorted_rows[place] = found[i, 0]
        links[place] = found[i, 1]
    if len(several) == 0:
        return sorted_rows, links
    return _each_once(sorted_rows, links, several)


@kernel
def _each_once(rows: Int32s, links: Int32s, several: Bools) -> tuple[Int32s, Int32s]:
    # `seen` is stamped with the last row of each link, so that it is never cleared.
    seen = np.empty(len(several), np.int32)
    for link in range(len(seen)):
        seen[link] = -1
    kept = 0
    for i in range(len(rows)):
        link = links[i]
        if several[link]:
            if seen[link] == rows[i]:
                continue
            seen[link] = rows[i]
        rows[kept] = rows[i]
        links[kept] = link
        kept += 1
    return rows[:kept], links[:kept]
