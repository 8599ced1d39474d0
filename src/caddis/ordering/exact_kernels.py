"""The best choice of all, where so little is open that it can be worked out.

A dynamic programme over what can come to be known: the least expected cost of a state is the least,
over the models that its open clauses need, of the model's cost and what its answers leave to pay.
States are numbered by the answers that led to them, so that none is worked out twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from caddis.arrays import Floats, Int32s, Int64s
from caddis.models import UNASKED
from caddis.ordering.layout import NONE, PlanArrays
from caddis.ordering.rollout_kernels import FIRST, Stack, concepts_at, push, suppose

MOST_STATES = 1200
"""Up to so many states a part is solved: six models of one concept have 729 at most."""


class Search(NamedTuple):
    """Where the search stands: a row a depth, and the least cost of each state, -1 if unknown."""

    needed: Int64s
    """How many models open clauses need."""
    models: Int64s
    model: Int64s
    """Which of the models is being tried."""
    asks: Int64s
    asked: Int32s
    outcome: Int64s
    """Of the concepts that it answers: which answers come next, as bits."""
    code: Int64s
    chance: Floats
    """Of the answers that lead to the next depth."""
    total: Floats
    best: Floats
    least: Floats


@njit(cache=True)
def new_search(states: int) -> Search:
    """Nothing tried yet; at three states a model or more, that is so many models at most."""
    models, concepts = 1, 1
    while 3**models <= states:
        models += 1
    while 1 << concepts < states:
        concepts += 1
    depths = models + 1
    return Search(
        np.zeros(depths, np.int64),
        np.zeros((depths, models), np.int64),
        np.zeros(depths, np.int64),
        np.zeros(depths, np.int64),
        np.zeros((depths, concepts), np.int32),
        np.zeros(depths, np.int64),
        np.zeros(depths, np.int64),
        np.zeros(depths),
        np.zeros(depths),
        np.zeros(depths),
        np.full(states, -1.0),
    )


class Numbering(NamedTuple):
    """How states are numbered: a digit a model, 0 for not run, else 1 + its answers as bits."""

    weight: Int32s
    """By model: what its digit counts; 0 if nothing open needs it."""
    bit: Int32s
    """By concept: which bit of its model's digit it is."""


@njit(cache=True)
def numbered(stack: Stack, answered_by: Int32s, numbering: Numbering) -> int:
    """Number the states that the first row can lead to; how many, or 0 if they are too many."""
    width = np.zeros(len(numbering.weight), np.int32)
    states = 1
    for concept in range(len(answered_by)):
        numbering.bit[concept] = -1
    for i in range(stack.counts[0]):
        start = stack.literal_starts[i]
        for at in range(start, start + stack.literal_counts[0, i]):
            concept = stack.literals[0, at] >> 1
            if numbering.bit[concept] < 0:
                model = answered_by[concept]
                numbering.bit[concept] = width[model]
                states = states // (1 + (1 << width[model]) if width[model] else 1)
                width[model] += 1
                states *= 1 + (1 << width[model])
                if states > MOST_STATES:
                    return 0
    weight = 1
    for model in range(len(width)):
        numbering.weight[model] = weight
        if width[model] > 0:
            weight *= 1 + (1 << width[model])
    return states


@njit(cache=True)
def models_at(stack: Stack, depth: int, answered_by: Int32s, models: Int64s) -> int:
    """The models that open clauses at a depth need, each once; how many."""
    found = 0
    for i in range(stack.counts[depth]):
        clause = stack.order[depth, i]
        start = stack.literal_starts[clause]
        for at in range(start, start + stack.literal_counts[depth, clause]):
            model = answered_by[stack.literals[depth, at] >> 1]
            k = 0
            while k < found and models[k] != model:
                k += 1
            if k == found:
                models[found] = model
                found += 1
    return found


@njit(cache=True)
def open_models(stack: Stack, answered_by: Int32s) -> Int64s:
    """The models that clauses of the first row need."""
    models = np.empty(stack.literals.shape[1], np.int64)
    return models[: models_at(stack, FIRST, answered_by, models)]


