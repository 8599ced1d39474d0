"""Publishers and receivers of channels in virtual time, over a network that delays and loses.

A channel carries an event to each receiver that has joined it. Every copy has a delay of its own,
so that copies overtake each other, and may be lost. The same goes for control messages, among them
those that join and leave a channel. Each node learns of a new map at another moment, or misses it.
Moments are in milliseconds. A run is determined by its arguments and its generator.

`live` fills such a network with a random life: publishers publish, the map changes, interests come
and go. A witness is told everything that publishers do and subscribers see; it can then say whether
each event came once, in order, to those who wanted it, and to nobody else.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Protocol

import numpy as np

from caddis.errors import TopicError
from caddis.topics import CLOCK, Link, Sent, Wake
from caddis.topics.channels import (
    CONTROL,
    SUBSCRIBER,
    Channel,
    ChannelMap,
    ChannelPublisher,
    ChannelReceiver,
    Event,
    Join,
    Leave,
    Peer,
    Settings,
)

Node = ChannelPublisher | ChannelReceiver
Loss = Callable[[str, str, object], bool]
"""Whether a message is lost, by its sender, its receiver (for a `Join`, "channel 3") and itself."""


@dataclass(slots=True)
class Traffic:
    """What was sent, by the kind of message: copies that arrive, copies that are lost, all bytes.

    on_channels: how many events publishers put on channels. What exceeds `published` was put on
        two channels, because the old map and the new one overlap for a while.
    """

    sent: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    nbytes: Counter[str] = field(default_factory=Counter)
    published: int = 0
    on_channels: int = 0


class ChannelSimulator:
    """A network of publishers and receivers.

    delay_ms: the shortest and the mean delay of a message; what is above the shortest is drawn
        from an exponential distribution.
    loss: the chance that a message is lost, or what decides it.
    hear: is called with a receiver's name and whatever it hands to its subscriber.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        hear: Callable[[str, object], None],
        *,
        loss: float | Loss = 0.0,
        delay_ms: tuple[float, float] = (1.0, 30.0),
    ) -> None:
        self.now = 0.0
        self.traffic = Traffic()
        self.publishers: dict[str, ChannelPublisher] = {}
        self.receivers: dict[str, ChannelReceiver] = {}
        self._rng, self._hear, self._loss, self._delay_ms = rng, hear, loss, delay_ms
        self._members: dict[int, set[str]] = {}
        self._order = count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []

    def add_publisher(
        self, name: str, first: ChannelMap, settings: Settings | None = None
    ) -> ChannelPublisher:
        """Add a publisher that begins now. No publisher or receiver may have its name."""
        self._check_new(name)
        node = self.publishers[name] = ChannelPublisher(name, first, settings)
        self.say(name, node.begin())
        return node

    def add_receiver(
        self, name: str, first: ChannelMap, settings: Settings | None = None
    ) -> ChannelReceiver:
        """Add a receiver that wants nothing yet."""
        self._check_new(name)
        node = self.receivers[name] = ChannelReceiver(name, first, settings)
        return node

    def at(self, moment_ms: float, action: Callable[[], None]) -> None:
        """Do something at a moment."""
        heapq.heappush(self._due, (moment_ms, next(self._order), action))

    def tell(self, name: str, new: ChannelMap) -> None:
        """Let one node learn of a map now."""
        node = self._node(name)
        self.say(name, node.adopt(new))

    def announce(self, new: ChannelMap, within_ms: float, missed: float = 0.0) -> None:
        """Let all nodes learn of a map within a time; each misses it with the chance `missed`."""
        for name in [*self.publishers, *self.receivers]:
            if self._rng.random() >= missed:
                moment = self.now + self._rng.random() * within_ms
                self.at(moment, partial(self.tell, name, new))

    def publish(self, name: str, topic: str, body: object) -> None:
        """Let a publisher publish an event now."""
        self.traffic.published += 1
        self.say(name, self.publishers[name].publish(topic, body))

    def say(self, name: str, sent: Sent) -> None:
        """Carry the messages that a node's method returned."""
        for link, message in sent:
            self._carry(name, link, message)

    def run(self, until_ms: float) -> None:
        """Let time pass up to a moment; if the moment is past, nothing happens."""
        while self._due and self._due[0][0] <= until_ms:
            moment, _, action = heapq.heappop(self._due)
            self.now = max(self.now, moment)
            action()
        self.now = max(self.now, until_ms)

    def _check_new(self, name: str) -> None:
        if name in self.publishers or name in self.receivers:
            raise TopicError(f"there is already a publisher or receiver named {name!r}")

    def _node(self, name: str) -> Node:
        return self.publishers[name] if name in self.publishers else self.receivers[name]

    def _carry(self, name: str, link: Link, message: object) -> None:
        if link is SUBSCRIBER:
            self._hear(name, message)
        elif isinstance(message, Wake):
            self.at(self.now + message.after_ms, partial(self._deliver, name, CLOCK, message))
        elif isinstance(link, Channel):
            self._on_channel(name, link, message)
        elif isinstance(link, Peer):
            self._copies(name, [link.name], Peer(name), message)
        else:
            others = self.receivers if name in self.publishers else self.publishers
            self._copies(name, others, CONTROL, message)

    def _on_channel(self, name: str, link: Channel, message: object) -> None:
        members = self._members.setdefault(link.number, set())
        if isinstance(message, Join):
            self._copy(name, f"channel {link.number}", message, partial(members.add, name))
        elif isinstance(message, Leave):
            self._copy(name, f"channel {link.number}", message, partial(members.discard, name))
        else:
            self.traffic.on_channels += 1
            self._copies(name, sorted(members), link, message)

    def _copies(self, name: str, others: Iterable[str], link: Link, message: object) -> None:
        again = isinstance(message, Event) and isinstance(link, Peer)
        kind = "Event again" if again else None
        for other in others:
            self._copy(name, other, message, partial(self._deliver, other, link, message), kind)

    def _copy(
        self,
        name: str,
        other: str,
        message: object,
        arrive: Callable[[], None],
        kind: str | None = None,
    ) -> None:
        """Let a message arrive after a delay, or be lost."""
        kind = kind or type(message).__name__
        self.traffic.nbytes[kind] += size_of(message)
        if self._is_lost(name, other, message):
            self.traffic.lost[kind] += 1
            return
        self.traffic.sent[kind] += 1
        self.at(self.now + self._delay(), arrive)

    def _deliver(self, name: str, link: Link, message: object) -> None:
        self.say(name, self._node(name).handle(link, message))

    def _is_lost(self, name: str, other: str, message: object) -> bool:
        if callable(self._loss):
            return self._loss(name, other, message)
        return self._loss > 0 and self._rng.random() < self._loss

    def _delay(self) -> float:
        shortest, mean = self._delay_ms
        return shortest + float(self._rng.exponential(mean - shortest))


