"""What a WHERE clause's shape says, before it is normalised.

An atom tests one column; its literals are slots that are filled per subscription. NULL and
TRUE/FALSE are constants of the shape, not slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from caddis.language.columns import Column


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
