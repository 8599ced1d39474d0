"""A broker that decides one event at a time, without I/O: messages in, messages out.

    control ─▶ Routing ─▶ publication routing table ─compiled when it changed─▶ graph
    events  ─▶ Visit, one for each event ─▶ what to run, what to send

One model runs at a time. Events take turns in the order of their arrival, and an event that waits
for other brokers lets the next one go first. An event that has been here is not decided again, so
a link may deliver it twice.

The broker on Spark decides micro-batches instead (`caddis.spark.overlay.BatchBroker`). Both have
the same `Routing`, routing graph and policies.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import KeysView

import numpy as np

from caddis.errors import OverlayError
from caddis.matching import Matcher
from caddis.models import UNASKED
from caddis.ordering.kernels import NONE
from caddis.overlay.forwarding import (
    NOBODY,
    Beliefs,
    CompiledGraph,
    Forwarding,
    Sent,
    SharingVisit,
    Visit,
)
from caddis.overlay.messages import (
    MODELS,
    Answered,
    Ask,
    Inside,
    Join,
    Learnt,
    Leave,
    Link,
    Message,
    Neighbour,
    Notification,
    Publish,
    Publisher,
    Wake,
)
from caddis.overlay.routing import CompileClauses, PublicationRoutingGraph, Read, Routing

REMEMBERED = 100_000
"""How many events a broker remembers to have seen, the latest ones: what a link delivers twice
must come again before that many others have come."""


class EventBroker:
    """One site of an overlay.

    read: gives the clauses of a WHERE text.
    beliefs: the concepts and models, as all brokers number them, and what is believed about them.
    covering: whether neighbours are spared clauses that others cover; None leaves it to the policy.
    routing: tables that are filled already.
    compile_clauses: makes a matcher of all clauses in the tables. A sealed one lets a broker match
        events that it cannot read.
    """

    def __init__(
        self,
        name: str,
        read: Read,
        beliefs: Beliefs,
        forwarding: Forwarding,
        *,
        covering: bool | None = None,
        routing: Routing | None = None,
        compile_clauses: CompileClauses = Matcher.from_clauses,
    ) -> None:
        self.name = name
        covers = forwarding.covers if covering is None else covering
        self.routing = Routing(name, read, covers) if routing is None else routing
        self._beliefs, self._forwarding = beliefs, forwarding
        self._compile_clauses = compile_clauses
        self._answers = beliefs.answers_of()
        self._compiled: CompiledGraph | None = None
        self._version: tuple[int, tuple[str, ...]] = -1, ()
        self._visits: dict[int, Visit] = {}
        self._seen: OrderedDict[int, Link | Inside] = OrderedDict()
        """For each event that has been here: where it came from."""
        self._queue: list[tuple[int, int]] = []
        """A heap of arrival number and id of the events that have a model to run."""
        self._arrivals = 0
        self._busy = False

    def handle(self, link: Link | Inside, message: Message) -> Sent:
        """Take in a message that came through a link; return what must be sent, in this order."""
        match message:
            case Publish():
                return self._publish(link, message)
            case Learnt():
                return self._learn(link, message)
            case Answered():
                return self._answered(message)
            case Wake():
                return self._wake(message)
            case Ask() | Notification():
                raise OverlayError(f"a broker is never sent {type(message).__name__}")
        if isinstance(link, Inside):
            raise OverlayError(f"{type(message).__name__} cannot come from {link.value}")
        sent: Sent = [*self.routing.handle(link, message)]
        if isinstance(message, Join | Leave):
            sent += self._lose(link)
        return sent

    def forget(self) -> tuple[int, ...]:
        """Drop all events that are being decided, as a crash would, and return their ids.

        They have to be delivered again.
        """
        lost = tuple(self._visits)
        for event_id in lost:
            self._seen.pop(event_id, None)
        self._visits.clear()
        self._queue.clear()
        self._busy = False
        return lost

    @property
    def deciding(self) -> KeysView[int]:
        """The ids of the events that are not decided yet."""
        return self._visits.keys()

    @property
    def graph(self) -> CompiledGraph:
        """The publication routing graph of the tables as they are now."""
        version = self.routing.version, self.routing.neighbours
        if self._compiled is None or self._version != version:
            graph = PublicationRoutingGraph.compile(
                self.routing.table, self.routing.neighbours, self._compile_clauses
            )
            self._compiled = CompiledGraph(graph, self._beliefs, self._forwarding)
            self._version = version
        return self._compiled

    def _publish(self, link: Link | Inside, message: Publish) -> Sent:
        event_id = message.event.event_id
        if event_id in self._seen:
            return self._again(link, message)
        graph = self.graph
        source = self._source(link, graph)
        kind = Visit if self._forwarding.sharing is None else SharingVisit
        visit = kind(message, source, graph, self._arrivals)
        self._seen[event_id] = link
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        self._arrivals += 1
        self._visits[event_id] = visit
        return self._after(visit, visit.begin())

    def _again(self, link: Link | Inside, message: Publish) -> Sent:
        """Handle an event that has been here: only what comes with it may be new."""
        if self._forwarding.sharing is None or not isinstance(link, Neighbour):
            return []
        event_id, charge = message.event.event_id, message.charge
        visit = self._visits.get(event_id)
        if visit is None or not visit.is_from(link):
            # It is decided here, so the charge must go back: somebody may wait for these models.
            return [(link, Learnt(event_id, charge=charge, closed=True))]
        concepts = np.flatnonzero(message.known != UNASKED)
        marks = tuple(message.known[concepts].tolist())
        return self._learn(link, Learnt(event_id, tuple(concepts.tolist()), marks, charge))

    def _lose(self, link: Link) -> Sent:
        """Let open events no longer wait for a neighbour that is gone or has restarted."""
        sent: Sent = []
        for visit in list(self._visits.values()):
            sent += self._after(visit, visit.lose(link))
        return sent

    def _source(self, link: Link | Inside, graph: CompiledGraph) -> int:
        if isinstance(link, Publisher):
            return NOBODY
        if not isinstance(link, Neighbour) or link not in graph.number_of:
            raise OverlayError(f"broker {self.name!r} got an event through an unknown link: {link}")
        return graph.number_of[link]

    def _learn(self, link: Link | Inside, message: Learnt) -> Sent:
        assert isinstance(link, Neighbour)
        visit = self._visits.get(message.event_id)
        if visit is not None:
            return self._after(visit, visit.learn(link, message))
        return self._pass_on(link, message)

    def _pass_on(self, link: Neighbour, message: Learnt) -> Sent:
        """Hand a charge back for an event that is decided here: its source must find another."""
        source = self._seen.get(message.event_id, link)
        if not isinstance(source, Neighbour) or not message.charge:
            return []
        if source == link and message.closed:
            # Both sides have closed the event; sending the charge back again would never end.
            return []
        return [(source, Learnt(message.event_id, charge=message.charge, closed=True))]

    def _answered(self, message: Answered) -> Sent:
        self._busy = False
        visit = self._visits.get(message.event_id)
        if visit is None:
            return self._work()
        visit.running = NONE
        return self._after(visit, visit.answer(self._answers[message.model], message.marks))

    def _wake(self, message: Wake) -> Sent:
        visit = self._visits.get(message.event_id)
        if visit is None:
            return []
        return self._after(visit, visit.wake(message.reason, message.serial))

    def _after(self, visit: Visit, sent: Sent) -> Sent:
        """Let a visit queue for its turn, or end it if nothing is left to do."""
        if visit.done:
            del self._visits[visit.event.event_id]
        elif visit.model != NONE and visit.running == NONE and not visit.queued:
            visit.queued = True
            heapq.heappush(self._queue, (visit.arrival, visit.event.event_id))
        return sent if self._busy or not self._queue else sent + self._work()

    def _work(self) -> Sent:
        """Ask for the next model of the event that came first, unless a model is running."""
        while self._queue and not self._busy:
            _, event_id = heapq.heappop(self._queue)
            visit = self._visits.get(event_id)
            if visit is None:  # it ended while it was queued
                continue
            visit.queued = False
            if visit.model != NONE:
                visit.running, self._busy = visit.model, True
                return [(MODELS, Ask(event_id, visit.model))]
        return []
