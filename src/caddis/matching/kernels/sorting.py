"""The rows of a batch by their codes, and what was found by its rows.

A column is radix-sorted once a batch; the rows of a token, or of a dyadic interval of codes, are
then one stretch of the result. A code and the row that carries it are one number,
`code << 32 | row`: they are moved together, and a row that carries a code twice shows as a repeat.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s
from caddis.compiling import inner_kernel, kernel
from caddis.matching.kernels.layout import BatchArrays, Workspace

DIGITS = 2048
"""The counters of a pass (8 bytes each) fit the first-level cache, and two passes do for four
million codes.
"""


def workspace(rows: int, elements: int, most_codes: int) -> Workspace:
    """Memory to match a batch of this many rows and elements of arrays."""
    # A column of arrays may have more elements than the batch has rows, each a hit of its own.
    most = max(rows, elements) + 1
    slots = np.full(most_codes + 1, -1, np.int32)
    carried, spare, starts = (np.empty(most, np.int64) for _ in range(3))
    hits, left = (np.empty(most, np.int32) for _ in range(2))
    return Workspace(carried, spare, np.empty(DIGITS + 1, np.int64), starts, slots, hits, left)


@inner_kernel
def carried_codes(batch: BatchArrays, column: int, carried: Int64s) -> int:
    """Write down the codes of a column, or of an array's elements, and the rows that carry them.

    Gives how many there are.
    """
    base, count = batch.element_base[column], batch.codes.shape[1]
    used = 0
    for row in range(count):
        if base < 0:
            carried[row] = np.int64(batch.codes[column, row]) << 32 | row
            continue
        for e in range(batch.element_start[base + row], batch.element_start[base + row + 1]):
            carried[used] = np.int64(batch.elements[e]) << 32 | row
            used += 1
    return count if base < 0 else used


@inner_kernel
def sorted_by_code(
    carried: Int64s, count: int, limit: int, spare: Int64s, digits: Int64s
) -> Int64s:
    """Sort by codes, which are below `limit`: a stable radix sort, 11 bits a pass.

    Gives `carried` or `spare`, whichever holds the result; `digits` has room for the counters.
    """
    shift = 32
    # All higher digits are zero.
    while limit >> (shift - 32) != 0:
        for digit in range(DIGITS + 1):
            digits[digit] = 0
        for i in range(count):
            digits[((carried[i] >> shift) & (DIGITS - 1)) + 1] += 1
        for digit in range(DIGITS):
            digits[digit + 1] += digits[digit]
        for i in range(count):
            digit = (carried[i] >> shift) & (DIGITS - 1)
            spare[digits[digit]] = carried[i]
            digits[digit] += 1
        carried, spare = spare, carried
        shift += 11
    return carried


@inner_kernel
def distinct_starts(carried: Int64s, count: int, starts: Int64s) -> int:
    """Note where each distinct code begins in sorted ones, and the end; gives how many there are.

    What equals its predecessor (an element twice in one array) is dropped.
    """
    kept = found = 0
    for i in range(count):
        if i > 0 and carried[i] == carried[kept - 1]:
            continue
        if kept == 0 or carried[i] >> 32 != carried[kept - 1] >> 32:
            starts[found] = kept
            found += 1
        carried[kept] = carried[i]
        kept += 1
    starts[found] = kept
    return found


def in_row_order(found: Int32s, rows: int, several: Bools) -> tuple[Int32s, Int32s]:
    """Rows and links of rows of (row, link, ...) sorted by row; pairs of a row keep their order.

    several: for each link whether it has several clauses, so that a row may be found with it
        several times, of which one is kept; empty if no link has.
    """
    starts = np.zeros(rows + 1, np.int64)
    by_row, links = np.empty(len(found), np.int32), np.empty(len(found), np.int32)
    sort_by_row(found, starts, by_row, links)
    if len(several) == 0:
        return by_row, links
    kept = drop_repeats(by_row, links, several, np.full(len(several), -1, np.int32))
    return by_row[:kept], links[:kept]


@kernel
def sort_by_row(found: Int32s, starts: Int64s, rows: Int32s, links: Int32s) -> None:
    """Fill in rows and links, sorted by row; `starts` are zeros, one more than there are rows."""
    # A counting sort: there are as many keys as rows, and pairs of a row keep their order.
    for i in range(len(found)):
        starts[found[i, 0] + 1] += 1
    for row in range(len(starts) - 1):
        starts[row + 1] += starts[row]
    for i in range(len(found)):
        row = found[i, 0]
        rows[starts[row]], links[starts[row]] = row, found[i, 1]
        starts[row] += 1


@kernel
def drop_repeats(rows: Int32s, links: Int32s, several: Bools, seen: Int32s) -> int:
    """Keep each link with several clauses once a row, in place; gives how many pairs stay.

    seen: the last row of each link, so that it is never cleared; -1 at first.
    """
    kept = 0
    for i in range(len(rows)):
        row, link = rows[i], links[i]
        if several[link]:
            if seen[link] == row:
                continue
            seen[link] = row
        rows[kept], links[kept] = row, link
        kept += 1
    return kept
