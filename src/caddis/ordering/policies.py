"""Which model an event runs next, and deciding a batch of events in rounds.

    run-all            every model that an open clause needs, at once
    per-subscription   each subscription by itself, its cheapest refutation first; nothing is shared
    prank              Munagala, Srivastava and Widom (2007): the least cost for the clauses that a
                       model is expected to refute
    unit-price         Liu, Parthasarathy, Ranganathan and Yang (2008): the least cost for the edges
                       that a model is expected to cover
    emec               Zaarour and Curry (2019): the same, with the edges of the clauses that nobody
                       waits for any longer once a link is satisfied
    lookahead          the least cost of a model and of what is expected to remain after it
    foresight          parts of an event that are small are solved, the others looked ahead on
    rollout            the same, but where unit-price disagrees with lookahead both are followed to
                       the end, where that is affordable

The last three go by the unit price as long as very many clauses hang together, and by lookahead
where following both would take too long. What matches never depends on the policy, only what
it costs to find out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from caddis.arrays import Bools, Int32s
from caddis.errors import ModelError
from caddis.models import Marks
from caddis.names import Registry
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.kernels import POLICY_NUMBERS, choose


class Policy(Protocol):
    """Chooses the next models of events; it has no state of its own."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def shares(self) -> bool:
        """Whether one answer serves all subscriptions of an event."""

    def next_models(self, graphs: Graphs, plan: Plan) -> Bools:
        """Whether each model (column) runs next for each event (row).

        Every open event gets at least one model, and only such as an open clause of it needs.
        """


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """A policy whose loop is the kernel `choose`, which knows it by its number."""

    name: str
    number: int
    shares: bool

    def next_models(self, graphs: Graphs, plan: Plan) -> Bools:
        wanted = np.zeros((len(graphs.known), plan.models), bool)
        choose(self.number, graphs.open, graphs.arrays, plan.arrays, plan.memo, wanted)
        return wanted


_POLICIES: list[Policy] = [
    CompiledPolicy(name, number, shares=name != "per-subscription")
    for name, number in POLICY_NUMBERS.items()
]
# The default is within 0.1% of the rollout on average, in a sixth to two thirds of its time.
POLICIES = Registry("policy", _POLICIES, default="foresight", error=ModelError)
RUN_EVERYTHING = POLICIES["run-all"]


Answering = Callable[[int, Int32s], Marks]
"""Gives the marks of a model's concepts, a row for each of the events that run it."""


def concepts_of(plan: Plan) -> tuple[Int32s, ...]:
    """The concepts that each model answers here, in the order of the columns of its marks."""
    answered_by = plan.arrays.answered_by
    return tuple(
        np.flatnonzero(answered_by == model).astype(np.int32) for model in range(plan.models)
    )


def decide(graphs: Graphs, plan: Plan, policy: Policy, answer: Answering) -> int:
    """Run models until nothing is open, and give how many rounds that took.

    In a round each event picks its next models, events are grouped by model, each model answers its
    group at once, and the answers settle the graphs.

    answer: who answers: a model, a table of answers, or a generator that draws them.
    """
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
