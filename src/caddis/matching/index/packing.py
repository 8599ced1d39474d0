"""Clauses as arrays: predicates in codes, and what is left for models.

Every predicate becomes intervals of small integers, its column's *codes*. A column's boundaries are
all the keys that any predicate on it mentions, sorted: B[0..m). The code of a value says where it
lies among them, which is all that any predicate can ask:

    null        below B[0]    B[0]    between    B[1]    ...    B[m-1]    above B[m-1]
     0              1          2         3         4               2m          2m + 1

So equality, IN, ranges, prefixes and IS NULL are all intervals of codes, of any type, exactly.

What a clause asks of models is its *need*: a conjunction of literals, where concept c is literal 2c
and NOT c is 2c + 1. Clauses that ask for the same are kept once, however many links they lead to,
and so are their needs:

    clause ──of_clause──▶ need ──starts──▶ literals
    clause ──link_starts──▶ links

A clause that asks for a concept and its contrary is never true and does not get here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Bools, Int32s, Int64s, offsets_of
from caddis.language import (
    ABOVE_ALL,
    AFTER_KEY,
    BEFORE_KEY,
    BELOW_ALL,
    HIGHEST,
    LOWEST,
    ClauseTable,
    Column,
    ColumnSets,
    Concept,
    Contains,
    Keys,
    MatchesText,
    PredicateTable,
    ValueSet,
    ValueSets,
)
from caddis.matching import tables

EVERYTHING = ValueSet((LOWEST, HIGHEST))

Other = MatchesText | Contains
"""The predicates that are not sets of their column's values."""


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The sorted keys of a column; bytes keys as one Arrow binary array."""

    keys: Keys
    ordered: bool
    """Whether order matters: False if every predicate only asks for single values."""

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def codes(self) -> int:
        """How many codes there are, from 0 (null) up."""
        return 2 * len(self.keys) + 2


@dataclass(frozen=True, slots=True)
class PackedPredicates:
    """One row of `table` a predicate: kind, column, low, high, first, count.

    A predicate accepts the codes of its column from low to high; if its kind is INTERVALS, of
    those only the `count` pairs in `intervals` from `first` on. For TEXT, `first` is its number
    in `texts`.
    """

    table: Int32s
    intervals: Int32s
    texts: list[MatchesText]

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True, slots=True)
class PackedClauses:
    """A `ClauseTable` in codes: clause c is the AND of `members[starts[c]:starts[c + 1]]`."""

    columns: list[Column]
    boundaries: list[Boundaries]
    predicates: PackedPredicates
    owner: Int32s
    starts: Int64s
    members: Int32s


def pack(table: ClauseTable) -> PackedClauses:
    """Clauses without concepts, in codes."""
    packer = _Packer(len(table.predicates))
    others = _others_by_column(table.predicates)
    for part in table.predicates.sets:
        packer.add(part, others.pop(part.column, {}))
    for column, some in others.items():
        none = np.zeros(0, np.int64)
        packer.add(ColumnSets(column, none, ValueSets.of(column, [])), some)
    return PackedClauses(
        packer.columns,
        packer.boundaries,
        packer.packed(),
        table.owner,
        table.starts,
        table.members,
    )


def _others_by_column(table: PredicateTable) -> dict[Column, dict[int, Other]]:
    by_column: dict[Column, dict[int, Other]] = {}
    for number, predicate in table.others.items():
        assert not isinstance(predicate, Concept)
        by_column.setdefault(predicate.column, {})[number] = predicate
    return by_column


class _Packer:
    """Collects the predicates of one column after another."""

    def __init__(self, size: int) -> None:
        self.columns: list[Column] = []
        self.boundaries: list[Boundaries] = []
        self.texts: list[MatchesText] = []
        self.table = np.zeros((size, 6), np.int32)
        self.pool: list[Int32s] = []
        self.pooled = 0

    def add(self, part: ColumnSets, others: dict[int, Other]) -> None:
        """Add the predicates of a column; others: those that are no sets of its values."""
        column, numbers, sets = part.column, part.numbers, part.sets
        if others:
            numbers = np.append(numbers, list(others))
            tested = ValueSets.of(column, [_elements(one) for one in others.values()])
            sets = ValueSets.joined([sets, tested])
        boundaries, codes = _encode_cuts(sets)
        self.table[numbers, tables.COLUMN] = len(self.columns)
        self.columns.append(column)
        self.boundaries.append(boundaries)
        self._add_intervals(numbers, np.diff(sets.starts), codes, sets.nulls)
        self._mark_kinds(others, boundaries)

    def _add_intervals(self, numbers: Int64s, cuts: Int64s, codes: Int64s, nulls: Bools) -> None:
        """Intervals of codes from each predicate's cuts; null's code 0 joins an interval from 1."""
        ends = np.cumsum(cuts)
        has_values = cuts > 0
        first = np.where(has_values, np.append(codes, 0)[ends - cuts], 0)
        joins = nulls & has_values & (first == 1)
        alone = nulls & ~joins
        low, high = codes[0::2].copy(), codes[1::2] - 1
        low[((ends - cuts) // 2)[joins]] = 0
        place = ((ends - cuts) // 2)[alone]
        low, high = np.insert(low, place, 0), np.insert(high, place, 0)
        count = cuts // 2 + alone
        self._record(numbers, count, np.column_stack([low, high]).astype(np.int32))

    def _record(self, numbers: Int64s, count: Int64s, intervals: Int32s) -> None:
        ends = np.cumsum(count)
        several = count > 1
        self.table[numbers, tables.LOW] = intervals[ends - count, 0]
        self.table[numbers, tables.HIGH] = intervals[ends - 1, 1]
        self.table[numbers, tables.COUNT] = count
        self.table[numbers, tables.KIND] = np.where(several, tables.INTERVALS, tables.INTERVAL)
        kept = intervals[np.repeat(several, count)]
        first = np.cumsum(count * several) - count * several
        self.table[numbers, tables.FIRST] = np.where(several, self.pooled + first, 0)
        self.pool.append(kept)
        self.pooled += len(kept)

    def _mark_kinds(self, others: dict[int, Other], boundaries: Boundaries) -> None:
        for number, predicate in others.items():
            row = self.table[number]
            if isinstance(predicate, Contains):
                row[tables.KIND] = tables.LACKS if predicate.negated else tables.CONTAINS
                if predicate.elements.is_nothing:
                    row[[tables.LOW, tables.HIGH]] = 1, 0
            else:
                row[tables.KIND] = tables.TEXT
                row[[tables.LOW, tables.HIGH]] = 1, boundaries.codes - 1
                row[tables.FIRST] = len(self.texts)
                self.texts.append(predicate)

    def packed(self) -> PackedPredicates:
        intervals = np.concatenate([np.empty((0, 2), np.int32), *self.pool])
        return PackedPredicates(self.table, intervals, self.texts)


def _elements(predicate: Other) -> ValueSet:
    """The values that a predicate on elements asks for; all of them if it asks for none."""
    if isinstance(predicate, Contains) and predicate.elements.cuts:
        return predicate.elements
    return EVERYTHING


def _encode_cuts(sets: ValueSets) -> tuple[Boundaries, Int64s]:
    """The column's boundaries, and each cut as the first code above it."""
    keys, place = _sorted_keys(sets.keys)
    codes = np.where(sets.places == BELOW_ALL, 1, 2 * len(keys) + 2)
    at_key = (sets.places == BEFORE_KEY) | (sets.places == AFTER_KEY)
    codes[at_key] = 2 * place + 2 + sets.places[at_key]
    return Boundaries(keys, ordered=not _ask_for_single_values(sets, codes)), codes


