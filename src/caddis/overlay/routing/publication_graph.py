"""The publication routing table of a broker, and the graph that it is compiled into.

    entry ─▶ clauses ─▶ predicates and concepts       the residual graph, a Matcher
    entry ─▶ link: a neighbour, or a local subscriber

A subscription or publisher is known everywhere by its identity: the broker that it is at, and its
name there. A subscription's entry on one link holds the clauses that matter there, with their
numbers in the WHERE text, by which the next broker calls them.

The matcher has a link for each entry; `link_of` leads from there to where the entry came from.
Neighbours come first, so a number below `len(neighbours)` is one. Section IV-A1 of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.errors import OverlayError
from caddis.language import Clause, ClauseTable, Concept, Predicate, PredicateTable
from caddis.matching import LinkMatcher, Matcher
from caddis.overlay.messages import Link, Neighbour, Subscribe, Subscriber

Read = Callable[[str], tuple[Clause, ...]]
"""Gives the clauses of a WHERE text, or raises SubscriptionError if it cannot be used."""

Identity = tuple[str, str]
"""The home of a subscription or publisher, and its name there."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one subscription wants on one link: an event that satisfies any of `clauses`.

    numbers: the numbers of these clauses in the text.
    total: how many clauses the text has.
    """

    where: str
    clauses: tuple[Clause, ...]
    numbers: tuple[int, ...]
    total: int

    @staticmethod
    def of(message: Subscribe, read: Read) -> Entry:
        """The entry that a message asks for.

        >>> Entry.of(Subscribe("s", "TRUE"), lambda where: (Clause(()),)).numbers
        (0,)
        """
        clauses = read(message.where)
        numbers = tuple(range(len(clauses))) if message.clauses is None else message.clauses
        for number in numbers:
            if not 0 <= number < len(clauses):
                raise OverlayError(
                    f"subscription {message.subscription_id!r} asks for clause {number}, "
                    f"but its text has {len(clauses)}: {message.where}"
                )
        chosen = tuple(clauses[number] for number in numbers)
        return Entry(message.where, chosen, numbers, len(clauses))

    def numbered(self) -> dict[int, Clause]:
        """The clauses by their numbers."""
        return dict(zip(self.numbers, self.clauses, strict=True))


Table = dict[Link, dict[Identity, Entry]]
"""A publication routing table: who wants what on which link. Links without entries are left out."""


CompileClauses = Callable[[ClauseTable, pa.Array], LinkMatcher]
"""Makes a matcher from clauses and the ids of their owners, such as `Matcher.from_clauses`."""


@dataclass(frozen=True, slots=True)
class PublicationRoutingGraph:
    """A compiled publication routing table. It never changes: a changed table is compiled again."""

    matcher: LinkMatcher
    neighbours: tuple[Neighbour, ...]
    subscribers: tuple[Subscriber, ...]
    link_of: Int32s
    """For each link of the matcher: its place among the neighbours, then the subscribers."""

    @classmethod
    def compile(
        cls,
        table: Mapping[Link, Mapping[Identity, Entry]],
        names: Sequence[str] = (),
        compile_clauses: CompileClauses = Matcher.from_clauses,
    ) -> PublicationRoutingGraph:
        """Compile a table.

        names: neighbours that are there even if nobody behind them wants anything.
        compile_clauses: makes the matcher.
        """
        asking = [link for link in table if isinstance(link, Neighbour)]
        neighbours = tuple(dict.fromkeys([Neighbour(name) for name in names] + asking))
        subscribers = tuple(link for link in table if isinstance(link, Subscriber))
        links: tuple[Link, ...] = (*neighbours, *subscribers)
        clauses = _Clauses()
        link_of: list[int] = []
        for number, link in enumerate(links):
            for entry in table.get(link, {}).values():
                clauses.add(len(link_of), entry)
                link_of.append(number)
        ids = pa.array(np.arange(len(link_of)))
        matcher = compile_clauses(clauses.table(), ids)
        return cls(matcher, neighbours, subscribers, np.array(link_of, np.int32))

    @property
    def links(self) -> tuple[Link, ...]:
        """All links by their numbers."""
        return (*self.neighbours, *self.subscribers)


class _Clauses:
    """Collects the clauses of entries for a ClauseTable, every distinct atom once."""

    def __init__(self) -> None:
        self._numbers: dict[Predicate | Concept, int] = {}
        self._owner: list[int] = []
        self._ends: list[int] = [0]
        self._members: list[int] = []

    def add(self, owner: int, entry: Entry) -> None:
        for clause in entry.clauses:
            for part in (*clause.predicates, *clause.concepts):
                self._members.append(self._numbers.setdefault(part, len(self._numbers)))
            self._owner.append(owner)
            self._ends.append(len(self._members))

    def table(self) -> ClauseTable:
        return ClauseTable(
            PredicateTable.of(self._numbers),
            np.array(self._owner, np.int32),
            np.array(self._ends, np.int64),
            np.array(self._members, np.int32),
        )
