"""What the templates and frames of `scanning` mean.

Templates and frames are few however many texts there are. Each template is read by sqlglot, once,
in the same way as a whole text. It counts only if it is of one of FORMS: then it means the same
alone as between AND, OR and NOT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import pyarrow as pa

from caddis.language.binding import slots_of
from caddis.language.columns import Column, Columns, Vocabulary
from caddis.language.parsing.junctions import AND, CLOSE, CONDITION, NOT, OPEN, OR
from caddis.language.parsing.scanning import KINDS
from caddis.language.predicates import ValueSet
from caddis.language.reading import read
from caddis.language.refusals import ShapeProblem
from caddis.language.shapes import Shape
from caddis.language.tree import (
    And,
    Atom,
    ClauseTemplate,
    Node,
    Not,
    Or,
    Slot,
    Term,
    Test,
    Values,
    normalise,
)

_BLANKS = r"[ \t\r\n]*"
_BLANK = r"[ \t\r\n]+"
_NAME = r"(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
_STRING = r"[\x01-\x03]"
_LITERAL = (
    rf"(?:(?:(?:DATE|TIMESTAMP|TIMESTAMP_NTZ){_BLANKS})?{_STRING}"
    rf"|(?:-{_BLANKS})?[\x04\x05]|TRUE|FALSE|NULL)"
)
_SIGN = rf"{_BLANKS}(?:<=>|<=|>=|<>|!=|==|=|<|>){_BLANKS}"
_NOT = rf"(?:{_BLANK}NOT)?{_BLANK}"
FORMS = (
    _NAME,
    rf"{_NAME}{_SIGN}{_LITERAL}",
    rf"{_LITERAL}{_SIGN}{_NAME}",
    rf"{_NAME}{_NOT}IN{_BLANKS}\({_BLANKS}{_LITERAL}(?:{_BLANKS},{_BLANKS}{_LITERAL})*{_BLANKS}\)",
    rf"{_NAME}{_NOT}BETWEEN{_BLANK}{_LITERAL}{_BLANK}AND{_BLANK}{_LITERAL}",
    rf"{_NAME}{_NOT}(?:LIKE|ILIKE|RLIKE){_BLANKS}{_STRING}",
    rf"{_NAME}{_BLANK}IS{_NOT}(?:NULL|TRUE|FALSE)",
    rf"array_contains{_BLANKS}\({_BLANKS}{_NAME}{_BLANKS},{_BLANKS}{_LITERAL}{_BLANKS}\)",
    rf"{_NAME}{_BLANKS}\({_BLANKS}{_NAME}{_BLANKS}\)",
)
"""The conditions that are recognised, as regular expressions over templates."""
_KNOWN_FORM = re.compile("|".join(f"(?:{form})" for form in FORMS), re.IGNORECASE | re.ASCII)
_RUN_OF_BLANKS = re.compile(_BLANK)
_AROUND_SIGNS = re.compile(r" ?(<=>|<=|>=|<>|!=|==|=|<|>) ?")
_AROUND_BRACKETS = re.compile(r" ?([(,)]) ?")
_MARKER = re.compile(r"[\x01-\x05]")

MOST_CONDITIONS = 32
"""Texts with more conditions are read as a whole."""

MOST_LEVELS = 8
"""Texts with more parentheses around a condition are read as a whole."""

_NO_COLUMN = Column(("",), pa.null())


@dataclass(frozen=True, slots=True)
class Condition:
    """A template that is one test of one column: what it is if it is to be true, or false."""

    column: Column
    positive: Values | Term
    negative: Values | Term
    kinds: str
    """The kinds of its literals."""

    @property
    def is_set(self) -> bool:
        """Whether it accepts a set of values, so that it can be joined with others."""
        return isinstance(self.positive, Values)


def canonical(template: bytes) -> str | None:
    """What stands for a template and all that differ in blanks and capitals alone.

    None if the template is of no known form.
    """
    text = template.decode()
    if not _KNOWN_FORM.fullmatch(text):
        return None
    text = _RUN_OF_BLANKS.sub(" ", text.lower())
    return _AROUND_BRACKETS.sub(r"\1", _AROUND_SIGNS.sub(r" \1 ", text))


def condition_of(
    text: str | None, columns: Columns, concepts: Vocabulary | None
) -> Condition | None:
    """What a canonical template means; None if it is wrong."""
    if text is None:
        return None
    kinds = "".join(KINDS[ord(marker) - 1] for marker in _MARKER.findall(text))
    try:
        tree = read(Shape(tuple(_MARKER.split(text)), kinds), columns, concepts)
        parts = [_only_part(normalise(node)) for node in (tree, Not(tree))]
    except ShapeProblem:
        return None
    positive, negative = parts
    if positive is None or negative is None or slots_of(positive) != [*range(len(kinds))]:
        return None
    column = positive.column if isinstance(positive, Values) else positive.atom.column
    return Condition(column, positive, negative, kinds)


def _only_part(clauses: tuple[ClauseTemplate, ...]) -> Values | Term | None:
    return clauses[0][0] if len(clauses) == 1 and len(clauses[0]) == 1 else None


def frame_of(frame: bytes) -> Node | None:
    """The tree of a frame: its atoms have the conditions' places as slots. None if it is wrong."""
    depth = np.cumsum([(symbol == OPEN) - (symbol == CLOSE) for symbol in frame])
    if not 1 <= frame.count(CONDITION) <= MOST_CONDITIONS or depth.max() > MOST_LEVELS:
        return None
    try:
        return _FrameReader(frame).whole()
    except _MalformedFrame:
        return None


