"""Where rows and clauses meet: plain loops over the arrays of `layout`, compiled by numba.

A batch is gone through node by node: the rows that carry the node's token come from sorting the
column once, so a clause's memory is read once a batch and not once an event. A run of equality
filters is a hash join of its groups with the rows: 2·groups + rows steps instead of their product.
Each kernel has a twin in plain Python in the tests.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.compiling import kernel
from caddis.matching.kernels.deciding import (
    decide,
    distinct_starts,
    first_at_least,
    first_numbers,
    rows_of_column,
    sort_by_code,
    without_repeats,
)
from caddis.matching.kernels.layout import BatchArrays, IndexArrays
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


@kernel(forceinline=True)
def within(code: int, low: int, span: int) -> bool:
    """low <= code <= low + span, in one comparison."""
    # A code below `low` wraps around to a number that is larger than any span.
    return bool(np.uint32(code - low) <= np.uint32(span))


@kernel
def enlarged(out: Int32s, used: int, more: int) -> Int32s:
    """Copy the buffer to a larger one, with room for more rows."""
    # Doubling keeps the cost of all copies together linear in what is found.
    larger = np.empty((2 * len(out) + more, 3), np.int32)
    for i in range(used):
        for j in range(3):
            larger[i, j] = out[i, j]
    return larger


@kernel
def filter_rows(
    kind: int,
    low: int,
    span: int,
    own: Int32s,
    values: Int32s,
    rows: Int32s,
    hits: Int32s,
) -> int:
    """Copy the rows that pass a filter to `hits`, and give how many they are.

    own: the rows' access codes, ascending.
    """
    found = 0
    if kind == NO_FILTER:
        for i in range(len(rows)):
            hits[i] = rows[i]
        return len(rows)
    # Rows are sorted by their access codes, so those of an interval are one stretch.
    if kind == OWN_FILTER:
        for i in range(first_at_least(own, low), len(rows)):
            if own[i] > low + span:
                break
            hits[found] = rows[i]
            found += 1
        return found
    # Every row is written and only counted if it passes: without a branch there is nothing for the
    # processor to mispredict. `hits` has room for all rows.
    for i in range(len(rows)):
        hits[found] = rows[i]
        found += within(values[rows[i]], low, span)
    return found


@kernel
def keep_passing(out: Int32s, begin: int, end: int, values: Int32s, low: int, span: int) -> int:
    """Keep the pairs in out[begin:end] whose row passes a test, and give where they end."""
    kept = begin
    for i in range(begin, end):
        row, entry = out[i, 0], out[i, 1]
        out[kept, 0] = row
        out[kept, 1] = entry
        kept += within(values[row], low, span)
    return kept


@kernel
def try_entries(
    first: int,
    last: int,
    entries: Int32s,
    codes: Int32s,
    hits: Int32s,
    found: int,
    out: Int32s,
    used: int,
) -> tuple[Int32s, int]:
    """Append (row, entry) for each hit that passes the entry's tests."""
    # Entries are the outer loop: an entry is read once, and the rows stay in the cache.
    for entry in range(first, last):
        # There is room for all hits beforehand, so that the loop below writes without asking.
        if used + found > len(out):
            out = enlarged(out, used, found)
        begin, column = used, entries[entry, FIRST_TEST]
        low, span = entries[entry, FIRST_TEST + 1], entries[entry, FIRST_TEST + 2]
        values = codes[max(column, 0)]
        for i in range(found):
            row = hits[i]
            out[used, 0] = row
            out[used, 1] = entry
            used += (column < 0) | within(values[row], low, span)
        column = entries[entry, SECOND_TEST]
        if column >= 0 and used > begin:
            low, span = entries[entry, SECOND_TEST + 1], entries[entry, SECOND_TEST + 2]
            used = keep_passing(out, begin, used, codes[column], low, span)
    return out, used


@kernel
def passes(entries: Int32s, entry: int, codes: Int32s, row: int) -> bool:
    """Whether a row passes both tests of an entry."""
    for test in (FIRST_TEST, SECOND_TEST):
        column, low = entries[entry, test], entries[entry, test + 1]
        if column >= 0 and not within(codes[column, row], low, entries[entry, test + 2]):
            return False
    return True


@kernel
def join_points(
    first: int,
    last: int,
    groups: Int32s,
    entries: Int32s,
    values: Int32s,
    codes: Int32s,
    rows: Int32s,
    slots: Int32s,
    out: Int32s,
    used: int,
) -> tuple[Int32s, int]:
    """Hash join of equality filters with rows.

    slots: the group of each code; -1 before and after, so that it is cleared only where it was set.
    """
    for group in range(first, last):
        slots[groups[group, GROUP_LOW]] = group
    for row in rows:
        group = slots[values[row]]
        if group < 0:
            continue
        begin, end = groups[group, GROUP_ENTRIES], groups[group + 1, GROUP_ENTRIES]
        if used + end - begin > len(out):
            out = enlarged(out, used, end - begin)
        for entry in range(begin, end):
            out[used, 0] = row
            out[used, 1] = entry
            used += passes(entries, entry, codes, row)
    # Only what was set is cleared: the table has a slot for every code of any column.
    for group in range(first, last):
        slots[groups[group, GROUP_LOW]] = -1
    return out, used


