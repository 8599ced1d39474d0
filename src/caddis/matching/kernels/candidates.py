"""Where rows and clauses meet: plain loops over the arrays of `layout`, compiled by numba.

A batch is gone through node by node: the rows that carry the node's token come from sorting the
column once, so a clause's memory is read once a batch and not once an event. A run of equality
filters is a hash join of its groups with the rows: 2·groups + rows steps instead of their product.

What is found goes into a buffer of fixed size. When that is full the match stops, and is done again
with fewer rows: so memory is bounded however many clauses the rows satisfy. Each kernel has a twin
in plain Python in the tests.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.compiling import inner_kernel, kernel
from caddis.matching.kernels.layout import BatchArrays, IndexArrays, Workspace
from caddis.matching.kernels.sorting import carried_codes, distinct_starts, sorted_by_code
from caddis.matching.tables import (
    FIRST_TEST,
    GROUP_ENTRIES,
    GROUP_LOW,
    GROUP_SPAN,
    NO_FILTER,
    OWN_FILTER,
    POINT_FILTER,
    RUN_COLUMN,
    RUN_GROUPS,
    RUN_KIND,
    SECOND_TEST,
)

USED, TRIED = range(2)
"""What a tally counts: rows of the buffer in use, and pairs of row and entry that were tried."""


@inner_kernel
def first_at_least(carried: Int64s, begin: int, end: int, code: int) -> int:
    """Where the first code that is not below `code` stands in carried[begin:end], which ascends."""
    while begin < end:
        middle = (begin + end) >> 1
        if carried[middle] >> 32 < code:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner_kernel
def filter_rows(
    kind: int,
    low: int,
    span: int,
    values: Int32s,
    carried: Int64s,
    begin: int,
    end: int,
    hits: Int32s,
) -> int:
    """Copy those rows of carried[begin:end] that pass a filter to `hits`; gives how many.

    values: the codes of the filter's column.
    """
    found = 0
    # Rows are sorted by their access codes, so those of an interval are one stretch.
    if kind == OWN_FILTER:
        for i in range(first_at_least(carried, begin, end, low), end):
            if carried[i] >> 32 > low + span:
                break
            hits[found] = np.int32(carried[i])
            found += 1
        return found
    # Every row is written and only counted if it passes: without a branch there is nothing for the
    # processor to mispredict. A code below `low` wraps around to a number larger than any span. And
    # a row without a sign need not be tested for being negative, that is, counted from the end.
    for i in range(begin, end):
        row = np.int32(carried[i])
        hits[found] = row
        found += int(
            (kind == NO_FILTER) | (np.uint32(values[np.uint32(row)] - low) <= np.uint32(span))
        )
    return found


@inner_kernel
def try_entries(
    first: int,
    last: int,
    entries: Int32s,
    codes: Int32s,
    hits: Int32s,
    found: int,
    out: Int32s,
    tally: Int64s,
) -> bool:
    """Append (row, entry) for each hit that passes an entry's tests, if there is room."""
    used = tally[USED]
    # Entries are the outer loop: an entry is read once, and the rows stay in the cache.
    for entry in range(first, last):
        # There is room for all hits beforehand, so that the loops below write without asking.
        if used + found > len(out):
            return False
        begin, column = used, entries[entry, FIRST_TEST]
        low, span = entries[entry, FIRST_TEST + 1], entries[entry, FIRST_TEST + 2]
        values = codes[max(column, 0)]
        for i in range(found):
            row = hits[i]
            out[used, 0] = row
            out[used, 1] = entry
            used += (column < 0) | (np.uint32(values[np.uint32(row)] - low) <= np.uint32(span))
        column = entries[entry, SECOND_TEST]
        if column >= 0 and used > begin:
            low, span = entries[entry, SECOND_TEST + 1], entries[entry, SECOND_TEST + 2]
            values = codes[column]
            end, used = used, begin
            for i in range(begin, end):
                row = out[i, 0]
                out[used, 0] = row
                used += np.uint32(values[np.uint32(row)] - low) <= np.uint32(span)
    tally[USED] = used
    tally[TRIED] += found * (last - first)
    return True


