"""From the text of a WHERE clause to clauses whose literals are still open.

    text ──shapes──▶ shape + literals ──reading──▶ tree ──normalise──▶ clause templates

`lift_key` takes the literals out of a text, so that a million texts share a few shapes; `read`
parses a shape once, and `refusals` says what is wrong with it in the words of whoever wrote it;
`normalise` makes its tree a disjunction of clauses.
"""

from caddis.language.syntax.reading import is_plain_name, read
from caddis.language.syntax.refusals import ShapeProblem
from caddis.language.syntax.shapes import (
    CONCEPT,
    PREFIX,
    RAW,
    STRING,
    TEXT_KINDS,
    IsConcept,
    Shape,
    Texts,
    lift_key,
    shape_of,
)
from caddis.language.syntax.tree import (
    TEXT_TESTS,
    Atom,
    ClauseTemplate,
    Node,
    Slot,
    Term,
    Test,
    Values,
    normalise,
    parts_of,
)

__all__ = [
    "CONCEPT",
    "PREFIX",
    "RAW",
    "STRING",
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
