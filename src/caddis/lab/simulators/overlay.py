"""An overlay in virtual time: real brokers, simulated links, models and clocks.

Everything that happens is a message to a broker at a moment. Moments are in milliseconds; of two
messages with the same moment, the one that was sent first comes first. Links deliver in order. A
model takes as long as it costs, and a broker runs one at a time. A run is determined by its
arguments: only arrivals and losses are random, and these are drawn from the seed.

A link keeps a message until it has arrived: a lost message is sent again after a while, and one
that reaches a broker that is down waits until it is up. A broker that crashes forgets the events
that it was deciding; its routing tables are on disk, and those events are delivered to it again.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caddis.arrays import Floats
from caddis.lab.simulators.overlay_report import Log, OverlayReport
from caddis.lab.workloads import EVERYTHING, Workload
from caddis.models import NO, UNASKED, YES
from caddis.overlay import (
    Advertise,
    Answered,
    Ask,
    Control,
    Event,
    EventBroker,
    Inside,
    Join,
    Learnt,
    Link,
    Message,
    Neighbour,
    Notification,
    Publish,
    Publisher,
    Subscribe,
    Subscriber,
    Wake,
)
from caddis.overlay.forwarding import FORWARDINGS, Forwarding
from caddis.overlay.routing import Routing
from caddis.overlay.topology import Topology

RESEND_MS = 200.0
"""The time after which a lost message is sent again."""

ALL_LIVES = -1
_EVENTS = Publisher("events")

Arrival = tuple[float, int, int, int, Link | Inside, Message]
"""Moment, order of sending, broker, the broker's life that it is for, link and message."""


Outlet = Callable[[int, Link | Inside, Any], None]
"""What sends messages of one kind: from a broker, through a link."""


@dataclass(frozen=True, slots=True)
class Crash:
    """A broker is down for a while, and forgets what it was deciding."""

    broker: str
    at_ms: float
    for_ms: float


@dataclass(frozen=True, slots=True, eq=False)
class RoutingTables:
    """The routing tables of all brokers, and the messages that filled them.

    Simulations only read them, so several may share them.
    """

    routings: tuple[Routing, ...]
    messages: Mapping[type, int]
    nbytes: Mapping[type, int]


def simulate(
    topology: Topology,
    workload: Workload,
    policy: str | Forwarding | None = None,
    *,
    covering: bool | None = None,
    interval_ms: float | None = None,
    link_delays: bool = True,
    loss: float = 0.0,
    crashes: Sequence[Crash] = (),
    seed: int = 0,
    tables: RoutingTables | None = None,
) -> OverlayReport:
    """Publish a workload's events on an overlay, and report what becomes of them.

    policy: how brokers divide the work: a policy or its name; None stands for the default.
    covering: whether covered clauses are kept from neighbours; None leaves it to the policy.
    interval_ms: the mean time between events, which then arrive at random and queue. With None,
        an event is published when the one before it has been decided everywhere.
    link_delays: whether links take the topology's time; otherwise they take none.
    loss: the chance that a message between brokers is lost on its way.
    tables: the result of `subscribe_all` for the same topology, workload and covering.
    """
    forwarding = policy if isinstance(policy, Forwarding) else FORWARDINGS.named(policy)
    covers = forwarding.covers if covering is None else covering
    filled = subscribe_all(topology, workload, covering=covers) if tables is None else tables
    beliefs = workload.beliefs
    brokers = [
        EventBroker(routing.name, workload.read, beliefs, forwarding, routing=routing)
        for routing in filled.routings
    ]
    log = Log(messages=Counter(filled.messages), nbytes=Counter(filled.nbytes))
    rng = np.random.default_rng(seed)
    world = _World(topology, workload, brokers, log, link_delays, loss, rng)
    for crash in crashes:
        world.expect(crash)
    if interval_ms is None:
        published = world.one_by_one()
    else:
        arrivals = np.cumsum(rng.exponential(interval_ms, len(workload.truth)))
        published = world.at_their_times(arrivals)
    return _result(forwarding, topology, workload, log, published, link_delays, world.now)


