"""WHERE texts → pieces of a clause table, a shape at a time: the way that every text can take.

Texts are grouped by shape; a shape is parsed and normalised once, and binding its literals is a
dictionary look-up per predicate and subscription.

The names of known concepts are lifted like literals. A text that is then refused is read again
with its names in place, so that the error message quotes the text as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.errors import SubscriptionError
from caddis.language.binding import INVALID, Binding, renumbered, slots_of
from caddis.language.columns import Columns, Vocabulary
from caddis.language.parsing.clause_table import ClauseTable, Piece
from caddis.language.parsing.predicate_table import PredicateCollector
from caddis.language.reading import is_plain_name, read
from caddis.language.refusals import ShapeProblem
from caddis.language.shapes import CONCEPT, IsConcept, Shape, Texts, lift_key, shape_of
from caddis.language.tree import ClauseTemplate, Node, Term, Values, normalise, parts_of


@dataclass(slots=True)
class _Group:
    """The subscriptions of one shape, and their literals."""

    rows: list[int] = field(default_factory=list)
    literals: list[Texts] = field(default_factory=list)

    def where(self, shape: Shape, at: int) -> str:
        texts = (*self.literals[at], "")
        return "".join(fixed + text for fixed, text in zip(shape.between, texts, strict=True))


def _given(
    wheres: Iterable[tuple[int, str | None]], errors: dict[int, SubscriptionError]
) -> Iterator[tuple[int, str]]:
    """The texts that are neither null nor empty, with their rows; the others are errors."""
    for row, where in wheres:
        if where is None or not where.strip():
            what = "null" if where is None else "empty"
            problem = f"the WHERE clause is {what}; to match all events write TRUE"
            errors[row] = SubscriptionError(problem, "")
            continue
        yield row, where


def _by_shape(
    wheres: Iterable[tuple[int, str]], is_concept: IsConcept | None = None
) -> dict[Texts, _Group]:
    groups: dict[Texts, _Group] = {}
    for row, where in wheres:
        key, literals = lift_key(where, is_concept)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group()
        group.rows.append(row)
        group.literals.append(literals)
    return groups


def _void_parts(tree: Node, templates: tuple[ClauseTemplate, ...]) -> ClauseTemplate:
    """Parts that no clause has kept: their literals must be right all the same."""
    kept = {slot for template in templates for part in template for slot in slots_of(part)}
    return tuple(part for part in parts_of(tree) if not kept.issuperset(slots_of(part)))


class Parser:
    """Collects the clauses of one shape after another."""

    def __init__(self, schema: pa.Schema, timezone: str, concepts: Vocabulary | None) -> None:
        self.columns = Columns(schema)
        self.concepts = concepts
        self.timezone = timezone
        self.predicates = PredicateCollector()
        self.bindings: dict[Values | Term, Binding] = {}
        self.errors: dict[int, SubscriptionError] = {}
        self.unsettled: dict[int, str] = {}
        self.pieces: list[Piece] = []

    def read(self, wheres: Iterable[tuple[int, str | None]]) -> None:
        """Read texts, each with its row."""
        for key, group in _by_shape(_given(wheres, self.errors), self._liftable()).items():
            self.add(shape_of(key), group)
        for key, group in _by_shape(self.unsettled.items()).items():
            self.add(shape_of(key), group)

    def table(self) -> ClauseTable:
        """The clauses of all texts that were read."""
        return ClauseTable.of(self.predicates.table(), self.pieces, self.errors)

    def binding(self, part: Values | Term, slots: list[int]) -> Binding:
        """The Binding of a part; slots: the numbers of its literals, in order."""
        canonical = renumbered(part, {slot: at for at, slot in enumerate(slots)})
        if canonical not in self.bindings:
            self.bindings[canonical] = Binding(
                canonical, self.predicates, self.timezone, self.concepts
            )
        return self.bindings[canonical]

    def _liftable(self) -> IsConcept | None:
        """Whether a name, however it is written, is one of the concepts and none of SQL's words."""
        known = self.concepts
        if known is None or not known.columns:
            return None
        return cache(lambda name: name.lower() in known.columns and is_plain_name(name))

    def add(self, shape: Shape, group: _Group) -> None:
        try:
            tree = read(shape, self.columns, self.concepts)
            templates = normalise(tree)
        except ShapeProblem as problem:
            self._refuse_all(shape, group, problem)
            return
        rows = np.asarray(group.rows, dtype=np.int32)
        columns = list(zip(*group.literals, strict=True))
        for template in templates:
            self.pieces.append((rows, self._bind(shape, group, template, columns)))
        self._bind(shape, group, _void_parts(tree, templates), columns)

    def _bind(
        self, shape: Shape, group: _Group, template: ClauseTemplate, columns: Sequence[Texts]
    ) -> Int32s:
        """One row a subscription, one column a predicate of the template."""
        numbers = np.empty((len(group.rows), len(template)), dtype=np.int32)
        for at, part in enumerate(template):
            slots = slots_of(part)
            binding = self.binding(part, slots)
            if slots:
                texts = zip(*(columns[slot] for slot in slots), strict=True)
                numbers[:, at] = [binding[text] for text in texts]
            else:
                numbers[:, at] = binding[()]
            if binding.problems:
                self._refuse_some(shape, group, binding, slots, numbers[:, at])
        return numbers

    def _refuse_all(self, shape: Shape, group: _Group, problem: ShapeProblem) -> None:
        for at, row in enumerate(group.rows):
            span, texts, where = problem.span, group.literals[at], group.where(shape, at)
            if span is not None:
                span = shape.to_text(span[0], texts), shape.to_text(span[1], texts)
            self._refuse(row, shape, SubscriptionError(problem.problem, where, span))

    def _refuse_some(
        self, shape: Shape, group: _Group, binding: Binding, slots: list[int], numbers: Int32s
    ) -> None:
        for at in map(int, np.flatnonzero(numbers == INVALID)):
            texts = group.literals[at]
            problem = binding.problems[tuple(texts[slot] for slot in slots)]
            span = shape.span_of(slots[problem.slot], texts) if problem.slot >= 0 else None
            error = SubscriptionError(problem.problem, group.where(shape, at), span)
            self._refuse(group.rows[at], shape, error)

    def _refuse(self, row: int, shape: Shape, error: SubscriptionError) -> None:
        """Refuse a text for good; if names of concepts were lifted, have it read again instead."""
        if CONCEPT in shape.kinds:
            self.unsettled[row] = error.where
        else:
            self.errors.setdefault(row, error)
