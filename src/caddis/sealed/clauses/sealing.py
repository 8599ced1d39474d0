"""Clauses that are ready to be sealed → filters, tokens and vectors.

Nothing tells in which order a subscriber wrote its predicates: tokens ascend, and the clauses of a
subscription and the vectors of a clause are shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from caddis.arrays import Bytes, Floats, Int32s, Int64s, Words
from caddis.sealed.clauses.clauses import Bound, Element, Lists, SealableClauses
from caddis.sealed.clauses.subscriptions import ClauseBlock
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys import DIGEST_BYTES, MatchingKey, Randomness, cells_of, tokens_of
from caddis.sealed.values import (
    Coordinates,
    Hashed,
    HashedValues,
    Transform,
    filters_of,
    orders_of,
    sorted_tokens,
)


class ClauseSealing:
    """Seals clauses for a stream in an epoch."""

    def __init__(self, key: MatchingKey, design: StreamDesign) -> None:
        self._key = key
        self._design = design
        self._columns = design.columns
        self._hashed = HashedValues(key, design)
        self._coordinates = Coordinates(design)
        self._transform = Transform.of(key, design)

    def block(self, clauses: SealableClauses, randomness: Randomness) -> ClauseBlock:
        """The sealed clauses, by owner; those of one owner in a random order."""
        count = len(clauses.owner)
        order = np.lexsort((_draws(randomness, count), clauses.owner))
        place_of = np.empty(count, np.int64)
        place_of[order] = np.arange(count)
        digests = self._digests(clauses.elements)
        owners, members = _owned(clauses.asked_elements, place_of)
        elements = [Hashed(owners, members, digests), *self._presences(clauses, place_of)]
        token_starts, tokens = self._tokens(owners, members, digests, count)
        vector_starts, vectors = self._vectors(clauses, place_of, cells_of(digests), randomness)
        return ClauseBlock(
            self._key.stream,
            self._key.epoch,
            clauses.owner[order],
            filters_of(elements, count, self._design),
            token_starts,
            tokens,
            vector_starts,
            vectors,
        )

    def _digests(self, elements: list[Element]) -> Bytes:
        """By element, hashed column by column."""
        digests = np.zeros((len(elements), DIGEST_BYTES), np.uint8)
        for column, numbers in _by_column(elements):
            digests[numbers] = self._hashed.of(column, [elements[at].key for at in numbers])
        return digests

    def _presences(self, clauses: SealableClauses, place_of: Int64s) -> Iterator[Hashed]:
        owners, members = _owned(clauses.asked_columns, place_of)
        for column in np.unique(members).tolist():
            mine = owners[members == column]
            yield Hashed(mine, np.zeros(len(mine), np.int64), self._hashed.presence(column))

    def _tokens(
        self, owners: Int64s, members: Int32s, digests: Bytes, count: int
    ) -> tuple[Int64s, Words]:
        if self._design.scheme != "tokens":
            return np.zeros(count + 1, np.int64), np.zeros(0, np.uint64)
        return sorted_tokens([owners], [tokens_of(digests)[members]], count)

    def _vectors(
        self, clauses: SealableClauses, place_of: Int64s, cells: Int32s, randomness: Randomness
    ) -> tuple[Int64s, Floats]:
        """Where each clause's vectors begin, and all of them."""
        count = len(place_of)
        equal_owners, equalities = self._equalities(clauses, cells, randomness)
        bound_owners, members = _owned(clauses.asked_bounds, place_of)
        plain = np.concatenate([equalities, self._bounds(clauses.bounds)[members]])
        owners = np.concatenate([place_of[equal_owners], bound_owners])
        order = np.lexsort((_draws(randomness, len(owners)), owners))
        starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(owners, minlength=count), out=starts[1:])
        return starts, self._transform.queries(plain[order], randomness)

    def _equalities(
        self, clauses: SealableClauses, cells: Int32s, randomness: Randomness
    ) -> tuple[Int64s, Floats]:
        """One vector for all single values that a clause asks for, with the clause's number."""
        hashed = [not one.column.repeated for one in self._columns]
        terms = [
            (element.column, cell) if hashed[element.column] else None
            for element, cell in zip(clauses.elements, cells.tolist(), strict=True)
        ]
        owners, vectors = [], []
        starts, members = (array.tolist() for array in clauses.asked_elements)
        for clause in range(len(clauses.owner) if self._design.scheme == "aspe" else 0):
            asked = [terms[at] for at in members[starts[clause] : starts[clause + 1]]]
            mine = [term for term in asked if term is not None]
            if mine:
                owners.append(clause)
                vectors.append(self._coordinates.equality(mine, randomness))
        return np.array(owners, np.int64), self._stacked(vectors)

    def _bounds(self, bounds: list[Bound]) -> Floats:
        """The plain vector of each bound."""
        vectors: list[Floats] = [np.empty(0)] * len(bounds)
        for column, numbers in _by_column(bounds):
            keys = [bounds[at].key for at in numbers]
            orders = orders_of(keys, self._columns[column].column.type)
            for at, order in zip(numbers, orders.tolist(), strict=True):
                lower, upper = self._coordinates.at_least, self._coordinates.at_most
                vectors[at] = (lower if bounds[at].is_lower else upper)(column, order)
        return self._stacked(vectors)

    def _stacked(self, vectors: list[Floats]) -> Floats:
        return np.array(vectors, np.float64).reshape(-1, self._coordinates.size)


def _owned(lists: Lists, place_of: Int64s) -> tuple[Int64s, Int32s]:
    """Each member of each list, beside the place of the clause that has it."""
    return np.repeat(place_of, np.diff(lists.starts)), lists.members


def _by_column(asked: Sequence[Element | Bound]) -> Iterator[tuple[int, list[int]]]:
    """The numbers of those that are about each column."""
    columns: dict[int, list[int]] = {}
    for number, one in enumerate(asked):
        columns.setdefault(one.column, []).append(number)
    yield from columns.items()


def _draws(randomness: Randomness, count: int) -> Words:
    return np.frombuffer(randomness(8 * count), "<u8")