def subscribe_all(
    topology: Topology, workload: Workload, *, covering: bool = True
) -> RoutingTables:
    """Link the brokers, advertise and subscribe until all is quiet, before time begins."""
    routings = [Routing(name, workload.read, covering) for name in topology.brokers]
    log = Log()
    places = {name: place for place, name in enumerate(topology.brokers)}
    waiting: deque[tuple[int, Link, Control]] = deque()
    for place, name in enumerate(topology.brokers):
        waiting += [(place, Neighbour(other), Join()) for other in topology.neighbours(name)]
    for home in dict.fromkeys(workload.publishers):
        waiting.append((places[home], _EVENTS, Advertise(_EVENTS.name, EVERYTHING)))
    for one in workload.subscriptions:
        asked = Subscribe(one.subscription_id, one.where)
        waiting.append((places[one.broker], Subscriber(one.subscription_id), asked))
    while waiting:
        place, link, message = waiting.popleft()
        for target, sent in routings[place].handle(link, message):
            log.count(sent)
            waiting.append((places[target.name], Neighbour(topology.brokers[place]), sent))
    return RoutingTables(tuple(routings), log.messages, log.nbytes)


class _World:
    """The messages on their way, and the time."""

    def __init__(
        self,
        topology: Topology,
        workload: Workload,
        brokers: Sequence[EventBroker],
        log: Log,
        link_delays: bool,
        loss: float,
        rng: np.random.Generator,
    ) -> None:
        self.now = 0.0
        self._workload, self._brokers, self._log = workload, brokers, log
        self._loss, self._rng = loss, rng
        self._places = {name: place for place, name in enumerate(topology.brokers)}
        self._links = [Neighbour(name) for name in topology.brokers]
        beliefs = workload.beliefs
        self._costs: list[float] = beliefs.plan.costs.tolist()
        self._answers = beliefs.answers_of()
        self._marks = np.where(workload.truth, YES, NO).tolist()
        self._ways: dict[tuple[int, int], float] = {}
        for parent, child, delay in topology.links():
            way = self._places[parent], self._places[child]
            self._ways[way] = self._ways[way[::-1]] = delay if link_delays else 0.0
        self._last = dict.fromkeys(self._ways, 0.0)
        """When the last message of each way arrives, so that links keep their order."""
        self._heap: list[Arrival] = []
        self._outlets: dict[type, Outlet] = {
            Publish: self._travel,
            Learnt: self._travel,
            Ask: self._ask,
            Wake: self._wake,
            Notification: self._notify,
        }
        self._sent = 0
        self._lives = [0] * len(brokers)
        self._up = [0.0] * len(brokers)
        """The moment from which each broker is up."""
        self._crashes: list[tuple[float, int, float]] = []
        self._held: list[dict[int, tuple[Link | Inside, Publish]]] = [{} for _ in brokers]
        """The events that each broker must be given again if it crashes."""

    def expect(self, crash: Crash) -> None:
        """Let a broker go down when its moment comes."""
        heapq.heappush(self._crashes, (crash.at_ms, self._places[crash.broker], crash.for_ms))

    def one_by_one(self) -> Floats:
        """Publish each event when the one before is decided everywhere; gives those moments."""
        moments = np.zeros(len(self._workload.truth))
        for event in range(len(moments)):
            moments[event] = self.now
            self._publish(event, self.now)
            self._run()
        return moments

    def at_their_times(self, moments: Floats) -> Floats:
        """Publish events at given moments, which it gives back."""
        for event, moment in enumerate(moments.tolist()):
            self._publish(event, moment)
        self._run()
        return moments

    def _publish(self, event: int, moment: float) -> None:
        known = np.full(self._workload.truth.shape[1], UNASKED, np.uint8)
        message = Publish(Event(event, None, self._workload.event_bytes), known)
        self._arrive(moment, self._places[self._workload.publishers[event]], _EVENTS, message)

    def _arrive(self, moment: float, place: int, link: Link | Inside, message: Message) -> None:
        self._sent += 1
        life = self._lives[place] if isinstance(link, Inside) else ALL_LIVES
        heapq.heappush(self._heap, (moment, self._sent, place, life, link, message))

    def _run(self) -> None:
        heap, outlets, keeps = self._heap, self._outlets, bool(self._crashes)
        while heap:
            if self._crashes and self._crashes[0][0] <= heap[0][0]:
                self._crash_next()
                continue
            moment, _, place, life, link, message = heapq.heappop(heap)
            if life not in (ALL_LIVES, self._lives[place]):
                # An answer or an alarm for a broker that has crashed since: nobody knows of it.
                continue
            if moment < self._up[place]:
                self._arrive(self._up[place], place, link, message)
                continue
            if keeps and isinstance(message, Publish):
                self._held[place].setdefault(message.event.event_id, (link, message))
            answers = self._brokers[place].handle(link, message)
            if answers or not isinstance(message, Wake):
                self.now = moment
            for target, sent in answers:
                outlets[type(sent)](place, target, sent)

    def _notify(self, place: int, target: Link | Inside, message: Notification) -> None:
        assert isinstance(target, Subscriber)
        self._log.notify(message.event_id, target.subscription_id, place, self.now)

    def _wake(self, place: int, link: Link | Inside, message: Wake) -> None:
        self._arrive(self.now + message.after_ms, place, link, message)

    def _ask(self, place: int, link: Link | Inside, ask: Ask) -> None:
        cost = self._costs[ask.model]
        self._log.ran.append((ask.event_id, place, cost))
        truth = self._marks[ask.event_id]
        marks = tuple([truth[concept] for concept in self._answers[ask.model]])
        self._arrive(self.now + cost, place, link, Answered(ask.event_id, ask.model, marks))

    def _travel(self, place: int, target: Link | Inside, message: Message) -> None:
        """Send a message on a link: again and again until it arrives, and in order."""
        assert isinstance(target, Neighbour)
        to = self._places[target.name]
        moment, tries = self.now + self._ways[place, to], 1
        while self._loss and self._rng.random() < self._loss:
            moment += RESEND_MS
            tries += 1
        self._log.resent += tries - 1
        self._log.count(message, tries)
        moment = self._last[place, to] = max(moment, self._last[place, to])
        self._arrive(moment, to, self._links[place], message)

    def _crash_next(self) -> None:
        """Let the next crash happen, but first drop an alarm that nobody waits for.

        Such an alarm changes nothing, and a crash after the last event would prolong the run.
        """
        _, _, place, _, _, message = self._heap[0]
        if isinstance(message, Wake) and message.event_id not in self._brokers[place].deciding:
            heapq.heappop(self._heap)
        else:
            self._crash(*heapq.heappop(self._crashes))

    def _crash(self, moment: float, place: int, for_ms: float) -> None:
        """Take a broker down; it will be given again the events that it was deciding."""
        self._lives[place] += 1
        self._up[place] = max(self._up[place], moment + for_ms)
        forgotten = self._brokers[place].forget()
        for event_id in forgotten:
            link, message = self._held[place][event_id]
            self._arrive(self._up[place], place, link, message)


