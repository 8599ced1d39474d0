"""Keyed hashes of columns' values, which filters and tokens are made of.

A publisher has a column of Arrow, a subscriber the cuts of a predicate. Both arrive at the keys of
`caddis.language`, which are equal exactly if Spark calls the values equal (-0.0 and 0.0, NaN and
NaN), and from there at the same bytes, which are hashed:

    whole numbers, Booleans, days, µs, unscaled decimals, keys of floats    decimal digits
    texts                                                                   their UTF-8 bytes

Hashing is what costs: columns are looked at value by distinct value. Values come again from batch
to batch, and a hash costs twenty times as much as finding it; so hashes are kept, up to a bound.
When that is reached, all are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Bytes, Int32s, Int64s, Words, offsets_of
from caddis.language import Column, Key, is_floating, is_text
from caddis.matching import as_numbers
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys import DIGEST_BYTES, MatchingKey, places_of
from caddis.sealed.prefilter import filters_from

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
    """The bytes that are hashed for a value with this key.

    >>> canonical(-17), canonical("Galway".encode())
    (b'-17', b'Galway')
    """
    return key if isinstance(key, bytes) else b"%d" % key


def distinct_values(array: pa.Array, column: Column) -> DistinctValues:
    """The distinct values of a column; array: from `caddis.matching.values_of`.

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
    return _float_keys(array) if is_floating(type_) else as_numbers(array)


def _float_keys(array: pa.Array) -> pa.Array:
    """The key that `caddis.language` gives to each value."""
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


MOST_KEPT = 200_000
"""Digests of 64 bytes each, and the keys that lead to them."""


class HashedValues:
    """The digests of a stream's values in an epoch; a column is its place in the design."""

    def __init__(self, key: MatchingKey, design: StreamDesign, most_kept: int = MOST_KEPT) -> None:
        self._hashing = key.hashing()
        self._paths = [one.column.path for one in design.columns]
        self._most_kept = most_kept
        self._kept: list[dict[Key, bytes]] = [{} for _ in self._paths]
        self._presence = [self._hashing.presence(path) for path in self._paths]

    def of(self, column: int, keys: Sequence[Key]) -> Bytes:
        """The digest of each value of a column, a row each."""
        kept = self._kept[column]
        missing = [key for key in keys if key not in kept]
        if missing and len(self) + len(missing) > self._most_kept:
            kept = self._forget(column)
            missing = list(keys)
        if len(missing) > self._most_kept:
            return self._computed(column, missing)
        if missing:
            computed = self._computed(column, missing)
            kept.update(zip(missing, map(bytes, computed), strict=True))
        joined = b"".join([kept[key] for key in keys])
        return np.frombuffer(joined, np.uint8).reshape(-1, DIGEST_BYTES)

    def presence(self, column: int) -> Bytes:
        """The digest of "this column is not null", as one row."""
        return self._presence[column]

    def __len__(self) -> int:
        """How many are kept."""
        return sum(map(len, self._kept))

    def _computed(self, column: int, keys: Sequence[Key]) -> Bytes:
        return self._hashing.values(self._paths[column], map(canonical, keys))

    def _forget(self, column: int) -> dict[Key, bytes]:
        for kept in self._kept:
            kept.clear()
        return self._kept[column]


class Hashed(NamedTuple):
    """Elements of rows: row `rows[i]` has the element whose digest is digests[places[i]]."""

    rows: Int32s | Int64s
    places: Int32s | Int64s
    digests: Bytes


def filters_of(elements: Sequence[Hashed], rows: int, design: StreamDesign) -> Words:
    """The Bloom filters of `rows` rows with these elements."""
    owners = _joined([one.rows for one in elements])
    places = [places_of(one.digests, design.bits, design.hashes)[one.places] for one in elements]
    order = np.argsort(owners, kind="stable")
    starts = offsets_of(np.bincount(owners, minlength=rows))
    together = np.concatenate([np.zeros((0, design.hashes), np.int32), *places])[order]
    return filters_from(together.reshape(-1), starts * design.hashes, design.bits)


def sorted_tokens(
    owners: Sequence[Int32s | Int64s], tokens: Sequence[Words], rows: int
) -> tuple[Int64s, Words]:
    """Where each row's tokens begin, and all tokens, ascending in each row and each once."""
    rows_, found = _joined(owners), np.concatenate([np.zeros(0, np.uint64), *tokens])
    order = np.lexsort((found, rows_))
    rows_, found = rows_[order], found[order]
    is_new = np.ones(len(found), bool)
    is_new[1:] = (rows_[1:] != rows_[:-1]) | (found[1:] != found[:-1])
    starts = offsets_of(np.bincount(rows_[is_new], minlength=rows))
    return starts, found[is_new]


def _joined(arrays: Sequence[Int32s | Int64s]) -> Int64s:
    return np.concatenate([np.zeros(0, np.int64), *arrays])