def _ask_for_single_values(sets: ValueSets, codes: Int64s) -> bool:
    """Whether each set is a list of single values, or all but such a list."""
    some = np.flatnonzero(np.diff(sets.starts))
    first, last = sets.starts[some], sets.starts[some + 1] - 1
    inverted = (sets.places[first] == BELOW_ALL) & (sets.places[last] == ABOVE_ALL)
    inner = np.ones(len(codes), bool)
    inner[first[inverted]] = inner[last[inverted]] = False
    low, high = codes[inner][0::2], codes[inner][1::2]
    outer = (sets.places[inner] == BELOW_ALL) | (sets.places[inner] == ABOVE_ALL)
    return not outer.any() and bool(np.all((low % 2 == 0) & (high == low + 1)))


def _sorted_keys(keys: Keys) -> tuple[Keys, Int64s]:
    """The distinct keys, ascending, and the place of each among them."""
    if isinstance(keys, np.ndarray):
        unique, place = np.unique(keys, return_inverse=True)
        return unique, place
    encoded = keys.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return encoded.dictionary.take(pa.array(order)), rank[encoded.indices.to_numpy()]


NOTHING = -1
"""The need of a clause that holds as soon as its predicates do."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of a matcher's clauses, over the concepts that it calls."""

    concepts: list[Concept]
    """Concept c is `concepts[c]`; none of them is negated."""
    of_clause: Int32s
    """The need of each clause, or NOTHING."""
    link_starts: Int32s
    links: Int32s
    """Clause c leads to `links[link_starts[c]:link_starts[c + 1]]`."""
    starts: Int32s
    literals: Int32s
    """Need n asks for `literals[starts[n]:starts[n + 1]]`, ascending."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def arrays(self) -> tuple[Int32s, ...]:
        """All arrays, in the order of the fields."""
        return self.of_clause, self.link_starts, self.links, self.starts, self.literals


def split_needs(table: ClauseTable) -> tuple[ClauseTable, Needs | None]:
    """The clauses without their concepts, and what those concepts were.

    If there are any, equal clauses are joined, and each is its own owner: clause c belongs to c.
    """
    is_concept = np.zeros(len(table.predicates), bool)
    is_concept[[at for at, one in table.predicates.others.items() if isinstance(one, Concept)]] = 1
    if not np.any(is_concept):
        return table, None
    concepts, literal_of = _numbered(table.predicates)
    cheap_of = (np.cumsum(~is_concept) - 1).tolist()
    # Python's own small sets and tuples are several times as quick here as arrays of two or three.
    clauses: dict[tuple[int, ...], int] = {}
    needs: dict[tuple[int, ...], int] = {}
    owners: list[set[int]] = []
    of_clause: list[int] = []
    members, starts = table.members.tolist(), table.starts.tolist()
    for link, begin, end in zip(table.owner.tolist(), starts[:-1], starts[1:], strict=True):
        asked = sorted({literal_of[one] for one in members[begin:end] if literal_of[one] >= 0})
        if _contradicts(asked):
            continue
        need = needs.setdefault(tuple(asked), len(needs)) if asked else NOTHING
        cheap = sorted(cheap_of[one] for one in members[begin:end] if literal_of[one] < 0)
        clause = clauses.setdefault((need, *cheap), len(clauses))
        if clause == len(owners):
            owners.append(set())
            of_clause.append(need)
        owners[clause].add(link)
    first, flat = _flat([key[1:] for key in clauses])
    joined = replace(
        table,
        predicates=table.predicates.only(~is_concept),
        owner=np.arange(len(owners), dtype=np.int32),
        starts=first.astype(np.int64),
        members=flat.copy(),  # as without concepts: to numba, a read-only array is of another type
    )
    links = [sorted(some) for some in owners]
    return joined, Needs(
        concepts, np.array(of_clause, np.int32), *_flat(links), *_flat(list(needs))
    )


def _numbered(table: PredicateTable) -> tuple[list[Concept], list[int]]:
    """The distinct concepts, and by predicate the literal that it is, or -1."""
    numbers: dict[Concept, int] = {}
    literal_of = [-1] * len(table)
    for at, concept in sorted(table.others.items()):
        if isinstance(concept, Concept):
            number = numbers.setdefault(replace(concept, negated=False), len(numbers))
            literal_of[at] = 2 * number + concept.negated
    return list(numbers), literal_of


def _contradicts(literals: list[int]) -> bool:
    """Whether ascending literals hold a concept and its contrary."""
    return any(one >> 1 == other >> 1 for one, other in pairwise(literals))


def _flat(rows: Sequence[Sequence[int]]) -> tuple[Int32s, Int32s]:
    """Where each row starts, with the end, and all of them in one."""
    starts = offsets_of([len(row) for row in rows], np.int32)
    flat = np.array(list(chain.from_iterable(rows)), np.int32)
    for array in (starts, flat):
        array.flags.writeable = False
    return starts, flat
