"""Subscribers seal subscriptions, a table at a time.

    WHERE texts ─language─▶ clauses ─`sealable`─▶ what may be tested ─`ClauseSealing`─▶ bytes

Nothing tells in which order a subscriber wrote its predicates: tokens ascend, and the clauses of a
subscription and the vectors of a clause are shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import Bytes, Floats, Int32s, Int64s, Words, offsets_of
from caddis.errors import InvalidSubscriptions, SubscriptionError
from caddis.language import Concept, parse_all
from caddis.matching import OnInvalid, named_errors, subscription_ids_of
from caddis.sealed.clauses.clauses import Bound, Element, Lists, SealableClauses, sealable
from caddis.sealed.clauses.subscriptions import ClauseBlock, pack
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys import (
    DIGEST_BYTES,
    MatchingKey,
    Randomness,
    SubscriberKeys,
    cells_of,
    tokens_of,
)
from caddis.sealed.values import (
    Coordinates,
    Hashed,
    HashedValues,
    Transform,
    filters_of,
    orders_of,
    sorted_tokens,
)

AT_A_TIME = 10_000
"""Subscriptions that are sealed together: their vectors take some kilobytes each."""


@dataclass(frozen=True, slots=True)
class SealedSubscriptions:
    """A table of `subscription_id` and sealed `where`, and what was wrong with the others."""

    table: pa.Table
    invalid: tuple[SubscriptionError, ...]


class SubscriptionSealer:
    """Seals a subscriber's subscriptions to one stream in one epoch.

    randomness: os.urandom; anything else is for tests.
    """

    def __init__(self, keys: SubscriberKeys, *, randomness: Randomness) -> None:
        self._design = keys.design
        self._randomness = randomness
        self._sealing = ClauseSealing(keys.matching, keys.design)

    def seal(self, table: pa.Table, on_invalid: OnInvalid = "raise") -> SealedSubscriptions:
        """Seal a table of `subscription_id` and `where`; no other column is kept.

        on_invalid: "raise" InvalidSubscriptions, or "skip" them and list them in `invalid`.
        """
        ids = subscription_ids_of(table)
        wheres = table["where"].to_pylist()
        errors: dict[int, SubscriptionError] = {}
        chunks: list[pa.Array] = []
        for first in range(0, len(wheres), AT_A_TIME):
            blobs, wrong = self._sealed(wheres[first : first + AT_A_TIME])
            usable = [blob for row, blob in enumerate(blobs) if row not in wrong]
            chunks.append(pa.array(usable, pa.binary()))
            errors |= {first + row: error for row, error in wrong.items()}
        named = named_errors(errors, ids)
        if named and on_invalid == "raise":
            raise InvalidSubscriptions(named)
        kept = pa.array([row not in errors for row in range(len(wheres))], pa.bool_())
        sealed = pa.chunked_array(chunks, pa.binary())
        table = pa.table({"subscription_id": ids.filter(kept), "where": sealed})
        return SealedSubscriptions(table, named)

    def _sealed(self, wheres: list[str | None]) -> tuple[list[bytes], dict[int, SubscriptionError]]:
        """The bytes of each subscription, and the errors of those that cannot be used."""
        design = self._design
        table = parse_all(wheres, design.schema, timezone=design.timezone)
        clauses = sealable(table, design)
        errors = dict(table.errors)
        for row, concept in clauses.concepts.items():
            errors[row] = _calls_a_model(concept, wheres[row] or "")
        block = self._sealing.block(clauses, self._randomness)
        return pack(block, len(wheres)), dict(sorted(errors.items()))


def _calls_a_model(concept: Concept, where: str) -> SubscriptionError:
    at = where.lower().find(concept.name.lower())
    span = (at, at + len(concept.name)) if at >= 0 else None
    problem = (
        f"{concept.name!r} needs a model, and models cannot read sealed events; a publisher may "
        "publish the answer as a column"
    )
    return SubscriptionError(problem, where, span)


class ClauseSealing:
    """Makes filters, tokens and vectors of clauses, for a stream in an epoch."""

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
        """The digest of each element, hashed column by column."""
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
        starts = offsets_of(np.bincount(owners, minlength=count))
        return starts, self._transform.queries(plain[order], randomness)

    def _equalities(
        self, clauses: SealableClauses, cells: Int32s, randomness: Randomness
    ) -> tuple[Int64s, Floats]:
        """One vector for all single values that a clause asks for, beside the clause's number."""
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
    """Each column with the numbers of the elements or bounds that ask about it."""
    columns: dict[int, list[int]] = {}
    for number, one in enumerate(asked):
        columns.setdefault(one.column, []).append(number)
    yield from columns.items()


def _draws(randomness: Randomness, count: int) -> Words:
    return np.frombuffer(randomness(8 * count), "<u8")
