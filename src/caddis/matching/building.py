"""Building the access index from packed clauses.

Each clause is posted under its least likely predicate: once for each single value of it, or under
the one or two dyadic intervals that cover a range (level l covers 2^l codes, and the smallest
level is taken at which two nodes suffice). The next likely predicates go into the posting itself.
Sorting the postings by node, filter column and filter gives the runs and groups of `kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.matching.kernels import (
    COLUMN,
    CONTAINS,
    COUNT,
    ENTRY_LINK,
    ENTRY_REST,
    ENTRY_WIDTH,
    FIRST,
    HIGH,
    INTERVALS,
    KIND,
    LOW,
    OWN_FILTER,
    POINT_FILTER,
    RANGE_FILTER,
    TEXT,
    IndexArrays,
)
from caddis.matching.packing import PackedClauses

MOST_LEVELS = 32
EVERY_EVENT = -1
"""In place of an access predicate: the clause is tried on every event."""
NONE = -2
"""In place of any other predicate."""


class ClauseArrays(NamedTuple):
    """The clauses, with the least likely predicate of each first."""

    starts: Int64s
    members: Int32s
    owner: Int32s


@dataclass(frozen=True, slots=True)
class AccessIndex:
    """The arrays of the index, and what is needed to find one's way in them."""

    arrays: IndexArrays
    most_codes: int
    patterns: Int32s
    """Predicates on texts that are access tokens, in the order of their nodes."""
    first_pattern: int
    everything: int


@njit(cache=True)
def ordered_members(
    starts: Int64s, members: Int32s, likelihood: Floats
) -> Int32s:  # pragma: no cover
    """The members with each clause's least likely predicate first."""
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


@njit(cache=True)
def access_predicates(
    starts: Int64s, ordered: Int32s, predicates: Int32s, on_array: Bools
) -> Int32s:  # pragma: no cover
    """For each clause the predicate it is posted under: values before texts, else EVERY_EVENT.

    Of arrays only single elements are tokens: a row carries a wider interval once an element.
    """
    access = np.full(len(starts) - 1, EVERY_EVENT, np.int32)
    for clause in range(len(access)):
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
    return access


@njit(cache=True, forceinline=True)
def covering_level(low: int, high: int) -> int:  # pragma: no cover
    """The lowest level at which at most two dyadic intervals cover low..high."""
    level = 0
    while (high >> level) - (low >> level) > 1:
        level += 1
    return level


@njit(cache=True)
def count_postings(access: Int32s, predicates: Int32s) -> int:  # pragma: no cover
    """At most how many postings there are."""
    total = 0
    for predicate in access:
        several = predicate >= 0 and predicates[predicate, KIND] == INTERVALS
        total += 2 * predicates[predicate, COUNT] if several else 2
    return total


@njit(cache=True)
def post_clauses(
    access: Int32s, predicates: Int32s, intervals: Int32s, posted: Int32s
) -> int:  # pragma: no cover
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
        for i in range(predicates[predicate, COUNT] if several else 1):
            if several:
                place = predicates[predicate, FIRST] + i
                low, high = intervals[place, 0], intervals[place, 1]
            level = covering_level(low, high)
            for token in range(low >> level, (high >> level) + 1):
                posted[used, 0], posted[used, 1], posted[used, 2] = clause, low, high
                posted[used, 3], posted[used, 4] = level, token
                used += 1
    return used


@njit(cache=True)
def next_inline(
    clause: int, clauses: ClauseArrays, predicates: Int32s, done: Int32s, single: bool
) -> int:  # pragma: no cover
    """A clause's least likely predicate on codes that is not done yet; NONE if there is none.

    If `single`, one that asks for a single value is preferred: a run of those is a hash join.
    """
    first = NONE
    for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
        predicate = clauses.members[i]
        if is_one_of(predicate, done) or predicates[predicate, KIND] > INTERVALS:
            continue
        if not single or predicates[predicate, LOW] == predicates[predicate, HIGH]:
            return int(predicate)
        if first == NONE:
            first = int(predicate)
    return first


@njit(cache=True)
def is_one_of(predicate: int, done: Int32s) -> bool:  # pragma: no cover
    """Whether a predicate is in a short list."""
    for other in done:
        if predicate == other:
            return True
    return False


