"""Random lives of channels: publishers publish, the map changes, interests come and go.

Whatever a publisher does and a subscriber sees is told to a witness, which can then say whether
each event came once, in order, to those who wanted it, and to nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from caddis.lab.simulators.channels import ChannelSimulator
from caddis.topics.channels.map import ChannelMap
from caddis.topics.channels.messages import Settings


@dataclass(frozen=True, slots=True)
class ChannelWorkload:
    """How many there are, and how often what happens.

    rate: events a second of each publisher, at random moments.
    moved: the share of the topics that a new map moves at random.
    learn_ms: everybody learns of a new map within this time, but the share `missed` does not.
    change_ms: how often a receiver changes its interests, on average.
    begin_ms: how long receivers have wanted something when the first event is published.
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
    """Who is told what happens."""

    def publishing(self, publisher: str, topic: str) -> object:
        """A publisher is about to publish; gives the event's body."""

    def was_published(self, publisher: str, topic: str) -> None: ...

    def subscribing(self, receiver: str, topics: list[str]) -> None: ...

    def unsubscribed(self, receiver: str, topics: list[str]) -> None: ...

    def hear(self, receiver: str, message: object) -> None: ...


def simulate_channels(
    workload: ChannelWorkload,
    witness: Witness,
    rng: np.random.Generator,
    *,
    loss: float = 0.0,
    settings: Settings | None = None,
) -> ChannelSimulator:
    """Live through a workload, then let things settle."""
    world = ChannelSimulator(rng, witness.hear, loss=loss)
    live(world, workload, witness, rng, settings)
    return world


def live(
    world: ChannelSimulator,
    workload: ChannelWorkload,
    witness: Witness,
    rng: np.random.Generator,
    settings: Settings | None = None,
) -> None:
    """The same in a world that is there, and empty."""
    life = _Life(workload, witness, world, rng)
    for number in range(workload.publishers):
        world.add_publisher(f"publisher {number}", life.map, settings)
    for number in range(workload.receivers):
        world.add_receiver(f"receiver {number}", life.map, settings)
    life.begin()
    world.run(1_000 * (workload.seconds + workload.settle_seconds))


class _Life:
    """What happens next, each thing again and again until the workload's time is over."""

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
