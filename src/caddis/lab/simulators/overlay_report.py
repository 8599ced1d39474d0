"""What a simulated overlay did: who was notified when, which models ran where, what was sent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from caddis.arrays import Floats, Int32s, Int64s
from caddis.overlay import Learnt, Publish

Mean = Literal["notifications", "brokers", "events", "paths"]
"""How the mean delay is taken, which the paper leaves open.

    notifications   every notification counts once
    brokers         every broker that notified somebody of an event counts once
    events          every event counts once, with the mean of its notifications
    paths           every subscription counts once an event, matched or not, with what ran on the
                    way to its broker (equation 2)
"""
MEANS: tuple[Mean, ...] = get_args(Mean)


@dataclass(slots=True)
class Log:
    """What happens while a simulation runs, as it happens."""

    ran: list[tuple[int, int, float]] = field(default_factory=list)
    """Event, broker and cost of each model that ran."""
    notified: dict[tuple[int, str], float] = field(default_factory=dict)
    """The moment of each notification, by event and subscription."""
    at: list[tuple[int, int, float]] = field(default_factory=list)
    """Event, broker and moment of each notification."""
    messages: Counter[type] = field(default_factory=Counter)
    nbytes: Counter[type] = field(default_factory=Counter)
    repeated: int = 0
    """Notifications that were made a second time, by a broker that had crashed and forgot."""
    resent: int = 0
    """Messages that were lost on a link."""

    def notify(self, event: int, subscription_id: str, broker: int, now: float) -> None:
        """Note that somebody was notified of an event."""
        if (event, subscription_id) in self.notified:
            self.repeated += 1
            return
        self.notified[event, subscription_id] = now
        self.at.append((event, broker, now))

    def count(self, message: object, times: int = 1) -> None:
        """Note that a message passed a link."""
        kind = type(message)
        self.messages[kind] += times
        self.nbytes[kind] += times * size_of(message)

    def sums(self, events: int, brokers: int) -> tuple[Int64s, Floats]:
        """The number and the total time of models that ran, by event and broker."""
        runs, work = np.zeros((events, brokers), np.int64), np.zeros((events, brokers))
        if self.ran:
            event, broker, cost = zip(*self.ran, strict=True)
            np.add.at(runs, (event, broker), 1)
            np.add.at(work, (event, broker), cost)
        return runs, work


def size_of(message: object) -> int:
    """The bytes of a message on a link: a header, two bits for a mark, two bytes for a number."""
    if isinstance(message, Publish):
        return 16 + message.event.nbytes + -(-len(message.known) // 4) + 2 * len(message.charge)
    if isinstance(message, Learnt):
        return 16 + 3 * len(message.concepts) + 2 * len(message.charge)
    return 16 + len(getattr(message, "where", "")) + len(getattr(message, "subscription_id", ""))


@dataclass(frozen=True, slots=True, eq=False)
class OverlayReport:
    """What became of a workload under a policy."""

    policy: str
    notified: frozenset[tuple[int, str]]
    """Pairs of event and subscription."""
    event: Int32s
    broker: Int32s
    delay_ms: Floats
    """For each notification: its event, the broker that made it, and the time since the
    publication, without the time of the links between."""
    latency_ms: Floats
    """For each notification: the time since the publication, with the time of the links."""
    runs: Int64s
    work_ms: Floats
    """The number and the total time of models that ran, by event and broker."""
    path_work_ms: Floats
    """The time of all models on the path from the publisher to a broker, by event and broker."""
    subscribers: Int64s
    """How many subscriptions each broker has."""
    messages: dict[str, int]
    nbytes: dict[str, int]
    """The messages and bytes that passed links, by kind of message."""
    span_ms: float
    """From the first publication to the last thing that happened."""
    repeated: int
    resent: int

    def mean_delay_ms(self, mean: Mean = "notifications") -> float:
        """The mean processing delay; NaN if nobody was notified."""
        if mean == "paths":
            return float((self.path_work_ms @ self.subscribers).mean() / self.subscribers.sum())
        if not len(self.event):
            return float("nan")
        if mean == "notifications":
            return float(self.delay_ms.mean())
        events = self.event.astype(np.int64)
        keys = events if mean == "events" else events * len(self.subscribers) + self.broker
        _, group = np.unique(keys, return_inverse=True)
        return float(np.mean(np.bincount(group, self.delay_ms) / np.bincount(group)))

    @property
    def cost_ms(self) -> float:
        """The time of models in all brokers, per event: the paper's redundancy overhead."""
        return float(self.work_ms.sum(axis=1).mean())

    @property
    def runs_per_event(self) -> float:
        """How many models ran per event."""
        return float(self.runs.sum(axis=1).mean())

    @property
    def utilisation(self) -> Floats:
        """The share of the time in which each broker ran models."""
        share: Floats = self.work_ms.sum(axis=0) / max(self.span_ms, 1e-9)
        return share
