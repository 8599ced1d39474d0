"""The links between nodes: epochs, packets, and alarms.

Nodes of this room are state machines: for everything that they are told they return a list of
`(link, message)` pairs. The tree that joins them changes. A link that goes down and comes up again
is another link, and what was still travelling in the old one must not be heard in the new one. So
links have epochs. The layer that builds the tree numbers them, upwards for each pair of nodes, and
tells both ends. `Links` stands between that layer and a node: it marks what leaves with the link's
epoch, and drops what arrives from any epoch but the latest that it knows of, whether that layer or
a packet told it. What comes from an epoch that this end has not been told of yet is kept.

Within an epoch a transport delivers all messages, in order; nothing else is asked of it. If more
came early than is kept, this end has missed some, and the link has to come up in a later epoch.

Packets are believed: one with a number far ahead deafens this end of its link until the layer that
builds the tree gets there. So a transport must deliver only packets of nodes that may take part.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from enum import Enum
from itertools import count
from typing import Any, NamedTuple, Protocol, runtime_checkable

from caddis.errors import TopicError

MOST_PACKETS = 1_000
"""How many packets are kept for a link that is not up in their epoch yet."""
MOST_STRANGERS = 10_000
"""How many links that were never up here may have such packets."""

Link = Hashable
"""The name of the neighbour that the link leads to."""

Sent = list[tuple[Link, Any]]
"""What a node has to say: messages, each with the link that it goes through."""


class Inside(Enum):
    """Links that lead to no other node."""

    CLOCK = "clock"


CLOCK = Inside.CLOCK
"""The link for alarms: whoever drives the node hands a `Wake` back when its time has come."""


class Wake(NamedTuple):
    """An alarm. The token tells a node's alarms apart."""

    after_ms: float
    token: int = 0


class Alarms:
    """A node's alarms, by what each of them means; at most one is set for each meaning."""

    def __init__(self) -> None:
        self._tokens = count(1)
        self._meanings: dict[int, Hashable] = {}
        self._set: dict[Hashable, int] = {}

    def __contains__(self, meaning: Hashable) -> bool:
        return meaning in self._set

    def set(self, after_ms: float, meaning: Hashable) -> tuple[Link, Wake]:
        """Ask to be woken; an earlier alarm of the same meaning no longer counts."""
        self.cancel(meaning)
        token = next(self._tokens)
        self._meanings[token], self._set[meaning] = meaning, token
        return CLOCK, Wake(after_ms, token)

    def cancel(self, meaning: Hashable) -> None:
        """Forget the alarm of this meaning, if one is set; it may still ring."""
        token = self._set.pop(meaning, None)
        if token is not None:
            del self._meanings[token]

    def rung(self, wake: Wake) -> Hashable | None:
        """The meaning of an alarm that rings; None if it no longer counts."""
        meaning = self._meanings.pop(wake.token, None)
        self._set.pop(meaning, None)
        return meaning


class Node(Protocol):
    """What stands in the tree.

    `up` says that the neighbour is nearer to the tree's root; a node without such a link is the
    root. A link whose direction changes goes down and comes up again.
    """

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent: ...

    def neighbour_left(self, link: Link) -> Sent: ...

    def handle(self, link: Link, message: Any) -> Sent: ...


@runtime_checkable
class Attentive(Protocol):
    """A node that takes in everything that arrived at one time before it answers.

    Its subclasses define `handle_all`.
    """

    def handle_all(self, heard: Sequence[tuple[Link, Any]]) -> Sent: ...

    def handle(self, link: Link, message: Any) -> Sent:
        """Take in one message, and answer it."""
        return self.handle_all([(link, message)])


class Packet(NamedTuple):
    """Everything that a node says through a link at one time."""

    epoch: int
    messages: tuple[Any, ...]


