"""Whether any clause can be true of events, judged by the ranges of their columns alone.

A file says of a group of its rows where each column's values lie: between its lowest and its
highest value, with nulls among them or not. In codes that is an interval, and code 0 if there are
nulls. A clause is ruled out if one of the predicates in its posting accepts none of these codes. If
all clauses are ruled out, the rows need not be read.

The postings under a column's tokens lie side by side, level by level, so that only those are looked
at which the range admits, and the first that is not ruled out ends the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s, Int64s
from caddis.language import Column, is_comparable, is_floating
from caddis.matching import tables
from caddis.matching.index.building import AccessIndex
from caddis.matching.index.encoding import ColumnCoder

AT_A_TIME = 1 << 16
"""How many postings are looked at together; the first ones already keep most row groups."""


@dataclass(frozen=True, slots=True)
class ValueRange:
    """What is known about a column's values in some events.

    ends: its lowest and its highest value, or anything lower and higher; empty if all are null.
    nulls: whether there may be nulls.
    """

    ends: pa.Array
    nulls: bool


@dataclass(frozen=True, slots=True)
class _Codes:
    """The codes that may occur in each column: from low to high, and 0 if there may be nulls."""

    low: Int64s
    high: Int64s
    nulls: Bools

    def admit(self, columns: Int32s, low: Int32s, span: Int32s) -> Bools:
        """Whether an interval of codes, of each of these columns, holds any code that may occur."""
        meets: Bools = (low <= self.high[columns]) & (low + span >= self.low[columns])
        admitted: Bools = meets | ((low == 0) & self.nulls[columns])
        return admitted


def may_hold(
    index: AccessIndex, coders: list[ColumnCoder], ranges: Mapping[Column, ValueRange]
) -> bool:
    """Whether any clause may be true of events whose columns have values in these ranges.

    ranges: a column that is missing may have any values.
    """
    codes = _codes(coders, ranges)
    return any(
        np.any(_admitted(index, codes, begin, min(begin + AT_A_TIME, last)))
        for first, last in _entries(index, codes)
        for begin in range(first, last, AT_A_TIME)
    )


def _codes(coders: list[ColumnCoder], ranges: Mapping[Column, ValueRange]) -> _Codes:
    # An entry without a test names column -1, and one more column stands for that.
    count = len(coders) + 1
    low, high = np.ones(count, np.int64), np.full(count, np.iinfo(np.int32).max, np.int64)
    nulls = np.ones(count, bool)
    for at, coder in enumerate(coders):
        known = ranges.get(coder.column)
        if known is None or coder.column.repeated or not is_comparable(coder.column.type):
            continue
        nulls[at] = known.nulls
        if len(known.ends) == 0:
            high[at] = 0
            continue
        # Codes of a column that is asked only for single values do not order the other values.
        low[at], highest = replace(coder, ordered=True).codes(known.ends).tolist()
        # Writers leave NaN out of their statistics, and to Spark it is above all other values.
        if not is_floating(coder.column.type):
            high[at] = highest
    return _Codes(low, high, nulls)


def _entries(index: AccessIndex, codes: _Codes) -> Iterator[tuple[int, int]]:
    """Stretches of entries under tokens that may occur; patterns and `everything` always may."""
    for first, last in _nodes(index, codes):
        runs = index.arrays.node_runs[[first, last]]
        groups = index.arrays.runs[runs, tables.RUN_GROUPS]
        begin, end = index.arrays.groups[groups, tables.GROUP_ENTRIES].tolist()
        yield begin, end


def _nodes(index: AccessIndex, codes: _Codes) -> Iterator[tuple[int, int]]:
    yield index.first_pattern, index.everything + 1
    bases = index.arrays.node_base
    ends = _ends_of_levels(index)
    for column, level in zip(*np.nonzero(bases >= 0), strict=True):
        base, end = int(bases[column, level]), ends[int(bases[column, level])]
        if codes.nulls[column]:
            yield base, base + 1
        low, high = int(codes.low[column]) >> level, int(codes.high[column]) >> level
        if low <= high:
            yield min(base + low, end), min(base + high + 1, end)


def _ends_of_levels(index: AccessIndex) -> dict[int, int]:
    """Where the nodes of a column's level end, by where they begin."""
    begins = np.sort(index.arrays.node_base[index.arrays.node_base >= 0])
    ends = np.append(begins, index.first_pattern)[1:]
    return dict(zip(begins.tolist(), ends.tolist(), strict=True))


def _admitted(index: AccessIndex, codes: _Codes, begin: int, end: int) -> Bools:
    """Which of these entries have a filter and tests that codes which may occur could pass."""
    arrays = index.arrays
    entries = arrays.entries[begin:end]
    group = np.searchsorted(arrays.groups[:, tables.GROUP_ENTRIES], np.arange(begin, end), "right")
    group -= 1
    run = np.searchsorted(arrays.runs[:, tables.RUN_GROUPS], group, "right") - 1
    admitted: Bools = arrays.runs[run, tables.RUN_KIND] == tables.NO_FILTER
    low, span = (arrays.groups[group, part] for part in (tables.GROUP_LOW, tables.GROUP_SPAN))
    admitted |= codes.admit(arrays.runs[run, tables.RUN_COLUMN], low, span)
    for test in (tables.FIRST_TEST, tables.SECOND_TEST):
        column, low, span = entries[:, test : test + 3].T
        admitted &= (column < 0) | codes.admit(column, low, span)
    return admitted
