"""How a broker finds out that it has heard of everyone who wants what it publishes.

A wave of probes runs outward from it to the ends of the tree, and echoes come back:

    a probe follows, on each link, the advertisements that it is about;
    a broker passes it on to all its other neighbours, once they have joined;
    a broker echoes when all these have echoed and its own clients are known.

Links keep their order and routing answers at once, so the subscriptions that an advertisement calls
for arrive before the echo. A broker to which all neighbours have echoed is settled: an event that
it publishes from now on reaches everyone who subscribed before the wave passed, whether the brokers
run in one process or in many.

Another wave begins when something else is advertised here, and when a link is new. Echoes of older
waves do not count then. A broker that merely restarts stays settled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CLIENTS = ""
"""Stands among a wave's neighbours for the broker's own clients; no broker has an empty name."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A probe or an echo of a wave: which broker began it, and the number of its wave."""

    kind: Literal["Probe", "Echo"]
    origin: str
    number: int


@dataclass(slots=True)
class _Wave:
    """What one broker knows about a wave."""

    number: int
    came_from: str
    """The neighbour that sent the probe; CLIENTS if the wave began here."""
    unprobed: list[str]
    """The neighbours that must still be sent a probe."""
    waiting: list[str]
    """The neighbours that have not echoed yet."""
    echoed: bool = False


class Settling:
    """All waves at one broker.

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
        """Whether everyone has been heard of, and this broker's own clients are known."""
        return not self._own.waiting

    @property
    def awaited(self) -> tuple[str, ...]:
        """The neighbours from which no echo has come."""
        return tuple(name for name in self._own.waiting if name != CLIENTS)

    def add(self, neighbour: str) -> None:
        """Take in that there is a link to this neighbour, which may not have joined yet."""
        self._links.append(neighbour)
        self.begin()

    def begin(self) -> None:
        """Begin a wave, as something new is advertised here or a link is new."""
        self._own = self._wave(self._own.number + 1, CLIENTS)
        self._waves[self._name] = self._own

    def meet(self, neighbour: str) -> None:
        """Take in that a neighbour has joined, so messages may be sent to it from now on."""
        self._met.add(neighbour)

    def declare(self) -> None:
        """Take in that the broker's own clients are known."""
        self._declared = True
        for wave in self._waves.values():
            _drop(wave.waiting, CLIENTS)

    def hear(self, neighbour: str, signal: Signal) -> None:
        """Take in a probe or an echo from a neighbour."""
        if signal.kind == "Probe":
            self._waves[signal.origin] = self._wave(signal.number, neighbour)
            return
        wave = self._waves.get(signal.origin)
        if wave is not None and wave.number == signal.number:
            _drop(wave.waiting, neighbour)

    def due(self) -> list[tuple[str, Signal]]:
        """Return the signals that must be sent now and their receivers; they count as sent then."""
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
