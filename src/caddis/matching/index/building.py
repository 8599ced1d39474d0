"""Building the access index from packed clauses.

Each clause is posted under its least likely predicate: once for each single value of it, or under
the one or two dyadic intervals that cover a range (level l covers 2^l codes, and the smallest
level is taken at which two nodes suffice). The next likely predicates go into the posting itself.
Sorting the postings by node, filter column and filter gives the runs and groups of `kernels`.

How likely a predicate is true of an event is counted in a sample of events. Without one, a value is
taken to be as common among events as it is among clauses: if that is wrong, the token is common but
few clauses stand under it, so little is lost. Ranges are then judged by their share of the column's
codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from caddis.arrays import Bools, Floats, Int32s, Int64s, places_in_rows
from caddis.matching import tables
from caddis.matching.index.packing import PackedClauses
from caddis.matching.kernels import (
    BatchArrays,
    IndexArrays,
    access_predicates,
    fill_postings,
    ordered_members,
    post_clauses,
)

MOST_LEVELS = 32
"""Codes are below 2^32, so that no dyadic interval is wider."""


@dataclass(frozen=True, slots=True)
class AccessIndex:
    """The arrays of the index, and what is needed to find one's way in them."""

    arrays: IndexArrays
    most_codes: int
    patterns: Int32s
    """Predicates on texts that are access tokens, in the order of their nodes."""
    first_pattern: int
    everything: int


@dataclass(frozen=True, slots=True)
class Postings:
    """Where each clause is posted."""

    access: Int32s
    """The access predicate of each clause, or EVERY_EVENT."""
    ordered: Int32s
    """The clauses' members, the least likely first."""
    rows: Int32s
    """Rows of (clause, low, high, level, token); at level -1 the token is a text's predicate."""


def post(packed: PackedClauses, likelihood: Floats) -> Postings:
    """Choose each clause's access predicate, and the tokens that it comes to."""
    table = packed.predicates.table
    ordered = ordered_members(packed.starts, packed.members, likelihood)
    repeated = np.array([column.repeated for column in packed.columns], bool)
    access = np.empty(len(packed.owner), np.int32)
    on_array = repeated[table[:, tables.COLUMN]]
    access_predicates(packed.starts, ordered, table, on_array, access)
    rows = np.zeros((_most_postings(access, table), 5), np.int32)
    used = post_clauses(access, table, packed.predicates.intervals, rows)
    return Postings(access, ordered, rows[:used])


def _most_postings(access: Int32s, predicates: Int32s) -> int:
    """How many postings there are at most: two nodes cover an interval."""
    known = predicates[access[access >= 0]]
    several = known[known[:, tables.KIND] == tables.INTERVALS]
    return 2 * (len(access) - len(several) + int(several[:, tables.COUNT].sum()))


def build(packed: PackedClauses, likelihood: Floats) -> AccessIndex:
    """The access index of packed clauses, given how likely each predicate is."""
    postings = post(packed, likelihood)
    posted = postings.rows[:, 0]
    lengths = np.diff(packed.starts)[posted]
    rest = np.empty(int(lengths.sum()) + len(lengths), np.int32)
    filters = np.zeros((len(posted), 4), np.int32)
    entries = np.full((len(posted), tables.ENTRY_WIDTH), -1, np.int32)
    entries[:, tables.ENTRY_LINK] = packed.owner[posted]
    used = fill_postings(
        postings.rows,
        postings.access,
        packed.starts,
        postings.ordered,
        packed.predicates.table,
        filters,
        entries,
        rest,
    )
    nodes = _Nodes.number(packed, postings.access, postings.rows)
    return _assemble(packed, nodes, filters, entries, rest[:used].copy())


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The numbers of the access tokens."""

    of_posting: Int64s
    base: Int64s
    patterns: Int32s
    first_pattern: int

    @staticmethod
    def number(packed: PackedClauses, access: Int32s, posted: Int32s) -> _Nodes:
        level, token = posted[:, 3].astype(np.int64), posted[:, 4].astype(np.int64)
        coded = level >= 0
        columns = len(packed.columns)
        column = np.full(len(posted), columns, np.int64)
        column[coded] = packed.predicates.table[access[posted[coded, 0]], tables.COLUMN]
        used = np.zeros((columns, MOST_LEVELS), bool)
        used[column[coded], level[coded]] = True
        base, first_pattern = _level_bases(packed, used)
        nodes = np.empty(len(posted), np.int64)
        nodes[coded] = base[column[coded], level[coded]] + token[coded]
        patterns = np.unique(token[~coded & (token >= 0)]).astype(np.int32)
        by_text = ~coded & (token >= 0)
        nodes[by_text] = first_pattern + np.searchsorted(patterns, token[by_text])
        nodes[~coded & (token < 0)] = first_pattern + len(patterns)
        return _Nodes(nodes, base, patterns, first_pattern)

    @property
    def everything(self) -> int:
        return self.first_pattern + len(self.patterns)


def _level_bases(packed: PackedClauses, used: Bools) -> tuple[Int64s, int]:
    base = np.full(used.shape, -1, np.int64)
    total = 0
    for column, level in zip(*np.nonzero(used), strict=True):
        base[column, level] = total
        total += ((packed.boundaries[column].codes - 1) >> level) + 1
    return base, total


def _assemble(
    packed: PackedClauses, nodes: _Nodes, filters: Int32s, entries: Int32s, rest: Int32s
) -> AccessIndex:
    """Sort the postings, and note where nodes, runs and groups begin."""
    # A run is a node, a kind of filter (2 bits) and the filter's column (16 bits), in one number.
    run_key = (nodes.of_posting << 18) | (filters[:, 0].astype(np.int64) << 16) | filters[:, 1]
    group_key = (filters[:, 2].astype(np.int64) << 32) | filters[:, 3]
    order = np.lexsort((group_key, run_key))
    run_key, group_key, filters = run_key[order], group_key[order], filters[order]
    new_run = np.ones(len(order), bool)
    new_run[1:] = run_key[1:] != run_key[:-1]
    new_group = new_run.copy()
    new_group[1:] |= group_key[1:] != group_key[:-1]
    runs, groups = np.flatnonzero(new_run), np.flatnonzero(new_group)
    arrays = IndexArrays(
        node_base=nodes.base,
        node_runs=_starts(run_key[runs] >> 18, nodes.everything + 1),
        runs=_table(filters[runs, 0], filters[runs, 1], np.searchsorted(groups, runs), len(groups)),
        groups=_table(filters[groups, 2], filters[groups, 3], groups, len(order)),
        entries=entries[order],
        rest=rest,
        predicates=packed.predicates.table,
        intervals=packed.predicates.intervals,
    )
    for array in arrays:
        array.flags.writeable = False
    most_codes = max((boundaries.codes for boundaries in packed.boundaries), default=1)
    return AccessIndex(arrays, most_codes, nodes.patterns, nodes.first_pattern, nodes.everything)


def _starts(owners: Int64s, count: int) -> Int32s:
    """Where each of `count` owners begins among sorted owners, and the end."""
    return np.searchsorted(owners, np.arange(count + 1)).astype(np.int32)


def _table(first: Int32s, second: Int32s, starts: Int64s, end: int) -> Int32s:
    """Rows of two values and a start, with one more row for the end."""
    rows = np.zeros((len(starts) + 1, 3), np.int32)
    rows[:-1, 0], rows[:-1, 1], rows[:-1, 2] = first, second, starts
    rows[-1, 2] = end
    return rows


Share = Callable[[Int32s, Int32s], Floats]
"""Says how likely a value's code lies between low and high, for arrays of both."""


