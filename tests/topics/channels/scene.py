"""A publisher and a receiver in virtual time, for schedules that are thought up by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from caddis.lab.simulators.channels import ChannelSimulator
from caddis.topics.channels.map import ChannelMap
from caddis.topics.channels.messages import Peer, Settings, Started
from caddis.topics.channels.receiver import ChannelReceiver
from tests.lab.simulators.channel_ledger import Ledger

FIRST = ChannelMap({"tea": 0, "rain": 1, "wind": 1})
QUICK = Settings(overlap_ms=200, digest_ms=100, ask_after_ms=20)


def nothing_lost(_sender: str, _receiver: str, _message: object) -> bool:
    return False


class Scene:
    """Ann publishes, Bob receives; each message takes a millisecond."""

    def __init__(self, settings: Settings = QUICK) -> None:
        self.ledger = Ledger()
        self.loses: Callable[[str, str, Any], bool] = nothing_lost
        self.world = ChannelSimulator(
            np.random.default_rng(0),
            self.ledger.hear,
            loss=self._loses,
            delay_ms=(1.0, 1.0),
        )
        self.ann = self.world.add_publisher("ann", FIRST, settings)
        self.bob = self.world.add_receiver("bob", FIRST, settings)

    def _loses(self, sender: str, receiver: str, message: object) -> bool:
        return self.loses(sender, receiver, message)

    def subscribe(self, *topics: str) -> None:
        self.ledger.subscribing("bob", list(topics))
        self.world.say("bob", self.bob.subscribe(topics))

    def unsubscribe(self, *topics: str) -> None:
        self.world.say("bob", self.bob.unsubscribe(topics))
        self.ledger.unsubscribed("bob", list(topics))

    def publish(self, topic: str, times: int = 1, every_ms: float = 0.0) -> None:
        for _ in range(times):
            body = self.ledger.publishing("ann", topic)
            self.world.publish("ann", topic, body)
            self.ledger.was_published("ann", topic)
            self.wait(every_ms)

    def wait(self, for_ms: float) -> None:
        self.world.run(self.world.now + for_ms)

    def settle(self) -> None:
        """Wait for long, then see that all is as it must be, and nothing lost."""
        self.loses = nothing_lost
        self.wait(120_000)
        assert self.ledger.settled()
        self.ledger.check()
        assert not self.ledger.losses()

    def got(self, topic: str = "tea") -> list[int]:
        return self.ledger.numbers("bob", "ann", topic)


def receiver_that_has(topic: str, last: int) -> ChannelReceiver:
    """A receiver of one topic that Ann has acknowledged."""
    bob = ChannelReceiver("bob", FIRST, QUICK)
    bob.subscribe([topic])
    bob.handle(Peer("ann"), Started("ann", 0, 1, ((topic, last),)))
    return bob
