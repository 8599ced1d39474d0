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

from caddis.arrays import Anys, Bools, Int32s
from caddis.errors import ModelError
from caddis.models import Marks
from caddis.names import Registry
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.kernels import (
    NONE,
    Clauses,
    PlanArrays,
    by_extended_unit_price,
    by_lookahead,
    by_lookahead_either,
    by_prank,
    by_refutation,
    by_rollout,
    by_solving,
    by_unit_price,
    recall,
    remember,
    split,
    want_all,
)

MOST_LOOKED_AHEAD = 256
"""In a part of more clauses the unit price is as good as looking ahead, and far quicker."""


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


Chooser = Callable[[Int32s, Anys, Clauses, PlanArrays], None]
"""A kernel that sets the choice of some parts, or leaves them as they are."""


class CompiledPolicy(Policy, Protocol):
    """A policy whose loops are kernels."""

    @property
    def choosers(self) -> tuple[Chooser, ...]:
        """The kernels that it may choose by."""

    def look(self, graphs: Graphs, plan: Plan) -> None:
        """Call all the kernels that `next_models` calls besides those, and choose nothing."""


@dataclass(frozen=True, slots=True)
class AllAtOnce:
    """Every model that an open clause needs."""

    name: str
    shares: bool = True

    @property
    def choosers(self) -> tuple[Chooser, ...]:
        return ()

    def look(self, graphs: Graphs, plan: Plan) -> None:
        self.next_models(graphs, plan)

    def next_models(self, graphs: Graphs, plan: Plan) -> Bools:
        wanted = np.zeros((len(graphs.known), plan.models), bool)
        want_all(graphs.open, graphs.arrays, plan.arrays, wanted)
        return wanted


@dataclass(frozen=True, slots=True)
class Greedy:
    """A policy that looks at prices alone; each part of an event has a choice of its own."""

    name: str
    choose: Chooser
    shares: bool = True

    @property
    def choosers(self) -> tuple[Chooser, ...]:
        return (self.choose,)

    def look(self, graphs: Graphs, plan: Plan) -> None:
        split(graphs.open, graphs.arrays, plan.arrays)

    def next_models(self, graphs: Graphs, plan: Plan) -> Bools:
        parts = split(graphs.open, graphs.arrays, plan.arrays)
        some = np.arange(len(parts), dtype=np.int32)
        self.choose(some, parts, graphs.arrays.clauses, plan.arrays)
        return _wanted(graphs, plan, parts)


@dataclass(frozen=True, slots=True)
class Thoughtful:
    """A policy that looks ahead, and remembers what it chose.

    solves: whether parts that are small enough are solved.
    follows: whether the lookahead's choice has to prove itself against the unit price's.
    """

    name: str
    solves: bool
    follows: bool
    shares: bool = True

    @property
    def choosers(self) -> tuple[Chooser, ...]:
        ahead = by_unit_price, by_lookahead, by_lookahead_either
        return (*ahead, *[by_solving] * self.solves, *[by_rollout] * self.follows)

    def look(self, graphs: Graphs, plan: Plan) -> None:
        parts, clauses = split(graphs.open, graphs.arrays, plan.arrays), graphs.arrays.clauses
        none = np.empty(0, np.int32)
        recall(none, parts, clauses, plan.arrays, plan.memo)
        remember(none, parts, clauses, plan.arrays, plan.memo)

    def next_models(self, graphs: Graphs, plan: Plan) -> Bools:
        parts, clauses = split(graphs.open, graphs.arrays, plan.arrays), graphs.arrays.clauses
        large = parts["count"] > MOST_LOOKED_AHEAD
        if large.any():
            by_unit_price(_places(large), parts, clauses, plan.arrays)
        some = _places(~large)
        thought = recall(some, parts, clauses, plan.arrays, plan.memo)
        while len(thought):
            self._think(thought, parts, clauses, plan.arrays)
            thought = remember(some, parts, clauses, plan.arrays, plan.memo)
        return _wanted(graphs, plan, parts)

    def _think(self, some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays) -> None:
        """Choose for some parts, with the kernels that they need."""
        if self.solves:
            by_solving(some, parts, clauses, plan)
            some = some[parts["choice"][some] == NONE]
        if not len(some):
            return
        by_lookahead(some, parts, clauses, plan)
        if len(clauses.shares):
            by_lookahead_either(some, parts, clauses, plan)
        if self.follows:
            by_rollout(some, parts, clauses, plan)


def _places(chosen: Bools) -> Int32s:
    return np.flatnonzero(chosen).astype(np.int32)


def _wanted(graphs: Graphs, plan: Plan, parts: Anys) -> Bools:
    wanted = np.zeros((len(graphs.known), plan.models), bool)
    wanted[parts["event"], parts["choice"]] = True
    return wanted


_POLICIES: list[CompiledPolicy] = [
    AllAtOnce("run-all"),
    Greedy("per-subscription", by_refutation, shares=False),
    Greedy("prank", by_prank),
    Greedy("unit-price", by_unit_price),
    Greedy("emec", by_extended_unit_price),
    Thoughtful("lookahead", solves=False, follows=False),
    Thoughtful("foresight", solves=True, follows=False),
    Thoughtful("rollout", solves=True, follows=True),
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