LEAST_RANGE = 0.1
"""Without a sample, no range is taken to be rarer: nobody knows how events lie among its codes."""


def likelihood_by_clauses(packed: PackedClauses) -> Floats:
    """Each predicate's likelihood, judged by the clauses alone."""
    table = packed.predicates.table
    uses = np.bincount(packed.members, minlength=len(table)) / max(1, len(packed.owner))
    single = table[:, tables.LOW] == table[:, tables.HIGH]

    def estimate(column: int, mine: Int64s) -> Share:
        codes = packed.boundaries[column].codes
        asked = mine[single[mine]]
        weight = np.bincount(table[asked, tables.LOW], weights=uses[asked], minlength=codes)

        def share(low: Int32s, high: Int32s) -> Floats:
            width = (high - low + 1) / codes
            return np.where(low == high, weight[low], LEAST_RANGE + (1 - LEAST_RANGE) * width)

        return share

    return _estimates(packed, estimate)


def likelihood_by_sample(packed: PackedClauses, sample: BatchArrays) -> Floats:
    """Each predicate's likelihood, by counting in a batch of events."""
    rows = sample.codes.shape[1]

    def estimate(column: int, _: Int64s) -> Share:
        base, codes = sample.element_base[column], sample.codes[column]
        if base >= 0:
            ends = sample.element_start[[base, base + rows]]
            codes = sample.elements[ends[0] : ends[1]]
        counts = np.bincount(codes, minlength=packed.boundaries[column].codes)
        below = np.concatenate([[0.0], np.cumsum((counts + 0.01) / (rows + 1.0))])
        return lambda low, high: below[high + 1] - below[low]

    return _estimates(packed, estimate)


def _estimates(packed: PackedClauses, estimate: Callable[[int, Int64s], Share]) -> Floats:
    """Column by column, the share of each predicate's codes; 1 for what has none."""
    table = packed.predicates.table
    estimates = np.ones(len(table))
    for column in range(len(packed.columns)):
        mine = np.flatnonzero(table[:, tables.COLUMN] == column)
        share = estimate(column, mine)
        whole = mine[
            np.isin(table[mine, tables.KIND], (tables.INTERVAL, tables.CONTAINS))
            & (table[mine, tables.LOW] <= table[mine, tables.HIGH])
        ]
        estimates[whole] = share(table[whole, tables.LOW], table[whole, tables.HIGH])
        parts = mine[table[mine, tables.KIND] == tables.INTERVALS]
        if len(parts):
            estimates[parts] = _sum_of_intervals(packed, parts, share)
    return np.minimum(estimates, 1.0)


def _sum_of_intervals(packed: PackedClauses, several: Int64s, share: Share) -> Floats:
    first = packed.predicates.table[several, tables.FIRST].astype(np.int64)
    count = packed.predicates.table[several, tables.COUNT].astype(np.int64)
    pairs = packed.predicates.intervals[np.repeat(first, count) + places_in_rows(count)]
    return np.add.reduceat(share(pairs[:, 0], pairs[:, 1]), np.cumsum(count) - count)
