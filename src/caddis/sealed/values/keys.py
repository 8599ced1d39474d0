"""The bytes that stand for a value wherever it is hashed: the same for publishers and subscribers.

A publisher has a column of Arrow, a subscriber the cuts of a predicate. Both arrive at the keys of
`language.columns`, which are equal exactly if Spark calls the values equal (-0.0 and 0.0, NaN and
NaN), and from there at the same bytes:

    whole numbers, Booleans, days, µs, unscaled decimals, keys of floats    decimal digits
    texts                                                                   their UTF-8 bytes

Columns are looked at value by distinct value, since hashing is what costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Int32s, Int64s
from caddis.language import Column
from caddis.language.columns import is_floating, is_text
from caddis.language.values import Key

NAN_KEY = np.int64((1 << 63) - 1)
LOW_63_BITS = np.int64((1 << 63) - 1)


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """A column's values: row `rows[i]` has the one with the key `keys[places[i]]`.

    Rows ascend. Null has no key; a row of an array column occurs once for each element.
    """

    keys: list[Key]
    rows: Int32s
    places: Int32s


def canonical(key: Key) -> bytes:
    """What is hashed for a value with this key.

    >>> canonical(-17), canonical("Galway".encode())
    (b'-17', b'Galway')
    """
    return key if isinstance(key, bytes) else b"%d" % key


def distinct_values(array: pa.Array, column: Column) -> DistinctValues:
    """The values of a column, given as `matching.values_of` gives it.

    >>> column = Column(("price",), pa.float64())
    >>> values = distinct_values(pa.array([2.5, None, 0.0, -0.0]), column)
    >>> len(values.keys), values.rows.tolist(), values.places.tolist()
    (2, [0, 2, 3], [0, 1, 1])
    """
    if column.repeated:
        return _distinct_elements(array, column)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    encoded = _keyed(array).dictionary_encode()
    rows = np.flatnonzero(pc.is_valid(encoded).to_numpy(zero_copy_only=False))
    places = encoded.indices.drop_null().to_numpy(zero_copy_only=False)
    keys = _keys_of(encoded.dictionary)
    return DistinctValues(keys, rows.astype(np.int32), places.astype(np.int32))


def present_rows(array: pa.Array) -> Int32s:
    """The rows whose value is not null, though it may be an empty array."""
    return np.flatnonzero(pc.is_valid(array).to_numpy(zero_copy_only=False)).astype(np.int32)


def _distinct_elements(array: pa.Array, column: Column) -> DistinctValues:
    lists = array.cast(pa.large_list(column.type))
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    owners = np.repeat(np.arange(len(array), dtype=np.int32), lengths)
    elements = distinct_values(lists.flatten(), Column(column.path, column.type))
    return DistinctValues(elements.keys, owners[elements.rows], elements.places)


def _keyed(array: pa.Array) -> pa.Array:
    """The same values in a type in which equal keys, and only they, are the same."""
    type_ = array.type
    if is_text(type_):
        return array.cast(pa.large_string()).cast(pa.large_binary())
    if is_floating(type_):
        return _float_keys(array)
    if pa.types.is_boolean(type_):
        return array.cast(pa.int8())
    if pa.types.is_decimal(type_):
        return array.cast(pa.decimal128(type_.precision, type_.scale))
    if pa.types.is_date32(type_):
        return array.view(pa.int32())
    if pa.types.is_timestamp(type_):
        return array.cast(pa.timestamp("us", type_.tz), safe=False).view(pa.int64())
    return array


def _float_keys(array: pa.Array) -> pa.Array:
    """`language.columns.float_key` of each value."""
    known = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    bits: Int64s = (known + 0.0).view(np.int64)
    keys = np.where(bits >= 0, bits, -(bits & LOW_63_BITS))
    keys[np.isnan(known)] = NAN_KEY
    return pa.array(keys, mask=pc.is_null(array).to_numpy(zero_copy_only=False))


def _keys_of(values: pa.Array) -> list[Key]:
    if not pa.types.is_decimal(values.type):
        keys: list[Key] = values.to_pylist()
        return keys
    if not len(values):
        return []
    data = values.buffers()[1].to_pybytes()
    first = values.offset
    return [
        int.from_bytes(data[16 * at : 16 * at + 16], "little", signed=True)
        for at in range(first, first + len(values))
    ]
