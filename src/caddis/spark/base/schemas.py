"""Spark's schemas as the Arrow schemas that the language room reads."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from caddis.language import COLLATION_METADATA, UTF8_BINARY


def arrow_schema(schema: StructType, timezone: str) -> pa.Schema:
    """The columns that Arrow can carry; string columns keep their collation."""
    fields = [_field(field, timezone) for field in schema.fields]
    return pa.schema([field for field in fields if field is not None])


def session_timezone(events: DataFrame) -> str:
    """The time zone in which the events' session reads dates and times."""
    return events.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"


def spark_type(type_: pa.DataType) -> DataType:
    """The Spark type of an Arrow type."""
    return from_arrow_type(type_)


def plainly_named(events: DataFrame, columns: tuple[str, ...]) -> DataFrame:
    """The columns under plain names: `mapInArrow` trips over dots and backquotes."""
    quoted = [column.replace("`", "``") for column in columns]
    return events.selectExpr(*(f"`{name}` AS c{at}" for at, name in enumerate(quoted)))


def _field(field: StructField, timezone: str) -> pa.Field | None:
    try:
        type_ = to_arrow_type(field.dataType, timezone=timezone)
    except (PySparkException, TypeError):
        return None
    if isinstance(field.dataType, StructType):
        inner = [_field(one, timezone) for one in field.dataType.fields]
        type_ = pa.struct([one for one in inner if one is not None])
    collation = _collation(field.dataType)
    metadata = None if collation == UTF8_BINARY else {COLLATION_METADATA: collation}
    return pa.field(field.name, type_, field.nullable, metadata)


def _collation(type_: DataType) -> str:
    if isinstance(type_, ArrayType):
        return _collation(type_.elementType)
    return str(type_.collation) if isinstance(type_, StringType) else UTF8_BINARY
