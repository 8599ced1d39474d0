"""Types without encodings, and casts to them in which every value stays the same.

Dictionaries and views are ways to store values. A single row has no use for them: it would lack the
entries of a dictionary, or carry the bytes of all rows of a view. And times are counted in
microseconds, as Spark does. So designs, and all that is opened, have plain types at any depth.

What a publisher seals must be what its subscribers read. So only types of one kind are changed into
each other (numbers, texts, bytes, dates, times with or without a time zone; doubles are no
decimals), and what does not fit is refused: no number is rounded, no time wraps, no field of a
struct is dropped. All that is lost is the part of a time below a microsecond, which no predicate
could see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from caddis.errors import SealedError
from caddis.language import is_array, is_instant, is_text


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


KINDS: tuple[Callable[[pa.DataType], bool], ...] = (
    lambda type_: pa.types.is_integer(type_) or pa.types.is_floating(type_),
    lambda type_: pa.types.is_integer(type_) or pa.types.is_decimal(type_),
    is_text,
    lambda type_: pa.types.is_binary(type_) or pa.types.is_large_binary(type_),
    pa.types.is_date,
    is_instant,
    lambda type_: pa.types.is_timestamp(type_) and type_.tz is None,
)


def cast_losslessly(array: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    """The same values in a plain type; None if it is of another kind, or if a value does not fit.

    >>> cast_losslessly(pa.array([1.5, 2.0]), pa.float32()).type
    DataType(float)
    >>> cast_losslessly(pa.array([0.1]), pa.float32()) is None
    True
    """
    try:
        plain = _cast(array, plain_type(array.type))
        if plain.type == wanted:
            return plain
        if not _same_kind(plain.type, wanted):
            return None
        found = _cast(plain, wanted)
        return found if _same_floats(plain, found) else None
    except (pa.ArrowException, NoPlainType):
        return None


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return array.cast(options=pc.CastOptions(type_, allow_time_truncate=True))


def _same_kind(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of one type are values of the other, at any depth; both are plain."""
    if found == wanted or pa.types.is_null(found):
        return True
    if is_array(found) and is_array(wanted):
        return _same_kind(found.value_type, wanted.value_type)
    if pa.types.is_map(found) and pa.types.is_map(wanted):
        keys, items = (found.key_type, wanted.key_type), (found.item_type, wanted.item_type)
        return _same_kind(*keys) and _same_kind(*items)
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        theirs = {field.name: field.type for field in wanted}
        return all(one.name in theirs and _same_kind(one.type, theirs[one.name]) for one in found)
    return any(is_one(found) and is_one(wanted) for is_one in KINDS)


def _same_floats(array: pa.Array, changed: pa.Array) -> bool:
    """Whether doubles have stayed what they were: Arrow rounds them, and only them, silently."""
    if not any(pa.types.is_floating(leaf.type) for leaf in _leaves(array)):
        return True
    return all(map(_equal, _leaves(array), _leaves(_cast(changed, array.type))))


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    """The arrays of scalars that an array consists of."""
    if pa.types.is_struct(array.type):
        for child in array.flatten():
            yield from _leaves(child)
    elif pa.types.is_map(array.type):
        begin, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        for child in (array.keys, array.items):
            yield from _leaves(child[begin:end])
    elif is_array(array.type):
        yield from _leaves(array.flatten())
    else:
        yield array


def _equal(before: pa.Array, after: pa.Array) -> bool:
    if not pa.types.is_floating(before.type):
        return True
    same = pc.or_(pc.equal(before, after), pc.and_(pc.is_nan(before), pc.is_nan(after)))
    return pc.all(same).as_py() is not False
