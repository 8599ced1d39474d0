"""The inner loops of matching: plain loops over arrays, compiled by numba.

The access index is a tree of four levels, each a run of the next, all in flat arrays:

    node    an access token: one code of a column, or a dyadic interval of codes
      run     clauses under the node whose next predicate (the filter) is on the same column
        group   those with the very same filter
          entry   a clause: two more predicates in place, its link, and where the rest stands

A batch is gone through node by node: the rows that carry the node's token come from sorting the
column once, so a clause's memory is read once a batch and not once an event. A run of equality
filters is a hash join of its groups with the rows: 2·groups + rows steps instead of their product.
Each kernel has a twin in plain Python in the tests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from caddis.arrays import Bools, Int32s, Int64s

NO_FILTER, OWN_FILTER, POINT_FILTER, RANGE_FILTER = range(4)
"""Kinds of runs: nothing more to test; the access interval itself; equality; another interval."""

INTERVAL, INTERVALS, TEXT, CONTAINS, LACKS = range(5)
"""Kinds of predicates; LACKS is a negated CONTAINS."""

RUN_KIND, RUN_COLUMN, RUN_GROUPS = range(3)
GROUP_LOW, GROUP_SPAN, GROUP_ENTRIES = range(3)
FIRST_TEST, SECOND_TEST, ENTRY_LINK, ENTRY_REST, ENTRY_WIDTH = 0, 3, 6, 7, 8
KIND, COLUMN, LOW, HIGH, FIRST, COUNT = range(6)
"""The columns of the tables of runs, groups, entries and predicates."""

REFUSED, ACCEPTED, UNDECIDED = range(3)


class IndexArrays(NamedTuple):
    """The access index. Where a row says where something starts, the next says where it ends."""

    node_base: Int64s
    """By column and level: the number of the level's first node; -1 if it has none."""
    node_runs: Int32s
    """By node: its first run."""
    runs: Int32s
    """Rows of kind, column, first group."""
    groups: Int32s
    """Rows of low, span, first entry."""
    entries: Int32s
    """Rows of two tests (column, or -1 for none; low; span), link, place in `rest` or -1."""
    rest: Int32s
    """A count, then that many predicate numbers; repeated."""
    predicates: Int32s
    """Rows of kind, column, low, high, first interval (or number of the text), intervals."""
    intervals: Int32s
    """Rows of low, high."""


class BatchArrays(NamedTuple):
    """The codes of a batch, a row a column; elements of array columns apart.

    The elements of row r of column c are `elements[e]` for e from
    `element_start[element_base[c] + r]` to `element_start[element_base[c] + r + 1]`;
    `element_base[c]` is -1 if the column is no array. Rows that satisfy pattern node p are
    `pattern_rows[pattern_start[p]:pattern_start[p + 1]]`.
    """

    codes: Int32s
    element_base: Int64s
    element_start: Int64s
    elements: Int32s
    pattern_start: Int64s
    pattern_rows: Int32s


@njit(cache=True)
def sort_by_code(
    codes: Int32s, rows: Int32s, limit: int
) -> tuple[Int32s, Int32s]:  # pragma: no cover
    """Codes below `limit` and their rows in ascending order of code: radix sort, 11 bits a pass."""
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
        if limit >> shift == 0:
            return codes, rows


@njit(cache=True)
def first_numbers(count: int) -> Int32s:  # pragma: no cover
    """0, 1, 2, ..."""
    numbers = np.empty(count, np.int32)
    for i in range(count):
        numbers[i] = i
    return numbers


@njit(cache=True)
def rows_of_column(batch: BatchArrays, column: int) -> tuple[Int32s, Int32s]:  # pragma: no cover
    """Codes of a column and the rows that carry them; for arrays, of its elements."""
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


