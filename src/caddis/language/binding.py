"""Puts literals back into their shape: clause templates become predicates.

A `Binding` belongs to one part of a clause template and remembers what each combination of its
literals came to, so that the work is done once per distinct predicate and not per subscription.
Parts that differ only in where their literals stand in the text share a Binding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

import pyarrow as pa

from caddis.language import literals, patterns
from caddis.language.columns import Vocabulary
from caddis.language.comparisons import TypeMismatch, compare, listed_together
from caddis.language.literals import Literal, LiteralProblem
from caddis.language.predicates import (
    ALL_KNOWN,
    NOTHING,
    ONLY_NULL,
    Concept,
    Contains,
    InValues,
    MatchesText,
    Predicate,
    TextPattern,
    ValueSet,
)
from caddis.language.shapes import TEXT_KINDS, Texts
from caddis.language.tree import TEXT_TESTS, Atom, Slot, Term, Test, Values

NEVER, ALWAYS, INVALID = -1, -2, -3
"""What stands for a predicate that is never true, always true, or has a literal that is wrong."""

T = TypeVar("T")


class Collects(Protocol):
    """Takes predicates and numbers them."""

    def append(self, predicate: Predicate | Concept) -> int:
        """Take a predicate; gives its number."""


class BindProblem(Exception):
    """A literal that does not fit its place; `slot` is its number within the texts."""

    def __init__(self, slot: int, problem: str) -> None:
        super().__init__(problem)
        self.slot = slot
        self.problem = problem


class Binding(dict[Texts, int]):
    """The texts of a part's literals → the number of the predicate in `predicates`."""

    def __init__(
        self,
        part: Values | Term,
        predicates: Collects,
        zone: str,
        concepts: Vocabulary | None = None,
    ) -> None:
        super().__init__()
        self.part = part
        self.predicates = predicates
        self.timezone = zone
        self.concepts = concepts
        self.problems: dict[Texts, BindProblem] = {}

    def __missing__(self, texts: Texts) -> int:
        number = self._number(texts)
        self[texts] = number
        return number

    def _number(self, texts: Texts) -> int:
        try:
            predicate = _Bound(texts, self.timezone, self.concepts).part(self.part)
        except BindProblem as problem:
            self.problems[texts] = problem
            return INVALID
        if isinstance(predicate, InValues) and predicate.values.is_nothing:
            return NEVER
        if (
            isinstance(predicate, Contains)
            and predicate.elements.is_nothing
            and not predicate.negated
        ):
            return NEVER
        if isinstance(predicate, InValues) and predicate.values.is_everything:
            return ALWAYS
        if isinstance(predicate, Concept) and texts not in ((), (predicate.name,)):
            return self[(predicate.name,)]  # the same name, written in capitals
        return self.predicates.append(predicate)


