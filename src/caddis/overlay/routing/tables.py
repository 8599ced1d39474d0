"""What the rows of a broker's routing tables are.

A subscription or publisher is known everywhere by its identity: the broker that it is at, and its
name there. A subscription's entry on one link holds the clauses that matter there, with their
numbers in the text, by which they are named further on.

The subscription routing table: who publishes what, and through which link that was heard.

Advertisements flood: each neighbour is told of all that came through other links. What it should
know is compared with what it was told, so that nothing is said twice and nothing goes in circles.
While the tree is being changed, the same publisher may be heard through two links for a while;
both are kept until one of them takes it back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from caddis.errors import OverlayError
from caddis.language import Clause
from caddis.overlay.messages import Advertise, Control, Link, Neighbour, Subscribe, Unadvertise

Read = Callable[[str], tuple[Clause, ...]]
"""The clauses of a WHERE text; raises SubscriptionError if it cannot be used."""

Identity = tuple[str, str]
"""The home of a subscription or publisher, and its name there."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is wanted on one link by one subscription: `clauses`, which are true if any is.

    numbers: which clauses of the text these are.
    total: how many the text has.
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
"""A publication routing table: who wants what on which link. No link is without an entry."""


class Advertisements:
    """The WHERE texts of all publishers, by the links that they came through.

    >>> from caddis.overlay.messages import Publisher
    >>> known = Advertisements()
    >>> known.join(Neighbour("b"))
    >>> known.put(Publisher("p"), ("a", "p"), "price < 200")
    True
    >>> known.settle()
    [(Neighbour(name='b'), Advertise(publisher='p', where='price < 200', home='a'))]
    """

    def __init__(self) -> None:
        self._heard: dict[Identity, dict[Link, str]] = {}
        self._told: dict[Neighbour, dict[Identity, str]] = {}
        self._stirred: dict[Identity, None] = {}

    def join(self, neighbour: Neighbour) -> None:
        """Tell a neighbour everything."""
        self._told[neighbour] = {}
        self._stirred |= dict.fromkeys(self._heard)

    def leave(self, neighbour: Neighbour) -> None:
        """Forget what a neighbour was told, and what it said."""
        del self._told[neighbour]
        for identity in [one for one, heard in self._heard.items() if neighbour in heard]:
            self.drop(neighbour, identity)

    def put(self, link: Link, identity: Identity, where: str) -> bool:
        """Take in what a publisher will publish; False if it is known already."""
        heard = self._heard.setdefault(identity, {})
        if heard.get(link) == where:
            return False
        heard[link] = where
        self._stirred[identity] = None
        return True

    def drop(self, link: Link, identity: Identity) -> bool:
        """Forget what a publisher will publish; False if it was not known through the link."""
        heard = self._heard.get(identity, {})
        if link not in heard:
            return False
        del heard[link]
        if not heard:
            del self._heard[identity]
        self._stirred[identity] = None
        return True

    def settle(self) -> list[tuple[Neighbour, Control]]:
        """What the neighbours must be told since the last time."""
        stirred, self._stirred = self._stirred, {}
        return [
            (neighbour, message)
            for neighbour in self._told
            for identity in stirred
            for message in self._news(neighbour, identity)
        ]

    def _news(self, neighbour: Neighbour, identity: Identity) -> list[Control]:
        """What is to be said of one publisher to one neighbour; the latest word counts."""
        told, (home, publisher) = self._told[neighbour], identity
        heard = self._heard.get(identity, {})
        wheres = [where for link, where in heard.items() if link != neighbour]
        if not wheres:
            known = told.pop(identity, None) is not None
            return [Unadvertise(publisher, home)] if known else []
        if told.get(identity) == wheres[-1]:
            return []
        told[identity] = wheres[-1]
        return [Advertise(publisher, wheres[-1], home)]
