"""One event at one broker, from its arrival until nothing about it is left to decide.

A visit names the model that it would run next and collects what must be sent. It holds the event
until its links are decided (air, ail, mec, emec), or serves each link as soon as it can (eager).
"""

from __future__ import annotations

import numpy as np

from caddis.ordering.kernels import NONE
from caddis.overlay.forwarding.compiled_graph import CompiledGraph
from caddis.overlay.forwarding.routes import REACHED, SERVED, advance, reach_candidates
from caddis.overlay.messages import Inside, Learnt, Link, Message, Neighbour, Notification, Publish

Sent = list[tuple[Link | Inside, Message]]

NOBODY = -1
"""Stands for a link's number if the event was published here."""


class Visit:
    """An event that is being decided.

    source: the number of the neighbour that the event came from, or NOBODY.
    graph: the routing graph at its arrival; later changes of the tables do not touch this event.
    arrival: how many events came before it.
    """

    def __init__(self, message: Publish, source: int, graph: CompiledGraph, arrival: int) -> None:
        self.event = message.event
        self.arrival = arrival
        self.known = message.known.copy()
        self.model = NONE
        """The model that it would run next."""
        self.running = NONE
        """The model that is running on it."""
        self.queued = False
        """Whether it waits for its turn."""
        self._source, self._graph = source, graph
        self._plan, self._forwarding = graph.beliefs.plan, graph.forwarding
        self._pairs = graph.candidates(message.event)
        self._count = len(self._pairs)
        """How many pairs at the front of `_pairs` are still open."""
        self._states = np.zeros(len(graph.leads_to), np.uint8)
        if source != NOBODY:
            # An event never goes back where it came from.
            self._states[graph.leads_to == source] = SERVED

    @property
    def done(self) -> bool:
        """Whether nothing is left to decide or to hear from others."""
        return self._count == 0 and self.running == NONE

    def is_from(self, link: Link) -> bool:
        """Whether the event came from this neighbour."""
        return self._graph.number_of.get(link) == self._source

    def begin(self) -> Sent:
        """Draw conclusions from what came with the event."""
        if self._forwarding.floods:
            neighbours = self._graph.neighbours
            reach_candidates(self._pairs, self._graph.routes, self.known, self._states, neighbours)
            return self._serve() + self._advance()
        return self._advance()

    def answer(self, concepts: tuple[int, ...], marks: tuple[int, ...]) -> Sent:
        """Take in the answers of a model that ran here."""
        for concept, mark in zip(concepts, marks, strict=True):
            self.known[concept] = mark
        return self._advance()

    def learn(self, link: Link, message: Learnt) -> Sent:
        """Take in news from another broker; without sharing, nothing comes after the event."""
        del link, message
        return []

    def wake(self, reason: str, serial: int) -> Sent:
        """Take in that time has passed; without sharing, nobody waits."""
        del reason, serial
        return []

    def lose(self, link: Link) -> Sent:
        """Take in that a neighbour is gone: whatever is open behind it no longer matters."""
        number = self._graph.number_of.get(link)
        if number is None:
            return []
        self._states[self._graph.leads_to == number] = SERVED
        return self._lost(number)

    def _lost(self, number: int) -> Sent:
        """Draw conclusions from the loss of a neighbour."""
        del number
        return self._advance()

    def _advance(self) -> Sent:
        self._count, self.model = advance(
            self._pairs,
            self._count,
            self._graph.routes,
            self.known,
            self._states,
            self._plan,
            self._forwarding.extended,
        )
        if self.model == NONE or self._forwarding.early:
            return self._serve()
        return []

    def _serve(self) -> Sent:
        """Send the event through the links that have been satisfied since the last time."""
        reached = self._reached()
        if not reached:
            return []
        publish = Publish(self.event, self.known.copy())
        notification = Notification(self.event.event_id)
        return [
            (link, publish if isinstance(link, Neighbour) else notification) for link in reached
        ]

    def _reached(self) -> list[Link]:
        """The links that were reached just now, each once; they count as served from now on."""
        states, graph = self._states, self._graph
        places = np.flatnonzero(states == REACHED)
        if not len(places):
            return []
        states[places] = SERVED
        return [graph.links[number] for number in dict.fromkeys(graph.leads_to[places].tolist())]
