"""What a broker may test of each clause, without ever losing a match.

A sealed clause is weaker than the plain one: an event for which the plain one is true passes it. It
asks for elements (a column's value, or one in an array), for columns that are not null, and for
bounds of ordered columns. By predicate:

    =, IN, array_contains       its elements; a clause becomes one clause for each value
    ranges, also with gaps      not null; the lowest and the highest bound if the column is ordered
    LIKE, RLIKE, <>, NOT ...    not null
    what is true for null, and columns that the design does not seal: nothing

The rest is left to the subscriber's own check.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s, Int64s, offsets_of
from caddis.language import ClauseTable, Column, Concept, Contains, InValues, Key, ValueSet
from caddis.sealed.design import StreamDesign

MOST_CLAUSES = 64
"""At most this many sealed clauses stand for a plain one; a longest list of values that would give
more is not tested."""

BOOLEANS = (0, 1)


class Element(NamedTuple):
    """The column has this value, or has it in its array; column: its place in the design."""

    column: int
    key: Key


class Bound(NamedTuple):
    """The column is at least (is_lower), or else at most, the value with this key.

    Keys that are numbers have neighbours, so above 5 is the same as at least 6.
    """

    column: int
    key: Key
    is_lower: bool


class Lists(NamedTuple):
    """List i is members[starts[i]:starts[i + 1]]."""

    starts: Int64s
    members: Int32s

    @classmethod
    def of(cls, lists: list[tuple[int, ...]]) -> Lists:
        """The same lists, packed."""
        starts = offsets_of([len(one) for one in lists])
        members = (member for one in lists for member in one)
        return cls(starts, np.fromiter(members, np.int32, int(starts[-1])))


@dataclass(frozen=True, slots=True)
class SealableClauses:
    """Clauses as far as they can be tested; each element and bound is listed once.

    Clause c belongs to subscription `owner[c]`. It asks for the elements that list c of
    `asked_elements` numbers, for the columns of `asked_columns` to be not null, and for the bounds
    that `asked_bounds` numbers.
    """

    owner: Int32s
    elements: list[Element]
    bounds: list[Bound]
    asked_elements: Lists
    asked_columns: Lists
    asked_bounds: Lists
    concepts: dict[int, Concept]
    """Which concept a subscription calls. It has no clauses then: no model reads sealed events."""


def sealable(table: ClauseTable, design: StreamDesign) -> SealableClauses:
    """What may be tested of clauses when the events of a stream are sealed.

    >>> from caddis.language import parse_all
    >>> schema = pa.schema([("city", pa.string()), ("price", pa.int32())])
    >>> table = parse_all(["city IN ('Cork', 'Galway') AND price < 200"], schema)
    >>> clauses = sealable(table, StreamDesign.of("homes", schema))
    >>> clauses.owner.tolist(), clauses.bounds
    ([0, 0], [Bound(column=1, key=199, is_lower=False)])
    """
    reader = _Reader(design)
    asked = reader.of(table)
    concepts = _concepts(table)
    owner: list[int] = []
    lists: list[list[tuple[int, ...]]] = [[], [], []]
    members, starts = table.members.tolist(), table.starts.tolist()
    for clause, link in enumerate(table.owner.tolist()):
        if link in concepts:
            continue
        mine = [asked[member] for member in members[starts[clause] : starts[clause + 1]]]
        for parts in _alternatives(mine):
            owner.append(link)
            for one, part in zip(lists, parts, strict=True):
                one.append(part)
    elements, columns, bounds = map(Lists.of, lists)
    numbered = list(reader.elements), list(reader.bounds)
    whose = np.array(owner, np.int32)
    return SealableClauses(whose, *numbered, elements, columns, bounds, concepts)


class _Asked(NamedTuple):
    """What is tested of a predicate: one of `elements`, if there are any, and all the rest.

    never: whether the predicate is true for no value at all.
    """

    elements: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    bounds: tuple[int, ...] = ()
    present: tuple[int, ...] = ()
    """The column that must be not null if the elements are not asked for."""
    never: bool = False


NOTHING_ASKED = _Asked()


class _Reader:
    """Reads one predicate after another, and numbers what they ask for."""

    def __init__(self, design: StreamDesign) -> None:
        self.design = design
        self.sealed = design.columns
        self.places = {one.column: place for place, one in enumerate(self.sealed)}
        self.by_identity: dict[int, int] = {}
        self.elements: dict[Element, int] = {}
        self.bounds: dict[Bound, int] = {}

    def of(self, table: ClauseTable) -> list[_Asked]:
        """What is tested of each predicate."""
        return [self._asked(one, self._place(one.column)) for one in table.predicates]

    def _asked(self, predicate: object, place: int) -> _Asked:
        if place < 0 or isinstance(predicate, Concept):
            return NOTHING_ASKED
        present = (place,) if self.design.presence else ()
        if isinstance(predicate, InValues):
            return self._of_values(place, predicate.values, present)
        if isinstance(predicate, Contains) and not predicate.negated:
            return self._of_elements(place, predicate.elements, present)
        return _Asked(columns=present)

    def _place(self, column: Column) -> int:
        """The column's place in the design, or -1 if it is not sealed."""
        # Hashing very many columns is slow, so those seen before are found by identity.
        found = self.by_identity.get(id(column))
        if found is None:
            found = self.by_identity[id(column)] = self.places.get(column, -1)
        return found

    def _of_values(self, place: int, values: ValueSet, present: tuple[int, ...]) -> _Asked:
        if values.null:
            return NOTHING_ASKED
        keys = _keys_asked(self.sealed[place].column, values)
        if keys is not None and len(keys) <= MOST_CLAUSES:
            return _Asked(self._elements(place, keys), present=present, never=not keys)
        return _Asked(columns=present, bounds=tuple(self._hull(place, values)))

    def _of_elements(self, place: int, values: ValueSet, present: tuple[int, ...]) -> _Asked:
        keys = single_keys(values)
        if keys is None or len(keys) > MOST_CLAUSES:
            return _Asked(columns=present)
        return _Asked(self._elements(place, keys), present=present, never=not keys)

    def _elements(self, place: int, keys: Iterable[Key]) -> tuple[int, ...]:
        numbers = self.elements
        return tuple(numbers.setdefault(Element(place, key), len(numbers)) for key in keys)

    def _hull(self, place: int, values: ValueSet) -> Iterable[int]:
        if not self.sealed[place].ordered:
            return
        for cut, is_lower in ((values.cuts[0], True), (values.cuts[-1], False)):
            if len(cut) == 3:
                bound = Bound(place, _outermost(cut, is_lower), is_lower)
                yield self.bounds.setdefault(bound, len(self.bounds))