class _MalformedFrame(ValueError):
    """Something is missing in a frame, or too much."""


class _FrameReader:
    """Reads a frame from left to right; NOT binds more closely than AND, and AND than OR."""

    def __init__(self, frame: bytes) -> None:
        self.symbols = iter(frame)
        self.next = next(self.symbols, None)
        self.places = count()

    def whole(self) -> Node:
        tree = self.alternatives()
        if self.next is not None:
            raise _MalformedFrame
        return tree

    def alternatives(self) -> Node:
        parts = [self.conjunction()]
        while self.took(OR):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def conjunction(self) -> Node:
        parts = [self.operand()]
        while self.took(AND):
            parts.append(self.operand())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def operand(self) -> Node:
        if self.took(NOT):
            return Not(self.operand())
        if self.took(CONDITION):
            return Atom(_NO_COLUMN, Test.EQUAL, (Slot(next(self.places), ""),))
        if not self.took(OPEN):
            raise _MalformedFrame
        inner = self.alternatives()
        if not self.took(CLOSE):
            raise _MalformedFrame
        return inner

    def took(self, symbol: int) -> bool:
        """Whether this is the next symbol; goes on behind it if so."""
        if self.next != symbol:
            return False
        self.next = next(self.symbols, None)
        return True


def clauses_of(
    frame: Node, columns: Sequence[int], sets: Sequence[bool]
) -> tuple[ClauseTemplate, ...]:
    """The clauses of a frame: conjunctions of parts whose slots are the places of conditions.

    columns: for each place, the first place whose condition tests the same column.
    sets: for each place, whether its condition accepts a set of values.
    Raises ShapeProblem if there are too many.
    """
    return normalise(_on_columns(frame, columns, sets))


def _on_columns(node: Node, columns: Sequence[int], sets: Sequence[bool]) -> Node:
    if isinstance(node, Not):
        return Not(_on_columns(node.operand, columns, sets))
    if isinstance(node, And | Or):
        return type(node)(tuple(_on_columns(one, columns, sets) for one in node.operands))
    assert isinstance(node, Atom)
    (slot,) = node.operands
    assert isinstance(slot, Slot)
    column = Column((str(columns[slot.number]),), pa.null())
    test = Test.EQUAL if sets[slot.number] else Test.RLIKE
    return Atom(column, test, (slot,))


def terms_of(part: Values | Term) -> list[tuple[int, bool]]:
    """The places of the conditions in a part of a frame, and whether each is to be false."""
    if isinstance(part, Values):
        return [term for inner in part.parts for term in terms_of(inner)]
    (place,) = slots_of(part)
    return [(place, part.negated)]


def joined(part: Values | Term, sets: Iterator[ValueSet]) -> ValueSet:
    """The values that a part of a frame accepts, given those of each of its terms, in order."""
    if isinstance(part, Term):
        return next(sets)
    first, *others = [joined(inner, sets) for inner in part.parts]
    for other in others:
        first = first & other if part.joint == "and" else first | other
    return first
