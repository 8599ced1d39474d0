"""WHERE texts → clauses: one text, or a million at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from caddis.language.columns import Vocabulary
from caddis.language.literals import check_timezone
from caddis.language.parsing.by_condition import read_by_condition
from caddis.language.parsing.by_shape import Parser
from caddis.language.parsing.clause_table import ClauseTable
from caddis.language.predicates import Clause

ArrowTexts: TypeAlias = pa.Array | pa.ChunkedArray

FEWEST_BY_CONDITION = 50
"""Fewer texts are read by shape right away: looking for their conditions would not pay."""


def parse(where: str, schema: pa.Schema, *, timezone: str = "UTC") -> tuple[Clause, ...]:
    """The clauses of a WHERE text: it is true of an event if any of them is.

    Raises SubscriptionError with the place in the text.

    >>> schema = pa.schema([("city", pa.string()), ("price", pa.int32())])
    >>> len(parse("city = 'Galway' OR price < 200", schema))
    2
    """
    table = parse_all([where], schema, timezone=timezone)
    for error in table.errors.values():
        raise error
    return tuple(table.clause(number) for number in range(len(table.owner)))


def parse_all(
    wheres: Iterable[str | None] | ArrowTexts,
    schema: pa.Schema,
    *,
    timezone: str = "UTC",
    concepts: Vocabulary | None = None,
) -> ClauseTable:
    """The clauses of many WHERE texts, with the errors of those that cannot be used.

    timezone: the session's time zone, in which dates and times without one are read.
    concepts: the concepts that may be called; None allows any.
    """
    check_timezone(timezone)
    parser = Parser(schema, timezone, concepts)
    texts = _as_texts(wheres)
    if isinstance(texts, list) or len(texts) < FEWEST_BY_CONDITION:
        parser.read(enumerate(texts if isinstance(texts, list) else texts.to_pylist()))
    else:
        left = np.flatnonzero(~read_by_condition(parser, texts.fill_null("")))
        parser.read(zip(left.tolist(), texts.take(pa.array(left)).to_pylist(), strict=True))
    return parser.table()


def _as_texts(wheres: Iterable[str | None] | ArrowTexts) -> pa.LargeStringArray | list[str | None]:
    """The texts in one array, or as a list if one of them is not valid Unicode."""
    if isinstance(wheres, pa.Array | pa.ChunkedArray):
        whole = wheres.combine_chunks() if isinstance(wheres, pa.ChunkedArray) else wheres
        return whole.cast(pa.large_string())
    given = list(wheres)
    try:
        return pa.array(given, pa.large_string())
    except UnicodeEncodeError:
        return given
