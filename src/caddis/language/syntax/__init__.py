"""TODO."""

from caddis.language.syntax.normal import ClauseTemplate, Term, Values, normalise, parts_of
from caddis.language.syntax.reading import is_plain_name, read
from caddis.language.syntax.refusals import ShapeProblem
from caddis.language.syntax.shapes import (
    CONCEPT,
    TEXT_KINDS,
    IsConcept,
    Shape,
    Texts,
    lift_key,
    shape_of,
)
from caddis.language.syntax.tree import TEXT_TESTS, Atom, Node, Slot, Test

__all__ = [
    "CONCEPT",
    "TEXT_KINDS",
    "TEXT_TESTS",
    "Atom",
    "ClauseTemplate",
    "IsConcept",
    "Node",
    "Shape",
    "ShapeProblem",
    "Slot",
    "Term",
    "Test",
    "Texts",
    "Values",
    "is_plain_name",
    "lift_key",
    "normalise",
    "parts_of",
    "read",
    "shape_of",
]
