"""WHERE texts → clauses, with Spark SQL's meaning.

`parse` is for one text, `parse_all` for very many. The way through: `shapes` lifts the literals
out, `syntax` reads the shape, `normal` makes it a disjunction of clauses, `binding` puts the
literals back in, and the result is made of `predicates` over `values` of `columns`.
"""

from caddis.language.columns import Column, Columns, Vocabulary
from caddis.language.parsing import ClauseTable, parse, parse_all
from caddis.language.predicates import (
    Clause,
    Concept,
    Contains,
    InValues,
    MatchesText,
    Predicate,
    TextPattern,
)
from caddis.language.values import ValueSet

__all__ = [
    "Clause",
    "ClauseTable",
    "Column",
    "Columns",
    "Concept",
    "Contains",
    "InValues",
    "MatchesText",
    "Predicate",
    "TextPattern",
    "ValueSet",
    "Vocabulary",
    "parse",
    "parse_all",
]
