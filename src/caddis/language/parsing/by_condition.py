"""WHERE texts → pieces of a clause table, a condition at a time: the quick way for plain texts.

Whole texts differ more than the conditions that they are made of. So the conditions of all texts
are found at once (`scanning`), each distinct template of one is read once (`conditions`), and the
literals of all conditions with the same template are bound together (`in_bulk`). Texts with the
same frame, on columns that are the same or differ in the same places, have their clauses in
common, too.

Texts that are not plain, or of which any part is wrong, are left to be read by shape: what they
mean, and what is said of them, is decided there alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s, Int64s
from caddis.language.binding import ALWAYS, INVALID, NEVER, slots_of
from caddis.language.columns import Column
from caddis.language.parsing.by_shape import Parser
from caddis.language.parsing.conditions import (
    canonical,
    clauses_of,
    condition_of,
    frame_of,
    joined,
    terms_of,
)
from caddis.language.parsing.in_bulk import value_sets
from caddis.language.parsing.literal_arrays import Literals, distinct_rows, texts_of
from caddis.language.parsing.predicate_table import PredicateCollector
from caddis.language.parsing.scanning import Scanned, scan
from caddis.language.predicates import NOTHING, InValues, ValueSet
from caddis.language.refusals import ShapeProblem
from caddis.language.tree import ClauseTemplate, Node, Term, Values

SCANNED_TOGETHER = 10_000
"""How many texts are scanned at once: their bytes should stay in a core's cache."""

FEWEST_IN_BULK = 16
"""Fewer combinations of literals than this are bound one by one."""


def read_by_condition(parser: Parser, texts: pa.LargeStringArray) -> Bools:
    """Read all texts that are plain and right; says of each whether it was read.

    texts: without nulls; text i is of row i.
    """
    read = np.zeros(len(texts), bool)
    if not len(texts):
        return read
    steps = range(0, len(texts), SCANNED_TOGETHER)
    found = Scanned.joined([scan(texts.slice(at, SCANNED_TOGETHER), at) for at in steps])
    reader = _Reader(parser, found)
    groups = list(reader.groups())
    for group in groups:
        reader.note(group)
    reader.bind()
    reader.look_up(groups)
    for group in groups:
        read[reader.add(group)] = True
    return read


@dataclass(frozen=True, slots=True)
class _Group:
    """Texts with the same clauses: their rows, and their conditions, one column a place."""

    rows: Int64s
    conditions: Int64s
    clauses: tuple[ClauseTemplate, ...]

    @property
    def parts(self) -> list[Values | Term]:
        """The parts of all clauses."""
        return [part for clause in self.clauses for part in clause]


