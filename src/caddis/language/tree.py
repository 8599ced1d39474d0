"""The tree of a WHERE clause's shape, and its disjunctive normal form.

An atom tests one column; its literals are slots that are filled per subscription. NULL and
TRUE/FALSE are constants of the shape, not slots.

`normalise` pushes NOT down to the atoms and gives a disjunction of clauses. Every cheap atom on a
column is a set of that column's values, so an AND or an OR of atoms on one column is again one
predicate: `price >= 10 AND price < 20`, `city = 'a' OR city = 'b'`. Only ORs across columns (or
with patterns and concepts) multiply clauses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from caddis.language.columns import Column
from caddis.language.refusals import ShapeProblem
from caddis.language.shapes import PATTERN, RAW


class Test(StrEnum):
    """The tests that an atom can make."""

    EQUAL = "="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    SAME = "<=>"
    IN = "IN"
    NULL = "IS NULL"
    LIKE = "LIKE"
    ILIKE = "ILIKE"
    RLIKE = "RLIKE"
    CONTAINS = "array_contains"
    CONCEPT = "concept"


TEXT_TESTS = frozenset((Test.LIKE, Test.ILIKE, Test.RLIKE))


@dataclass(frozen=True, slots=True)
class Slot:
    """A literal's place: its number and kind, its sign, and the type a cast gives it.

    The name of a concept may be a slot, too.
    """

    number: int
    kind: str
    negative: bool = False
    cast: str | None = None


Operand = Slot | bool | None
"""A literal: a slot, TRUE or FALSE, or None for NULL."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A test of a column against literals; LIKE may have an escape as its second operand.

    A concept has its name as its one operand if that is a slot, and else in `concept`.
    """

    column: Column
    test: Test
    operands: tuple[Operand, ...] = ()
    concept: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE, or None for NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Not:
    """NOT operand."""

    operand: Node


@dataclass(frozen=True, slots=True)
class And:
    """All operands."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any operand."""

    operands: tuple[Node, ...]


Node = Atom | Constant | Not | And | Or


MAX_CLAUSES = 512
"""Nested ORs multiply: ten pairs are 1,024 clauses. Beyond this a subscription is refused."""


@dataclass(frozen=True, slots=True)
class Term:
    """An atom that is to be true or, if `negated`, to be false."""

    atom: Atom
    negated: bool


@dataclass(frozen=True, slots=True)
class Values:
    """A predicate that accepts a set of values: terms on one column, joined.

    joint: "and" or "or".
    """

    column: Column
    joint: str
    parts: tuple[Values | Term, ...]


ClauseTemplate = tuple[Values | Term, ...]
"""A conjunction: at most one `Values` a column, and the terms that are no sets of values."""

Positive = Values | Term | bool | tuple[str, tuple["Positive", ...]]
"""A tree without NOT. True and False are constants; NULL, which is never true, is False."""


def normalise(root: Node) -> tuple[ClauseTemplate, ...]:
    """The clauses of a tree; none if it can never be true."""
    positive = _positive(root, negated=False)
    count = _count(positive)
    if count > MAX_CLAUSES:
        raise ShapeProblem(
            f"too many clauses: written without nested OR it has {count:,}, and the limit is "
            f"{MAX_CLAUSES}; split it into several subscriptions"
        )
    clauses = [_conjunction(clause) for clause in _clauses(positive)]
    return tuple(dict.fromkeys(clauses))


def parts_of(root: Node) -> Iterator[Values | Term]:
    """Every atom of a tree as a part of its own, also those that a constant makes void."""
    if isinstance(root, Atom):
        yield _part(Term(root, negated=False))
    elif isinstance(root, Not):
        yield from parts_of(root.operand)
    elif isinstance(root, And | Or):
        for operand in root.operands:
            yield from parts_of(operand)


def _part(term: Term) -> Values | Term:
    return Values(term.atom.column, "and", (term,)) if _is_set(term.atom) else term


def _positive(node: Node, *, negated: bool) -> Positive:
    if isinstance(node, Not):
        return _positive(node.operand, negated=not negated)
    if isinstance(node, Constant):
        return node.value is (not negated)
    if isinstance(node, And | Or):
        joint = "and" if isinstance(node, And) != negated else "or"
        return _join(joint, [_positive(part, negated=negated) for part in node.operands])
    return _part(Term(node, negated))


def _is_set(atom: Atom) -> bool:
    """Whether the atom accepts a set of values, whatever its literals are."""
    if atom.test is Test.LIKE:
        pattern, *escape = atom.operands
        return not escape and not (isinstance(pattern, Slot) and pattern.kind in (PATTERN, RAW))
    return atom.test not in (Test.ILIKE, Test.RLIKE, Test.CONTAINS, Test.CONCEPT)


def _join(joint: str, parts: list[Positive]) -> Positive:
    absorbing = joint == "or"
    flat: list[Positive] = []
    for part in parts:
        if part is absorbing:
            return absorbing
        if isinstance(part, tuple) and part[0] == joint:
            flat += part[1]
        elif not isinstance(part, bool):
            flat.append(part)
    joined = _by_column(joint, flat)
    if not joined:
        return not absorbing
    return joined[0] if len(joined) == 1 else (joint, tuple(joined))


def _by_column(joint: str, parts: list[Positive]) -> list[Positive]:
    """The same parts with the sets of each column made one, in order of first appearance."""
    joined: dict[object, list[Positive]] = {}
    for place, part in enumerate(parts):
        joined.setdefault(part.column if isinstance(part, Values) else place, []).append(part)
    return [same[0] if len(same) == 1 else _one_set(joint, same) for same in joined.values()]


def _one_set(joint: str, same: list[Positive]) -> Values:
    sets = [part for part in same if isinstance(part, Values)]
    return Values(sets[0].column, joint, tuple(sets))


def _count(node: Positive) -> int:
    if not isinstance(node, tuple):
        return 1
    total = 1 if node[0] == "and" else 0
    for part in node[1]:
        total = total * _count(part) if node[0] == "and" else total + _count(part)
    return total


def _clauses(node: Positive) -> list[tuple[Values | Term, ...]]:
    if isinstance(node, bool):
        return [()] if node else []
    if not isinstance(node, tuple):
        return [(node,)]
    parts = [_clauses(part) for part in node[1]]
    if node[0] == "or":
        return [clause for clauses in parts for clause in clauses]
    return [tuple(term for clause in choice for term in clause) for choice in product(*parts)]


def _conjunction(clause: tuple[Values | Term, ...]) -> ClauseTemplate:
    unique = list(dict.fromkeys(clause))
    return tuple(part for part in _by_column("and", [*unique]) if isinstance(part, Values | Term))
