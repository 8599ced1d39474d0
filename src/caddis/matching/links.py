"""What every table of subscriptions must be, whatever its clauses are made of."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from caddis.errors import SubscriptionError, SubscriptionTableError
from caddis.language import is_text, sql_type


def subscription_ids_of(subscriptions: pa.Table) -> pa.Array:
    """The ids of a table whose clauses are WHERE texts, checked: there, not null, each once."""
    ids = checked_ids(subscriptions)
    where = subscriptions.schema.field("where").type
    if not (is_text(where) or pa.types.is_null(where)):
        raise SubscriptionTableError(f"the column 'where' must hold texts; it is {sql_type(where)}")
    return ids


def checked_ids(subscriptions: pa.Table) -> pa.Array:
    """The ids of a table, whatever its column `where` holds."""
    for name in ("subscription_id", "where"):
        if name not in subscriptions.column_names:
            names = ", ".join(subscriptions.column_names)
            raise SubscriptionTableError(f"subscriptions need a column {name!r}; they have {names}")
    ids = _plain(subscriptions["subscription_id"]).combine_chunks()
    if ids.null_count:
        raise SubscriptionTableError(
            f"{ids.null_count:,} subscriptions have a null subscription_id"
        )
    counts = ids.value_counts()
    repeated = counts.filter(pa.compute.greater(counts.field("counts"), 1))
    if len(repeated):
        first = repeated.field("values")[0].as_py()
        raise SubscriptionTableError(
            f"{len(repeated):,} subscription_ids occur more than once, such as {first!r}"
        )
    return ids


def named_errors(
    errors: Mapping[int, SubscriptionError], ids: pa.Array
) -> tuple[SubscriptionError, ...]:
    """The errors by row, each with the id of its subscription."""
    return tuple(
        SubscriptionError(error.problem, error.where, error.span, ids[row].as_py())
        for row, error in errors.items()
    )


def _plain(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids in a type that Spark has, too: STRING for all kinds of texts, BIGINT for unsigned."""
    type_ = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    if is_text(type_) or pa.types.is_null(type_):
        type_ = pa.string()
    return ids.cast(pa.int64() if pa.types.is_unsigned_integer(type_) else type_)