@inner_kernel
def join_points(
    first: int,
    last: int,
    groups: Int32s,
    entries: Int32s,
    values: Int32s,
    codes: Int32s,
    carried: Int64s,
    begin: int,
    end: int,
    slots: Int32s,
    hits: Int32s,
    out: Int32s,
    tally: Int64s,
) -> bool:
    """Hash join of equality filters with rows; gives whether there was room.

    slots: the group of each code; -1 before and after, so that it is cleared only where it was set.
    """
    # Literals are types of their own to numba, for which a kernel would be compiled once more.
    room, one = True, int(np.int64(1))
    for group in range(first, last):
        slots[groups[group, GROUP_LOW]] = group
    for i in range(begin, end):
        row = np.int32(carried[i])
        group = slots[values[row]]
        if group >= 0 and room:
            hits[0] = row
            room = try_entries(
                groups[group, GROUP_ENTRIES],
                groups[group + 1, GROUP_ENTRIES],
                entries,
                codes,
                hits,
                one,
                out,
                tally,
            )
    # Only what was set is cleared: the table has a slot for every code of any column.
    for group in range(first, last):
        slots[groups[group, GROUP_LOW]] = -1
    return room


@inner_kernel
def visit_node(
    first_run: int,
    last_run: int,
    runs: Int32s,
    groups: Int32s,
    entries: Int32s,
    codes: Int32s,
    carried: Int64s,
    begin: int,
    end: int,
    slots: Int32s,
    hits: Int32s,
    out: Int32s,
    tally: Int64s,
) -> bool:
    """Append what is found under an access token for the rows that carry it, if there is room."""
    for run in range(first_run, last_run):
        kind, values = runs[run, RUN_KIND], codes[runs[run, RUN_COLUMN]]
        first, last = runs[run, RUN_GROUPS], runs[run + 1, RUN_GROUPS]
        # A join sets and clears a slot for each group; with one or two that does not pay.
        if kind == POINT_FILTER and last - first > 2 and end - begin > 2:
            if not join_points(
                first,
                last,
                groups,
                entries,
                values,
                codes,
                carried,
                begin,
                end,
                slots,
                hits,
                out,
                tally,
            ):
                return False
            continue
        for group in range(first, last):
            low, span = groups[group, GROUP_LOW], groups[group, GROUP_SPAN]
            found = filter_rows(kind, low, span, values, carried, begin, end, hits)
            begins, ends = groups[group, GROUP_ENTRIES], groups[group + 1, GROUP_ENTRIES]
            if found > 0 and not try_entries(begins, ends, entries, codes, hits, found, out, tally):
                return False
    return True


@inner_kernel
def visit_column(
    column: int, index: IndexArrays, batch: BatchArrays, work: Workspace, out: Int32s, tally: Int64s
) -> bool:
    """Append what is found under all access tokens of a column, if there is room."""
    node_base, node_runs, carried, starts = (
        index.node_base,
        index.node_runs,
        work.carried,
        work.starts,
    )
    distinct = -1
    # Rows are sorted by code, so those of a dyadic interval are one stretch at every level.
    for level in range(node_base.shape[1]):
        base = node_base[column, level]
        if base < 0:
            continue
        if distinct < 0:
            count = carried_codes(batch, column, carried)
            carried = sorted_by_code(carried, count, len(work.slots), work.spare, work.digits)
            distinct = distinct_starts(carried, count, starts)
        i = 0
        while i < distinct:
            begin = starts[i]
            token = carried[begin] >> (32 + level)
            # The codes of a token lie side by side: go on to where the next token begins.
            while i < distinct and carried[starts[i]] >> (32 + level) == token:
                i += 1
            first, last = node_runs[base + token], node_runs[base + token + 1]
            if first < last and not visit_node(
                first,
                last,
                index.runs,
                index.groups,
                index.entries,
                batch.codes,
                carried,
                begin,
                starts[i],
                work.slots,
                work.hits,
                out,
                tally,
            ):
                return False
    return True


@kernel
def match_batch(
    index: IndexArrays,
    batch: BatchArrays,
    first_pattern: int,
    everything: int,
    work: Workspace,
    out: Int32s,
    tally: Int64s,
) -> bool:
    """Append (row, entry) for all that may match, in no order; gives whether there was room.

    Pattern node p has number `first_pattern` + p; the node `everything` holds what has no token.
    """
    for column in range(index.node_base.shape[0]):
        if not visit_column(column, index, batch, work, out, tally):
            return False
    carried = work.carried
    # The last turn is that of the node `everything`, whose rows are all there are.
    for p in range(len(batch.pattern_start)):
        node, count = everything, batch.codes.shape[1]
        if p < len(batch.pattern_start) - 1:
            node = first_pattern + p
            count = batch.pattern_start[p + 1] - batch.pattern_start[p]
        for i in range(count):
            carried[i] = i
            if node != everything:
                carried[i] = batch.pattern_rows[batch.pattern_start[p] + i]
        if not visit_node(
            index.node_runs[node],
            index.node_runs[node + 1],
            index.runs,
            index.groups,
            index.entries,
            batch.codes,
            carried,
            int(np.int64(0)),
            count,
            work.slots,
            work.hits,
            out,
            tally,
        ):
            return False
    return True