class _Bound:
    """Binds one combination of literals to parts of a clause template."""

    def __init__(self, texts: Texts, timezone: str, concepts: Vocabulary | None) -> None:
        self.texts = texts
        self.timezone = timezone
        self.concepts = concepts

    def part(self, part: Values | Term) -> Predicate | Concept:
        if isinstance(part, Values):
            return InValues(part.column, self.values(part))
        atom = part.atom
        if atom.test is Test.CONCEPT:
            return Concept(self.concept(atom), atom.column, part.negated)
        if atom.test is Test.CONTAINS:
            return Contains(atom.column, self.listed(atom), part.negated)
        accepted = self.accepted_text(atom)
        if isinstance(accepted, TextPattern):
            return MatchesText(atom.column, accepted, part.negated)
        return InValues(atom.column, self.term(part))

    def concept(self, atom: Atom) -> str:
        if not atom.operands:
            return atom.concept
        (slot,) = atom.operands
        assert isinstance(slot, Slot)
        name = self.texts[slot.number].lower()
        problem = None if self.concepts is None else self.concepts.problem(name, atom.column)
        if problem is not None:
            raise BindProblem(slot.number, problem)
        return name

    def values(self, part: Values | Term) -> ValueSet:
        if isinstance(part, Term):
            return self.term(part)
        result = self.values(part.parts[0])
        for other in part.parts[1:]:
            values = self.values(other)
            result = result & values if part.joint == "and" else result | values
        return result

    def term(self, term: Term) -> ValueSet:
        atom = term.atom
        if atom.test is Test.NULL:
            return ~ONLY_NULL if term.negated else ONLY_NULL
        if atom.test is Test.IN:
            return self.membership(atom, term.negated)
        if None in atom.operands:
            return NOTHING
        if atom.test in TEXT_TESTS:
            accepted = self.accepted_text(atom)
            assert isinstance(accepted, ValueSet)
            return _true_values(accepted, term.negated)
        found = self.compared(atom)
        if atom.test is Test.SAME:
            return ~found if term.negated else found
        return _true_values(found, term.negated)

    def membership(self, atom: Atom, negated: bool) -> ValueSet:
        found = self.listed(atom)
        return NOTHING if negated and None in atom.operands else _true_values(found, negated)

    def listed(self, atom: Atom) -> ValueSet:
        """The values that equal any of the operands, all brought to one type."""
        operands = [operand for operand in atom.operands if operand is not None]
        if not operands:
            return NOTHING
        type_, in_array = atom.column.type, atom.test is Test.CONTAINS
        given = [self.literal(operand) for operand in operands]
        items = self.checked(operands[0], lambda: listed_together(type_, given, in_array=in_array))
        pairs = zip(operands, items, strict=True)
        return ValueSet.union(self.equal(operand, type_, item) for operand, item in pairs)

    def equal(self, operand: Slot | bool, type_: pa.DataType, literal: Literal) -> ValueSet:
        return self.checked(operand, lambda: compare(type_, Test.EQUAL, literal, self.timezone))

    def accepted_text(self, atom: Atom) -> ValueSet | TextPattern:
        if None in atom.operands:
            return NOTHING
        slots = [slot for slot in atom.operands if isinstance(slot, Slot)]
        pattern, escape = ([self.string(slot) for slot in slots] + ["\\"])[:2]
        if atom.test is Test.RLIKE:
            return self.checked(slots[0], lambda: patterns.rlike(pattern))
        self.checked(slots[-1], lambda: patterns.check_escape(escape))
        make = patterns.like if atom.test is Test.LIKE else patterns.ilike
        return self.checked(slots[0], lambda: make(pattern, escape))

    def compared(self, atom: Atom) -> ValueSet:
        operand = atom.operands[0]
        assert operand is not None
        literal = self.literal(operand)
        return self.checked(
            operand, lambda: compare(atom.column.type, atom.test, literal, self.timezone)
        )

    def literal(self, operand: Slot | bool) -> Literal:
        if isinstance(operand, bool):
            return Literal(pa.bool_(), operand)
        return self.checked(operand, lambda: self.typed(operand))

    def typed(self, slot: Slot) -> Literal:
        if slot.kind not in TEXT_KINDS:
            return literals.number(slot.kind, self.texts[slot.number], negative=slot.negative)
        text = literals.string(slot.kind, self.texts[slot.number])
        if slot.cast == "DATE":
            return literals.date(text)
        if slot.cast == "TIMESTAMP":
            return literals.timestamp(text, self.timezone)
        if slot.cast == "TIMESTAMP_NTZ":
            return literals.timestamp_ntz(text)
        return Literal(pa.string(), text)

    def string(self, slot: Slot) -> str:
        return self.checked(slot, lambda: literals.string(slot.kind, self.texts[slot.number]))

    def checked(self, operand: Slot | bool, make: Callable[[], T]) -> T:
        """Call `make`; what it has to say against the literal gets the literal's place."""
        try:
            return make()
        except (LiteralProblem, TypeMismatch) as problem:
            slot = operand.number if isinstance(operand, Slot) else -1
            raise BindProblem(slot, str(problem)) from None


def _true_values(found: ValueSet, negated: bool) -> ValueSet:
    """The values of which a test is true; a comparison with null is neither true nor false."""
    return ~found & ALL_KNOWN if negated else found


def slots_of(part: Values | Term) -> list[int]:
    """The numbers of the literals that a part uses, in order."""
    if isinstance(part, Values):
        return [slot for inner in part.parts for slot in slots_of(inner)]
    return [operand.number for operand in part.atom.operands if isinstance(operand, Slot)]


def renumbered(part: Values | Term, numbers: dict[int, int]) -> Values | Term:
    """The same part with its literals renumbered."""
    if isinstance(part, Values):
        return replace(part, parts=tuple(renumbered(inner, numbers) for inner in part.parts))
    operands = tuple(
        replace(operand, number=numbers[operand.number]) if isinstance(operand, Slot) else operand
        for operand in part.atom.operands
    )
    return replace(part, atom=replace(part.atom, operands=operands))
