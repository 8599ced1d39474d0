"""The events' columns without Spark: as a user writes them, or as a file has them.

A user writes DDL, 'city STRING, price DECIMAL(10,2), tags ARRAY<STRING>', in Spark SQL's words;
sqlglot reads it, so neither Java nor a session is needed. For a file, types are those that Spark
would give: what Arrow guesses from a text file is turned into Spark's guess, and a type that Spark
does not have into the one that it reads instead. Only the first rows of a text file are looked at.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from caddis.errors import EventError
from caddis.files.formats import FileFormat, data_files

EXAMPLE = "event_id BIGINT, city STRING, price DECIMAL(10,2), tags ARRAY<STRING>"

_SCALARS = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "TEXT": pa.string(),
    "VARCHAR": pa.string(),
    "CHAR": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMPNTZ": pa.timestamp("us"),
}
_INSTANTS = ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ")


def parse_schema(text: str, timezone: str = "UTC") -> pa.Schema:
    """The Arrow schema of columns that are written as DDL.

    >>> parse_schema("city STRING, at STRUCT<lat: DOUBLE, lon: DOUBLE>").names
    ['city', 'at']
    """
    columns = _columns(text)
    fields = [pa.field(column.name, _type(_kind(column), timezone)) for column in columns]
    names = [field.name.lower() for field in fields]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise EventError(f"the schema names the column {twice!r} twice")
    return pa.schema(fields)


def _columns(text: str) -> list[exp.Expression]:
    try:
        table = sqlglot.parse_one(f"CREATE TABLE events ({text})", dialect="spark")
    except SqlglotError as error:
        raise _unreadable(text, _near(error)) from None
    schema = table.this
    more = table.args.get("expression") is not None
    if more or not isinstance(schema, exp.Schema) or not schema.expressions:
        raise _unreadable(text)
    return list(schema.expressions)


def _kind(column: exp.Expression) -> exp.DataType:
    kind = column.args.get("kind")
    if not isinstance(kind, exp.DataType):
        raise _unreadable(column.sql(dialect="spark"))
    return kind


def _type(kind: exp.DataType, timezone: str) -> pa.DataType:
    word = kind.this.value if isinstance(kind.this, exp.DataType.Type) else ""
    if word in _SCALARS:
        return _SCALARS[word]
    if word in _INSTANTS:
        return pa.timestamp("us", timezone)
    if word == "DECIMAL":
        digits = [int(one.name) for one in kind.expressions]
        return pa.decimal128(*(digits or [10]), *([0] if len(digits) < 2 else []))
    if word == "ARRAY" and kind.expressions:
        return pa.list_(_type(kind.expressions[0], timezone))
    if word == "STRUCT":
        return pa.struct([(one.name, _type(_kind(one), timezone)) for one in kind.expressions])
    raise EventError(f"the schema has a type that is not supported: {kind.sql(dialect='spark')}")


def _near(error: SqlglotError) -> str:
    words = [str(one.get("highlight") or "") for one in getattr(error, "errors", [])]
    return next((word for word in words if re.search(r"\w", word)), "")


def _unreadable(text: str, near: str = "") -> EventError:
    place = f" near {near!r}" if near else ""
    return EventError(
        f"the schema cannot be read{place}: {text!r}; it should look like {EXAMPLE!r}"
    )


FIRST_BYTES = 16 << 20
"""How much of a text file is looked at; also what Arrow parses at a time."""

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.null(): pa.string(),
}


def schema_of(path: Path, format_: FileFormat, timezone: str) -> pa.Schema:
    """The columns that Spark would find in a file, or in the first file of a folder."""
    files = data_files(path)
    if not files:
        raise EventError(f"{path} is empty, so its columns are unknown; give them with --schema")
    reader = {"parquet": _of_parquet, "jsonl": _of_json_lines, "csv": _of_csv}[format_]
    try:
        schema = reader(files[0])
    except pa.ArrowException as error:
        raise EventError(f"{files[0]}: cannot be read as {format_}: {error}") from error
    return pa.schema([field.with_type(spark_like(field.type, timezone)) for field in schema])


def spark_like(type_: pa.DataType, timezone: str) -> pa.DataType:
    """The Arrow type of the values that Spark reads from a column of some Arrow type.

    >>> spark_like(pa.timestamp("ns", "Europe/Paris"), "UTC")
    TimestampType(timestamp[us, tz=UTC])
    """
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", timezone if type_.tz else None)
    if pa.types.is_dictionary(type_):
        return spark_like(type_.value_type, timezone)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(spark_like(type_.value_type, timezone))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(spark_like(field.type, timezone)) for field in type_])
    return _WIDER.get(type_, type_)


def _of_parquet(file: Path) -> pa.Schema:
    import pyarrow.parquet as pq

    return pq.read_schema(file)


def _of_json_lines(file: Path) -> pa.Schema:
    """Find columns as Spark does, which leaves times in JSON as strings."""
    from pyarrow import json

    options = json.ReadOptions(block_size=FIRST_BYTES)
    with json.open_json(file, read_options=options) as reader:
        return pa.schema([field.with_type(times_as_texts(field.type)) for field in reader.schema])


def times_as_texts(type_: pa.DataType) -> pa.DataType:
    """The type, with strings in place of dates and times."""
    if pa.types.is_temporal(type_):
        return pa.string()
    if pa.types.is_list(type_):
        return pa.list_(times_as_texts(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(times_as_texts(field.type)) for field in type_])
    return type_


def _of_csv(file: Path) -> pa.Schema:
    """Find columns as Spark does: integers are INT where they fit, and times are TIMESTAMP."""
    from pyarrow import csv

    with csv.open_csv(file, csv.ReadOptions(block_size=FIRST_BYTES)) as reader:
        rows = pa.Table.from_batches(
            [batch for batch, _ in zip(reader, (0,), strict=False)], reader.schema
        )
    return pa.schema([(name, _csv_type(rows[name])) for name in rows.column_names])


def _csv_type(values: pa.ChunkedArray) -> pa.DataType:
    if pa.types.is_time(values.type):
        return pa.string()
    if pa.types.is_timestamp(values.type):
        return pa.timestamp("us", "UTC")
    if values.type != pa.int64():
        return values.type
    ends = pc.min_max(values).as_py()
    fits = (ends["min"] or 0) >= -(2**31) and (ends["max"] or 0) < 2**31
    return pa.int32() if fits else pa.int64()
