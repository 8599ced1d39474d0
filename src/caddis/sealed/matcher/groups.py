"""The sealed clauses of one stream and epoch, and how events find those that they may satisfy.

    clause c     tokens[token_starts[c]:token_starts[c + 1]], vectors likewise; leads to links[c]
    0..unsifted  the default list: clauses whose filter is empty, so that every event includes it;
                 those without tokens and vectors come first
    from there   clauses that the prefilter sifts

An event that passes the filter of a clause is tested: it must have the clause's tokens, and its
point must fulfil the clause's vectors. The default list is tested by whole matrices, since all of
its pairs are needed; the others are tested pair by pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from caddis.arrays import Anys, Floats, Int32s, Int64s, Words
from caddis.sealed.clauses import ClauseBlock
from caddis.sealed.design import WORD
from caddis.sealed.matcher.event_parts import EventParts
from caddis.sealed.matcher.kernels import pairs_have_tokens, pairs_with_tokens
from caddis.sealed.prefilter import PaperLists, Prefilter, included, read_only
from caddis.sealed.values import decide_all, decide_pairs, norms, tolerance

Sifting: TypeAlias = Literal["rarest-bit", "paper"] | None
"""How clauses are discarded by their filters: as Caddis does, as the paper does, or not at all."""

PAIRS_AT_A_TIME = 1 << 24
"""How many pairs of the default list are decided at once: a Boolean each, 16 MB."""


class SearchResult(NamedTuple):
    """Pairs of row and link, and what it took to find them."""

    pairs: Int32s
    inspected: int
    tests: int
    products: int


@dataclass(frozen=True, slots=True)
class ClauseGroup:
    """Clauses that were sealed with the same keys."""

    stream: str
    epoch: int
    bits: int
    links: Int32s
    token_starts: Int64s
    tokens: Words
    vector_starts: Int64s
    vectors: Floats
    vector_norms: Floats
    unsifted: int
    sieve: Prefilter | PaperLists | None
    late: Words | None = None
    """Filters that are compared last, where nothing is discarded by them first."""

    @classmethod
    def of(
        cls, block: ClauseBlock, links: Int32s, sifting: Sifting, sample: Words | None
    ) -> ClauseGroup:
        """The group of unpacked clauses.

        links: where each clause of the block leads.
        sifting: how clauses are discarded by their filters.
        sample: filters of events like those to come.
        """
        empty = ~block.filters.any(axis=1)
        tests = np.diff(block.token_starts) + np.diff(block.vector_starts)
        order = np.lexsort((tests > 0, ~empty))
        block = block.take(order)
        unsifted = int(empty.sum()) if sifting else len(links)
        return cls(
            block.stream,
            block.epoch,
            WORD * block.filters.shape[1],
            read_only(links[order].astype(np.int32)),
            read_only(block.token_starts),
            read_only(block.tokens),
            read_only(block.vector_starts),
            read_only(block.vectors),
            read_only(norms(block.vectors)),
            unsifted,
            _sieve(block.filters[unsifted:], sifting, sample),
            None if sifting else block.filters,
        )

    @property
    def dimensions(self) -> int:
        """How many coordinates a point has."""
        return int(self.vectors.shape[1])

    @property
    def untested(self) -> int:
        """How many of the first clauses have nothing to test: every event satisfies them."""
        if self.late is not None:
            return 0
        starts = self.token_starts, self.vector_starts
        ends = (np.searchsorted(one, 0, "right") for one in starts)
        return min(self.unsifted, *(int(end) - 1 for end in ends))

    @property
    def arrays(self) -> list[Anys]:
        """All arrays of the group and its prefilter."""
        own: list[Anys] = [self.links, self.token_starts, self.tokens, self.vector_starts]
        sieve = self.sieve.arrays if isinstance(self.sieve, Prefilter) else ()
        return [*own, self.vectors, self.vector_norms, *sieve]

    def find(self, parts: EventParts) -> SearchResult:
        """The pairs of row and link that may match."""
        found = [self._unsifted(parts)]
        if self.sieve is not None:
            found.append(self._sifted(parts, self.sieve))
        return total(found)

    def _sifted(self, parts: EventParts, sieve: Prefilter | PaperLists) -> SearchResult:
        passed = sieve.candidates(parts.filters)
        pairs, products = self._tested(parts, passed.rows, passed.clauses + np.int32(self.unsifted))
        return SearchResult(
            self._leading(parts, pairs), passed.inspected, len(passed.rows), products
        )

    def _unsifted(self, parts: EventParts) -> SearchResult:
        """Pairs of the default list, found in slices of rows so that all pairs fit into memory."""
        count, untested, rows = self.unsifted, self.untested, len(parts.rows)
        if not count or not rows:
            return NOTHING_FOUND
        found = [every_pair(parts.rows, self.links[:untested])]
        products = 0
        step = max(1, PAIRS_AT_A_TIME // count)
        by_tokens = self.token_starts[count] > 0
        find = self._all_by_tokens if by_tokens else self._all_by_vectors
        for begin in range(0, rows if untested < count else 0, step):
            pairs, taken = find(parts, untested, begin, min(begin + step, rows))
            found.append(self._leading(parts, pairs))
            products += taken
        return SearchResult(_concatenated(found), rows * count, rows * count, products)

    def _all_by_tokens(
        self, parts: EventParts, first: int, begin: int, end: int
    ) -> tuple[Int32s, int]:
        pairs = pairs_with_tokens(
            self.token_starts[first : self.unsifted + 1],
            self.tokens,
            parts.token_starts[begin : end + 1],
            parts.tokens,
        )
        return self._fulfilled(parts, pairs[:, 0] + np.int32(begin), pairs[:, 1] + np.int32(first))

    def _all_by_vectors(
        self, parts: EventParts, first: int, begin: int, end: int
    ) -> tuple[Int32s, int]:
        starts = self.vector_starts[first : self.unsifted + 1]
        points = parts.points[begin:end]
        holds = decide_all(self.vectors[: starts[-1]], starts, points, tolerance(self.dimensions))
        rows, clauses = np.nonzero(holds)
        pairs = np.stack([rows + begin, clauses + first], axis=1).astype(np.int32)
        return pairs, int(starts[-1]) * len(points)

    def _tested(self, parts: EventParts, rows: Int32s, clauses: Int32s) -> tuple[Int32s, int]:
        """The pairs that pass the encrypted test, and how many products that took."""
        if len(self.tokens):
            held = pairs_have_tokens(
                rows, clauses, self.token_starts, self.tokens, parts.token_starts, parts.tokens
            )
            rows, clauses = rows[held], clauses[held]
        return self._fulfilled(parts, rows, clauses)

    def _fulfilled(self, parts: EventParts, rows: Int32s, clauses: Int32s) -> tuple[Int32s, int]:
        holds, products = decide_pairs(
            rows,
            clauses,
            self.vector_starts,
            self.vectors,
            self.vector_norms,
            parts.points,
            norms(parts.points),
            tolerance(self.dimensions),
        )
        return np.stack([rows[holds], clauses[holds]], axis=1), int(products)

    def _leading(self, parts: EventParts, pairs: Int32s) -> Int32s:
        """Pairs (row of the batch, link) from pairs (row of the parts, clause)."""
        rows, clauses = pairs[:, 0], pairs[:, 1]
        if self.late is not None:
            passed = included(self.late[clauses], parts.filters[rows])
            rows, clauses = rows[passed], clauses[passed]
        return np.stack([parts.rows[rows], self.links[clauses]], axis=1)


NOTHING_FOUND = SearchResult(np.zeros((0, 2), np.int32), 0, 0, 0)


def total(found: Sequence[SearchResult]) -> SearchResult:
    """Everything that was found, and everything that it took."""
    return SearchResult(
        _concatenated([one.pairs for one in found]),
        sum(one.inspected for one in found),
        sum(one.tests for one in found),
        sum(one.products for one in found),
    )


def every_pair(rows: Int32s, links: Int32s) -> Int32s:
    """Each row with each link.

    >>> every_pair(np.array([4, 7], np.int32), np.array([1, 0], np.int32)).tolist()
    [[4, 1], [4, 0], [7, 1], [7, 0]]
    """
    pairs = np.empty((len(rows), len(links), 2), np.int32)
    pairs[:, :, 0] = rows[:, None]
    pairs[:, :, 1] = links
    return pairs.reshape(-1, 2)


def _concatenated(pairs: Sequence[Int32s]) -> Int32s:
    """All pairs, which are not copied if one array has them all."""
    some = [one for one in pairs if len(one)]
    return some[0] if len(some) == 1 else np.concatenate([NOTHING_FOUND.pairs, *some])


def _sieve(filters: Words, sifting: Sifting, sample: Words | None) -> Prefilter | PaperLists | None:
    if sifting is None or not len(filters):
        return None
    return PaperLists.build(filters) if sifting == "paper" else Prefilter.build(filters, sample)
