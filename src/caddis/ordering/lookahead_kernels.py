"""One step ahead on the expected cost that remains.

If every clause ran its models in its own order, cheapest to refute first, and shared the answers,
clause q would get as far as model f with probability reach_q(f), the product of its chances before
f; f would run if any clause gets there: need(f) = 1 - ∏(1 - reach_q(f)). The value of a state is
V = Σ cost(f)·need(f). Chosen is the model with the least cost + E[V after its answers].

The products are kept as (zeros, product of the rest), so that a clause's factor can be taken out by
a division, and a model is judged by the clauses that it stands in alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Floats, Int32s, Int64s
from caddis.ordering.price_kernels import NONE

CERTAIN = 1 - 1e-9
"""Reaches from here on count as 1."""
MOST_ASKED = 4
"""Of a model with more open concepts than this, clauses are taken to fare independently."""


@njit(cache=True)
def fill_reaches(
    begin: int,
    count: int,
    order: Int32s,
    literal_starts: Int64s,
    literal_counts: Int32s,
    literals: Int32s,
    chances: Floats,
    answered_by: Int32s,
    edge_starts: Int32s,
    edge_models: Int32s,
    edge_reach: Floats,
    edge_pass: Floats,
) -> int:
    """The edges of each clause: its models in order, how far it gets, and what lets it pass."""
    used = 0
    for i in range(count):
        clause = order[begin + i]
        start, length = literal_starts[clause], literal_counts[clause]
        edge_starts[i] = used
        reach = 1.0
        for at in range(start, start + length):
            literal = literals[at]
            model, chance = answered_by[literal >> 1], chances[literal]
            edge = edge_starts[i]
            while edge < used and edge_models[edge] != model:
                edge += 1
            if edge == used:
                edge_models[used], edge_reach[used], edge_pass[used] = model, reach, chance
                used += 1
            else:
                edge_pass[edge] *= chance
            reach *= chance
    edge_starts[count] = used
    return used


@njit(cache=True)
def fill_needs(
    used: int, edge_models: Int32s, edge_reach: Floats, zeros: Int32s, products: Floats
) -> None:
    """By model: how many clauses get to it for certain, and ∏(1 - reach) of the others."""
    for edge in range(used):
        model = edge_models[edge]
        if edge_reach[edge] >= CERTAIN:
            zeros[model] += 1
        else:
            products[model] *= 1 - edge_reach[edge]


@njit(cache=True, forceinline=True)
def need(zeros: int, product: float) -> float:
    """How likely a model runs."""
    return 0.0 if zeros < 0 else (1.0 if zeros > 0 else 1 - product)


@njit(cache=True)
def alive(
    clause: int,
    outcome: int,
    asked: Int32s,
    count: int,
    literal_starts: Int64s,
    literal_counts: Int32s,
    literals: Int32s,
) -> bool:
    """Whether a clause survives an outcome: bit i says whether concept asked[i] is true."""
    start = literal_starts[clause]
    for at in range(start, start + literal_counts[clause]):
        for i in range(count):
            if literals[at] >> 1 == asked[i] and (outcome >> i) & 1 == literals[at] & 1:
                return False
    return True


@njit(cache=True)
def shift(
    chance: float,
    first: int,
    last: int,
    own: int,
    edge_models: Int32s,
    edge_reach: Floats,
    edge_pass: Floats,
    zeros: Int32s,
    ratios: Floats,
    touched: Int32s,
    count: int,
    is_touched: Int32s,
    stamp: int,
) -> int:
    """Replace a clause's factors by those after its model `own` has let it pass with a chance.

    Of the models behind `own` the reach is what the others let through; of those before it,
    as it was. All are multiplied by the chance. Gives the number of models touched.
    """
    before = 1.0
    passed = False
    for edge in range(first, last):
        model, reach = edge_models[edge], edge_reach[edge]
        if model == own:
            passed = True
            continue
        after = chance * (before if passed else reach)
        before *= edge_pass[edge]
        if after == reach:
            continue
        if is_touched[model] != stamp:
            is_touched[model] = stamp
            zeros[model], ratios[model] = 0, 1.0
            touched[count] = model
            count += 1
        if reach >= CERTAIN:
            zeros[model] -= 1
        else:
            ratios[model] /= 1 - reach
        if after >= CERTAIN:
            zeros[model] += 1
        else:
            ratios[model] *= 1 - after
    return count


@njit(cache=True)
def open_concepts(
    model: int,
    first: int,
    last: int,
    clauses: Int32s,
    begin: int,
    order: Int32s,
    literal_starts: Int64s,
    literal_counts: Int32s,
    literals: Int32s,
    answered_by: Int32s,
    asked: Int32s,
) -> int:
    """The concepts of a model that its clauses need; at most MOST_ASKED + 1 are told apart."""
    count = 0
    for i in range(first, last):
        clause = order[begin + clauses[i]]
        start = literal_starts[clause]
        for at in range(start, start + literal_counts[clause]):
            concept = literals[at] >> 1
            if answered_by[concept] != model:
                continue
            k = 0
            while k < count and asked[k] != concept:
                k += 1
            if k == count:
                asked[count] = concept
                count += 1
                if count > MOST_ASKED:
                    return count
    return count


@njit(cache=True)
def lookahead(
    begin: int,
    count: int,
    order: Int32s,
    literal_starts: Int64s,
    literal_counts: Int32s,
    literals: Int32s,
    costs: Floats,
    chances: Floats,
    answered_by: Int32s,
) -> int:
    """The model that minimises its cost and what is expected to remain after it."""
    size = 0
    for i in range(begin, begin + count):
        size += literal_counts[order[i]]
    edge_starts, edge_models = np.empty(count + 1, np.int32), np.empty(size, np.int32)
    edge_reach, edge_pass = np.empty(size), np.empty(size)
    used = fill_reaches(
        begin,
        count,
        order,
        literal_starts,
        literal_counts,
        literals,
        chances,
        answered_by,
        edge_starts,
        edge_models,
        edge_reach,
        edge_pass,
    )
    models = len(costs)
    zeros, products = np.zeros(models, np.int32), np.ones(models)
    fill_needs(used, edge_models, edge_reach, zeros, products)
    model_starts, clauses = clauses_by_model(count, edge_starts, edge_models, models)
    new_zeros, ratios = np.zeros(models, np.int32), np.ones(models)
    touched, is_touched = np.empty(models, np.int32), np.zeros(models, np.int32)
    asked = np.empty(MOST_ASKED + 1, np.int32)
    best, least, stamp = NONE, np.inf, 0
    for model in range(models):
        first, last = model_starts[model], model_starts[model + 1]
        if first == last:
            continue
        total = costs[model] * (1 - need(zeros[model], products[model]))
        asks = open_concepts(
            model,
            first,
            last,
            clauses,
            begin,
            order,
            literal_starts,
            literal_counts,
            literals,
            answered_by,
            asked,
        )
        outcomes = 1 if asks > MOST_ASKED else 1 << asks
        for outcome in range(outcomes):
            probability = 1.0
            if outcomes > 1:
                for k in range(asks):
                    literal = 2 * asked[k] + (0 if (outcome >> k) & 1 else 1)
                    probability *= chances[literal]
            stamp += 1
            changed = 0
            for i in range(first, last):
                place = clauses[i]
                if outcomes > 1:
                    lives = alive(
                        order[begin + place],
                        outcome,
                        asked,
                        asks,
                        literal_starts,
                        literal_counts,
                        literals,
                    )
                    chance = 1.0 if lives else 0.0
                else:
                    chance = own_pass(model, place, edge_starts, edge_models, edge_pass)
                changed = shift(
                    chance,
                    edge_starts[place],
                    edge_starts[place + 1],
                    model,
                    edge_models,
                    edge_reach,
                    edge_pass,
                    new_zeros,
                    ratios,
                    touched,
                    changed,
                    is_touched,
                    stamp,
                )
            for i in range(changed):
                other = touched[i]
                after = need(zeros[other] + new_zeros[other], products[other] * ratios[other])
                total += probability * costs[other] * (after - need(zeros[other], products[other]))
        if total < least:
            best, least = model, total
    return best


@njit(cache=True)
def own_pass(
    model: int, place: int, edge_starts: Int32s, edge_models: Int32s, edge_pass: Floats
) -> float:
    """How likely a model lets a clause pass."""
    edge = edge_starts[place]
    while edge_models[edge] != model:
        edge += 1
    return float(edge_pass[edge])


@njit(cache=True)
def clauses_by_model(
    count: int, edge_starts: Int32s, edge_models: Int32s, models: int
) -> tuple[Int32s, Int32s]:
    """By model: the places of the clauses that it stands in."""
    starts = np.zeros(models + 1, np.int32)
    used = edge_starts[count]
    for edge in range(used):
        starts[edge_models[edge] + 1] += 1
    for model in range(models):
        starts[model + 1] += starts[model]
    filled = starts.copy()
    clauses = np.empty(used, np.int32)
    for place in range(count):
        for edge in range(edge_starts[place], edge_starts[place + 1]):
            model = edge_models[edge]
            clauses[filled[model]] = place
            filled[model] += 1
    return starts, clauses
