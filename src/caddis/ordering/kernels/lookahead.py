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

from typing import Any, NamedTuple

import numpy as np

from caddis.arrays import Anys, Floats, Int32s, Int64s
from caddis.compiling import inner_kernel, kernel
from caddis.ordering.kernels.layout import MOST_ASKED, NONE, ZERO, Clauses, PlanArrays

EDGE = np.dtype(
    [
        ("clause", np.int64),
        ("model", np.int64),
        ("passes", np.float64),
        ("reach", np.float64),
        ("yes", np.int64),
        ("no", np.int64),
    ],
    align=True,
)
"""An edge from a clause to a model.

passes: how likely the model lets the clause pass.
reach: how likely the clause gets to the model: past all before it.
yes, no: which of the model's open concepts must be true for the clause to pass, and which false, as
    bits.
"""

IDLE = np.dtype(
    [
        ("zeros", np.int64),
        ("rest", np.float64),
        ("more_zeros", np.int64),
        ("factor", np.float64),
        ("is_touched", np.int64),
        ("asks", np.int64),
    ],
    align=True,
)
"""How likely no clause gets to a model: a product, and by what an outcome multiplies it.

is_touched: 1 if the outcome touches it, else 0.
asks: how many concepts of the model are open, counted up to MOST_ASKED + 1.
"""


class State(NamedTuple):
    """What is open in a part, as the lookahead sees it."""

    starts: Int64s
    """Clause i has the edges `edges[starts[i] : starts[i + 1]]`, in its own order."""
    edges: Anys
    """Each is an EDGE."""
    models: Anys
    """An IDLE for each model."""
    asked: Int64s
    """Which concepts of each model are open, as far as they fit."""
    touched: Int64s
    """The models that an outcome touches. There is room for one more, since a model is written down
    before it is known whether it counts.
    """


@inner_kernel
def new_state(size: int, count: int, models: int) -> State:
    """Memory for a part with so many literals and clauses."""
    starts, idle = np.empty(count + 1, np.int64), np.empty(models, IDLE)
    starts[0] = 0
    for model in range(models):
        row = idle[model]
        row.zeros = row.more_zeros = row.is_touched = row.asks = 0
        row.rest = row.factor = 1.0
    asked, touched = np.empty((models, MOST_ASKED), np.int64), np.empty(models + 1, np.int64)
    return State(starts, np.empty(size, EDGE), idle, asked, touched)


@inner_kernel(borrows=True)
def find_edges(begin: int, count: int, clauses: Clauses, plan: PlanArrays, state: State) -> None:
    """Find the edges of open clauses."""
    starts, edges, used = state.starts, state.edges, 0
    for i in range(count):
        own, reach = clauses.needs[clauses.order[begin + i]], 1.0
        for at in range(own.start, own.start + own.count):
            literal = clauses.literals[at]
            model, place = plan.answered_by[literal >> 1], starts[i]
            # Literals of one model are one edge: they are answered together.
            while place < used and edges[place].model != model:
                place += 1
            edge = edges[place]
            if place == used:
                edge.clause, edge.model, edge.passes, edge.yes, edge.no = i, model, 1.0, 0, 0
                used += 1
            edge.passes *= plan.chances[literal]
            need_concept(literal, edge, state)
        for place in range(starts[i], used):
            edges[place].reach = reach
            reach *= edges[place].passes
        starts[i + 1] = used


@inner_kernel(borrows=True)
def need_concept(literal: int, edge: Any, state: State) -> None:
    """Note that a literal must be true for the clause of an edge to pass."""
    concept, model, k = literal >> 1, state.models[edge.model], 0
    while k < min(model.asks, MOST_ASKED) and state.asked[edge.model, k] != concept:
        k += 1
    if k < MOST_ASKED:
        state.asked[edge.model, k] = concept
        if literal & 1:
            edge.no |= 1 << k
        else:
            edge.yes |= 1 << k
    model.asks = max(model.asks, k + 1)


@inner_kernel
def by_model(edges: Anys, used: int, models: int) -> tuple[Int64s, Int64s]:
    """The edges of each model: where they start, and which."""
    starts, members = np.zeros(models + 2, np.int64), np.empty(used, np.int64)
    # A counting sort: the edges of a model stay in the order of their clauses. Starts are kept two
    # places up until the last pass moves each to where the next one begins.
    for place in range(used):
        starts[edges[place].model + 2] += 1
    for model in range(models):
        starts[model + 1] += starts[model]
    for place in range(used):
        model = edges[place].model
        members[starts[model + 1]] = place
        starts[model + 1] += 1
    return starts, members


CERTAIN = 1 - 1e-9
"""Reaches from here on count as 1."""
TINY, HUGE = 2.0**-400, 2.0**400


@inner_kernel(borrows=True, forceinline=True)
def missed(reach: float) -> float:
    """The factor of a clause that gets to a model with this probability."""
    return TINY if reach >= CERTAIN else 1 - reach