def size_of(message: object) -> int:
    """About how many bytes a message takes: texts by their length, numbers with 8.

    >>> size_of(Event("ann", "tea", 1, "is ready"))
    22
    """
    if isinstance(message, str | bytes):
        return len(message)
    if isinstance(message, tuple):
        return sum(map(size_of, message))
    return 8


@dataclass(frozen=True, slots=True)
class ChannelWorkload:
    """How many publishers, receivers, topics and channels there are, and how often things happen.

    seconds: how long the workload lasts; settle_seconds: how long the network may settle then.
    rate: the events a second of each publisher, at random moments.
    map_ms: the time from one map to the next; moved: the share of topics that a new map moves.
    learn_ms: within this time all nodes learn of a new map, except for the share `missed`.
    change_ms: the mean time after which a receiver changes its interests.
    begin_ms: when the first event may be published; receivers have wanted something since 0.
    """

    publishers: int = 3
    receivers: int = 4
    topics: int = 12
    channels: int = 4
    seconds: float = 6.0
    rate: float = 15.0
    map_ms: float = 1_000.0
    moved: float = 0.3
    learn_ms: float = 500.0
    missed: float = 0.0
    change_ms: float = 1_500.0
    begin_ms: float = 0.0
    settle_seconds: float = 90.0


class Witness(Protocol):
    """Is told everything that happens."""

    def publishing(self, publisher: str, topic: str) -> object:
        """A publisher is about to publish; gives the event's body."""

    def was_published(self, publisher: str, topic: str) -> None: ...

    def subscribing(self, receiver: str, topics: list[str]) -> None: ...

    def unsubscribed(self, receiver: str, topics: list[str]) -> None: ...

    def hear(self, receiver: str, message: object) -> None: ...


def live(
    world: ChannelSimulator,
    workload: ChannelWorkload,
    witness: Witness,
    rng: np.random.Generator,
    settings: Settings | None = None,
) -> None:
    """Live through a workload in an empty network, then let things settle."""
    life = _Life(workload, witness, world, rng)
    for number in range(workload.publishers):
        world.add_publisher(f"publisher {number}", life.map, settings)
    for number in range(workload.receivers):
        world.add_receiver(f"receiver {number}", life.map, settings)
    life.begin()
    world.run(1_000 * (workload.seconds + workload.settle_seconds))


class _Life:
    """Makes things happen again and again, until the workload's time is over."""

    def __init__(
        self,
        workload: ChannelWorkload,
        witness: Witness,
        world: ChannelSimulator,
        rng: np.random.Generator,
    ) -> None:
        self._workload, self._witness, self._world, self._rng = workload, witness, world, rng
        self._topics = [f"topic {number}" for number in range(workload.topics)]
        self.map = ChannelMap({one: self._any_channel() for one in self._topics})

    def begin(self) -> None:
        for name in self._world.publishers:
            self._world.at(self._workload.begin_ms, partial(self._publish, name))
        for name in self._world.receivers:
            self._change(name)
        self._world.at(self._workload.map_ms, self._new_map)

    def _again(self, mean_ms: float, action: partial[None]) -> None:
        moment = self._world.now + self._rng.exponential(mean_ms)
        if moment < 1_000 * self._workload.seconds:
            self._world.at(moment, action)

    def _publish(self, name: str) -> None:
        topic = str(self._rng.choice(self._topics))
        body = self._witness.publishing(name, topic)
        self._world.publish(name, topic, body)
        self._witness.was_published(name, topic)
        self._again(1_000 / self._workload.rate, partial(self._publish, name))

    def _change(self, name: str) -> None:
        """Take up some topics, and drop some of those that were wanted."""
        node = self._world.receivers[name]
        drop = [one for one in sorted(node.topics) if self._rng.random() < 1 / 3]
        add = [one for one in self._topics if one not in node.topics and self._rng.random() < 1 / 4]
        self._witness.unsubscribed(name, drop)
        self._world.say(name, node.unsubscribe(drop))
        self._witness.subscribing(name, add)
        self._world.say(name, node.subscribe(add))
        self._again(self._workload.change_ms, partial(self._change, name))

    def _new_map(self) -> None:
        moving = [one for one in self._topics if self._rng.random() < self._workload.moved]
        self.map = self.map.with_channels({one: self._any_channel() for one in moving})
        self._world.announce(self.map, self._workload.learn_ms, self._workload.missed)
        moment = self._world.now + self._workload.map_ms
        if moment < 1_000 * self._workload.seconds:
            self._world.at(moment, self._new_map)

    def _any_channel(self) -> int:
        return int(self._rng.integers(self._workload.channels))