class _Early:
    """What came through a link in an epoch that this end has not been told of yet."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.packets: list[Packet] = []
        self.missed = False

    def keep(self, packet: Packet) -> None:
        if len(self.packets) == MOST_PACKETS:
            # A link with a gap is useless, as messages only say what changed: free them all.
            self.packets, self.missed = [], True
        if not self.missed:
            self.packets.append(packet)


class Links:
    """A node behind its links. Whoever drives the node calls this instead.

    >>> from caddis.topics import Voter
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
        self._handle_all = node.handle_all if isinstance(node, Attentive) else self._handle_each
        self._up: set[Link] = set()
        self._epochs: dict[Link, int] = {}
        """The last epoch of each link, up or down, that this end was told of."""
        self._early: dict[Link, _Early] = {}
        """What was sent through each link in a later epoch, the latest that was heard of."""
        self._strangers: set[Link] = set()
        """The links with early packets that were never up here."""
        self._missed = -1
        """The latest epoch of a stranger whose packets were dropped, as there were too many."""

    def join(self, link: Link, epoch: int, *, up: bool = False) -> Sent:
        """Bring a link up, in an epoch that is later than those before."""
        if epoch <= self._epochs.get(link, epoch - 1):
            before = self._epochs[link]
            raise TopicError(f"the link to {link!r} had epoch {before}: {epoch} is not a later one")
        if self._has_missed(link, epoch):
            raise TopicError(
                f"more came through the link to {link!r} before it was up in epoch {epoch} than is"
                " kept: let it come up in a later one"
            )
        answers = self.node.neighbour_left(link) if link in self._up else []
        self._up.add(link)
        self._epochs[link] = epoch
        self._strangers.discard(link)
        answers += self.node.neighbour_joined(link, up=up)
        if link in self._early and self._early[link].epoch <= epoch:
            answers += self._hear([(link, packet) for packet in self._early.pop(link).packets])
        return self.send(answers)

    def leave(self, link: Link) -> Sent:
        """Take a link down."""
        if link not in self._up:
            raise TopicError(f"the link to {link!r} cannot go down: it is not up")
        self._up.remove(link)
        return self.send(self.node.neighbour_left(link))

    def handle(self, link: Link, packet: Packet | Wake) -> Sent:
        """Take in what a transport delivered, or a clock."""
        return self.handle_all([(link, packet)])

    def handle_all(self, arrived: Iterable[tuple[Link, Packet | Wake]]) -> Sent:
        """Take in what was delivered at one time; the packets of each link are in order."""
        return self.send(self._hear(arrived))

    def send(self, answers: Iterable[tuple[Link, Any]]) -> Sent:
        """Pack what a node has to say into one packet for each link; alarms stay as they are."""
        together: dict[Link, list[Any]] = {}
        sent: Sent = []
        for link, message in answers:
            if link is CLOCK:
                sent.append((link, message))
            elif link in self._up:
                together.setdefault(link, []).append(message)
        for link, messages in together.items():
            sent.append((link, Packet(self._epochs[link], tuple(messages))))
        return sent

    def _hear(self, arrived: Iterable[tuple[Link, Packet | Wake]]) -> Sent:
        heard: Sent = []
        for link, packet in arrived:
            if isinstance(packet, Wake):
                heard.append((link, packet))
            elif self._is_current(link, packet):
                heard += [(link, message) for message in packet.messages]
        return self._handle_all(heard) if heard else []

    def _is_current(self, link: Link, packet: Packet) -> bool:
        """Whether a packet belongs to the link that is up; one of a later epoch is kept."""
        early, epoch = self._early.get(link), self._epochs.get(link)
        latest = early.epoch if early else epoch
        if latest is None or packet.epoch > latest:
            self._begin_early(link, packet)
        elif early and packet.epoch == latest:
            early.keep(packet)
        # Once the other end is known to be further, what is left of the present epoch is void.
        return early is None and packet.epoch == epoch and link in self._up

    def _begin_early(self, link: Link, packet: Packet) -> None:
        if link not in self._epochs and link not in self._strangers:
            if len(self._strangers) == MOST_STRANGERS:
                self._missed = max(self._missed, packet.epoch)
                return
            self._strangers.add(link)
        self._early[link] = _Early(packet.epoch)
        self._early[link].keep(packet)

    def _has_missed(self, link: Link, epoch: int) -> bool:
        """Whether packets of a link's new epoch may have come and were not kept."""
        if link in self._early:
            return self._early[link].missed and self._early[link].epoch == epoch
        return link not in self._epochs and epoch <= self._missed

    def _handle_each(self, heard: Iterable[tuple[Link, Any]]) -> Sent:
        answers: Sent = []
        for link, message in heard:
            answers += self.node.handle(link, message)
        return answers
