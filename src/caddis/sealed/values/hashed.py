"""Keyed hashes of columns' values, each computed once, and what filters and tokens are made of.

Both sealers name a value by its column's place in the design and its key. Values come again from
batch to batch, and a hash costs twenty times as much as finding it; so hashes are kept, up to a
bound, and when that is reached all are let go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from caddis.arrays import Bytes, Int32s, Int64s, Words
from caddis.language.values import Key
from caddis.sealed.design import TopicDesign
from caddis.sealed.keys.secrets import DIGEST_BYTES, MatchingKey, places_of
from caddis.sealed.prefilter.filters import filters_from
from caddis.sealed.values.keys import canonical

MOST_KEPT = 200_000


class HashedValues:
    """The digests of a topic's values in an epoch."""

    def __init__(self, key: MatchingKey, design: TopicDesign, most_kept: int = MOST_KEPT) -> None:
        self._hashing = key.hashing()
        self._paths = [one.column.path for one in design.columns]
        self._most_kept = most_kept
        self._kept: list[dict[Key, bytes]] = [{} for _ in self._paths]
        self._presence = [self._hashing.presence(path) for path in self._paths]

    def of(self, column: int, keys: Sequence[Key]) -> Bytes:
        """By value of a column: its digest, a row."""
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
        """The digest of "this column is not null", one row."""
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
    """Elements of rows: row `rows[i]` has the one whose digest is digests[places[i]]."""

    rows: Int32s | Int64s
    places: Int32s | Int64s
    digests: Bytes


def filters_of(elements: Sequence[Hashed], rows: int, design: TopicDesign) -> Words:
    """The Bloom filters of so many rows with these elements."""
    owners = _joined([one.rows for one in elements])
    places = [places_of(one.digests, design.bits, design.hashes)[one.places] for one in elements]
    order = np.argsort(owners, kind="stable")
    starts = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=rows), out=starts[1:])
    together = np.concatenate([np.zeros((0, design.hashes), np.int32), *places])[order]
    return filters_from(together.reshape(-1), starts * design.hashes, design.bits)


def sorted_tokens(
    owners: Sequence[Int32s | Int64s], tokens: Sequence[Words], rows: int
) -> tuple[Int64s, Words]:
    """By row, its tokens, ascending and each once; where they begin, and all of them."""
    rows_, found = _joined(owners), np.concatenate([np.zeros(0, np.uint64), *tokens])
    order = np.lexsort((found, rows_))
    rows_, found = rows_[order], found[order]
    is_new = np.ones(len(found), bool)
    is_new[1:] = (rows_[1:] != rows_[:-1]) | (found[1:] != found[:-1])
    starts = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(rows_[is_new], minlength=rows), out=starts[1:])
    return starts, found[is_new]


def _joined(arrays: Sequence[Int32s | Int64s]) -> Int64s:
    return np.concatenate([np.zeros(0, np.int64), *arrays])