@njit(cache=True)
def fill_rest(
    clause: int,
    clauses: ClauseArrays,
    predicates: Int32s,
    done: Int32s,
    rest: Int32s,
    used: int,
) -> int:  # pragma: no cover
    """Write down what is not decided by the predicates that are done; where the rest ends.

    A predicate of several intervals is only done if it is the access predicate (the first):
    filter and entry hold no more than its hull.
    """
    place = used
    used += 1
    for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
        predicate = clauses.members[i]
        hull = predicates[predicate, KIND] == INTERVALS
        if predicate != done[0] and (hull or not is_one_of(predicate, done)):
            rest[used] = predicate
            used += 1
    rest[place] = used - place - 1
    return used if used > place + 1 else place


@njit(cache=True)
def fill_tests(
    clause: int, clauses: ClauseArrays, predicates: Int32s, done: Int32s, entry: Int32s
) -> None:  # pragma: no cover
    """Put the next two predicates into an entry; they are done then."""
    for test in range(2):
        predicate = next_inline(clause, clauses, predicates, done, False)
        if predicate == NONE:
            return
        done[2 + test] = predicate
        entry[3 * test] = predicates[predicate, COLUMN]
        entry[3 * test + 1] = predicates[predicate, LOW]
        entry[3 * test + 2] = predicates[predicate, HIGH] - predicates[predicate, LOW]


@njit(cache=True)
def fill_postings(
    posted: Int32s,
    access: Int32s,
    clauses: ClauseArrays,
    predicates: Int32s,
    rest: Int32s,
) -> tuple[Int32s, Int32s, int]:  # pragma: no cover
    """Filters (kind, column, low, span) and entries, one row a posting; the rest's length."""
    filters = np.zeros((len(posted), 4), np.int32)
    entries = np.full((len(posted), ENTRY_WIDTH), -1, np.int32)
    done = np.empty(4, np.int32)
    used = 0
    for p in range(len(posted)):
        clause, own = posted[p, 0], posted[p, 3] > 0
        done[:] = NONE
        done[0] = access[clause]
        if own:
            filters[p, 0], filters[p, 1] = OWN_FILTER, predicates[done[0], COLUMN]
            filters[p, 2], filters[p, 3] = posted[p, 1], posted[p, 2] - posted[p, 1]
        else:
            done[1] = next_inline(clause, clauses, predicates, done, True)
        if done[1] != NONE:
            low, high = predicates[done[1], LOW], predicates[done[1], HIGH]
            filters[p, 0] = POINT_FILTER if low == high else RANGE_FILTER
            filters[p, 1], filters[p, 2] = predicates[done[1], COLUMN], low
            filters[p, 3] = high - low
        fill_tests(clause, clauses, predicates, done, entries[p])
        entries[p, ENTRY_LINK] = clauses.owner[clause]
        end = fill_rest(clause, clauses, predicates, done, rest, used)
        if end > used:
            entries[p, ENTRY_REST] = used
        used = end
    return filters, entries, used


@dataclass(frozen=True, slots=True)
class Postings:
    """Where each clause is posted."""

    access: Int32s
    """By clause: its access predicate, or EVERY_EVENT."""
    ordered: Int32s
    """The clauses' members, the least likely first."""
    rows: Int32s
    """Rows of (clause, low, high, level, token); level -1: the token is a text's predicate."""


def post(packed: PackedClauses, likelihood: Floats) -> Postings:
    """Choose each clause's access predicate, and the tokens that it comes to."""
    table = packed.predicates.table
    ordered = ordered_members(packed.starts, packed.members, likelihood)
    repeated = np.array([column.repeated for column in packed.columns], bool)
    access = access_predicates(packed.starts, ordered, table, repeated[table[:, COLUMN]])
    rows = np.zeros((count_postings(access, table), 5), np.int32)
    used = post_clauses(access, table, packed.predicates.intervals, rows)
    return Postings(access, ordered, rows[:used])


def build(packed: PackedClauses, likelihood: Floats) -> AccessIndex:
    """The access index of packed clauses, given how likely each predicate is."""
    postings = post(packed, likelihood)
    clauses = ClauseArrays(packed.starts, postings.ordered, packed.owner)
    lengths = np.diff(packed.starts)[postings.rows[:, 0]]
    rest = np.empty(int(lengths.sum()) + len(lengths), np.int32)
    filters, entries, used = fill_postings(
        postings.rows, postings.access, clauses, packed.predicates.table, rest
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
        column[coded] = packed.predicates.table[access[posted[coded, 0]], COLUMN]
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