@njit(cache=True)
def code_after(
    code: int, model: int, outcome: int, asks: int, asked: Int32s, numbering: Numbering
) -> int:
    """The number of the state after a model's answers."""
    digit = 1
    for k in range(asks):
        digit += ((outcome >> k) & 1) << numbering.bit[asked[k]]
    return code + digit * int(numbering.weight[model])


@njit(cache=True)
def turn_to(model: int, search: Search, stack: Stack, depth: int, plan: PlanArrays) -> None:
    """Begin with a model at a depth."""
    search.model[depth], search.outcome[depth] = model, 0
    number = search.models[depth, model]
    search.total[depth] = plan.costs[number]
    search.asks[depth] = concepts_at(stack, depth, number, plan.answered_by, search.asked[depth])


@njit(cache=True)
def enter(search: Search, stack: Stack, depth: int, plan: PlanArrays) -> None:
    """Begin with the state that the row of a depth holds."""
    search.needed[depth] = models_at(stack, depth, plan.answered_by, search.models[depth])
    search.best[depth] = np.inf
    turn_to(FIRST, search, stack, depth, plan)


@njit(cache=True)
def tried_all(search: Search, depth: int) -> bool:
    """Whether all answers of the model at hand were gone through, or it cannot be the best."""
    all_of_them = search.outcome[depth] == 1 << search.asks[depth]
    return bool(all_of_them or search.total[depth] >= search.best[depth])


@njit(cache=True)
def descend(
    search: Search, stack: Stack, depth: int, numbering: Numbering, plan: PlanArrays
) -> int:
    """Take the next answers of the model at hand; the depth at which there is more to work out."""
    asks, asked, outcome = search.asks[depth], search.asked[depth], search.outcome[depth]
    chance = suppose(stack, outcome, asks, asked, plan.chances)
    search.outcome[depth] += 1
    if chance == 0:
        return depth
    push(stack, depth)
    if stack.counts[depth + 1] == 0:
        return depth
    model = search.models[depth, search.model[depth]]
    code = code_after(search.code[depth], model, outcome, asks, asked, numbering)
    if search.least[code] >= 0:
        search.total[depth] += chance * search.least[code]
        return depth
    search.chance[depth], search.code[depth + 1] = chance, code
    enter(search, stack, depth + 1, plan)
    return depth + 1


@njit(cache=True)
def solved(stack: Stack, guess: int, plan: PlanArrays) -> int:
    """The first model of a strategy of least expected cost; NONE if too much is open.

    guess: a model that is tried first; the better it is, the less is tried of the others.
    """
    models, concepts = len(plan.costs), len(plan.answered_by)
    numbering = Numbering(np.empty(models, np.int32), np.empty(concepts, np.int32))
    states = numbered(stack, plan.answered_by, numbering)
    if states == 0:
        return NONE
    search = new_search(states)
    enter(search, stack, FIRST, plan)
    for m in range(1, search.needed[0]):
        if search.models[0, m] == guess:
            search.models[0, 0], search.models[0, m] = guess, search.models[0, 0]
            turn_to(FIRST, search, stack, FIRST, plan)
    choice, depth = NONE, FIRST
    while True:
        if not tried_all(search, depth):
            depth = descend(search, stack, depth, numbering, plan)
            continue
        for k in range(search.asks[depth]):
            stack.known[search.asked[depth, k]] = UNASKED
        if search.total[depth] < search.best[depth]:
            search.best[depth] = search.total[depth]
            if depth == 0:
                choice = search.models[0, search.model[0]]
        if search.model[depth] + 1 < search.needed[depth]:
            turn_to(search.model[depth] + 1, search, stack, depth, plan)
            continue
        if depth == 0:
            return choice
        search.least[search.code[depth]] = search.best[depth]
        depth -= 1
        search.total[depth] += search.chance[depth] * search.best[depth + 1]
