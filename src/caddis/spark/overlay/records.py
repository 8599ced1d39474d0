"""What travels on a link, and what a micro-batch writes: the columns, and names for both.

A record on a link is an event in a column of its own, so that its columns may have any names:

    source STRING                       the neighbour who sends it; '' if it is published here
    known MAP<STRING, TINYINT>          as in {'beach(photo)': 1}
    event STRUCT<...>                   as the overlay file's schema says
"""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from caddis.overlay import WIRE

Kind = Literal["forwarded", "notified", "refused", "problem", "taken"]
"""Of a file that a task wrote; `taken` counts what came, and has no file."""

WRITTEN = "kind STRING, target STRING, file STRING, rows BIGINT"
"""What a task tells of the files that it wrote."""


def link_schema(events: pa.Schema) -> pa.Schema:
    """Of records on a link."""
    return pa.schema([("source", pa.string()), ("known", WIRE), ("event", pa.struct(list(events)))])


def spark_link_schema(events: pa.Schema) -> StructType:
    """The same for Spark."""
    return from_arrow_schema(link_schema(events))


def as_records(events: DataFrame) -> DataFrame:
    """Events that are published here, as records of which nothing is known."""
    columns = [F.col(f"`{name.replace('`', '``')}`") for name in events.columns]
    return events.select(
        F.lit("").alias("source"),
        F.expr("CAST(map() AS MAP<STRING, TINYINT>)").alias("known"),
        F.struct(*columns).alias("event"),
    )
