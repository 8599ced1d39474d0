"""The arrays of the access index and of a batch in codes: what the kernels hand to each other.

The index is a tree of four levels, each a run of the next, all in flat arrays:

    node    an access token: one code of a column, or a dyadic interval of codes
      run     clauses under the node whose next predicate (the filter) is on the same column
        group   those with the very same filter
          entry   a clause: two more predicates in place, its link, and where the rest stands
"""

from __future__ import annotations

from typing import NamedTuple

from caddis.arrays import Int32s, Int64s


class IndexArrays(NamedTuple):
    """The access index. Where a row says where something starts, the next says where it ends."""

    node_base: Int64s
    """The number of the first node of each column and level; -1 if it has none."""
    node_runs: Int32s
    """The first run of each node."""
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


class Workspace(NamedTuple):
    """Memory that matching one batch needs besides what it finds."""

    carried: Int64s
    """The codes of a column and the rows that carry them: see `sorting`."""
    spare: Int64s
    """The same amount again, to sort into."""
    digits: Int64s
    """The counters of a pass of sorting."""
    starts: Int64s
    """Where each distinct code begins."""
    slots: Int32s
    """The group of each code during a join; -1 otherwise."""
    hits: Int32s
    """The rows that pass a filter."""
    left: Int32s
    """Those of them that pass the tests of an entry, too."""
