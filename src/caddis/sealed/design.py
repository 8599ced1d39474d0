"""How the events of a stream are sealed: what publishers and subscribers must do alike.

They know the design; brokers do not, since it names columns. A broker sees only its `Outline`, the
sizes of what it compares. For each column that predicates can test, a sealed event may carry

    an element of the Bloom filter     (column, value), and "the column is not null"
    a token                            a keyed hash of (column, value), in the scheme "tokens"
    coordinates of a point             the value's keyed hash in the scheme "aspe"; its order, if
                                       ranges of the column are to be tested

A design has plain types at any depth. Dictionaries and views are ways to store values, for which a
single row has no use: it would lack the entries of a dictionary, or carry the bytes of all rows of
a view. And times are counted in microseconds, as Spark does.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import pyarrow as pa

from caddis.bloom import size_for
from caddis.errors import SealedError
from caddis.language import (
    UTF8_BINARY,
    Column,
    Columns,
    UnknownColumn,
    dotted_paths,
    is_comparable,
    is_text,
)

Scheme: TypeAlias = Literal["aspe", "tokens"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
"""aspe: everything by scalar products. tokens: equality by keyed hashes, ranges by products."""

MOST_HASHES = 12
"""A digest has room for this many places in a filter: 48 bytes, four for each."""

WORD = 64
"""Filters are compared in words of this many bits."""

MOST_BITS = 1 << 16

JSON_TYPES: Mapping[str, type] = {
    "stream": str,
    "schema": str,
    "bits": int,
    "hashes": int,
    "timezone": str,
    "scheme": str,
    "presence": bool,
    "padding": int,
    "ordered_texts": list,
}
"""The fields of a design in JSON."""


class SealedColumn(NamedTuple):
    """A column that sealed predicates may test.

    ordered: whether points carry its order, so that ranges of it can be tested.
    """

    column: Column
    ordered: bool


class Outline(NamedTuple):
    """What a broker knows about a design: the sizes of what it compares."""

    bits: int
    dimensions: int
    scheme: Scheme


@dataclass(frozen=True, slots=True)
class StreamDesign:
    """How the events of one stream are sealed; the same in all epochs.

    schema: that of the events; dictionaries, views and the like become the values they stand for.
    bits, hashes: the size of Bloom filters, and how many places an element has in them.
    timezone: in which dates and times without a time zone are read.
    presence: whether filters show which columns are not null. That is what predicates other than
        equalities are prefiltered by.
    padding: how many coordinates are random, in events or in subscriptions, and tested by nothing.
    ordered_texts: names of string columns of which brokers test ranges and prefixes, too.

    >>> schema = pa.schema([("city", pa.string()), ("price", pa.int32())])
    >>> design = StreamDesign.of("homes", schema, rate=0.001)
    >>> design.outline
    Outline(bits=64, dimensions=15, scheme='aspe')
    """

    stream: str
    schema: pa.Schema
    bits: int
    hashes: int
    timezone: str = "UTC"
    scheme: Scheme = "aspe"
    presence: bool = True
    padding: int = 8
    ordered_texts: tuple[str, ...] = ()
    columns: tuple[SealedColumn, ...] = field(init=False, repr=False, compare=False)
    """What can be tested, in the order of the schema."""

    def __post_init__(self) -> None:
        if not self.stream:
            raise SealedError("a stream needs a name")
        if self.scheme not in SCHEMES:
            raise SealedError(f"a scheme is {' or '.join(SCHEMES)}, not {self.scheme!r}")
        if not WORD <= self.bits <= MOST_BITS or self.bits % WORD:
            raise SealedError(
                f"filters have a multiple of {WORD} bits up to {MOST_BITS}, not {self.bits}; fewer "
                "values or a greater rate of errors need fewer bits"
            )
        if not 0 < self.hashes <= MOST_HASHES:
            raise SealedError(f"filters have from 1 to {MOST_HASHES} hashes, not {self.hashes}")
        if self.padding < 0 or self.padding % 2:
            raise SealedError(f"padding is an even number of 0 or more, not {self.padding}")
        object.__setattr__(self, "schema", plain_schema(self.schema))
        columns = _columns_of(self.schema, frozenset(self.ordered_texts))
        object.__setattr__(self, "columns", columns)

    @classmethod
    def of(
        cls,
        stream: str,
        schema: pa.Schema,
        *,
        rate: float = 0.001,
        values: int | None = None,
        timezone: str = "UTC",
        scheme: Scheme = "aspe",
        presence: bool = True,
        padding: int = 8,
        ordered_texts: Collection[str] = (),
    ) -> StreamDesign:
        """A design whose filters are as large as a rate of errors asks for.

        rate: how often an equality that does not hold passes the filter.
        values: the largest number of values that an event has, counting each element of an array;
            by default the number of columns.
        """
        most = values or len(_columns_of(plain_schema(schema), frozenset()))
        bits, hashes = filter_size(most * (1 + presence), rate)
        return cls(
            stream,
            schema,
            bits,
            hashes,
            timezone,
            scheme,
            presence,
            padding,
            tuple(sorted(ordered_texts)),
        )

    @property
    def dimensions(self) -> int:
        """How many coordinates a point has: see `caddis.sealed.values`."""
        single = [one for one in self.columns if not one.column.repeated]
        hashed = 2 * len(single) if self.scheme == "aspe" else 0
        return hashed + 2 * sum(one.ordered for one in single) + 1 + self.padding

    @property
    def outline(self) -> Outline:
        """What brokers may know."""
        return Outline(self.bits, self.dimensions, self.scheme)

    def as_json(self) -> dict[str, object]:
        """Plain values, from which `from_json` makes the same design."""
        return {
            "stream": self.stream,
            "schema": base64.b64encode(self.schema.serialize().to_pybytes()).decode(),
            "bits": self.bits,
            "hashes": self.hashes,
            "timezone": self.timezone,
            "scheme": self.scheme,
            "presence": self.presence,
            "padding": self.padding,
            "ordered_texts": list(self.ordered_texts),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, object]) -> StreamDesign:
        """The design that `as_json` gave."""
        if plain.keys() != JSON_TYPES.keys():
            names = ", ".join(JSON_TYPES)
            raise SealedError(f"this is no stream's design: its fields are {names}")
        for name, type_ in JSON_TYPES.items():
            if type(plain[name]) is not type_:
                raise SealedError(
                    f"this is no stream's design: {name!r} should be of type {type_.__name__}"
                )
        given: dict[str, Any] = dict(plain)
        given["schema"] = _read_schema(given["schema"])
        given["ordered_texts"] = tuple(map(str, given["ordered_texts"]))
        return cls(**given)


def filter_size(elements: int, rate: float) -> tuple[int, int]:
    """Bits, in whole words, and hashes for a number of elements and a false-positive rate.

    >>> filter_size(40, 0.001)
    (576, 10)
    """
    bits, hashes = size_for(elements, rate, most_hashes=MOST_HASHES)
    return -(-bits // WORD) * WORD, hashes


def _read_schema(text: str) -> pa.Schema:
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
    except (ValueError, OSError, pa.ArrowException) as problem:
        raise SealedError(f"this is no stream's design: {problem}") from None


def _columns_of(schema: pa.Schema, ordered_texts: frozenset[str]) -> tuple[SealedColumn, ...]:
    columns = Columns(schema)
    try:
        found = [columns.find(path) for path in dotted_paths(schema)]
    except UnknownColumn as problem:
        raise SealedError(f"events of this schema cannot be sealed: {problem}") from None
    names = {column.name for column in found if is_text(column.type)}
    if ordered_texts - names:
        unknown = ", ".join(sorted(ordered_texts - names))
        raise SealedError(f"no string column is named {unknown}")
    tested = tuple(
        SealedColumn(column, not column.repeated and _is_ordered(column, ordered_texts))
        for column in found
        if is_comparable(column.type) and column.collation == UTF8_BINARY
    )
    if not tested:
        raise SealedError(
            "no column of these events can be tested while it is sealed: nobody could subscribe"
        )
    return tested


def _is_ordered(column: Column, ordered_texts: frozenset[str]) -> bool:
    if is_text(column.type):
        return column.name in ordered_texts
    return not pa.types.is_boolean(column.type)


# -- types without encodings


class NoPlainType(Exception):
    """There is no plain type for this one; the message names it."""


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """A schema whose types are plain.

    >>> words = pa.dictionary(pa.int8(), pa.string())
    >>> plain_schema(pa.schema([("cities", pa.list_(words))])).field("cities").type
    ListType(list<item: string>)
    """
    return pa.schema([_plain_column(field) for field in schema], metadata=schema.metadata)


def _plain_column(field: pa.Field) -> pa.Field:
    try:
        return _plain_field(field)
    except NoPlainType as problem:
        raise SealedError(f"column {field.name!r} cannot be sealed: {problem}") from None


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type of the same values without encodings; NoPlainType if Spark has none."""
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        return plain_type(type_.value_type)
    if pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_binary_view(type_):
        return pa.binary()
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", type_.tz)
    if pa.types.is_nested(type_):
        return _plain_nested(type_)
    if isinstance(type_, pa.BaseExtensionType):
        raise NoPlainType(f"there is no type {type_} in Spark")
    return type_


def _plain_nested(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct(map(_plain_field, type_))
    if pa.types.is_map(type_):
        parts = map(_plain_field, (type_.key_field, type_.item_field))
        return pa.map_(*parts, type_.keys_sorted)
    if pa.types.is_union(type_):
        raise NoPlainType(f"there is no type {type_} in Spark")
    inner = _plain_field(type_.value_field)
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(inner, type_.list_size)
    is_large = pa.types.is_large_list(type_) or pa.types.is_large_list_view(type_)
    return pa.large_list(inner) if is_large else pa.list_(inner)


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(plain_type(field.type))