def _result(
    forwarding: Forwarding,
    topology: Topology,
    workload: Workload,
    log: Log,
    published: Floats,
    link_delays: bool,
    end: float,
) -> OverlayReport:
    """The report of a log, with the times of the links between publishers and brokers."""
    event = np.array([one[0] for one in log.at], np.int32)
    broker = np.array([one[1] for one in log.at], np.int32)
    latency = np.array([one[2] for one in log.at], np.float64) - published[event]
    runs, work = log.sums(len(workload.truth), len(topology))
    on_links, path_work = np.zeros(len(event)), np.zeros_like(work)
    homes = np.array(workload.publishers)
    for home in dict.fromkeys(workload.publishers):
        tree = topology.rooted_at(home)
        some, mine = homes == home, homes[event] == home
        path_work[some] = _along(tree, work[some])
        if link_delays:
            on_links[mine] = _along(tree, tree.delays[None, :])[0][broker[mine]]
    places = {name: place for place, name in enumerate(topology.brokers)}
    at = np.array([places[one.broker] for one in workload.subscriptions], np.int64)
    return OverlayReport(
        forwarding.name,
        frozenset(log.notified),
        event,
        broker,
        latency - on_links,
        latency,
        runs,
        work,
        path_work,
        np.bincount(at, minlength=len(places)),
        {kind.__name__.lower(): count for kind, count in log.messages.items()},
        {kind.__name__.lower(): count for kind, count in log.nbytes.items()},
        end - float(published[0]) if len(published) else 0.0,
        log.repeated,
        log.resent,
    )


def _along(tree: Topology, values: Floats) -> Floats:
    """The sum of each row's values on the path from the root to each broker."""
    sums = values.copy()
    for place in np.argsort(tree.depths, kind="stable").tolist():
        if tree.parents[place] >= 0:
            sums[:, place] += sums[:, tree.parents[place]]
    return sums
