"""Random schemas and batches of events, rich in what comparisons stumble over.

A column draws from a small pool of its own, so that literals taken from the data hit often: nulls,
NaN, both zeros, infinities, the ends of every integer type, texts that differ by case, by a
trailing space or only beyond the basic plane, empty and null arrays, null structs. LINE_ENDS and
WIDE_DECIMALS are for those tests in which Spark is the judge.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

NAMES = ("price", "City", "a b", "a.b", "größe", "date", "timestamp", "order", "X1", "_y", "n`q")
FIELDS = ("id", "Name", "kind of", "end")
ZONED, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
SCALARS = (
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(5, 2),
    pa.decimal128(10, 0),
    pa.decimal128(28, 6),
    pa.string(),
    pa.string(),
    pa.date32(),
    ZONED,
    LOCAL,
)
WIDE_DECIMALS = (pa.decimal128(38, 0), pa.decimal128(38, 10), pa.decimal128(38, 37))
TEXTS = (
    *("", "a", "A", "ab", "abc", "aab", "b", " a", "a ", "a b", "Galway", "galway", "GALWAY"),
    *("50%", "50", "a_b", "it's", 'say "hi"', "back\\slash", "\\", "%", "_", "a\tb", "a\nb", "\0"),
    *("é", "É", "e\u0301", "ß", "ẞ", "ss", "İ", "i̇", "\u0131", "Σ", "σς", "ΟΔΟΣ", "K", "日本", "٣"),
    *("😀", "a😀b", "\uffff", "\ue000", "0", "5", "-1.5", "true", "null", "2024-01-01", "x" * 70),
)
LINE_ENDS = ("a\n", "a\r\n", "a\r", "\r", "a\u2028", "a\u0085b", "\u2029", "a\n\n", "\na")
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 1.5, 2.5, 1e10, 16777216.0, 16777217.0, 2.0**53, 1e-40)
NOT_NUMBERS = (math.nan, math.inf, -math.inf)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
INSTANTS = (
    *(EPOCH, EPOCH - dt.timedelta(microseconds=1), dt.datetime(2024, 2, 29, tzinfo=dt.UTC)),
    *(dt.datetime(2024, 2, 29, hour, 30, tzinfo=dt.UTC) for hour in (0, 1, 12, 23)),
    *(dt.datetime(2024, 3, 31, hour, 30, tzinfo=dt.UTC) for hour in (0, 1, 2)),
    *(dt.datetime(2024, 10, 27, hour, 30, tzinfo=dt.UTC) for hour in (0, 1, 2)),
    *(dt.datetime(1850, 6, 1, tzinfo=dt.UTC), dt.datetime(9000, 1, 1, 1, 2, 3, 4, dt.UTC)),
)


@dataclass(frozen=True, slots=True)
class Leaf:
    """Something a predicate can name: a column, or a field at a path of struct fields."""

    path: tuple[str, ...]
    type: pa.DataType

    def value_in(self, row: Any) -> Any:
        for name in self.path:
            row = None if row is None else row[name]
        return row


Types = tuple[pa.DataType, ...]
Texts = tuple[str, ...]


def random_schema(random: Random, scalars: Types = SCALARS) -> pa.Schema:
    names = random.sample(NAMES, random.randint(3, 8))
    return pa.schema([(name, random_type(random, scalars)) for name in names])


def random_type(random: Random, scalars: Types, depth: int = 0) -> pa.DataType:
    chance = random.random()
    if chance < 0.7:
        return random.choice(scalars)
    if chance < 0.85:
        return pa.list_(random.choice(scalars))
    if chance < 0.9 or depth > 1:
        return pa.binary()
    fields = random.sample(FIELDS, random.randint(1, 3))
    return pa.struct([(name, random_type(random, scalars, depth + 1)) for name in fields])


def random_batch(
    random: Random, schema: pa.Schema, rows: int, texts: Texts = TEXTS
) -> pa.RecordBatch:
    columns = []
    for field in schema:
        pool = [random_value(random, field.type, texts) for _ in range(12)]
        values = [None if random.random() < 0.15 else random.choice(pool) for _ in range(rows)]
        columns.append(pa.array(values, field.type))
    return pa.record_batch(columns, schema=schema)


def random_value(random: Random, type_: pa.DataType, texts: Texts = TEXTS) -> Any:
    """A value of the type; parts of arrays and structs may be null, the whole is not."""
    if pa.types.is_list(type_):
        size = random.choice((0, 1, 1, 2, 3))
        return [_or_null(random, type_.value_type, texts) for _ in range(size)]
    if pa.types.is_struct(type_):
        return {field.name: _or_null(random, field.type, texts) for field in type_}
    if pa.types.is_string(type_):
        return random_text(random, texts)
    if pa.types.is_floating(type_):
        return random.choice(FLOATS + NOT_NUMBERS)
    if pa.types.is_decimal(type_):
        return random_decimal(random, type_)
    if pa.types.is_integer(type_):
        return random_integer(random, type_.bit_width)
    if pa.types.is_binary(type_):
        return random.choice((b"", b"\xff", b"a"))
    return _of_calendar(random, type_)


def _or_null(random: Random, type_: pa.DataType, texts: Texts) -> Any:
    return None if random.random() < 0.2 else random_value(random, type_, texts)


def _of_calendar(random: Random, type_: pa.DataType) -> Any:
    if pa.types.is_boolean(type_):
        return random.random() < 0.5
    instant = random.choice(INSTANTS)
    if pa.types.is_date32(type_):
        return instant.date()
    return instant if type_ == ZONED else instant.replace(tzinfo=None)


def random_text(random: Random, texts: Texts) -> str:
    if random.random() < 0.7:
        return random.choice(texts)
    return "".join(random.choice("abAB%_\\ é😀5'") for _ in range(random.randint(1, 4)))


def random_integer(random: Random, bits: int) -> int:
    edge = 1 << (bits - 1)
    if random.random() < 0.3:
        return random.choice((-edge, 1 - edge, edge - 2, edge - 1))
    if bits == 64 and random.random() < 0.3:
        return (1 << 53) + random.randint(-2, 2)
    return random.randint(-3, 9)


def random_decimal(random: Random, type_: pa.DataType) -> Decimal:
    digits = 10**type_.precision
    unscaled = random.choice((0, 5, -5, 1, digits - 1, 1 - digits, random.randint(-9, 9)))
    if random.random() < 0.6:
        unscaled = random.randint(-20, 20) * 10**type_.scale // 10
    sign, places = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
    return Decimal((sign, places, -type_.scale))


def leaves(schema: pa.Schema) -> list[Leaf]:
    """Every column and field that a clause can name, structs themselves included."""
    return [leaf for field in schema for leaf in _leaves((), field)]


def _leaves(above: tuple[str, ...], field: pa.Field) -> Iterator[Leaf]:
    path = (*above, field.name)
    yield Leaf(path, field.type)
    if pa.types.is_struct(field.type):
        for inner in field.type:
            yield from _leaves(path, inner)