def _outermost(cut: tuple[int, Key, int], is_lower: bool) -> Key:
    """The first or the last key on the inner side of a cut; texts have no neighbours."""
    _, key, above = cut
    if isinstance(key, bytes) or bool(above) != is_lower:
        return key
    return key + 1 if is_lower else key - 1


def single_keys(values: ValueSet) -> tuple[Key, ...] | None:
    """The keys of a set of single values; None if it has an interval.

    >>> single_keys(ValueSet.points(7, 5)), single_keys(~ValueSet.points(7))
    ((5, 7), None)
    """
    keys = []
    for low, high in zip(values.cuts[::2], values.cuts[1::2], strict=True):
        if len(low) != 3 or len(high) != 3 or low[1] != high[1]:
            return None
        keys.append(low[1])
    return tuple(keys)


def _keys_asked(column: Column, values: ValueSet) -> tuple[Key, ...] | None:
    """The single values that are asked for; None if they are not, or if any value will do."""
    if column.repeated:
        return None
    if not pa.types.is_boolean(column.type):
        return single_keys(values)
    keys = tuple(key for key in BOOLEANS if key in values)
    return None if keys == BOOLEANS else keys


def _alternatives(
    asked: list[_Asked],
) -> Iterable[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """The elements, columns and bounds of each clause that a plain one becomes."""
    if any(one.never for one in asked):
        return
    lists = sorted((one for one in asked if one.elements), key=lambda one: len(one.elements))
    columns = {column for one in asked for column in one.columns}
    while prod(len(one.elements) for one in lists) > MOST_CLAUSES:
        columns.update(lists.pop().present)
    bounds = tuple(bound for one in asked for bound in one.bounds)
    for chosen in product(*(one.elements for one in lists)):
        yield tuple(set(chosen)), tuple(columns), bounds


def _concepts(table: ClauseTable) -> dict[int, Concept]:
    """One concept of each subscription that calls any."""
    called = {at: one for at, one in enumerate(table.predicates) if isinstance(one, Concept)}
    if not called:
        return {}
    owners = np.repeat(table.owner, np.diff(table.starts))
    places = np.flatnonzero(np.isin(table.members, list(called)))
    return {int(owners[at]): called[int(table.members[at])] for at in places}
