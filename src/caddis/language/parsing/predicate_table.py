"""Very many predicates as arrays: the sets of values of each column, packed.

A set of values is a run of cuts (see `predicates`). Millions of them as Python objects would take
longer to make than to parse, so they are kept column by column: where each cut lies, and the keys
of those that lie at one. Patterns, tests of arrays and concepts are few, and remain objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from caddis.arrays import Bools, Int32s, Int64s, offsets_of
from caddis.language.columns import Column, has_byte_keys
from caddis.language.predicates import (
    HIGHEST,
    LOWEST,
    Concept,
    Contains,
    Cut,
    InValues,
    Key,
    MatchesText,
    Predicate,
    ValueSet,
)

Int8s = npt.NDArray[np.int8]
Keys: TypeAlias = Int64s | pa.LargeBinaryArray

BELOW_ALL, BEFORE_KEY, AFTER_KEY, ABOVE_ALL = range(-1, 3)
"""Where a cut lies: LOWEST, just before its key, just after it, HIGHEST."""

WIDE_DECIMAL_BIAS = 1 << 127
"""Added to a decimal of 128 bits, so that its bytes, most significant first, sort as it does."""


@dataclass(frozen=True, slots=True)
class ValueSets:
    """Many sets of values of one column: set i has the cuts `starts[i]:starts[i + 1]`."""

    starts: Int64s
    places: Int8s
    """Where each cut lies."""
    keys: Keys
    """The keys of the cuts that lie before or after one, in their order; strings as bytes, and
    decimals beyond 64 bits as 16 of them."""
    nulls: Bools
    """Whether each set holds null."""

    def __len__(self) -> int:
        return len(self.nulls)

    @staticmethod
    def of(column: Column, sets: Sequence[ValueSet]) -> ValueSets:
        """The same sets, packed."""
        cuts = list(chain.from_iterable(one.cuts for one in sets))
        return ValueSets(
            offsets_of([len(one.cuts) for one in sets]),
            np.fromiter((_place(cut) for cut in cuts), np.int8, len(cuts)),
            _packed_keys(column, [cut[1] for cut in cuts if len(cut) == 3]),
            np.fromiter((one.null for one in sets), bool, len(sets)),
        )

    @staticmethod
    def joined(some: Sequence[ValueSets]) -> ValueSets:
        """The sets of several tables of one column, one after another."""
        if len(some) == 1:
            return some[0]
        counts = np.concatenate([np.diff(one.starts) for one in some])
        keys: Keys
        if isinstance(some[0].keys, np.ndarray):
            keys = np.concatenate([one.keys for one in some])
        else:
            keys = pa.concat_arrays([one.keys for one in some])
        return ValueSets(
            offsets_of(counts),
            np.concatenate([one.places for one in some]),
            keys,
            np.concatenate([one.nulls for one in some]),
        )

    def only(self, kept: Bools) -> ValueSets:
        """Those of the sets that are marked."""
        if kept.all():
            return self
        counts = np.diff(self.starts)
        cuts = np.repeat(kept, counts)
        at_key = np.flatnonzero(cuts[_lies_at_key(self.places)])
        keys = self.keys[at_key] if isinstance(self.keys, np.ndarray) else self.keys.take(at_key)
        return ValueSets(offsets_of(counts[kept]), self.places[cuts], keys, self.nulls[kept])

    def objects(self, column: Column) -> list[ValueSet]:
        """Each set as an object."""
        keys = iter(_plain_keys(column, self.keys))
        cuts = [_cut(place, keys) for place in self.places.tolist()]
        starts = self.starts.tolist()
        return [
            ValueSet(tuple(cuts[start:end]), null)
            for start, end, null in zip(starts[:-1], starts[1:], self.nulls.tolist(), strict=True)
        ]


def _place(cut: Cut) -> int:
    return cut[2] if len(cut) == 3 else BELOW_ALL if cut == LOWEST else ABOVE_ALL


def _cut(place: int, keys: Iterator[Key]) -> Cut:
    if place == BELOW_ALL:
        return LOWEST
    return HIGHEST if place == ABOVE_ALL else (0, next(keys), place)


def _lies_at_key(places: Int8s) -> Bools:
    at_key: Bools = (places == BEFORE_KEY) | (places == AFTER_KEY)
    return at_key


def _packed_keys(column: Column, keys: list[Key]) -> Keys:
    if not has_byte_keys(column):
        return np.array(keys, np.int64)
    if pa.types.is_decimal(column.type):
        keys = [(int(key) + WIDE_DECIMAL_BIAS).to_bytes(16, "big") for key in keys]
    return pa.array(keys, pa.large_binary())


def _plain_keys(column: Column, keys: Keys) -> list[Key]:
    if isinstance(keys, np.ndarray):
        return list(keys.tolist())
    if pa.types.is_decimal(column.type):
        return [int.from_bytes(key, "big") - WIDE_DECIMAL_BIAS for key in keys.to_pylist()]
    return list(keys.to_pylist())


@dataclass(frozen=True, slots=True)
class ColumnSets:
    """The predicates on a column that accept a set of values, by their numbers in the table."""

    column: Column
    numbers: Int64s
    sets: ValueSets


@dataclass(frozen=True)
class PredicateTable:
    """Predicates and concepts by number. A table has a part of sets for each column, once."""

    count: int
    sets: tuple[ColumnSets, ...]
    others: dict[int, MatchesText | Contains | Concept]
    """Predicates that are not sets of a column's values, by number."""

    @classmethod
    def of(cls, predicates: Iterable[Predicate | Concept]) -> PredicateTable:
        """A table of predicates that are objects.

        >>> column = Column(("price",), pa.int32())
        >>> PredicateTable.of([InValues(column, ValueSet.points(5))])[0].values
        ValueSet(cuts=((0, 5, 0), (0, 5, 1)), null=False)
        """
        collected = PredicateCollector()
        for predicate in predicates:
            collected.append(predicate)
        return collected.table()

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Predicate | Concept]:
        return iter(self._objects)

    def __getitem__(self, number: int) -> Predicate | Concept:
        return self._objects[number]

    @cached_property
    def _objects(self) -> list[Predicate | Concept]:
        by_number: dict[int, Predicate | Concept] = dict(self.others)
        for part in self.sets:
            values = part.sets.objects(part.column)
            for number, one in zip(part.numbers.tolist(), values, strict=True):
                by_number[number] = InValues(part.column, one)
        return [by_number[number] for number in range(self.count)]

    def only(self, kept: Bools) -> PredicateTable:
        """Those that are marked, numbered anew in the same order."""
        if kept.all():
            return self
        renumbered = np.cumsum(kept) - 1
        sets = []
        for part in self.sets:
            mine = kept[part.numbers]
            if mine.any():
                numbers = renumbered[part.numbers[mine]]
                sets.append(ColumnSets(part.column, numbers, part.sets.only(mine)))
        others = {int(renumbered[at]): one for at, one in self.others.items() if kept[at]}
        return PredicateTable(int(kept.sum()), tuple(sets), others)


