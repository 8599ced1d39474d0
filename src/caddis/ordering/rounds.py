"""Deciding a batch of events in rounds.

In a round each event picks its next model, events are grouped by model, each model answers its
group at once, and the answers settle the graphs. Who answers is passed in: a model, a table of
answers that are known already, or a generator that draws them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from caddis.arrays import Int32s
from caddis.models import Marks
from caddis.ordering.graph import Graphs
from caddis.ordering.plan import Plan
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
