"""Threads, queues, and a map that really changes twice a second."""

import time
from abc import ABC, abstractmethod
from random import Random
from typing import Generic, TypeVar

import pytest

from caddis.topics.channels.map import ChannelMap
from caddis.topics.channels.messages import CONTROL, Settings
from caddis.topics.channels.publisher import ChannelPublisher
from caddis.topics.channels.receiver import ChannelReceiver
from caddis.topics.links import Sent
from tests.lab.simulators.channel_ledger import Ledger
from tests.topics.channels.threads import Network, NodeThread

TOPICS = [f"topic {number}" for number in range(8)]
SETTINGS = Settings(
    overlap_ms=200,
    digest_ms=100,
    idle_digest_ms=200,
    ask_after_ms=40,
    ask_at_most_ms=400,
    give_up=1_000,
    history=100_000,
)
PATIENCE_S = 60.0

Node = TypeVar("Node", bound=ChannelPublisher | ChannelReceiver)


class Act(Generic[Node], ABC):
    """What a node does every so many seconds, until it is over."""

    every_s: float

    def __init__(self, node: Node, ledger: Ledger, random: Random) -> None:
        self._node: Node = node
        self._ledger, self._random = ledger, random
        self._next = 0.0
        self.over = False

    def __call__(self) -> Sent:
        if self.over or time.monotonic() < self._next:
            return []
        self._next = time.monotonic() + self.every_s
        return self.act()

    @abstractmethod
    def act(self) -> Sent:
        """Do it once."""


class Publishing(Act[ChannelPublisher]):
    """Publishes a random topic every few milliseconds."""

    every_s = 0.01

    def act(self) -> Sent:
        topic = self._random.choice(TOPICS)
        body = self._ledger.publishing(self._node.name, topic)
        sent = self._node.publish(topic, body)
        self._ledger.was_published(self._node.name, topic)
        return sent


class Receiving(Act[ChannelReceiver]):
    """Wants some topics for good, and others now and then."""

    every_s = 0.25

    def act(self) -> Sent:
        drop = [one for one in sorted(self._node.topics)[3:] if self._random.random() < 0.5]
        add = [one for one in TOPICS[:3] if one not in self._node.topics]
        add += [
            one
            for one in TOPICS[3:]
            if one not in self._node.topics and self._random.random() < 0.3
        ]
        add = [one for one in add if one not in drop]
        self._ledger.unsubscribed(self._node.name, drop)
        self._ledger.subscribing(self._node.name, add)
        return [*self._node.unsubscribe(drop), *self._node.subscribe(add)]


@pytest.mark.no_cover
def test_nothing_is_lost_and_nothing_comes_twice_while_the_map_changes_twice_a_second():
    random, ledger = Random(5), Ledger()
    network = Network(0.02, ledger.hear)
    current = ChannelMap({topic: random.randrange(3) for topic in TOPICS})
    acts: list[Publishing | Receiving] = []
    for number in range(3):
        publisher = ChannelPublisher(f"publisher {number}", current, SETTINGS)
        acts.append(Publishing(publisher, ledger, Random(number)))
        thread = NodeThread(publisher, network, Random(10 + number), acts[-1])
        network.publishers[thread.name] = thread
    receivers = [ChannelReceiver(f"receiver {number}", current, SETTINGS) for number in range(3)]
    for number, receiver in enumerate(receivers):
        acts.append(Receiving(receiver, ledger, Random(20 + number)))
        thread = NodeThread(receiver, network, Random(30 + number), acts[-1])
        network.receivers[thread.name] = thread
    threads = [*network.receivers.values(), *network.publishers.values()]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            time.sleep(0.5)
            current = current.with_channels({one: random.randrange(3) for one in TOPICS})
            for thread in random.sample(threads, len(threads)):
                thread.inbox.put((CONTROL, current))
                time.sleep(0.01)
        for act in acts:
            act.over = True
        until_settled(ledger, threads)
    finally:
        for thread in threads:
            thread.stopping.set()
        for thread in threads:
            thread.join(10)
    assert all(thread.node.version == 4 for thread in threads)
    ledger.check()
    assert not ledger.losses()
    assert all(receiver.tally.delivered > 10 for receiver in receivers)


def until_settled(ledger: Ledger, threads: list[NodeThread]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not ledger.settled() and time.monotonic() < end:
        assert not any(thread.failure for thread in threads)
        time.sleep(0.05)
    assert ledger.settled()
