"""WHERE texts → clauses, a million at a time.

Texts are grouped by shape; a shape is parsed and normalised once, and binding its literals is a
dictionary look-up per predicate and subscription. What comes out is a `ClauseTable`: arrays, not
objects, with every distinct predicate listed once.

The names of known concepts are lifted like literals. A text that is then refused is read again
with its names in place, so that the error message quotes the text as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyarrow as pa

from caddis.arrays import Anys, Int32s, Int64s, offsets_of
from caddis.errors import SubscriptionError
from caddis.language.binding import ALWAYS, INVALID, NEVER, Binding, renumbered, slots_of
from caddis.language.columns import Columns, Vocabulary
from caddis.language.literals import check_timezone
from caddis.language.predicates import Clause, Concept, Predicate
from caddis.language.reading import is_plain_name, read
from caddis.language.refusals import ShapeProblem
from caddis.language.shapes import CONCEPT, IsConcept, Shape, Texts, lift_key, shape_of
from caddis.language.tree import ClauseTemplate, Node, Term, Values, normalise, parts_of


@dataclass(frozen=True, slots=True)
class ClauseTable:
    """The clauses of many subscriptions.

    Clause c belongs to subscription `owner[c]` and is the conjunction of
    `predicates[m]` for m in `members[starts[c]:starts[c + 1]]`. `errors` says, by subscription,
    which texts could not be used; those have no clauses.
    """

    predicates: list[Predicate | Concept]
    owner: Int32s
    starts: Int64s
    members: Int32s
    errors: dict[int, SubscriptionError] = field(default_factory=dict)

    def clause(self, number: int) -> Clause:
        """One clause as an object."""
        found = [
            self.predicates[m] for m in self.members[self.starts[number] : self.starts[number + 1]]
        ]
        concepts = tuple(one for one in found if isinstance(one, Concept))
        return Clause(tuple(one for one in found if not isinstance(one, Concept)), concepts)


def parse(where: str, schema: pa.Schema, *, timezone: str = "UTC") -> tuple[Clause, ...]:
    """The clauses of a WHERE text: it is true of an event if any of them is.

    Raises SubscriptionError with the place in the text.

    >>> schema = pa.schema([("city", pa.string()), ("price", pa.int32())])
    >>> len(parse("city = 'Galway' OR price < 200", schema))
    2
    """
    table = parse_all([where], schema, timezone=timezone)
    for error in table.errors.values():
        raise error
    return tuple(table.clause(number) for number in range(len(table.owner)))


def parse_all(
    wheres: Iterable[str | None],
    schema: pa.Schema,
    *,
    timezone: str = "UTC",
    concepts: Vocabulary | None = None,
) -> ClauseTable:
    """The clauses of many WHERE texts, with the errors of those that cannot be used.

    timezone: the session's time zone, in which dates and times without one are read.
    concepts: the concepts that may be called; None allows any.
    """
    check_timezone(timezone)
    parser = _Parser(schema, timezone, concepts)
    for key, group in _by_shape(_given(wheres, parser.errors), _liftable(concepts)).items():
        parser.add(shape_of(key), group)
    for key, group in _by_shape(parser.unsettled.items()).items():
        parser.add(shape_of(key), group)
    return parser.table()


def _liftable(concepts: Vocabulary | None) -> IsConcept | None:
    """Whether a name, however it is written, is one of the concepts and none of SQL's words."""
    if concepts is None or not concepts.columns:
        return None
    return cache(lambda name: name.lower() in concepts.columns and is_plain_name(name))


@dataclass(slots=True)
class _Group:
    """The subscriptions of one shape, and their literals."""

    rows: list[int] = field(default_factory=list)
    literals: list[Texts] = field(default_factory=list)

    def where(self, shape: Shape, at: int) -> str:
        texts = (*self.literals[at], "")
        return "".join(fixed + text for fixed, text in zip(shape.between, texts, strict=True))


def _given(
    wheres: Iterable[str | None], errors: dict[int, SubscriptionError]
) -> Iterator[tuple[int, str]]:
    """The texts that are neither null nor empty, with their rows; the others are errors."""
    for row, where in enumerate(wheres):
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


class _Parser:
    """Collects the clauses of one shape after another."""

    def __init__(self, schema: pa.Schema, timezone: str, concepts: Vocabulary | None) -> None:
        self.columns = Columns(schema)
        self.concepts = concepts
        self.timezone = timezone
        self.predicates: list[Predicate | Concept] = []
        self.bindings: dict[Values | Term, Binding] = {}
        self.errors: dict[int, SubscriptionError] = {}
        self.unsettled: dict[int, str] = {}
        self.pieces: list[tuple[Int32s, Int32s]] = []

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
            binding = self._binding(part, slots)
            if slots:
                texts = zip(*(columns[slot] for slot in slots), strict=True)
                numbers[:, at] = [binding[text] for text in texts]
            else:
                numbers[:, at] = binding[()]
            if binding.problems:
                self._refuse_some(shape, group, binding, slots, numbers[:, at])
        return numbers

    def _binding(self, part: Values | Term, slots: list[int]) -> Binding:
        canonical = renumbered(part, {slot: at for at, slot in enumerate(slots)})
        if canonical not in self.bindings:
            self.bindings[canonical] = Binding(
                canonical, self.predicates, self.timezone, self.concepts
            )
        return self.bindings[canonical]

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

    def table(self) -> ClauseTable:
        refused = np.fromiter(self.errors, dtype=np.int32, count=len(self.errors))
        owners, members, counts = [], [], []
        for rows, numbers in self.pieces:
            usable = ~np.any((numbers == NEVER) | (numbers == INVALID), axis=1)
            if len(refused):
                usable &= ~np.isin(rows, refused)
            kept = numbers[usable]
            owners.append(rows[usable])
            members.append(kept[kept != ALWAYS])
            counts.append(np.count_nonzero(kept != ALWAYS, axis=1))
        starts = offsets_of(_joined(counts, np.int64))
        predicates, numbers = _only_used(self.predicates, _joined(members, np.int32))
        errors = dict(sorted(self.errors.items()))
        return ClauseTable(predicates, _joined(owners, np.int32), starts, numbers, errors)


def _only_used(
    predicates: list[Predicate | Concept], members: Int32s
) -> tuple[list[Predicate | Concept], Int32s]:
    """Drop the predicates that only stood in clauses that came to nothing."""
    used = np.zeros(len(predicates), bool)
    used[members] = True
    if used.all():
        return predicates, members
    kept = [predicate for predicate, is_used in zip(predicates, used, strict=True) if is_used]
    return kept, (np.cumsum(used) - 1)[members].astype(np.int32)


def _joined(arrays: Sequence[Anys], dtype: type[np.generic]) -> Anys:
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype, copy=False)
