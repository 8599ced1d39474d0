"""Values in the types that Spark gives them, and how many are read at a time."""

from __future__ import annotations

import pyarrow as pa

ROWS_AT_A_TIME = 1 << 16
BYTES_AT_A_TIME = 64 << 20
"""A batch has at most this many rows, or about this many bytes."""


Range = tuple[pa.Array, bool]
"""What is known of a column's values in some rows: two values between which they lie, or none if
all are null; and whether there may be nulls.
"""


def fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether Spark reads a column of one type as another type without changing any value."""
    if pa.types.is_signed_integer(found) and pa.types.is_signed_integer(wanted):
        return bool(found.bit_width <= wanted.bit_width)
    if pa.types.is_decimal(found) and pa.types.is_decimal(wanted):
        more = wanted.scale - found.scale
        return bool(0 <= more <= wanted.precision - found.precision)
    if pa.types.is_float32(found) and pa.types.is_float64(wanted):
        return True
    return bool(found == wanted)


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type without what fields of arrays, structs and maps say beside their names and types."""
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, plain_type(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(plain_type(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(plain_type(type_.key_type), plain_type(type_.item_type))
    return type_


def as_type(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The same values in a type that they fit into."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    return values if values.type == wanted else values.cast(wanted)
