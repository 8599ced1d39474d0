"""How brokers find out that all advertisements and subscriptions have arrived.

Two waves run through the tree, from its leaves inward and out again. ADVERTISED on a link says that
all advertisements from the sender's side came before it; SUBSCRIBED, that all subscriptions from
there did that the receiver's side may satisfy. Links keep their order, so that:

    ADVERTISED is said to a neighbour once all the others have said it;
    SUBSCRIBED, once that neighbour has said ADVERTISED, and all the others SUBSCRIBED.

A broker to whom all have said SUBSCRIBED is settled: no event that it takes in from now on misses
someone who was there at the start, be the brokers in one process or in many.
"""

from __future__ import annotations

NOTHING, ADVERTISED, SUBSCRIBED = 0, 1, 2

_Due = list[tuple[str, int]]


class Settling:
    """What one broker has heard and said of it.

    >>> leaf = Settling()
    >>> leaf.add("root"), leaf.meet("root"), leaf.declare()
    (None, None, None)
    >>> leaf.due()
    [('root', 1)]
    >>> leaf.hear("root", SUBSCRIBED)
    >>> leaf.due(), leaf.settled
    ([('root', 2)], True)
    """

    def __init__(self) -> None:
        self._heard: dict[str, int] = {}
        self._said: dict[str, int] = {}
        self._met: set[str] = set()
        self._declared = False

    @property
    def settled(self) -> bool:
        """Whether everybody has been heard of, and this broker's own clients are known."""
        return self._declared and all(heard == SUBSCRIBED for heard in self._heard.values())

    @property
    def awaited(self) -> tuple[str, ...]:
        """The neighbours that have not said everything."""
        return tuple(name for name, heard in self._heard.items() if heard < SUBSCRIBED)

    def add(self, neighbour: str) -> None:
        """There is to be a link to this neighbour."""
        self._heard[neighbour] = self._said[neighbour] = NOTHING

    def meet(self, neighbour: str) -> None:
        """A neighbour has joined, so that it is told things from now on."""
        self._met.add(neighbour)

    def declare(self) -> None:
        """The broker's own clients have said what they want and publish."""
        self._declared = True

    def hear(self, neighbour: str, what: int) -> None:
        """A neighbour says that everything of a kind has been said."""
        self._heard[neighbour] = max(self._heard[neighbour], what)

    def due(self) -> _Due:
        """What must be said now, and to whom; it counts as said then."""
        due: _Due = []
        for neighbour, said in self._said.items():
            others = [heard for name, heard in self._heard.items() if name != neighbour]
            what = said
            if self._declared and neighbour in self._met and min(others, default=2) >= ADVERTISED:
                what = max(what, ADVERTISED)
            if what and self._heard[neighbour] and min(others, default=2) >= SUBSCRIBED:
                what = SUBSCRIBED
            due += [(neighbour, kind) for kind in range(said + 1, what + 1)]
            self._said[neighbour] = what
        return due
