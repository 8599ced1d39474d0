"""Lifts the literals out of a WHERE clause, so that a million clauses share a few shapes.

    city = 'Galway' AND price < 200     →   city = ⟨string⟩ AND price < ⟨int⟩   +   'Galway', 200
    price < 200 AND beach(photo)        →   price < ⟨int⟩ AND ⟨concept⟩(photo)  +   200, beach

The shape is parsed once; its literals are bound per subscription. A literal's kind is part of
the shape, because Spark types `5`, `5.0` and `5e0` differently and because a LIKE pattern without
wildcards, or with one at its end, is an interval of values while any other is a regular expression.
The name of a concept that is called is lifted as a literal of a kind of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

# A literal is found by its first character; the rest follows by looking back at that one. So the
# alternatives need not repeat it, and one `split` takes all literals out of a text.
_REST_OF_STRING = r"""(?<=')[^'\\]*(?:(?:\\.|'')[^'\\]*)*'|(?<=")[^"\\]*(?:(?:\\.|"")[^"\\]*)*\""""
_REST_OF_NUMBER = r"(?<![\w.`][0-9.])(?<=[0-9.])[\w.]*(?:(?<=[eE])[+-]\w+)?"
_LITERAL_PATTERN = rf"(['\"0-9.](?:{_REST_OF_STRING}|{_REST_OF_NUMBER}))"
_LITERAL = re.compile(_LITERAL_PATTERN, re.DOTALL)
_SKIPPED = r"`(?:[^`]|``)*`|--[^\r\n]*|/\*.*?\*/"
_LITERAL_OR_SKIPPED = re.compile(
    rf"""((?<!\w)[rR](?:'[^']*'|"[^"]*"))|{_LITERAL_PATTERN}|{_SKIPPED}""", re.DOTALL
)
_CALLED_OR_SKIPPED = re.compile(rf"{_SKIPPED}|(?<![\w.])([^\W\d]\w*)(?=[ \t\r\n]*\()", re.DOTALL)
# Few texts have a quoted name, a comment or a raw string; only those take the slower way.
_MARKS_TO_SKIP = ("`", "--", "/*", "r'", 'r"', "R'", 'R"')
_WILDCARD = re.compile(r"[%_\\]|''|\"\"").search
_SUFFIX_KINDS = {"l": "L", "s": "S", "y": "Y", "d": "D", "f": "F"}

Texts = tuple[str, ...]
IsConcept = Callable[[str], bool]
"""Says whether a name that is called is a concept's and thus lifted; only identifiers may be."""

STRING, PREFIX, PATTERN, RAW = "s", "p", "w", "r"
"""Kinds of string literals: no wildcard; one `%`, at the end; any other; r'...'."""
TEXT_KINDS = frozenset((STRING, PREFIX, PATTERN, RAW))
INTEGER, DECIMAL, EXPONENT = "i", "d", "e"
"""Kinds of numbers without a suffix; with one, the kind is the suffix: L S Y D F, B for BD."""
CONCEPT = "c"
"""The kind of a concept's name."""
CONCEPT_STAND_IN = "some_concept"
"""What stands in a template for a concept's name. A slot is recognised by its place, so a column or
a concept that really has this name is not mistaken for one.
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """A WHERE clause without its literals: the text between them, and their kinds."""

    between: tuple[str, ...]
    kinds: str

    def template(self) -> str:
        """Parseable text of the same structure, with a stand-in for each literal."""
        return _interleave(self.between, [self._stand_in(kind) for kind in self.kinds])

    def slot_starts(self) -> dict[int, int]:
        """Where each literal's stand-in begins in the template → the literal's number."""
        starts, at = {}, 0
        for slot, kind in enumerate(self.kinds):
            at += len(self.between[slot])
            starts[at] = slot
            at += len(self._stand_in(kind))
        return starts

    def to_text(self, position: int, literals: Texts) -> int:
        """The place in a subscription's own text of a place in the template."""
        in_template = in_text = 0
        for slot, fixed in enumerate(self.between):
            if position <= in_template + len(fixed) or slot == len(literals):
                break
            in_template += len(fixed) + len(self._stand_in(self.kinds[slot]))
            in_text += len(fixed) + len(literals[slot])
            if position <= in_template:
                return in_text
        return in_text + position - in_template

    def span_of(self, slot: int, literals: Texts) -> tuple[int, int]:
        """The place of a literal in a subscription's own text."""
        start = sum(map(len, self.between[: slot + 1])) + sum(map(len, literals[:slot]))
        return start, start + len(literals[slot])

    @staticmethod
    def _stand_in(kind: str) -> str:
        if kind == CONCEPT:
            return CONCEPT_STAND_IN
        return "'s'" if kind in TEXT_KINDS else "1"


def lift(where: str, is_concept: IsConcept | None = None) -> tuple[Shape, Texts]:
    """The shape of a WHERE clause, and the texts of its literals.

    is_concept: which of the names that it calls are lifted; None lifts none.

    >>> shape, literals = lift("city = 'Galway' AND price < 200")
    >>> shape.template(), literals
    ("city = 's' AND price < 1", ("'Galway'", '200'))
    """
    key, literals = lift_key(where, is_concept)
    return shape_of(key), literals


def lift_key(where: str, is_concept: IsConcept | None = None) -> tuple[Texts, Texts]:
    """Like `lift`, with the shape as plain texts: what a million clauses are grouped by."""
    careful = any(mark in where for mark in _MARKS_TO_SKIP)
    parts = _split_with_skips(where) if careful else _LITERAL.split(where)
    if is_concept is not None and "(" in where:
        parts = _split_at_concepts(parts, is_concept)
    literals = tuple(parts[1::2])
    return ("".join(map(_kind, literals)), *parts[::2]), literals


def shape_of(key: Texts) -> Shape:
    """The shape that a key of `lift_key` stands for."""
    return Shape(key[1:], key[0])


def _split_with_skips(where: str) -> list[str]:
    """Literals at odd places, as re.split gives them; quoted names and comments stay between."""
    parts, start = [], 0
    for token in _LITERAL_OR_SKIPPED.finditer(where):
        if token.lastindex:
            parts += [where[start : token.start()], token.group()]
            start = token.end()
    return [*parts, where[start:]]


def _split_at_concepts(parts: list[str], is_concept: IsConcept) -> list[str]:
    """The same parts, with the names of concepts at odd places, too."""
    split = _called_apart(parts[0], is_concept)
    for literal, fixed in zip(parts[1::2], parts[2::2], strict=True):
        split += [literal, *_called_apart(fixed, is_concept)]
    return split


def _called_apart(fixed: str, is_concept: IsConcept) -> list[str]:
    if "(" not in fixed:
        return [fixed]
    parts, start = [], 0
    for called in _CALLED_OR_SKIPPED.finditer(fixed):
        if called.lastindex and is_concept(called.group()):
            parts += [fixed[start : called.start()], called.group()]
            start = called.end()
    return [*parts, fixed[start:]]


def _kind(literal: str) -> str:
    first = literal[0]
    if first in "'\"":
        wild = _WILDCARD(literal, 1, len(literal) - 1)
        if wild is None:
            return STRING
        return PREFIX if wild.start() == len(literal) - 2 and wild.group() == "%" else PATTERN
    if literal.isdigit():
        return INTEGER
    if literal.isidentifier():
        return CONCEPT
    if first in "rR":
        return RAW
    last = literal[-1].lower()
    if last in _SUFFIX_KINDS:
        return "B" if literal[-2:].lower() == "bd" else _SUFFIX_KINDS[last]
    return EXPONENT if "e" in literal.lower() else DECIMAL


def _interleave(between: Texts, inserted: list[str]) -> str:
    pieces = [between[0]]
    for literal, fixed in zip(inserted, between[1:], strict=True):
        pieces += [literal, fixed]
    return "".join(pieces)