@njit(cache=True)
def without_repeats(codes: Int32s, rows: Int32s) -> int:  # pragma: no cover
    """Drop in place what equals its predecessor (an element twice in one array); how many stay."""
    kept = 0
    for i in range(len(codes)):
        if kept == 0 or codes[i] != codes[kept - 1] or rows[i] != rows[kept - 1]:
            codes[kept] = codes[i]
            rows[kept] = rows[i]
            kept += 1
    return kept


@njit(cache=True)
def distinct_starts(codes: Int32s, count: int) -> Int64s:  # pragma: no cover
    """Where each distinct code begins in sorted codes, and the end."""
    starts = np.empty(count + 1, np.int64)
    found = 0
    for i in range(count):
        if i == 0 or codes[i] != codes[i - 1]:
            starts[found] = i
            found += 1
    starts[found] = count
    return starts[: found + 1]


@njit(cache=True, forceinline=True)
def within(code: int, low: int, span: int) -> bool:  # pragma: no cover
    """low <= code <= low + span, in one comparison."""
    return bool(np.uint32(code - low) <= np.uint32(span))


@njit(cache=True)
def enlarged(out: Int32s, used: int, more: int) -> Int32s:  # pragma: no cover
    """A larger copy of the buffer, with room for more rows."""
    larger = np.empty((2 * len(out) + more, 3), np.int32)
    for i in range(used):
        for j in range(3):
            larger[i, j] = out[i, j]
    return larger


@njit(cache=True)
def first_at_least(sorted_codes: Int32s, code: int) -> int:  # pragma: no cover
    """Where the first code that is not below `code` stands."""
    low, high = 0, len(sorted_codes)
    while low < high:
        middle = (low + high) >> 1
        if sorted_codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def filter_rows(
    kind: int,
    low: int,
    span: int,
    own: Int32s,
    values: Int32s,
    rows: Int32s,
    hits: Int32s,
) -> int:  # pragma: no cover
    """Copy to `hits` the rows that pass a filter; how many. `own` are the rows' access codes."""
    found = 0
    if kind == NO_FILTER:
        for i in range(len(rows)):
            hits[i] = rows[i]
        return len(rows)
    if kind == OWN_FILTER:
        for i in range(first_at_least(own, low), len(rows)):
            if own[i] > low + span:
                break
            hits[found] = rows[i]
            found += 1
        return found
    for i in range(len(rows)):
        hits[found] = rows[i]
        found += within(values[rows[i]], low, span)
    return found


@njit(cache=True)
def keep_passing(
    out: Int32s, begin: int, end: int, values: Int32s, low: int, span: int
) -> int:  # pragma: no cover
    """Of the pairs in out[begin:end], keep those whose row passes a test; where they end."""
    kept = begin
    for i in range(begin, end):
        row, entry = out[i, 0], out[i, 1]
        out[kept, 0] = row
        out[kept, 1] = entry
        kept += within(values[row], low, span)
    return kept


@njit(cache=True)
def try_entries(
    first: int,
    last: int,
    entries: Int32s,
    codes: Int32s,
    hits: Int32s,
    found: int,
    out: Int32s,
    used: int,
) -> tuple[Int32s, int]:  # pragma: no cover
    """Append (row, entry) for each hit that passes the entry's tests."""
    for entry in range(first, last):
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


@njit(cache=True)
def passes(entries: Int32s, entry: int, codes: Int32s, row: int) -> bool:  # pragma: no cover
    """Whether a row passes both tests of an entry."""
    for test in (FIRST_TEST, SECOND_TEST):
        column, low = entries[entry, test], entries[entry, test + 1]
        if column >= 0 and not within(codes[column, row], low, entries[entry, test + 2]):
            return False
    return True


@njit(cache=True)
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
) -> tuple[Int32s, int]:  # pragma: no cover
    """Hash join of equality filters with rows; `slots` holds a group by code, otherwise -1."""
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
    for group in range(first, last):
        slots[groups[group, GROUP_LOW]] = -1
    return out, used