@kernel
def visit_node(
    first_run: int,
    last_run: int,
    runs: Int32s,
    groups: Int32s,
    entries: Int32s,
    codes: Int32s,
    own: Int32s,
    rows: Int32s,
    slots: Int32s,
    hits: Int32s,
    out: Int32s,
    used: int,
) -> tuple[Int32s, int]:
    """Append (row, entry) for all clauses under an access token, and the rows that carry it."""
    for run in range(first_run, last_run):
        kind, values = runs[run, RUN_KIND], codes[runs[run, RUN_COLUMN]]
        first, last = runs[run, RUN_GROUPS], runs[run + 1, RUN_GROUPS]
        # A join sets and clears a slot for each group; with one or two that does not pay.
        if kind == POINT_FILTER and last - first > 2 and len(rows) > 2:
            out, used = join_points(
                first, last, groups, entries, values, codes, rows, slots, out, used
            )
            continue
        for group in range(first, last):
            low, span = groups[group, GROUP_LOW], groups[group, GROUP_SPAN]
            found = filter_rows(kind, low, span, own, values, rows, hits)
            if found:
                begin, end = groups[group, GROUP_ENTRIES], groups[group + 1, GROUP_ENTRIES]
                out, used = try_entries(begin, end, entries, codes, hits, found, out, used)
    return out, used


@kernel
def has_nodes(node_base: Int64s, column: int) -> bool:
    """Whether any clause is posted under a token of the column."""
    for level in range(node_base.shape[1]):
        if node_base[column, level] >= 0:
            return True
    return False


@kernel
def visit_column(
    index: IndexArrays,
    batch: BatchArrays,
    column: int,
    slots: Int32s,
    hits: Int32s,
    out: Int32s,
    used: int,
) -> tuple[Int32s, int]:
    """Append (row, entry) for all access tokens of a column that occur in the batch."""
    node_runs, runs, groups, entries = index.node_runs, index.runs, index.groups, index.entries
    if not has_nodes(index.node_base, column):
        return out, used
    own, rows = rows_of_column(batch, column)
    own, rows = sort_by_code(own, rows, len(slots))
    starts = distinct_starts(own, without_repeats(own, rows))
    # Rows are sorted by code, so those of a dyadic interval are one stretch at every level.
    for level in range(index.node_base.shape[1]):
        base = index.node_base[column, level]
        i = 0
        while base >= 0 and i < len(starts) - 1:
            begin = starts[i]
            token = own[begin] >> level
            # The codes of a token lie side by side: go on to where the next token begins.
            while i < len(starts) - 1 and own[starts[i]] >> level == token:
                i += 1
            first, last = node_runs[base + token], node_runs[base + token + 1]
            if first < last:
                mine, end = own[begin : starts[i]], starts[i]
                out, used = visit_node(
                    first,
                    last,
                    runs,
                    groups,
                    entries,
                    batch.codes,
                    mine,
                    rows[begin:end],
                    slots,
                    hits,
                    out,
                    used,
                )
    return out, used


@kernel
def match_batch(
    index: IndexArrays, batch: BatchArrays, most_codes: int, first_pattern: int, everything: int
) -> tuple[Int32s, int]:
    """Rows of (row, link, undecided rest or -1) in no order, and how many pairs were looked at.

    Pattern node p has number `first_pattern` + p; the node `everything` holds what has no token.
    """
    count = batch.codes.shape[1]
    slots = np.empty(most_codes + 1, np.int32)
    for code in range(len(slots)):
        slots[code] = -1
    # A column of arrays may have more elements than the batch has rows, each a hit of its own. The
    # room for pairs is a guess: `enlarged` makes more.
    hits = np.empty(count + len(batch.elements) + 1, np.int32)
    out = np.empty((1024 + 8 * count, 3), np.int32)
    used = 0
    for column in range(batch.codes.shape[0]):
        out, used = visit_column(index, batch, column, slots, hits, out, used)
    # The last turn is that of the node `everything`, whose rows are all there are.
    for p in range(len(batch.pattern_start)):
        node, rows = everything, first_numbers(count)
        if p < len(batch.pattern_start) - 1:
            node = first_pattern + p
            rows = batch.pattern_rows[batch.pattern_start[p] : batch.pattern_start[p + 1]]
        out, used = visit_node(
            index.node_runs[node],
            index.node_runs[node + 1],
            index.runs,
            index.groups,
            index.entries,
            batch.codes,
            rows,
            rows,
            slots,
            hits,
            out,
            used,
        )
    return out[: decide(index, batch, out, used)], used
