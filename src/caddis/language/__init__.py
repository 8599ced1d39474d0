"""WHERE texts → clauses, with Spark SQL's meaning.

    text ──shapes──▶ shape + literals ──reading──▶ tree ──normalise──▶ clause templates
                         │                                                  │
                         └────────── literals, comparisons, patterns ──▶ binding ──▶ predicates

`parse` is for one text, `parse_all` for very many. A shape is a text without its literals, or one
of its conditions without them: a million texts share a few, and each is read and normalised once
(`parsing`). `binding` puts the literals back in, and the result is made of `predicates` over
`columns`.
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
    has_byte_keys,
    is_array,
    is_comparable,
    is_floating,
    is_instant,
    is_text,
    scale_of,
    sql_type,
)
from caddis.language.parsing import (
    ABOVE_ALL,
    AFTER_KEY,
    BEFORE_KEY,
    BELOW_ALL,
    WIDE_DECIMAL_BIAS,
    ClauseTable,
    ColumnSets,
    Keys,
    PredicateTable,
    ValueSets,
    parse,
    parse_all,
)
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
from caddis.language.reading import is_plain_name
