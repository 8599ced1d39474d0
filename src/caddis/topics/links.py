"""A node's links: what it is told through them, in the life of the link that it was sent in.

Nodes of this room are state machines that give `(link, message)` pairs for what they are told. The
tree that joins them changes: a link that goes down and comes up again is another link, and what was
still on its way in the old one must not be heard in the new one. So links have epochs. The layer
that builds the tree numbers them, upwards for each pair of nodes, and tells both ends; `Links`
stands between it and a node, marks what leaves with the link's epoch, drops what comes from an
earlier one, and keeps what comes from one that this end has not been told of yet. Within an epoch
a transport delivers all messages, in order; nothing else is asked of it.

Whatever a node has to say through a link at one time leaves in one packet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from enum import Enum
from typing import Any, NamedTuple, Protocol

Link = Hashable
"""The name of the neighbour that it leads to."""


class Inside(Enum):
    """Links that lead to no other node."""

    CLOCK = "clock"


CLOCK = Inside.CLOCK
"""Where a node asks to be woken: who drives it hands a `Wake` back when its time has come."""


class Wake(NamedTuple):
    """An alarm.

    token: tells the node's alarms apart.
    """

    after_ms: float
    token: int = 0


Sent = list[tuple[Link, Any]]


class Node(Protocol):
    """What stands in the tree.

    `up` says that the neighbour is nearer to the tree's root; a node without such a link is the
    root. A link whose direction changes goes down and comes up again.
    """

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent: ...

    def neighbour_left(self, link: Link) -> Sent: ...

    def handle(self, link: Link, message: Any) -> Sent: ...


class Packet(NamedTuple):
    """All that a node says through a link at one time."""

    epoch: int
    messages: tuple[Any, ...]


class Links:
    """A node behind its links, for whoever drives it.

    >>> from caddis.topics.voting import Voter
    >>> voter = Voter(choices=2)
    >>> links = Links(voter)
    >>> links.send(voter.set_input([3, 5]))
    []
    >>> [(link, packet)] = links.join("west", epoch=1)
    >>> link, packet.epoch, packet.messages[0].costs.tolist()
    ('west', 1, [[0, 2]])
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self._epochs: dict[Link, int] = {}
        self._early: dict[Link, list[Packet]] = {}
        """By link: what was sent in an epoch that this end has yet to be told of."""

    def join(self, link: Link, epoch: int, *, up: bool = False) -> Sent:
        """A link came up, in an epoch that it has not had before."""
        said = self.node.neighbour_left(link) if link in self._epochs else []
        self._epochs[link] = epoch
        said += self.node.neighbour_joined(link, up=up)
        for packet in self._early.pop(link, []):
            said += self._hear(link, packet)
        return self.send(said)

    def leave(self, link: Link) -> Sent:
        """A link went down."""
        del self._epochs[link]
        return self.send(self.node.neighbour_left(link))

    def handle(self, link: Link, packet: Packet) -> Sent:
        """What a transport delivered."""
        return self.send(self._hear(link, packet))

    def send(self, said: Iterable[tuple[Link, Any]]) -> Sent:
        """What a node said, as one packet for each link; alarms as they are."""
        together: dict[Link, list[Any]] = {}
        sent: Sent = []
        for link, message in said:
            if link is CLOCK:
                sent.append((link, message))
            elif link in self._epochs:
                together.setdefault(link, []).append(message)
        for link, messages in together.items():
            sent.append((link, Packet(self._epochs[link], tuple(messages))))
        return sent

    def _hear(self, link: Link, packet: Packet) -> Sent:
        if link is CLOCK:
            return self.node.handle(link, packet)
        epoch = self._epochs.get(link)
        if epoch is None or packet.epoch > epoch:
            self._early.setdefault(link, []).append(packet)
            return []
        if packet.epoch < epoch:
            return []
        said: Sent = []
        for message in packet.messages:
            said += self.node.handle(link, message)
        return said
