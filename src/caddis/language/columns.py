"""The columns that a WHERE clause may name, and the ordered keys of their values.

Every supported type is mapped to keys whose order is Spark's order of the values:

    boolean, integers, dates (days), timestamps (µs), decimals (unscaled)   integers
    float, double      integers with the order of the bits; -0.0 is 0.0, NaN is above infinity
    string             its UTF-8 bytes

Struct fields are columns of their own, named with dots; an array column is tested through its
elements. Names are found as Spark finds them: without regard to case.

A `Vocabulary` is the same for concepts: which of them subscriptions may call, and of which columns.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa

from caddis.names import did_you_mean, nearest

UTF8_BINARY = "UTF8_BINARY"
COLLATION_METADATA = b"collation"
"""Arrow field metadata that names a string column's collation, if it is not UTF8_BINARY."""


@dataclass(frozen=True, slots=True)
class Column:
    """A scalar column, or an array of scalars, at a path of struct fields."""

    path: tuple[str, ...]
    type: pa.DataType
    repeated: bool = False
    collation: str = UTF8_BINARY

    def __hash__(self) -> int:
        # Columns are keys of many dictionaries, and to hash an Arrow type is slow.
        return hash(self.path)

    @property
    def name(self) -> str:
        """The dotted name, as a user would write it."""
        return ".".join(self.path)

    @property
    def whole_type(self) -> pa.DataType:
        """The type of the column itself, which for an array is not that of its elements."""
        return pa.list_(self.type) if self.repeated else self.type

    @property
    def sql_type(self) -> str:
        """The type in Spark's words, for messages."""
        return f"ARRAY<{sql_type(self.type)}>" if self.repeated else sql_type(self.type)


class UnknownColumn(LookupError):
    """No column has this name, or more than one has; the message says what would be right."""


class Columns:
    """Finds columns by name in an Arrow schema; a column is the same object each time."""

    def __init__(self, schema: pa.Schema) -> None:
        self._fields = [schema.field(i) for i in range(len(schema.names))]
        self._found: dict[tuple[str, ...], Column] = {}

    def find(self, parts: tuple[str, ...]) -> Column:
        """The column at a dotted name, regardless of case."""
        lowered = tuple(part.lower() for part in parts)
        if lowered not in self._found:
            self._found[lowered] = self._column(parts)
        return self._found[lowered]

    def _column(self, parts: tuple[str, ...]) -> Column:
        fields, path, field = self._fields, [], None
        for part in parts:
            field = self._only(fields, part, parts)
            path.append(field.name)
            fields = list(field.type) if pa.types.is_struct(field.type) else []
        assert field is not None
        if is_array(field.type):
            type_, repeated = field.type.value_type, True
        else:
            type_, repeated = field.type, False
        if pa.types.is_timestamp(type_):
            type_ = pa.timestamp("us", type_.tz)
        return Column(tuple(path), type_, repeated, collation_of(field))

    def _only(self, fields: list[pa.Field], part: str, parts: tuple[str, ...]) -> pa.Field:
        found = [field for field in fields if field.name.lower() == part.lower()]
        if len(found) == 1:
            return found[0]
        name = ".".join(parts)
        if found:
            names = " and ".join(repr(field.name) for field in found)
            raise UnknownColumn(f"ambiguous column {name!r}: it could be {names}")
        raise UnknownColumn(f"unknown column {name!r}{self._nearest(name)}")

    def _nearest(self, name: str) -> str:
        names = list(map(".".join, _paths(self._fields, ())))
        lowered = {known.lower(): known for known in names}
        near = nearest(name.lower(), lowered)
        if near is not None:
            return f"; did you mean {lowered[near]!r}?"
        return f"; the columns are {_listed(names, 12)}"


def is_array(type_: pa.DataType) -> bool:
    """Whether an Arrow type is what Spark calls an array."""
    return bool(
        pa.types.is_list(type_)
        or pa.types.is_large_list(type_)
        or pa.types.is_fixed_size_list(type_)
    )


def is_text(type_: pa.DataType) -> bool:
    """Whether an Arrow type is what Spark calls a string."""
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
    )


def is_exact(type_: pa.DataType) -> bool:
    """Whether the type is an integer or a decimal."""
    return bool(pa.types.is_signed_integer(type_) or pa.types.is_decimal(type_))


def is_floating(type_: pa.DataType) -> bool:
    """Whether the type is FLOAT or DOUBLE."""
    return bool(pa.types.is_float32(type_) or pa.types.is_float64(type_))


def is_instant(type_: pa.DataType) -> bool:
    """Whether the type is TIMESTAMP (with Spark's local time zone, not NTZ)."""
    return bool(pa.types.is_timestamp(type_)) and type_.tz is not None


def is_comparable(type_: pa.DataType) -> bool:
    """Whether predicates other than IS NULL can test values of the type."""
    tests = (is_text, is_exact, is_floating, pa.types.is_boolean)
    times = (pa.types.is_date32, pa.types.is_timestamp)
    return any(test(type_) for test in (*tests, *times))