@njit(cache=True)
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
) -> tuple[Int32s, int]:  # pragma: no cover
    """Append (row, entry) for all clauses under an access token, and the rows that carry it."""
    for run in range(first_run, last_run):
        kind, values = runs[run, RUN_KIND], codes[runs[run, RUN_COLUMN]]
        first, last = runs[run, RUN_GROUPS], runs[run + 1, RUN_GROUPS]
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


@njit(cache=True)
def has_nodes(node_base: Int64s, column: int) -> bool:  # pragma: no cover
    """Whether any clause is posted under a token of the column."""
    for level in range(node_base.shape[1]):
        if node_base[column, level] >= 0:
            return True
    return False


@njit(cache=True)
def visit_column(
    index: IndexArrays,
    batch: BatchArrays,
    column: int,
    slots: Int32s,
    hits: Int32s,
    out: Int32s,
    used: int,
) -> tuple[Int32s, int]:  # pragma: no cover
    """All access tokens of a column that occur in the batch."""
    node_runs, runs, groups, entries = index.node_runs, index.runs, index.groups, index.entries
    if not has_nodes(index.node_base, column):
        return out, used
    own, rows = rows_of_column(batch, column)
    own, rows = sort_by_code(own, rows, len(slots))
    starts = distinct_starts(own, without_repeats(own, rows))
    for level in range(index.node_base.shape[1]):
        base = index.node_base[column, level]
        i = 0
        while base >= 0 and i < len(starts) - 1:
            begin = starts[i]
            token = own[begin] >> level
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


@njit(cache=True)
def has_element(
    low: int, high: int, elements: Int32s, begin: int, end: int
) -> int:  # pragma: no cover
    """Whether an array contains a code of low..high: 1 yes, 0 no, -1 unknown for a null in it."""
    answer = 0
    for e in range(begin, end):
        if elements[e] == 0:
            answer = -1
        elif low <= elements[e] <= high:
            return 1
    return answer


@njit(cache=True)
def predicate_holds(
    predicate: Int32s,
    row: int,
    intervals: Int32s,
    codes: Int32s,
    element_base: Int64s,
    element_start: Int64s,
    elements: Int32s,
) -> int:  # pragma: no cover
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


@njit(cache=True)
def decide(
    index: IndexArrays, batch: BatchArrays, out: Int32s, used: int
) -> int:  # pragma: no cover
    """Turn (row, entry) in place into (row, link, undecided rest or -1), if the rest holds."""
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
                if holds != ACCEPTED:
                    answer = holds
                if holds == REFUSED:
                    break
        out[kept, 0] = row
        out[kept, 1] = entries[entry, ENTRY_LINK]
        out[kept, 2] = place if answer == UNDECIDED else -1
        kept += answer != REFUSED
    return kept


@njit(cache=True)
def match_batch(
    index: IndexArrays, batch: BatchArrays, most_codes: int, first_pattern: int, everything: int
) -> tuple[Int32s, int]:  # pragma: no cover
    """Rows of (row, link, undecided rest or -1) in no order, and how many pairs were looked at.

    Pattern node p has number `first_pattern` + p; the node `everything` holds what has no token.
    """
    count = batch.codes.shape[1]
    slots = np.empty(most_codes + 1, np.int32)
    for code in range(len(slots)):
        slots[code] = -1
    hits = np.empty(count + len(batch.elements) + 1, np.int32)
    out = np.empty((1024 + 8 * count, 3), np.int32)
    used = 0
    for column in range(batch.codes.shape[0]):
        out, used = visit_column(index, batch, column, slots, hits, out, used)
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


@njit(cache=True)
def in_row_order(
    found: Int32s, rows: int, several: Bools
) -> tuple[Int32s, Int32s]:  # pragma: no cover
    """Rows and links sorted by row; a link with `several` clauses once a row."""
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


@njit(cache=True)
def _each_once(
    rows: Int32s, links: Int32s, several: Bools
) -> tuple[Int32s, Int32s]:  # pragma: no cover
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
