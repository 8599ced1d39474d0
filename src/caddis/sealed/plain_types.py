"""Types without encodings: what a column holds, not how a batch happens to hold it.

Dictionaries and views are ways to store values. A single row has no use for them: of a dictionary
it would lack the entries, of a view it would carry the bytes of all rows. And times are counted in
microseconds, as Spark does. So designs, and all that is opened, have plain types at any depth.
"""

from __future__ import annotations

import pyarrow as pa

from caddis.errors import ConfidentialError


class NoPlainType(Exception):
    """Names a type that has no plain one."""


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
        raise ConfidentialError(f"column {field.name!r} cannot be sealed: {problem}") from None


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
