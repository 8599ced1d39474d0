"""`check`: what is wrong with subscriptions, before anything is matched."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from caddis.errors import EventError
from caddis.files import parse_schema
from caddis.language import parse_all
from caddis.matching import named_errors, subscription_ids_of
from caddis.models import Catalogue, Model
from caddis.spark.base import DataFrame, arrow_schema, session_timezone, type_in_words
from caddis.spark.store import SubscriptionTable, check_plain, invalid_table, subscription_table


def check(
    subscriptions: SubscriptionTable,
    schema: pa.Schema | DataFrame | str,
    models: Sequence[Model] = (),
    *,
    timezone: str = "UTC",
) -> pa.Table:
    """List the subscriptions that cannot be used, one in each row; no rows if all can be used.

    The table has `subscription_id`, the `error` in words, and its place in the WHERE text from
    `start` to `end`, which are null if the error has no place.

    subscriptions: a table with `subscription_id` and `where`.
    schema: the events' columns: an Arrow schema, a DataFrame of events, or a text such as
        'city STRING, price DECIMAL(10,2)'.
    models: models whose concepts subscriptions may call.
    timezone: the one in which dates and times without a time zone are read; for a DataFrame, that
        of its session is used instead.

    >>> table = pa.table({"subscription_id": ["ann", "bo"], "where": ["price < 9", "prize < 9"]})
    >>> check(table, "price INT").select(["subscription_id", "start", "end"]).to_pylist()
    [{'subscription_id': 'bo', 'start': 0, 'end': 5}]
    """
    if isinstance(schema, DataFrame):
        timezone = session_timezone(schema)
        columns = arrow_schema(schema.schema, timezone)
    else:
        columns = parse_schema(schema, timezone) if isinstance(schema, str) else schema
    if not isinstance(columns, pa.Schema):
        raise EventError(
            "schema must be an Arrow schema, a Spark DataFrame or a text such as 'city STRING', "
            f"not {type_in_words(columns)}"
        )
    table = subscription_table(subscriptions)
    ids = subscription_ids_of(table)
    check_plain(table)
    catalogue = Catalogue(models)
    catalogue.check(columns)
    clauses = parse_all(
        table["where"].to_pylist(),
        columns,
        timezone=timezone,
        concepts=catalogue.vocabulary_for(columns),
    )
    return invalid_table(named_errors(clauses.errors, ids), ids.type)
