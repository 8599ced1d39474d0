"""The Bloom filters of the synthetic workload, made from its codes.

A million subscriptions would take minutes to be written, parsed and sealed one by one. Their
elements are few, though: 40 columns of 1,000 words and the presence of 50 columns. So every element
is hashed once, with the key and by the code that sealing uses, and rows refer to elements:

    row r holds the elements  which[starts[r]:starts[r + 1]]
    element e                 has the digest  digests[e]

Rows of subscriptions are sealed clauses: an IN list becomes a clause a member. A test holds that
sealing makes the same filters.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Bytes, Int64s, Words
from caddis.lab.workloads import (
    ATTRIBUTES,
    CATEGORICAL,
    MOST_PREDICATES,
    WHOLE,
    WORDS,
    ZIPF_SCHEMA,
    Ints,
    Operator,
    Predicates,
)
from caddis.language import float_key
from caddis.sealed import WORD, filter_size
from caddis.sealed.clauses import MOST_CLAUSES
from caddis.sealed.keys import KeyedHashing, places_of
from caddis.sealed.prefilter import filters_from
from caddis.sealed.values import canonical

STREAM = "zipf"
SCHEMA = pa.schema(list(ZIPF_SCHEMA)[1:])
"""Of what is sealed: all but the events' ids."""
VALUES = 20
"""Columns of an event that are not null, at most."""
RATE = 0.001

FIRST_PRESENCE = len(CATEGORICAL) * len(WORDS)
FIRST_NUMBER = FIRST_PRESENCE + len(ATTRIBUTES)


@dataclass(frozen=True, slots=True)
class Elements:
    """What filters hold; see this module's layout."""

    digests: Bytes
    which: Int64s
    starts: Int64s

    def __len__(self) -> int:
        return len(self.starts) - 1

    def without_presence(self) -> Elements:
        """The paper's: values alone."""
        kept = (self.which < FIRST_PRESENCE) | (self.which >= FIRST_NUMBER)
        before = _starts(kept.astype(np.int64))
        return Elements(self.digests, self.which[kept], before[self.starts])

    def filters(self, bits: int, hashes: int) -> Words:
        """A filter for each row."""
        places = places_of(self.digests, bits, hashes)[self.which]
        return filters_from(places.reshape(-1), self.starts * hashes, bits)


def size_of(presence: bool, rate: float = RATE) -> tuple[int, int]:
    """The bits and hashes with which a stream of this workload is sealed."""
    return filter_size(VALUES * (1 + presence), rate)


def sparse_size(hashes: int, rate: float = RATE) -> tuple[int, int]:
    """The same without presence and with fewer hashes than are best: more bits, most of them 0."""
    bits = -hashes * VALUES / log(1 - rate ** (1 / hashes))
    return ceil(bits / WORD) * WORD, hashes


@dataclass(frozen=True, slots=True)
class HashedWords:
    """Digests of every word of every column, and then of every column's presence."""

    hashing: KeyedHashing
    digests: Bytes

    @classmethod
    def of(cls, hashing: KeyedHashing) -> HashedWords:
        """With the key of a stream and epoch."""
        words = [word.encode() for word in WORDS]
        parts = [hashing.values((name,), words) for name in CATEGORICAL]
        presence = [hashing.presence((name,)) for name in ATTRIBUTES]
        return cls(hashing, np.concatenate([*parts, *presence]))


def event_elements(codes: Ints, words: HashedWords) -> Elements:
    """Of the events with these codes: every value, and which columns have one."""
    row, column = np.nonzero(codes.T >= 0)
    code = codes[column, row]
    number = column >= len(CATEGORICAL)
    values = column * len(WORDS) + code
    pairs, place = np.unique(np.stack([column[number], code[number]]), axis=1, return_inverse=True)
    values[number] = FIRST_NUMBER + place.reshape(-1)
    digests = [words.digests, *(_number(pair, words.hashing) for pair in pairs.T.tolist())]
    both = np.stack([values, FIRST_PRESENCE + column], axis=1)
    per_row = 2 * np.bincount(row, minlength=codes.shape[1])
    return Elements(np.concatenate(digests), both.reshape(-1), _starts(per_row))


def clause_elements(predicates: Predicates, words: HashedWords) -> Elements:
    """Of the subscriptions' sealed clauses: equalities, and columns that other predicates need."""
    table = clause_table(predicates)
    elements = np.where(
        table.code >= 0, table.column * len(WORDS) + table.code, FIRST_PRESENCE + table.column
    )
    return Elements(words.digests, elements[table.used], _starts(table.used.sum(axis=1)))


@dataclass(frozen=True, slots=True)
class ClauseTable:
    """Sealed clauses by row; their predicates by column.

    owner: the subscription.
    code: the value that an equality asks for, or -1; only where `used`.
    """

    owner: Ints
    used: Bools
    column: Ints
    code: Ints


def clause_table(predicates: Predicates) -> ClauseTable:
    """Every member of an IN list apart, and all combinations of several lists."""
    size = np.diff(predicates.offsets)
    used = np.arange(MOST_PREDICATES) < size[:, None]

    def by_row(values: Ints) -> Ints:
        made = np.full((*used.shape, *values.shape[1:]), -1)
        made[used] = values
        return made

    operator, column = by_row(predicates.operator), by_row(predicates.column)
    members = by_row(predicates.members)
    members[..., 0] = np.where(operator == Operator.EQUAL, by_row(predicates.low), members[..., 0])
    lengths = _within(np.maximum((members >= 0).sum(axis=2), 1))
    members[(lengths == 1) & (operator == Operator.IN)] = -1
    owner = np.repeat(np.arange(len(size)), lengths.prod(axis=1))
    number = np.arange(len(owner)) - _starts(lengths.prod(axis=1))[owner]
    chosen = np.empty((len(owner), MOST_PREDICATES), np.int64)
    for place in range(MOST_PREDICATES):
        number, at = np.divmod(number, lengths[owner, place])
        chosen[:, place] = members[owner, place, at]
    return ClauseTable(owner, used[owner], column[owner], chosen)


def _within(lengths: Ints) -> Ints:
    """The lengths of lists whose combinations are not too many; the longest are given up first."""
    lengths = lengths.copy()
    for _ in range(MOST_PREDICATES):
        many = np.flatnonzero(lengths.prod(axis=1) > MOST_CLAUSES)
        last_longest = MOST_PREDICATES - 1 - lengths[many, ::-1].argmax(axis=1)
        lengths[many, last_longest] = 1
    return lengths


def _number(pair: list[int], hashing: KeyedHashing) -> Bytes:
    """The digest of a numeric column's value."""
    column, code = pair
    whole = column < len(CATEGORICAL) + len(WHOLE)
    key = code if whole else float_key(code / 100.0)
    return hashing.values((ATTRIBUTES[column],), [canonical(key)])


def _starts(per_row: Ints) -> Int64s:
    return np.concatenate([[0], np.cumsum(per_row)])