def has_byte_keys(column: Column) -> bool:
    """Whether keys are bytes: those of strings, of bytes, and of decimals beyond 64 bits."""
    if pa.types.is_decimal(column.type):
        return bool(column.type.precision > 18)
    return is_text(column.type) or bool(pa.types.is_binary(column.type))


def scale_of(type_: pa.DataType) -> int:
    """Digits behind the point: the key of a value v of an exact type is v × 10^scale."""
    return int(type_.scale) if pa.types.is_decimal(type_) else 0


def exact_limits(type_: pa.DataType) -> tuple[int, int]:
    """The lowest and highest key that an exact type can hold."""
    if pa.types.is_decimal(type_):
        bound = 10**type_.precision - 1
        return -bound, bound
    bound = 1 << (type_.bit_width - 1)
    return -bound, bound - 1


def float_key(value: float) -> int:
    """An integer in the order that Spark gives to doubles.

    >>> float_key(-0.0) == float_key(0.0), float_key(math.nan) > float_key(math.inf)
    (True, True)
    """
    if math.isnan(value):
        return (1 << 63) - 1
    # Adding 0.0 makes 0.0 of -0.0. The bits of positive doubles are ordered as they are; those of
    # negative ones are ordered backwards once the sign bit is off.
    bits = int(struct.unpack("<q", struct.pack("<d", value + 0.0))[0])
    return bits if bits >= 0 else -(bits & ((1 << 63) - 1))


_SQL_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
    pa.binary(): "BINARY",
}


def sql_type(type_: pa.DataType) -> str:
    """An Arrow type in Spark's words.

    >>> sql_type(pa.decimal128(10, 2)), sql_type(pa.timestamp("us"))
    ('DECIMAL(10,2)', 'TIMESTAMP_NTZ')
    """
    if type_ in _SQL_NAMES:
        return _SQL_NAMES[type_]
    if is_text(type_):
        return "STRING"
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "TIMESTAMP" if is_instant(type_) else "TIMESTAMP_NTZ"
    if is_array(type_):
        return f"ARRAY<{sql_type(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return f"STRUCT<{', '.join(f'{field.name}: {sql_type(field.type)}' for field in type_)}>"
    return str(type_).upper()


def collation_of(field: pa.Field) -> str:
    """The collation of a column of strings, or of arrays of them."""
    metadata = field.metadata or {}
    return str(metadata.get(COLLATION_METADATA, UTF8_BINARY.encode()).decode())


def dotted_paths(schema: pa.Schema) -> list[tuple[str, ...]]:
    """The path of every column that is no struct, in the order of the schema.

    >>> dotted_paths(pa.schema([("at", pa.struct([("x", pa.int32())])), ("city", pa.string())]))
    [('at', 'x'), ('city',)]
    """
    return list(_paths([schema.field(i) for i in range(len(schema.names))], ()))


def _paths(fields: list[pa.Field], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for nested in fields:
        if pa.types.is_struct(nested.type):
            yield from _paths(list(nested.type), (*above, nested.name))
        else:
            yield (*above, nested.name)


MOST_LISTED = 20
"""How many names an error message lists before it breaks off."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Each concept's name, with the columns that it can be asked of; None stands for any column.

    A concept without columns is known, but no model can read any column for it.

    >>> Vocabulary({"beach": frozenset([None])}).problem("beech", Column(("photo",), None))
    "unknown concept 'beech'; did you mean 'beach'? There is: beach"
    """

    columns: Mapping[str, frozenset[str | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, known: Iterable[tuple[str, str | None]]) -> Vocabulary:
        """Collect pairs of a concept and the column that a model reads for it; None for any."""
        columns: dict[str, frozenset[str | None]] = {}
        for concept, column in known:
            columns[concept] = columns.get(concept, frozenset()) | {column}
        return cls(columns)

    @property
    def pairs(self) -> list[tuple[str, str | None]]:
        """The pairs that `of` takes, sorted."""
        return [
            (concept, column)
            for concept, columns in sorted(self.columns.items())
            for column in sorted(columns, key=lambda name: name or "")
        ]

    def problem(self, concept: str, column: Column) -> str | None:
        """What is wrong with asking a concept of a column; None if nothing is."""
        if concept not in self.columns:
            return f"unknown concept {concept!r}{self._nearest(concept)}"
        readable = self.columns[concept]
        names = sorted(name for name in readable if name is not None)
        if None in readable or column.name.lower() in (name.lower() for name in names):
            return None
        hint = f"; write {concept}({_listed(names, joint=' or ')})" if names else ""
        return f"no model reads {column.name!r} for {concept!r}{hint}"

    def _nearest(self, concept: str) -> str:
        if not self.columns:
            return ": a concept needs a model, and no models are given"
        hint = did_you_mean(concept, self.columns)
        opening = f"{hint} There" if hint else "; there"
        return f"{opening} is: {_listed(sorted(self.columns))}"


def _listed(names: Iterable[str], most: int = MOST_LISTED, joint: str = ", ") -> str:
    """The first of some names, and an ellipsis if there are more."""
    shown = list(islice(names, most + 1))
    return joint.join([*shown[:most], *["..."] * (len(shown) > most)])
