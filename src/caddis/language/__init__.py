"""WHERE texts → clauses, with Spark SQL's meaning.

`parse` is for one text, `parse_all` for very many. The way through: `shapes` lifts the literals
out, `syntax` reads the shape, `normal` makes it a disjunction of clauses, `binding` puts the
literals back in, and the result is made of `predicates` over `values` of `columns`.
"""

from caddis.language.columns import (
    COLLATION_METADATA,
    UTF8_BINARY,
    Column,
    Columns,
    UnknownColumn,
    Vocabulary,
    collation_of,
    dotted_paths,
    exact_limits,
    float_key,
    is_array,
    is_comparable,
    is_floating,
    is_instant,
    is_text,
    scale_of,
    sql_type,
)
from caddis.language.parsing import ClauseTable, parse, parse_all
from caddis.language.predicates import (
    ALL_KNOWN,
    HIGHEST,
    LOWEST,
    Clause,
    Concept,
    Contains,
    Cut,
    InValues,
    Key,
    MatchesText,
    Predicate,
    TextPattern,
    ValueSet,
)

__all__ = [
    "ALL_KNOWN",
    "COLLATION_METADATA",
    "HIGHEST",
    "LOWEST",
    "UTF8_BINARY",
    "Clause",
    "ClauseTable",
    "Column",
    "Columns",
    "Concept",
    "Contains",
    "Cut",
    "InValues",
    "Key",
    "MatchesText",
    "Predicate",
    "TextPattern",
    "UnknownColumn",
    "ValueSet",
    "Vocabulary",
    "collation_of",
    "dotted_paths",
    "exact_limits",
    "float_key",
    "is_array",
    "is_comparable",
    "is_floating",
    "is_instant",
    "is_text",
    "parse",
    "parse_all",
    "scale_of",
    "sql_type",
]
