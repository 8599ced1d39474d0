"""One event at one broker, from its arrival until nothing of it is left to decide.

A visit says which model it would run next and collects what is to be sent. It holds the event
until its links are decided (air, ail, mec, emec), or serves each as soon as it can (eager).
"""

from __future__ import annotations

import numpy as np

from caddis.ordering.kernels import NONE
from caddis.overlay.forwarding.compiled_graph import Beliefs, CompiledGraph
from caddis.overlay.forwarding.policies import Forwarding
from caddis.overlay.forwarding.routes import REACHED, SERVED, advance, reach_candidates
from caddis.overlay.messages import Inside, Learnt, Link, Message, Neighbour, Notification, Publish

Sent = list[tuple[Link | Inside, Message]]

NOBODY = -1
"""In place of a link's number: the event was published here."""


class Visit:
    """An event that is being decided.

    source: the number of the neighbour that it came from, or NOBODY.
    """

    __slots__ = (
        "_beliefs",
        "_count",
        "_forwarding",
        "_graph",
        "_pairs",
        "_source",
        "_states",
        "event",
        "known",
        "model",
        "number",
        "queued",
        "running",
    )

    def __init__(
        self,
        message: Publish,
        source: int,
        graph: CompiledGraph,
        beliefs: Beliefs,
        forwarding: Forwarding,
        number: int,
    ) -> None:
        self.event = message.event
        self.number = number
        """Of arrival."""
        self.known = message.known.copy()
        self.model = NONE
        """What it would run next."""
        self.running = NONE
        self.queued = False
        """Whether it waits for its turn."""
        self._source, self._graph, self._beliefs = source, graph, beliefs
        self._forwarding = forwarding
        self._pairs = graph.candidates(message.event)
        self._count = len(self._pairs)
        self._states = np.zeros(len(graph.leads_to), np.uint8)
        if source != NOBODY:
            self._states[graph.leads_to == source] = SERVED

    @property
    def done(self) -> bool:
        """Whether nothing is left to decide, nor to hear from others."""
        return self._count == 0 and self.running == NONE

    def is_from(self, link: Link) -> bool:
        """Whether a neighbour is the one that the event came from."""
        return self._graph.number_of.get(link) == self._source

    def begin(self) -> Sent:
        """Draw the conclusions from what came with the event."""
        if self._forwarding.floods:
            neighbours = self._graph.neighbours
            reach_candidates(self._pairs, self._graph.routes, self.known, self._states, neighbours)
            return self._serve() + self._advance()
        return self._advance()

    def tell(self, concepts: tuple[int, ...], marks: tuple[int, ...]) -> Sent:
        """Take in the answers of a model that was run here."""
        for concept, mark in zip(concepts, marks, strict=True):
            self.known[concept] = mark
        return self._advance()

    def learn(self, link: Link, message: Learnt) -> Sent:
        """Take in what another broker has to say; who holds events goes by what came with them."""
        del link, message
        return []

    def wake(self, reason: str, serial: int) -> Sent:
        """Take in that time has passed; who holds events waits for nobody."""
        del reason, serial
        return []

    def lose(self, link: Link) -> Sent:
        """Take in that a neighbour is gone: what is open behind it no longer matters."""
        number = self._graph.number_of.get(link)
        if number is None:
            return []
        self._states[self._graph.leads_to == number] = SERVED
        return self._lost(number)

    def _lost(self, number: int) -> Sent:
        """Draw the conclusions from a neighbour's going."""
        del number
        return self._advance()

    def _advance(self) -> Sent:
        self._count, self.model = advance(
            self._pairs,
            self._count,
            self._graph.routes,
            self.known,
            self._states,
            self._beliefs.plan,
            self._forwarding.extended,
        )
        if self.model == NONE or self._forwarding.early:
            return self._serve()
        return []

    def _serve(self) -> Sent:
        """Send the event on through the links that are satisfied since the last time."""
        reached = self._reached()
        if not reached:
            return []
        publish = Publish(self.event, self.known.copy())
        notification = Notification(self.event.event_id)
        return [
            (link, publish if isinstance(link, Neighbour) else notification) for link in reached
        ]

    def _reached(self) -> list[Link]:
        states, graph = self._states, self._graph
        places = np.flatnonzero(states == REACHED)
        if not len(places):
            return []
        states[places] = SERVED
        return [graph.links[number] for number in dict.fromkeys(graph.leads_to[places].tolist())]
