"""How a broker finds out that all who want what it publishes have been heard of.

A wave of probes runs outward from it, to the ends of the tree, and echoes come back:

    a probe follows, on each link, the advertisements that it is about;
    a broker hands it on to all its other neighbours, be they there yet or not;
    it echoes when all these have, and when its own clients are known.

Links keep their order and routing answers at once, so that the subscriptions which an advertisement
calls for come before the echo. A broker to which all neighbours have echoed is settled: no event
that it publishes from now on misses someone who subscribed before the wave passed by, be the
brokers in one process or in many.

Another wave begins when something else is advertised here, and when a link is new. Echoes of older
waves do not count then. A broker that merely starts again stays settled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CLIENTS = ""
"""Who is waited for until a broker's own clients are known; a broker's name is never empty."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What brokers say to each other of a wave: whose, and which of its waves."""

    kind: Literal["Probe", "Echo"]
    origin: str
    number: int


@dataclass(slots=True)
class _Wave:
    """A wave at one broker."""

    number: int
    came_from: str
    """CLIENTS if it began here."""
    unprobed: list[str]
    waiting: list[str]
    echoed: bool = False


class Settling:
    """What one broker has heard and said of waves.

    >>> leaf = Settling("leaf")
    >>> leaf.add("root"), leaf.meet("root"), leaf.declare()
    (None, None, None)
    >>> leaf.due()
    [('root', Signal(kind='Probe', origin='leaf', number=1))]
    >>> leaf.hear("root", Signal("Echo", "leaf", 1))
    >>> leaf.due(), leaf.settled
    ([], True)
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._links: list[str] = []
        self._met: set[str] = set()
        self._declared = False
        self._own = _Wave(0, CLIENTS, [], [CLIENTS])
        self._waves = {name: self._own}

    @property
    def settled(self) -> bool:
        """Whether everybody has been heard of, and this broker's own clients are known."""
        return not self._own.waiting

    @property
    def awaited(self) -> tuple[str, ...]:
        """The neighbours from which no echo has come."""
        return tuple(name for name in self._own.waiting if name != CLIENTS)

    def add(self, neighbour: str) -> None:
        """There is to be a link to this neighbour."""
        self._links.append(neighbour)
        self.begin()

    def begin(self) -> None:
        """Something new is advertised here, or may be wanted: let a wave run."""
        self._own = self._wave(self._own.number + 1, CLIENTS)
        self._waves[self._name] = self._own

    def meet(self, neighbour: str) -> None:
        """A neighbour has joined, so that it is told things from now on."""
        self._met.add(neighbour)

    def declare(self) -> None:
        """The broker's own clients have said what they want and publish."""
        self._declared = True
        for wave in self._waves.values():
            _drop(wave.waiting, CLIENTS)

    def hear(self, neighbour: str, signal: Signal) -> None:
        """A neighbour hands a wave on, or back."""
        if signal.kind == "Probe":
            self._waves[signal.origin] = self._wave(signal.number, neighbour)
            return
        wave = self._waves.get(signal.origin)
        if wave is not None and wave.number == signal.number:
            _drop(wave.waiting, neighbour)

    def due(self) -> list[tuple[str, Signal]]:
        """What must be said now, and to whom; it counts as said then."""
        due = []
        for origin, wave in self._waves.items():
            for neighbour in [one for one in wave.unprobed if one in self._met]:
                wave.unprobed.remove(neighbour)
                due.append((neighbour, Signal("Probe", origin, wave.number)))
            if wave.came_from != CLIENTS and not wave.waiting and not wave.echoed:
                wave.echoed = True
                due.append((wave.came_from, Signal("Echo", origin, wave.number)))
        return due

    def _wave(self, number: int, came_from: str) -> _Wave:
        others = [one for one in self._links if one != came_from]
        return _Wave(number, came_from, others, [*others] + [CLIENTS] * (not self._declared))


def _drop(waiting: list[str], name: str) -> None:
    if name in waiting:
        waiting.remove(name)
