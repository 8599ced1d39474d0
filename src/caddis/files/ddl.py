"""Schemas as a person writes them: 'city STRING, price DECIMAL(10,2), tags ARRAY<STRING>'.

The words are Spark SQL's; sqlglot reads them, so neither Java nor a session is needed.
"""

from __future__ import annotations

import re

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from caddis.errors import EventError

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
    """The Arrow schema of a list of columns.

    >>> parse_schema("city STRING, at STRUCT<lat: DOUBLE, lon: DOUBLE>").names
    ['city', 'at']
    """
    columns = _columns(text)
    fields = [pa.field(column.name, _type(_kind(column), timezone)) for column in columns]
    names = [field.name.lower() for field in fields]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise EventError(f"--schema names the column {twice!r} twice")
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
    raise EventError(f"--schema: the type {kind.sql(dialect='spark')} is not supported")


def _near(error: SqlglotError) -> str:
    words = [str(one.get("highlight") or "") for one in getattr(error, "errors", [])]
    return next((word for word in words if re.search(r"\w", word)), "")


def _unreadable(text: str, near: str = "") -> EventError:
    place = f" near {near!r}" if near else ""
    return EventError(f"--schema cannot be read{place}: {text!r}; it should look like {EXAMPLE!r}")
