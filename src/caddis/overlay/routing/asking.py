"""What a broker asks one neighbour for: clauses of others that events from there may satisfy.

The neighbour is asked for the clauses that came through other links, overlap what is advertised
through it, and are covered by no other such clause. Changes are gathered, then settled: what the
neighbour should be asked for is compared with what it was asked for, subscription by subscription.

New clauses are sent before old ones are withdrawn. A clause that is asked for in place of a broader
one is then known before the broader one goes, and no event is missed in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from caddis.language import Clause
from caddis.overlay.messages import Control, Link, Neighbour, Subscribe, Unsubscribe
from caddis.overlay.routing.covering import Change, Cover, EveryClause, overlap
from caddis.overlay.routing.publication_graph import Entry, Identity, Table

Part = tuple[Link, Identity, int]
"""One clause of a subscription that came through a link."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The clauses of one subscription that a neighbour is asked for."""

    where: str
    numbers: tuple[int, ...]
    total: int

    def message(self, identity: Identity) -> Subscribe:
        home, subscription_id = identity
        numbers = None if len(self.numbers) == self.total else self.numbers
        return Subscribe(subscription_id, self.where, numbers, home)

    def with_those_of(self, other: _Asked) -> _Asked:
        return _Asked(self.where, _ascending({*self.numbers, *other.numbers}), self.total)


class Asking:
    """Decides what one neighbour is asked for.

    table: the broker's publication routing table, which the broker changes and this only reads.
    """

    def __init__(self, neighbour: Neighbour, table: Table, covering: bool = True) -> None:
        self._neighbour = neighbour
        self._table = table
        self._advertised: dict[Identity, int] = {}
        self._offered: Cover[tuple[Identity, int]] = Cover()
        self._wanted: Cover[Part] | EveryClause[Part] = Cover() if covering else EveryClause()
        self._chosen: dict[Identity, dict[Link, dict[int, None]]] = {}
        """For each subscription and link: the numbers of its clauses that no other covers."""
        self._asked_for: dict[Identity, _Asked] = {}
        self._changed: dict[Identity, None] = {}

    def advertise(self, identity: Identity, clauses: tuple[Clause, ...]) -> None:
        """Take in what a publisher behind the neighbour offers; no clauses if it has ended."""
        moved = False
        for number in range(self._advertised.pop(identity, 0)):
            moved |= bool(self._offered.remove((identity, number)).withdrawn)
        for number, clause in enumerate(clauses):
            moved |= bool(self._offered.add((identity, number), clause).announced)
        if clauses:
            self._advertised[identity] = len(clauses)
        if moved:
            self._review()

    def replace(self, link: Link, identity: Identity, old: Entry | None, new: Entry | None) -> None:
        """Take in that the entry of a subscription on a link has changed."""
        if link == self._neighbour:
            return
        self._changed[identity] = None
        before = old.numbered() if old else {}
        after = new.numbered() if new else {}
        for number, clause in before.items():
            if after.get(number) != clause:
                self._want((link, identity, number), clause, False)
        for number, clause in after.items():
            self._want((link, identity, number), clause, self._may_come(clause))

    def settle(self) -> list[Control]:
        """Return what must be sent to the neighbour since the last time, in this order."""
        first: list[Control] = []
        then: list[Control] = []
        last: list[Control] = []
        for identity in self._changed:
            old, new = self._asked_for.pop(identity, None), self._asked(identity)
            if new is not None:
                self._asked_for[identity] = new
            if old == new:
                continue
            if new is None:
                last.append(Unsubscribe(identity[1], identity[0]))
            elif old is None:
                first.append(new.message(identity))
            elif old.where != new.where:
                then.append(new.message(identity))
            else:
                # First old and new clauses together, then the new ones alone.
                both = new.with_those_of(old)
                first += [both.message(identity)] if both != old else []
                last += [new.message(identity)] if both != new else []
        self._changed = {}
        return first + then + last

    def _review(self) -> None:
        """Look at all clauses again, since other events may come through the neighbour."""
        for part, clause in self._parts():
            self._want(part, clause, self._may_come(clause))

    def _parts(self) -> Iterator[tuple[Part, Clause]]:
        for link, entries in self._table.items():
            if link != self._neighbour:
                for identity, entry in entries.items():
                    for number, clause in zip(entry.numbers, entry.clauses, strict=True):
                        yield (link, identity, number), clause

    def _may_come(self, clause: Clause) -> bool:
        """Whether an event that satisfies the clause may come through the neighbour.

        If a covered advertisement overlaps the clause, then so does what covers it.
        """
        return any(overlap(clause, offered) for _, offered in self._offered.uncovered())

    def _want(self, part: Part, clause: Clause, wanted: bool) -> None:
        if wanted == (part in self._wanted):
            return
        change = self._wanted.add(part, clause) if wanted else self._wanted.remove(part)
        self._choose(change)

    def _choose(self, change: Change[Part]) -> None:
        for link, identity, number in change.withdrawn:
            links = self._chosen[identity]
            del links[link][number]
            if not links[link]:
                del links[link]
            if not links:
                del self._chosen[identity]
            self._changed[identity] = None
        for link, identity, number in change.announced:
            self._chosen.setdefault(identity, {}).setdefault(link, {})[number] = None
            self._changed[identity] = None

    def _asked(self, identity: Identity) -> _Asked | None:
        """What to ask for; if two links have different texts, that of the link chosen last."""
        links = self._chosen.get(identity)
        if not links:
            return None
        entries = {link: self._table[link][identity] for link in links}
        *_, entry = entries.values()
        same = [link for link, other in entries.items() if other.where == entry.where]
        numbers = {number for link in same for number in links[link]}
        return _Asked(entry.where, _ascending(numbers), entry.total)


def _ascending(numbers: set[int]) -> tuple[int, ...]:
    return tuple(sorted(numbers))