class _Reader:
    """Combines the conditions of scanned texts into clauses."""

    def __init__(self, parser: Parser, found: Scanned) -> None:
        self.parser = parser
        self.found = found
        templates = found.templates.dictionary_encode()
        forms = {one: canonical(one) for one in templates.dictionary.to_pylist()}
        numbers = {form: number for number, form in enumerate(dict.fromkeys(forms.values()))}
        same = np.array([numbers[form] for form in forms.values()], np.int32)
        self.template: Int32s = same[templates.indices.to_numpy()]
        self.conditions = [condition_of(one, parser.columns, parser.concepts) for one in numbers]
        literals = found.literals.dictionary_encode()
        self.literal: Int32s = literals.indices.to_numpy()
        self.literals = Literals(literals.dictionary)
        # By polarity, for each condition: the number of its predicate, and whether it is needed.
        self.numbers = np.full((2, len(self.template)), INVALID, np.int32)
        self.needed = np.zeros((2, len(self.template)), bool)
        self.column, self.columns = self._columns()
        self.values: dict[int, ValueSet] = {NEVER: NOTHING, ALWAYS: ~NOTHING}
        self.joints: dict[Outline, dict[tuple[int, ...], int]] = {}

    # -- texts that have their clauses in common

    def groups(self) -> Iterator[_Group]:
        """The texts of which all conditions are known, by frame and by which columns are the same.

        Where a frame has too many clauses, its texts are left out.
        """
        usable = self._usable_texts(self.column >= 0)
        frames = self.found.frames.dictionary_encode()
        trees = [frame_of(frame) for frame in frames.dictionary.to_pylist()]
        numbers = {tree: number for number, tree in enumerate(dict.fromkeys(trees))}
        tree_of_frame = np.array([numbers[tree] for tree in trees])
        tree_of_text = tree_of_frame[frames.indices.to_numpy()]
        known = list(numbers)
        some = np.flatnonzero(usable)
        for number, texts in _by_number(tree_of_text[some]):
            tree = known[number]
            if tree is not None:
                yield from self._by_columns(tree, some[texts])

    def _columns(self) -> tuple[Int64s, list[Column]]:
        """The number of each template's column, or -1 if it is no known condition."""
        columns: dict[Column, int] = {}
        numbers = [
            -1 if one is None else columns.setdefault(one.column, len(columns))
            for one in self.conditions
        ]
        return np.array(numbers, np.int64), list(columns)

    def _usable_texts(self, known: Bools) -> Bools:
        starts = self.found.condition_starts
        unknown = np.append(0, np.cumsum(~known[self.template]))
        usable: Bools = unknown[starts[1:]] == unknown[starts[:-1]]
        return usable

    def _by_columns(self, tree: Node, texts: Int64s) -> Iterator[_Group]:
        starts = self.found.condition_starts
        count = int(starts[texts[0] + 1] - starts[texts[0]])
        conditions = starts[texts][:, None] + np.arange(count)
        templates = self.template[conditions]
        is_set = np.array([one is not None and one.is_set for one in self.conditions])
        # Of each place: the first with the same column, and whether it is a set.
        first = _first_equal(self.column[templates])
        pattern = (2 * first + is_set[templates]).astype(np.int32)
        patterns, place = distinct_rows(pattern, 2 * count + 2)
        order = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place, minlength=len(patterns)))
        for one, mine in zip(patterns.tolist(), np.split(order, ends[:-1]), strict=True):
            try:
                clauses = clauses_of(tree, [n // 2 for n in one], [bool(n % 2) for n in one])
            except ShapeProblem:
                continue
            yield _Group(self.found.rows[texts[mine]], conditions[mine], clauses)

    # -- conditions and their literals

    def note(self, group: _Group) -> None:
        """Note which conditions are needed to be true, and which to be false."""
        for place, negated in {term for part in group.parts for term in terms_of(part)}:
            self.needed[int(negated), group.conditions[:, place]] = True

    def bind(self) -> None:
        """Bind all conditions that are needed, template by template."""
        for negated in (False, True):
            needed = np.flatnonzero(self.needed[int(negated)])
            for number, mine in _by_number(self.template[needed]):
                condition, some = self.conditions[number], needed[mine]
                assert condition is not None
                part = condition.negative if negated else condition.positive
                literals = self._literals_of(some, len(condition.kinds))
                self.numbers[int(negated), some] = self._bound(part, condition.kinds, literals)

    def look_up(self, groups: Sequence[_Group]) -> None:
        """Look up what conditions accept that are joined with others on their column."""
        joint = np.unique(
            np.concatenate(
                [np.zeros(0, np.int32)]
                + [
                    self.numbers[int(negated), group.conditions[:, place]]
                    for group in groups
                    for part in group.parts
                    for place, negated in terms_of(part)
                    if len(terms_of(part)) > 1
                ]
            )
        )
        self.values |= self.parser.predicates.value_sets(joint)

    def add(self, group: _Group) -> Int64s:
        """Hand in the clauses of a group; returns the rows whose literals are all right."""
        pieces = []
        sound = np.ones(len(group.rows), bool)
        for clause in group.clauses:
            numbers = np.empty((len(group.rows), len(clause)), np.int32)
            for at, part in enumerate(clause):
                numbers[:, at] = self._numbers_of(part, group.conditions)
            sound &= ~np.any(numbers == INVALID, axis=1)
            pieces.append(numbers)
        rows = group.rows[sound]
        for numbers in pieces:
            self.parser.pieces.append((rows.astype(np.int32), numbers[sound]))
        return rows

    def _numbers_of(self, part: Values | Term, conditions: Int64s) -> Int32s:
        """The number of the predicate that a part comes to, in each text."""
        terms = terms_of(part)
        numbers: list[Int32s] = [
            self.numbers[int(negated), conditions[:, place]] for place, negated in terms
        ]
        if len(numbers) == 1:
            (only,) = numbers
            return only
        columns = self.column[self.template[conditions[:, terms[0][0]]]]
        joint = _Joint(part, self.parser.predicates, self.columns, self.values)
        known = self.joints.setdefault(_outline(part), {})
        found = []
        for key in zip(columns.tolist(), *(some.tolist() for some in numbers), strict=True):
            if key not in known:
                known[key] = joint.number(*key)
            found.append(known[key])
        return np.array(found, np.int32)

    def _literals_of(self, conditions: Int64s, count: int) -> Int32s:
        """The numbers of each condition's literals, one column a slot."""
        places = self.found.literal_starts[conditions][:, None] + np.arange(count)
        literals: Int32s = self.literal[places]
        return literals

    def _bound(self, part: Values | Term, kinds: Sequence[str], literals: Int32s) -> Int32s:
        """The number of the predicate that a part becomes with each row of literals."""
        codes, place = distinct_rows(literals, len(self.literals.bodies))
        numbers = np.full(len(codes), NEVER, np.int32)
        bulk = None
        if len(codes) >= FEWEST_IN_BULK:
            bulk = value_sets(part, codes, self.literals)
        others = np.ones(len(codes), bool)
        if bulk is not None:
            some = bulk.sound & (np.diff(bulk.sets.starts) > 0)
            assert isinstance(part, Values)
            numbers[some] = self.parser.predicates.extend(part.column, bulk.sets.only(some))
            others = ~bulk.sound
        if others.any():
            slots = slots_of(part)
            binding = self.parser.binding(part, slots)
            texts = texts_of(codes[others][:, slots], [kinds[at] for at in slots], self.literals)
            numbers[others] = [binding[one] for one in texts]
        return numbers[place]


@dataclass(frozen=True, slots=True)
class _Joint:
    """A part that joins the values of several conditions on one column."""

    part: Values | Term
    predicates: PredicateCollector
    columns: list[Column]
    values: dict[int, ValueSet]

    def number(self, column: int, *conditions: int) -> int:
        """The number of the predicate that the part comes to, given those of its conditions."""
        if INVALID in conditions:
            return INVALID
        values = joined(self.part, iter([self.values[one] for one in conditions]))
        if values.is_nothing:
            return NEVER
        if values.is_everything:
            return ALWAYS
        return self.predicates.append(InValues(self.columns[column], values))


Outline = tuple[object, ...] | bool


def _outline(part: Values | Term) -> Outline:
    """How a part joins its terms, whatever their places."""
    if isinstance(part, Values):
        return (part.joint, *map(_outline, part.parts))
    return part.negated


def _first_equal(columns: Int64s) -> Int64s:
    """For each number in a row, the first place in the row with the same number."""
    first = np.tile(np.arange(columns.shape[1]), (len(columns), 1))
    for place in range(columns.shape[1]):
        for earlier in reversed(range(place)):
            first[columns[:, earlier] == columns[:, place], place] = earlier
    return first


def _by_number(numbers: Int32s | Int64s) -> Iterator[tuple[int, Int64s]]:
    """Each distinct number with the places where it stands."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    for start, places in zip(starts.tolist(), np.split(order, starts)[1:], strict=True):
        yield int(ordered[start]), places
