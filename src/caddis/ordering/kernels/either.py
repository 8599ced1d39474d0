"""The lookahead where links have several clauses, any of which will do.

A clause whose links are all satisfied by others is never evaluated. So each clause has a gate: how
likely one of its links still waits when its turn comes, if the clauses of a link are tried one
after another, those that promise most for their cost first. A clause with a link of its own has a
gate of 1. Otherwise all is as in `lookahead_kernels`: reach, need, and the value of a state; only
that the value is worked out anew for every answer, which is affordable for some dozens of clauses.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Floats, Int32s, Int64s
from caddis.models import UNASKED
from caddis.ordering.kernels.layout import MOST_ASKED, NONE, PlanArrays
from caddis.ordering.kernels.residual import thin_chance
from caddis.ordering.kernels.rollout import FIRST, Stack, concepts_at, suppose


@njit(cache=True)
def promise(stack: Stack, clause: int, plan: PlanArrays) -> float:
    """What a clause is expected to cost alone, for its chance to hold."""
    cost, chance, start = 0.0, 1.0, stack.literal_starts[clause]
    for at in range(start, start + stack.literal_counts[0, clause]):
        cost += chance * plan.costs[plan.answered_by[stack.literals[0, at] >> 1]]
        chance *= plan.chances[stack.literals[0, at]]
    return cost / max(chance, 1e-12)


@njit(cache=True)
def by_promise(stack: Stack, plan: PlanArrays) -> Int32s:
    """The clauses of the first row, in the order in which they are tried."""
    count = stack.counts[0]
    promises = np.empty(count)
    for clause in range(count):
        promises[clause] = promise(stack, clause, plan)
    return np.argsort(promises).astype(np.int32)


@njit(cache=True)
def gate(stack: Stack, clause: int, waiting: Floats) -> float:
    """How likely a link still waits for a clause when its turn comes."""
    if stack.pinned[clause]:
        return 1.0
    satisfied = 1.0
    for s in range(stack.share_starts[clause], stack.share_starts[clause + 1]):
        satisfied *= 1 - waiting[stack.shares[s]]
    return 1 - satisfied


@njit(cache=True)
def value(stack: Stack, tried: Int32s, plan: PlanArrays, waiting: Floats, idle: Floats) -> float:
    """What is expected to be paid for the first row, with what is known besides."""
    for link in range(len(waiting)):
        waiting[link] = 0.0 if stack.done[0, link] else 1.0
    for model in range(len(plan.costs)):
        idle[model] = 1.0
    for clause in tried:
        start = stack.literal_starts[clause]
        end = start + stack.literal_counts[0, clause]
        holds = thin_chance(stack.literals[0], start, end, stack.known, plan.chances)
        if holds < 0:
            continue
        reach = gate(stack, clause, waiting)
        for at in range(start, end):
            literal = stack.literals[0, at]
            if stack.known[literal >> 1] == UNASKED:
                idle[plan.answered_by[literal >> 1]] *= 1 - reach
                reach *= plan.chances[literal]
        for s in range(stack.share_starts[clause], stack.share_starts[clause + 1]):
            waiting[stack.shares[s]] *= 1 - holds
    total = 0.0
    for model in range(len(plan.costs)):
        total += plan.costs[model] * (1 - idle[model])
    return total


@njit(cache=True)
def open_models(stack: Stack, plan: PlanArrays) -> Int64s:
    """The models that clauses of the first row need."""
    needed = np.zeros(len(plan.costs), np.bool_)
    for at in range(stack.literals.shape[1]):
        needed[plan.answered_by[stack.literals[0, at] >> 1]] = True
    return np.flatnonzero(needed)


@njit(cache=True)
def lookahead_either(stack: Stack, plan: PlanArrays) -> int:
    """The model that minimises its cost and what is expected to remain after it.

    NONE if a model answers too many open concepts for that to be worked out.
    """
    tried = by_promise(stack, plan)
    waiting, idle = np.empty(stack.done.shape[1]), np.empty(len(plan.costs))
    asked = np.empty(MOST_ASKED, np.int32)
    best, least = NONE, np.inf
    for model in open_models(stack, plan):
        asks = concepts_at(stack, FIRST, model, plan.answered_by, asked)
        if asks < 0:
            return NONE
        total = plan.costs[model]
        for outcome in range(1 << asks):
            chance = suppose(stack, outcome, asks, asked, plan.chances)
            if chance > 0:
                total += chance * value(stack, tried, plan, waiting, idle)
        for k in range(asks):
            stack.known[asked[k]] = UNASKED
        if total < least:
            best, least = model, total
    return best
