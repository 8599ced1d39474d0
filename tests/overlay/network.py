"""Brokers joined by links that keep messages in order, and deliver them whenever they like.

A link has a queue each way; which queue delivers next is random. What is under way on a link that
breaks is lost, and so is what a broker still sends into a connection that is no more: it learns of
the new one by the other's Join, the first message of every connection.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from random import Random

from caddis.overlay.messages import Control, Join, Leave, Link, Neighbour
from caddis.overlay.routing.publication_graph import Read
from caddis.overlay.routing.routing import Routing

Way = tuple[str, str]
"""From one broker to another."""


class Network:
    """A forest of brokers."""

    def __init__(self, random: Random, read: Read, covering: bool = True) -> None:
        self.random = random
        self.read = read
        self.covering = covering
        self.brokers: dict[str, Routing] = {}
        self.edges: dict[Way, None] = {}
        self.queues: dict[Way, deque[Control]] = defaultdict(deque)
        self.open: dict[Way, None] = {}
        self.delivered: list[tuple[Way, Control]] = []

    def add(self, name: str) -> None:
        self.brokers[name] = Routing(name, self.read, self.covering)

    def connect(self, one: str, other: str) -> None:
        self.edges[one, other] = None
        self.queues[one, other].append(Join())
        self.queues[other, one].append(Join())

    def disconnect(self, one: str, other: str) -> None:
        """Each side that had met the other will find it gone."""
        del self.edges[one, other]
        for gone, at in ((one, other), (other, one)):
            self._lose(gone, at)
            if gone in self.brokers[at].neighbours:
                self.queues[gone, at].append(Leave())

    def restart(self, name: str) -> None:
        """A broker forgets everything, and is back before its neighbours find it gone."""
        self.add(name)
        for other in self.brokers:
            self._lose(other, name)
        for other in self.around(name):
            self._lose(name, other)
            self.queues[name, other].append(Join())
            self.queues[other, name].append(Join())

    def _lose(self, sender: str, receiver: str) -> None:
        self.queues[sender, receiver].clear()
        self.open.pop((sender, receiver), None)

    def tell(self, broker: str, link: Link, message: Control) -> None:
        """Someone at a broker speaks to it."""
        self.send(broker, self.brokers[broker].handle(link, message))

    def send(self, sender: str, messages: list[tuple[Neighbour, Control]]) -> None:
        for neighbour, message in messages:
            if (sender, neighbour.name) in self.open:
                self.queues[sender, neighbour.name].append(message)

    def step(self) -> bool:
        """Deliver one message; False if none is under way."""
        ways = [way for way, queue in self.queues.items() if queue]
        if not ways:
            return False
        sender, receiver = way = self.random.choice(ways)
        message = self.queues[way].popleft()
        if isinstance(message, Join):
            self.open[receiver, sender] = None
        self.delivered.append((way, message))
        self.send(receiver, self.brokers[receiver].handle(Neighbour(sender), message))
        return True

    def run(self) -> None:
        """Until no message is under way."""
        while self.step():
            pass

    def around(self, name: str) -> list[str]:
        return [two if one == name else one for one, two in self.edges if name in (one, two)]

    def reachable(self, start: str, without: str = "") -> Iterator[str]:
        """The brokers on the start's side, if a neighbour of it is left out."""
        stack = [(start, without)]
        while stack:
            name, behind = stack.pop()
            yield name
            stack += [(other, name) for other in self.around(name) if other != behind]
