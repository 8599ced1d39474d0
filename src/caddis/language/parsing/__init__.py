"""Very many WHERE texts at a time, and the table of clauses that comes of them."""

from caddis.language.parsing.clause_table import ClauseTable
from caddis.language.parsing.predicate_table import (
    ABOVE_ALL,
    AFTER_KEY,
    BEFORE_KEY,
    BELOW_ALL,
    WIDE_DECIMAL_BIAS,
    ColumnSets,
    Keys,
    PredicateCollector,
    PredicateTable,
    ValueSets,
)
from caddis.language.parsing.texts import parse, parse_all