@inner_kernel(borrows=True, forceinline=True)
def scaled(rest: float) -> tuple[float, int]:
    """The product within bounds, and how many TINYs were taken out of it for that."""
    if rest < TINY:
        return rest * HUGE, 1
    if rest > HUGE:
        return rest * TINY, -1
    return rest, 0


@inner_kernel(borrows=True, forceinline=True)
def need(zeros: int, rest: float) -> float:
    """How likely a model runs."""
    while zeros < 0:
        rest *= HUGE
        zeros += 1
    while zeros > 0 and rest > 0:
        rest *= TINY
        zeros -= 1
    return 1 - rest


@inner_kernel(borrows=True)
def multiply(state: State) -> None:
    """Work out the products before any outcome."""
    for place in range(state.starts[-1]):
        edge = state.edges[place]
        model = state.models[edge.model]
        model.rest, more = scaled(model.rest * missed(edge.reach))
        model.zeros += more


@inner_kernel(borrows=True, error_model="numpy")
def replace(place: int, after: float, touched: int, state: State) -> int:
    """Change the reach of an edge, and give how many models are touched then."""
    edge = state.edges[place]
    model = state.models[edge.model]
    # Written down in any case, and counted if it is new: that saves a branch.
    state.touched[touched] = edge.model
    touched += 1 - model.is_touched
    model.is_touched = 1
    model.factor, zeros = scaled(model.factor * (missed(after) / missed(edge.reach)))
    model.more_zeros += zeros
    return touched


@inner_kernel(borrows=True)
def shift(own: int, chance: float, touched: int, state: State) -> int:
    """Suppose that a model has run, and that the clause of an edge to it has passed with a chance.

    The models before it are reached with that chance, those behind it as if it were not there.
    Gives how many models are touched.
    """
    starts, edges = state.starts, state.edges
    clause, reach = edges[own].clause, chance * edges[own].reach
    # Models before this one are reached as before if the clause has passed for certain.
    if chance != 1:
        for place in range(starts[clause], own):
            touched = replace(place, chance * edges[place].reach, touched, state)
    for place in range(own + 1, starts[clause + 1]):
        touched = replace(place, reach, touched, state)
        reach *= edges[place].passes
    return touched


@inner_kernel(borrows=True)
def value_change(touched: int, state: State, costs: Floats) -> float:
    """How much an outcome changes the value of the state; the outcome is forgotten."""
    total = 0.0
    for i in range(touched):
        model = state.models[state.touched[i]]
        after = need(model.zeros + model.more_zeros, model.rest * model.factor)
        total += costs[state.touched[i]] * (after - need(model.zeros, model.rest))
        model.is_touched, model.more_zeros, model.factor = 0, 0, 1.0
    return total


@inner_kernel(borrows=True)
def after_answers(model: int, members: Int64s, state: State, plan: PlanArrays) -> float:
    """How much the answers of a model are expected to change the value of the state.

    members: the edges of the model.
    """
    # Of a model of very many outcomes there is one, in which clauses pass independently.
    total, asks = 0.0, state.models[model].asks
    is_known = asks <= MOST_ASKED
    for outcome in range(1 << asks if is_known else 1):
        probability, touched = 1.0, ZERO
        for k in range(asks if is_known else 0):
            probability *= plan.chances[2 * state.asked[model, k] + 1 - ((outcome >> k) & 1)]
        for place in members:
            edge = state.edges[place]
            chance = edge.passes
            # With an outcome at hand each clause passes or does not: its chance is 1 or 0.
            if is_known:
                passed = (outcome & edge.yes == edge.yes) & (outcome & edge.no == 0)
                chance = 1.0 if passed else 0.0
            touched = shift(place, chance, touched, state)
        total += probability * value_change(touched, state, plan.costs)
    return total


@inner_kernel
def lookahead(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> int:
    """The model that minimises its cost and what is expected to remain after it."""
    models, size = len(plan.costs), 0
    for i in range(begin, begin + count):
        size += clauses.needs[clauses.order[i]].count
    state = new_state(size, count, models)
    find_edges(begin, count, clauses, plan, state)
    multiply(state)
    starts, of_models = by_model(state.edges, state.starts[-1], models)
    best, least = NONE, np.inf
    for model in range(models):
        if state.models[model].asks > 0:
            # Totals are relative to the value of this state, which every model would add: running
            # the model for certain costs what it was not expected to cost already.
            unlikely = 1 - need(state.models[model].zeros, state.models[model].rest)
            members = of_models[starts[model] : starts[model + 1]]
            total = plan.costs[model] * unlikely + after_answers(model, members, state, plan)
            if total < least:
                best, least = model, total
    return best


@kernel
def by_lookahead(some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays) -> None:
    """Choose for some parts by looking ahead."""
    for i in some:
        parts[i].choice = lookahead(parts[i].begin, parts[i].count, clauses, plan)
