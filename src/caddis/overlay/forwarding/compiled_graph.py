"""What all brokers of an overlay agree on: the concepts, who answers them, and at what cost.

Concepts and models have the same numbers everywhere, so that marks travel as they are.

A publication routing graph, ready for one event after the other.

The arrays are in the numbers that all brokers share. Where no predicate tests anything, every pair
is a candidate of every event, and nothing is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caddis.arrays import Floats, Int32s
from caddis.errors import OverlayError
from caddis.language import Concept
from caddis.ordering import Demand
from caddis.ordering.kernels import PlanArrays
from caddis.overlay.forwarding.routes import routes_of
from caddis.overlay.messages import Event, Link
from caddis.overlay.routing import PublicationRoutingGraph


@dataclass(frozen=True, slots=True)
class Beliefs:
    """Concepts by number, and what is believed of their models."""

    concepts: tuple[Concept, ...]
    plan: PlanArrays

    @classmethod
    def of(
        cls,
        concepts: tuple[Concept, ...],
        costs: Floats,
        selectivity: Floats,
        answered_by: Int32s | None = None,
    ) -> Beliefs:
        """From what each model costs, how often each concept is true, and which model tells.

        answered_by: by concept; each has a model of its own by default.
        """
        own = np.arange(len(concepts)) if answered_by is None else answered_by
        chances = np.stack([selectivity, 1 - selectivity], axis=1).ravel()
        arrays = costs.astype(np.float64), chances.astype(np.float64), own.astype(np.int32)
        return cls(concepts, PlanArrays(*arrays))

    def answers_of(self) -> tuple[tuple[int, ...], ...]:
        """By model: the concepts that it answers."""
        answered_by = self.plan.answered_by
        return tuple(
            tuple(np.flatnonzero(answered_by == model).tolist())
            for model in range(len(self.plan.costs))
        )


class CompiledGraph:
    """What a broker looks at to decide an event.

    apart: whether each entry is a link of its own; `leads_to` tells then where it leads.
    """

    def __init__(
        self, graph: PublicationRoutingGraph, beliefs: Beliefs, *, apart: bool = False
    ) -> None:
        self.links: tuple[Link, ...] = graph.links
        self.neighbours = len(graph.neighbours)
        self._matcher = graph.matcher
        demand = Demand.of([graph.matcher])
        self.leads_to: Int32s = graph.link_of
        if not apart:
            demand = demand.led_to(graph.link_of, len(self.links))
            self.leads_to = np.arange(len(self.links), dtype=np.int32)
        self.routes, self._pairs = routes_of(demand, _numbers(demand, beliefs))
        self._plain = not graph.matcher.tests_columns
        self._all = np.arange(len(self.routes.needs), dtype=np.int32)
        self.number_of = {link: number for number, link in enumerate(self.links)}

    def candidates(self, event: Event) -> Int32s:
        """The pairs whose predicates an event satisfies, ascending; an array of one's own."""
        if self._plain:
            return self._all.copy()
        if event.row is None:
            raise OverlayError(f"event {event.event_id} has no row, and predicates look at one")
        clauses = self._matcher.candidates(event.row).clauses
        starts, pairs = self._pairs
        found = [pairs[starts[clause] : starts[clause + 1]] for clause in clauses.tolist()]
        return np.sort(np.concatenate([self._all[:0], *found]))


def _numbers(demand: Demand, beliefs: Beliefs) -> Int32s:
    """By concept of a demand: its number in the overlay."""
    known = {concept: number for number, concept in enumerate(beliefs.concepts)}
    missing = [concept for concept in demand.concepts if concept not in known]
    if missing:
        raise OverlayError(f"no model of the overlay answers {missing[0].name!r}")
    return np.array([known[concept] for concept in demand.concepts], np.int32)
