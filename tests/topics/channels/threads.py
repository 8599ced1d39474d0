"""Publishers and receivers as threads in real time, with queues as channels that lose events."""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

from caddis.topics.channels.messages import CONTROL, SUBSCRIBER, Channel, Join, Leave, Peer
from caddis.topics.channels.publisher import ChannelPublisher
from caddis.topics.channels.receiver import ChannelReceiver
from caddis.topics.links import CLOCK, Link, Sent, Wake


class Network:
    """Who is there, who has joined which channel, and what happens to copies on their way."""

    def __init__(self, loss: float, hear: Callable[[str, object], None]) -> None:
        self.loss, self.hear = loss, hear
        self.publishers: dict[str, NodeThread] = {}
        self.receivers: dict[str, NodeThread] = {}
        self._members: dict[int, set[str]] = {}
        self._lock = threading.Lock()

    def carry(self, sender: NodeThread, link: Link, message: object) -> None:
        if link is SUBSCRIBER:
            self.hear(sender.name, message)
        elif isinstance(message, Join | Leave):
            assert isinstance(link, Channel)
            if sender.random.random() < self.loss:
                return
            with self._lock:
                members = self._members.setdefault(link.number, set())
                (members.add if isinstance(message, Join) else members.discard)(sender.name)
        else:
            for other, back in self._others(sender, link):
                if sender.random.random() >= self.loss:
                    other.inbox.put((back, message))

    def _others(self, sender: NodeThread, link: Link) -> list[tuple[NodeThread, Link]]:
        if isinstance(link, Channel):
            with self._lock:
                names = sorted(self._members.get(link.number, ()))
            return [(self.receivers[name], link) for name in names]
        others = self.receivers if sender.name in self.publishers else self.publishers
        if isinstance(link, Peer):
            return [(others[link.name], Peer(sender.name))]
        return [(other, CONTROL) for other in others.values()]


class NodeThread(threading.Thread):
    """A node, its inbox, and its alarms; `act` is called every few milliseconds."""

    def __init__(
        self,
        node: ChannelPublisher | ChannelReceiver,
        network: Network,
        random: Random,
        act: Callable[[], Sent],
    ) -> None:
        super().__init__(name=node.name, daemon=True)
        self.node, self.random = node, random
        self.inbox: queue.Queue[tuple[Link, Any]] = queue.Queue()
        self.failure: BaseException | None = None
        self.stopping = threading.Event()
        self._network, self._act = network, act
        self._order = count()
        self._alarms: list[tuple[float, int, Wake]] = []

    def run(self) -> None:
        try:
            if isinstance(self.node, ChannelPublisher):
                self._say(self.node.begin())
            while not self.stopping.is_set():
                self._step()
        except BaseException as failure:
            self.failure = failure
            raise

    def _step(self) -> None:
        self._say(self._act())
        while self._alarms and self._alarms[0][0] <= time.monotonic():
            self._say(self.node.handle(CLOCK, heapq.heappop(self._alarms)[2]))
        try:
            link, message = self.inbox.get(timeout=0.002)
        except queue.Empty:
            return
        self._say(self.node.handle(link, message))

    def _say(self, sent: Sent) -> None:
        for link, message in sent:
            if isinstance(message, Wake):
                moment = time.monotonic() + message.after_ms / 1_000
                heapq.heappush(self._alarms, (moment, next(self._order), message))
            else:
                self._network.carry(self, link, message)