class PredicateCollector:
    """Takes predicates one by one or in bulk, and gives each its number."""

    def __init__(self) -> None:
        self._count = 0
        self._singles: dict[int, tuple[Column, list[int], list[ValueSet]]] = {}
        self._blocks: dict[Column, list[ColumnSets]] = {}
        self._others: dict[int, MatchesText | Contains | Concept] = {}

    def __len__(self) -> int:
        return self._count

    def append(self, predicate: Predicate | Concept) -> int:
        """Take a predicate."""
        number = self._count
        self._count += 1
        if not isinstance(predicate, InValues):
            self._others[number] = predicate
            return number
        # Hashing very many columns is slow, so those seen before are found by identity.
        column = predicate.column
        _, numbers, values = self._singles.setdefault(id(column), (column, [], []))
        numbers.append(number)
        values.append(predicate.values)
        return number

    def extend(self, column: Column, sets: ValueSets) -> Int32s:
        """Take tests of a column for many sets of values."""
        numbers = np.arange(self._count, self._count + len(sets))
        self._count += len(sets)
        self._blocks.setdefault(column, []).append(ColumnSets(column, numbers, sets))
        return numbers.astype(np.int32)

    def value_sets(self, numbers: Int32s) -> dict[int, ValueSet]:
        """The sets of values that these predicates accept, by number; patterns have none."""
        wanted = set(numbers.tolist())
        found = {}
        for _, singles, values in self._singles.values():
            pairs = zip(singles, values, strict=True)
            found.update({number: one for number, one in pairs if number in wanted})
        for column, blocks in self._blocks.items():
            for block in blocks:
                kept = np.isin(block.numbers, numbers)
                some = block.sets.only(kept).objects(column)
                found.update(zip(block.numbers[kept].tolist(), some, strict=True))
        return found

    def table(self) -> PredicateTable:
        """The table of everything that was taken."""
        blocks = {column: list(some) for column, some in self._blocks.items()}
        for column, numbers, values in self._singles.values():
            packed = ColumnSets(column, np.array(numbers), ValueSets.of(column, values))
            blocks.setdefault(column, []).append(packed)
        return PredicateTable(
            self._count,
            tuple(_one_part(column, some) for column, some in blocks.items()),
            dict(self._others),
        )


def _one_part(column: Column, blocks: list[ColumnSets]) -> ColumnSets:
    numbers = np.concatenate([block.numbers for block in blocks])
    return ColumnSets(column, numbers, ValueSets.joined([block.sets for block in blocks]))
