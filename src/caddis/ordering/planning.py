"""Deciding a batch of events in rounds.

In a round each event picks its next model, events are grouped by model, each model answers its
group at once, and the answers settle the graphs. Who answers is passed in: a model, a table of
answers that are known already, or a generator that draws them.

When to change the plan: when the new one is materially cheaper, and not before.

Statistics move with every slice, and most moves change no choice, or none that matters. A new plan
also forgets the choices that the old one has worked out. So when beliefs have moved, both plans are
tried on the events at hand, with answers drawn as the new beliefs have it, and the old plan stays
unless it would cost noticeably more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from caddis.arrays import Bools, Floats, Int32s
from caddis.models import NO, YES, Assignment, Marks, Statistics
from caddis.ordering.demand import Demand
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.policies import Policy

Answering = Callable[[int, Int32s], Marks]
"""From a model and the events that want it to the marks of its concepts, a row an event."""


def concepts_of(plan: Plan) -> tuple[Int32s, ...]:
    """By model: the concepts that it answers here, in the order of the columns of its marks."""
    answered_by = plan.arrays.answered_by
    return tuple(
        np.flatnonzero(answered_by == model).astype(np.int32) for model in range(plan.models)
    )


def decide(graphs: Graphs, plan: Plan, policy: Policy, answer: Answering) -> int:
    """Run models until nothing is open; how many rounds that took."""
    concepts = concepts_of(plan)
    rounds = 0
    while len(graphs.open):
        wanted = policy.next_models(graphs, plan)
        for model in np.flatnonzero(wanted.any(axis=0)).tolist():
            events = np.flatnonzero(wanted[:, model]).astype(np.int32)
            graphs.tell(events, concepts[model], answer(model, events))
        graphs.settle()
        rounds += 1
    return rounds


MATERIAL = 0.02
"""The share of the expected cost that a new plan must save."""
COST_MOVED, CHANCE_MOVED = 1.1, 0.03
"""How far beliefs move before a new plan is considered: a factor, and a difference."""
TRIED_ON = 64
"""Events that plans are compared on."""


class Planner:
    """Keeps the plan of a demand up to what statistics say."""

    def __init__(
        self, demand: Demand, assignment: Assignment, policy: Policy, statistics: Statistics
    ) -> None:
        self._demand, self._assignment, self._policy = demand, assignment, policy
        self._believed = self._beliefs(statistics)
        self.plan = self._plan(*self._believed)

    def reconsider(self, statistics: Statistics, events: Int32s, clauses: Int32s) -> None:
        """Change the plan if that would have paid for these candidate pairs, sorted by event."""
        beliefs = self._beliefs(statistics)
        if not _moved(self._believed, beliefs):
            return
        self._believed = beliefs
        places = np.unique(events, return_inverse=True)[1].astype(np.int32)
        some = places < TRIED_ON
        sample = places[some], clauses[some]
        new = self._plan(*beliefs)
        if self._cost(new, beliefs, *sample) < (1 - MATERIAL) * self._cost(
            self.plan, beliefs, *sample
        ):
            self.plan = new

    def _beliefs(self, statistics: Statistics) -> tuple[Floats, Floats]:
        """What each reading costs, and how often each concept is true."""
        readings = self._assignment.readings
        costs = [statistics.cost(reading) for reading in readings]
        selectivity = [
            statistics.selectivity(readings[place], concept.name)
            for concept, place in zip(
                self._demand.concepts, self._assignment.answered_by.tolist(), strict=True
            )
        ]
        return np.array(costs, np.float64), np.array(selectivity, np.float64)

    def _plan(self, costs: Floats, selectivity: Floats) -> Plan:
        return Plan.of(self._demand, costs, selectivity, self._assignment.answered_by)

    def _cost(
        self, plan: Plan, beliefs: tuple[Floats, Floats], events: Int32s, clauses: Int32s
    ) -> float:
        """What a plan would pay for events, if the world is as believed; the draws are the same
        for every plan.
        """
        costs, selectivity = beliefs
        count = int(events[-1]) + 1
        draws: Bools = np.random.default_rng(0).random((count, len(selectivity))) < selectivity
        marks = np.where(draws, YES, NO).astype(np.uint8)
        concepts = concepts_of(plan)
        paid = 0.0

        def answer(model: int, asking: Int32s) -> Marks:
            nonlocal paid
            paid += float(costs[model]) * len(asking)
            return marks[np.ix_(asking, concepts[model])]

        decide(Graphs(self._demand, plan, events, clauses, count), plan, self._policy, answer)
        return paid


def _moved(old: tuple[Floats, Floats], new: tuple[Floats, Floats]) -> bool:
    """Whether a cost or a chance has moved far enough to think again."""
    costs = np.abs(np.log(new[0] / old[0])) > np.log(COST_MOVED)
    chances = np.abs(new[1] - old[1]) > CHANCE_MOVED
    return bool(costs.any() or chances.any())
