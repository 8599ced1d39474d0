"""What the clauses of one or several matchers ask of models, as one.

Subscriptions come in segments, each with a matcher of its own; an event's models are ordered for
all of them together. So clauses, links and needs are numbered through, and dead links left out.

`unshared` is what it costs if no answer is shared: each link of an event becomes an event of its
own, with that link's clauses alone, so that what is asked for one subscription is asked again for
the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s, offsets_of, places_in_rows
from caddis.language import Concept
from caddis.matching import NOTHING, LinkMatcher, Needs

GONE = -2
"""The need of a clause that leads to no link that is alive."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Clauses → needs and links, numbered through all parts; each matcher is a part."""

    concepts: tuple[Concept, ...]
    offsets: Int64s
    """The first clause of each part."""
    link_offsets: Int64s
    """The first link of each part."""
    of_clause: Int32s
    """The need of each clause, NOTHING or GONE."""
    starts: Int64s
    literals: Int32s
    """Need n asks for `literals[starts[n]:starts[n + 1]]`: concept c is 2c, NOT c is 2c + 1."""
    link_starts: Int64s
    links: Int32s
    """Clause c leads to `links[link_starts[c]:link_starts[c + 1]]`."""
    pinned: Bools
    """Whether a clause alone leads to one of its links."""
    share_starts: Int64s
    shares: Int32s
    """The links of each clause that other clauses lead to as well."""

    @classmethod
    def of(cls, matchers: Sequence[LinkMatcher], alive: Sequence[Bools | None] = ()) -> Demand:
        """The demand of matchers, as far as their links are alive.

        alive: a mask of each matcher's links, or None for all.
        """
        numbers: dict[Concept, int] = {}
        needs: dict[tuple[int, ...], int] = {}
        of_clause, clauses, links = [], [], []
        offsets, link_offsets = [0], [0]
        for matcher, mask in zip(matchers, alive or [None] * len(matchers), strict=True):
            part = matcher.needs or _without_needs(matcher)
            clause = np.repeat(np.arange(len(part.of_clause)), np.diff(part.link_starts))
            lives = np.ones(len(clause), bool) if mask is None else mask[part.links]
            of_clause.append(_numbered(part, np.unique(clause[lives]), numbers, needs))
            clauses.append(clause[lives] + offsets[-1])
            links.append(part.links[lives] + link_offsets[-1])
            offsets.append(offsets[-1] + len(part.of_clause))
            link_offsets.append(link_offsets[-1] + len(matcher))
        return cls.from_edges(
            tuple(numbers),
            list(needs),
            _joined(of_clause).astype(np.int32),
            _joined(clauses),
            _joined(links),
            offsets,
            link_offsets,
        )

    @classmethod
    def from_edges(
        cls,
        concepts: tuple[Concept, ...],
        needs: Sequence[tuple[int, ...]],
        of_clause: Int32s,
        clause: Int64s,
        link: Int64s,
        offsets: Sequence[int],
        link_offsets: Sequence[int],
    ) -> Demand:
        """Put a demand together.

        needs: the literals of each need.
        of_clause: the need of each clause.
        clause, link: pairs of which the clause leads to the link, sorted by clause.
        offsets, link_offsets: the first clause and the first link of each part, and the end.
        """
        count, total = np.bincount(clause, minlength=len(of_clause)), link_offsets[-1]
        several = np.bincount(link, minlength=total)[link] > 1
        lengths = np.array([len(need) for need in needs], np.int64)
        literals = np.array([literal for need in needs for literal in need], np.int32)
        return cls(
            concepts,
            np.array(offsets, np.int64),
            np.array(link_offsets, np.int64),
            np.where(count == 0, GONE, of_clause).astype(np.int32),
            offsets_of(lengths),
            literals,
            offsets_of(count),
            link.astype(np.int32),
            np.bincount(clause[~several], minlength=len(of_clause)) > 0,
            offsets_of(np.bincount(clause[several], minlength=len(of_clause))),
            link[several].astype(np.int32),
        )

    def led_to(self, targets: Int32s, count: int) -> Demand:
        """The same clauses, where links that lead to the same target are one.

        targets: where each link leads, a number below `count`.
        """
        literals, counts = self.literals.tolist(), np.diff(self.link_starts)
        return Demand.from_edges(
            self.concepts,
            [tuple(literals[begin:end]) for begin, end in pairwise(self.starts.tolist())],
            self.of_clause,
            np.repeat(np.arange(len(counts)), counts),
            targets[self.links].astype(np.int64),
            self.offsets.tolist(),
            [0] * (len(self.link_offsets) - 1) + [count],
        )

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, slots=True)
class Unshared:
    """Candidate pairs, taken apart by link."""

    demand: Demand
    """A demand in which each clause leads to one link."""
    events: Int32s
    """The event of each pair, ascending; there is one for each link of a real event."""
    clauses: Int32s
    event_of: Int32s
    """The real event that each of these comes from."""
    pair_of: Int64s
    """The candidate pair that each pair comes from."""


def unshared(demand: Demand, events: Int32s, clauses: Int32s) -> Unshared:
    """Take candidate pairs apart by link; they are sorted by event."""
    counts = np.diff(demand.link_starts)
    of_clause = np.repeat(demand.of_clause, counts)
    edges = np.arange(len(demand.links))
    apart = Demand.from_edges(
        demand.concepts,
        [],
        of_clause,
        edges,
        demand.links.astype(np.int64),
        [0, len(edges)],
        [0, int(demand.link_offsets[-1])],
    )
    apart = replace(apart, starts=demand.starts, literals=demand.literals)
    own = counts[clauses]
    edge = np.repeat(demand.link_starts[clauses], own) + places_in_rows(own)
    keys = np.repeat(events, own) * np.int64(demand.link_offsets[-1]) + demand.links[edge]
    found, event = np.unique(keys, return_inverse=True)
    order = np.argsort(event, kind="stable")
    return Unshared(
        apart,
        event[order].astype(np.int32),
        edge[order].astype(np.int32),
        (found // demand.link_offsets[-1]).astype(np.int32),
        np.repeat(np.arange(len(events)), own)[order],
    )


def _numbered(
    part: Needs, live: Int64s, numbers: dict[Concept, int], needs: dict[tuple[int, ...], int]
) -> Int32s:
    """The need, among all, of each clause of a part; dead clauses ask for nothing new."""
    of_need = np.full(len(part) + 1, NOTHING, np.int32)
    literals, starts = part.literals.tolist(), part.starts.tolist()
    for need in np.unique(part.of_clause[live]).tolist():
        if need == NOTHING:
            continue
        asked = literals[starts[need] : starts[need + 1]]
        key = tuple(
            sorted(
                2 * numbers.setdefault(part.concepts[one >> 1], len(numbers)) + (one & 1)
                for one in asked
            )
        )
        of_need[need + 1] = needs.setdefault(key, len(needs))
    return of_need[part.of_clause + 1]


def _without_needs(matcher: LinkMatcher) -> Needs:
    """The needs of a matcher whose clauses are its links and ask for nothing."""
    links = np.arange(len(matcher) + 1, dtype=np.int32)
    none = np.zeros(0, np.int32)
    nothing = np.full(len(matcher), NOTHING, np.int32)
    return Needs([], nothing, links, links[:-1], np.zeros(1, np.int32), none)


def _joined(arrays: Sequence[Int32s | Int64s]) -> Int64s:
    return np.concatenate([np.zeros(0, np.int64), *arrays])
