"""One step ahead on the expected cost that remains.

If every clause ran its models in its own order, cheapest to refute first, and shared the answers,
clause q would get as far as model f with probability reach_q(f), the product of what the models
before f let pass; f would run if any clause gets there: need(f) = 1 - ∏(1 - reach_q(f)). The value
of a state is V = Σ cost(f)·need(f). The model with the least cost + E[V after its answers] is
chosen.

A model is judged by the clauses alone that it stands in: their factors are taken out of the
products and others put in. A product is kept as (zeros, rest) for TINY^zeros · rest. A clause that
gets to a model for certain leaves a TINY, so that it can be taken out again, and a product of very
many clauses does not underflow.

The edges from open clauses to the models that they need are gone through again and again, so they
are laid out next to each other. What a clause needs of a model is kept as bits, one for each
concept that the model answers here, so that an outcome of the model is a number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Bools, Floats, Int32s
from caddis.compiling import inner_kernel
from caddis.ordering.kernels.layout import MOST_ASKED, NONE, Clauses, PlanArrays


class Edges(NamedTuple):
    """From clauses to models; clause i has `starts[i] : starts[i + 1]`, in its own order."""

    starts: Int32s
    clauses: Int32s
    models: Int32s
    passes: Floats
    """How likely the model lets the clause pass."""
    reach: Floats
    """How likely the clause gets to the model: past all before it."""


class Conditions(NamedTuple):
    """What clauses need of their models, answer by answer."""

    asks: Int32s
    """How many concepts of each model are open, counted up to MOST_ASKED + 1."""
    asked: Int32s
    """Which concepts these are, as far as they fit."""
    needs: Int32s
    """Which of them must be true for the clause of each edge to pass, and which false, as bits."""


@inner_kernel
def open_edges(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> Edges:
    """The edges of open clauses."""
    size = used = 0
    for i in range(begin, begin + count):
        size += clauses.literal_counts[clauses.order[i]]
    starts = np.zeros(count + 1, np.int32)
    places, models = np.empty(size, np.int32), np.empty(size, np.int32)
    passes, reaches = np.empty(size), np.empty(size)
    for i in range(count):
        clause, reach = clauses.order[begin + i], 1.0
        start = clauses.literal_starts[clause]
        for at in range(start, start + clauses.literal_counts[clause]):
            model, edge = plan.answered_by[clauses.literals[at] >> 1], starts[i]
            # Literals of one model are one edge: they are answered together.
            while edge < used and models[edge] != model:
                edge += 1
            if edge == used:
                places[edge], models[edge], passes[edge] = i, model, 1.0
                used += 1
            passes[edge] *= plan.chances[clauses.literals[at]]
        for edge in range(starts[i], used):
            reaches[edge] = reach
            reach *= passes[edge]
        starts[i + 1] = used
    return Edges(starts, places, models, passes, reaches)


@inner_kernel
def conditions(begin: int, edges: Edges, clauses: Clauses, plan: PlanArrays) -> Conditions:
    """What open clauses need of their models."""
    models = len(plan.costs)
    asks, asked = np.zeros(models, np.int32), np.empty((models, MOST_ASKED), np.int32)
    needs = np.zeros((edges.starts[-1], 2), np.int32)
    for i in range(len(edges.starts) - 1):
        clause = clauses.order[begin + i]
        start = clauses.literal_starts[clause]
        for at in range(start, start + clauses.literal_counts[clause]):
            concept, edge, k = clauses.literals[at] >> 1, edges.starts[i], 0
            model = plan.answered_by[concept]
            while edges.models[edge] != model:
                edge += 1
            while k < min(asks[model], MOST_ASKED) and asked[model, k] != concept:
                k += 1
            if k < MOST_ASKED:
                asked[model, k] = concept
                needs[edge, clauses.literals[at] & 1] |= 1 << k
            asks[model] = max(asks[model], k + 1)
    return Conditions(asks, asked, needs)


@inner_kernel
def by_model(edges: Edges, models: int) -> tuple[Int32s, Int32s]:
    """The edges of each model: where they start, and which."""
    used = edges.starts[-1]
    starts, members = np.zeros(models + 1, np.int32), np.empty(used, np.int32)
    for edge in range(used):
        starts[edges.models[edge] + 1] += 1
    for model in range(models):
        starts[model + 1] += starts[model]
    # A counting sort: the edges of a model stay in the order of their clauses.
    filled = starts.copy()
    for edge in range(used):
        model = edges.models[edge]
        members[filled[model]] = edge
        filled[model] += 1
    return starts, members


CERTAIN = 1 - 1e-9
"""Reaches from here on count as 1."""
TINY, HUGE = 2.0**-400, 2.0**400


class Idle(NamedTuple):
    """How likely no clause gets to each model: a product, and by what an outcome multiplies it."""

    zeros: Int32s
    rests: Floats
    more_zeros: Int32s
    factors: Floats
    is_touched: Bools
    touched: Int32s
    """The models that an outcome touches. There is room for one more, since a model is written down
    before it is known whether it counts.
    """


@inner_kernel(forceinline=True)
def missed(reach: float) -> float:
    """The factor of a clause that gets to a model with this probability."""
    return TINY if reach >= CERTAIN else 1 - reach


@inner_kernel(forceinline=True)
def scaled(rest: float) -> tuple[float, int]:
    """The product within bounds, and how many TINYs were taken out of it for that."""
    if rest < TINY:
        return rest * HUGE, 1
    if rest > HUGE:
        return rest * TINY, -1
    return rest, 0


@inner_kernel(forceinline=True)
def need(zeros: int, rest: float) -> float:
    """How likely a model runs."""
    while zeros < 0:
        rest *= HUGE
        zeros += 1
    while zeros > 0 and rest > 0:
        rest *= TINY
        zeros -= 1
    return 1 - rest


@inner_kernel
def idle_models(edges: Edges, models: int) -> Idle:
    """The products before any outcome."""
    zeros, rests = np.zeros(models, np.int32), np.ones(models)
    for edge in range(edges.starts[-1]):
        model = edges.models[edge]
        rests[model], more = scaled(rests[model] * missed(edges.reach[edge]))
        zeros[model] += more
    return Idle(
        zeros,
        rests,
        np.zeros(models, np.int32),
        np.ones(models),
        np.zeros(models, np.bool_),
        np.empty(models + 1, np.int32),
    )


@inner_kernel(error_model="numpy")
def replace(edge: int, after: float, touched: int, edges: Edges, idle: Idle) -> int:
    """Change the reach of an edge, and give how many models are touched then."""
    model = edges.models[edge]
    # Written down in any case, and counted if it is new: that saves a branch.
    idle.touched[touched] = model
    touched += not idle.is_touched[model]
    idle.is_touched[model] = True
    factor = idle.factors[model] * (missed(after) / missed(edges.reach[edge]))
    idle.factors[model], zeros = scaled(factor)
    idle.more_zeros[model] += zeros
    return touched


@inner_kernel
def shift(members: Int32s, chances: Floats, edges: Edges, idle: Idle) -> int:
    """Suppose that a model has run, and that each of its clauses has passed with a chance.

    The models before it are reached with that chance, those behind it as if it were not there.
    Gives how many models are touched.
    """
    touched = 0
    for i in range(len(members)):
        own, chance = members[i], chances[i]
        clause, reach = edges.clauses[own], chance * edges.reach[own]
        # Models before this one are reached as before if the clause has passed for certain.
        for edge in range(own if chance == 1 else edges.starts[clause], own):
            touched = replace(edge, chance * edges.reach[edge], touched, edges, idle)
        for edge in range(own + 1, edges.starts[clause + 1]):
            touched = replace(edge, reach, touched, edges, idle)
            reach *= edges.passes[edge]
    return touched


@inner_kernel
def value_change(touched: int, idle: Idle, costs: Floats) -> float:
    """How much an outcome changes the value of the state; the outcome is forgotten."""
    total = 0.0
    for i in range(touched):
        model = idle.touched[i]
        zeros, rest = idle.zeros[model], idle.rests[model]
        after = need(zeros + idle.more_zeros[model], rest * idle.factors[model])
        total += costs[model] * (after - need(zeros, rest))
        idle.is_touched[model] = False
        idle.more_zeros[model], idle.factors[model] = 0, 1.0
    return total


@inner_kernel
def after_answers(
    model: int,
    members: Int32s,
    chances: Floats,
    asked: Conditions,
    edges: Edges,
    idle: Idle,
    plan: PlanArrays,
) -> float:
    """How much the answers of a model are expected to change the value of the state.

    members: the edges of the model.
    chances: memory for as many numbers.
    """
    total, asks, needs = 0.0, asked.asks[model], asked.needs
    for outcome in range(1 << asks):
        probability = 1.0
        for k in range(asks):
            probability *= plan.chances[2 * asked.asked[model, k] + 1 - ((outcome >> k) & 1)]
        # With an outcome at hand each clause passes or does not: its chance is 1 or 0.
        for i in range(len(members)):
            yes, no = needs[members[i], 0], needs[members[i], 1]
            chances[i] = 1.0 if outcome & yes == yes and outcome & no == 0 else 0.0
        touched = shift(members, chances, edges, idle)
        total += probability * value_change(touched, idle, plan.costs)
    return total


@inner_kernel
def after_many_answers(members: Int32s, edges: Edges, idle: Idle, plan: PlanArrays) -> float:
    """The same for a model of very many outcomes: clauses are taken to pass independently."""
    touched = shift(members, edges.passes[members], edges, idle)
    return value_change(touched, idle, plan.costs)


@inner_kernel
def lookahead(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> int:
    """The model that minimises its cost and what is expected to remain after it."""
    models = len(plan.costs)
    edges = open_edges(begin, count, clauses, plan)
    asked = conditions(begin, edges, clauses, plan)
    starts, of_models = by_model(edges, models)
    idle, chances = idle_models(edges, models), np.empty(len(of_models))
    best, least = NONE, np.inf
    for model in range(models):
        if asked.asks[model] == 0:
            continue
        members = of_models[starts[model] : starts[model + 1]]
        # Totals are relative to the value of this state, which every model would add: running the
        # model for certain costs what it was not expected to cost already.
        total = plan.costs[model] * (1 - need(idle.zeros[model], idle.rests[model]))
        if asked.asks[model] > MOST_ASKED:
            total += after_many_answers(members, edges, idle, plan)
        else:
            total += after_answers(model, members, chances, asked, edges, idle, plan)
        if total < least:
            best, least = model, total
    return best
