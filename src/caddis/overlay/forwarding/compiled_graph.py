"""A publication routing graph, ready to decide one event after the other.

All brokers of an overlay agree on the concepts, the models that answer them, and what is believed
about both. Concepts and models have the same numbers everywhere, so marks travel as they are, and
the arrays here are in these numbers. Where no predicate tests anything, every pair of clause and
link is a candidate of every event, and nothing is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caddis.arrays import Floats, Int32s
from caddis.errors import OverlayError
from caddis.language import Concept
from caddis.ordering import Demand
from caddis.ordering.kernels import PlanArrays
from caddis.overlay.forwarding.policies import Forwarding
from caddis.overlay.forwarding.routes import routes_of
from caddis.overlay.messages import Event, Link
from caddis.overlay.routing import PublicationRoutingGraph


@dataclass(frozen=True, slots=True)
class Beliefs:
    """The concepts by their numbers, and what is believed about their models."""

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
        """Beliefs from plain arrays.

        costs: what each model costs.
        selectivity: how often each concept is true.
        answered_by: the model of each concept; by default each has a model of its own.
        """
        own = np.arange(len(concepts)) if answered_by is None else answered_by
        # By literal, as the kernels look them up: the concept itself, then its negation.
        chances = np.stack([selectivity, 1 - selectivity], axis=1).ravel()
        arrays = costs.astype(np.float64), chances.astype(np.float64), own.astype(np.int32)
        return cls(concepts, PlanArrays(*arrays))

    def answers_of(self) -> tuple[tuple[int, ...], ...]:
        """For each model: the concepts that it answers."""
        answered_by = self.plan.answered_by
        return tuple(
            tuple(np.flatnonzero(answered_by == model).tolist())
            for model in range(len(self.plan.costs))
        )


class CompiledGraph:
    """Everything that a broker looks at to decide an event by one policy."""

    def __init__(
        self, graph: PublicationRoutingGraph, beliefs: Beliefs, forwarding: Forwarding
    ) -> None:
        self.beliefs, self.forwarding = beliefs, forwarding
        self.links: tuple[Link, ...] = graph.links
        self.neighbours = len(graph.neighbours)
        self._matcher = graph.matcher
        demand = Demand.of([graph.matcher])
        self.leads_to: Int32s = graph.link_of
        """Where each link of the arrays leads, which is itself unless entries are kept apart."""
        if not forwarding.apart:
            demand = demand.led_to(graph.link_of, len(self.links))
            self.leads_to = np.arange(len(self.links), dtype=np.int32)
        self.routes, self._pairs = routes_of(demand, _numbers(demand, beliefs))
        self._plain = not graph.matcher.tests_columns
        self._all = np.arange(len(self.routes.needs), dtype=np.int32)
        self.number_of = {link: number for number, link in enumerate(self.links)}

    def candidates(self, event: Event) -> Int32s:
        """The pairs whose predicates an event satisfies, ascending; the caller may change them."""
        if self._plain:
            return self._all.copy()
        if event.row is None:
            raise OverlayError(f"event {event.event_id} has no row for predicates to test")
        clauses = self._matcher.candidates(event.row).clauses
        starts, pairs = self._pairs
        chosen = [pairs[starts[clause] : starts[clause + 1]] for clause in clauses.tolist()]
        return np.sort(np.concatenate([self._all[:0], *chosen]))


def _numbers(demand: Demand, beliefs: Beliefs) -> Int32s:
    """For each concept of a demand: its number in the overlay."""
    known = {concept: number for number, concept in enumerate(beliefs.concepts)}
    missing = [concept for concept in demand.concepts if concept not in known]
    if missing:
        raise OverlayError(f"no model of the overlay answers {missing[0].name!r}")
    return np.array([known[concept] for concept in demand.concepts], np.int32)
