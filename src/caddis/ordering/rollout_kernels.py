"""The rollout: where two policies disagree, follow each to the end in expectation, take the better.

The state is copied into a small graph of its own, a row a depth; each outcome of a model settles
the next row. Following a policy costs up to 2^concepts steps, so it is given a budget of steps;
where that is not enough the lookahead's choice stands, which is the better on average.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.models import NO, UNASKED, YES, Marks
from caddis.ordering.lookahead_kernels import lookahead
from caddis.ordering.price_kernels import unit_price
from caddis.ordering.residual_kernels import settle

MOST_DEPTH = 12
MOST_CLAUSES = 64
MOST_STEPS = 256
"""Steps for which both policies may be followed from one state."""
MOST_ASKED = 4
"""Of a model with more open concepts than this, nothing is rolled out."""


class Stack(NamedTuple):
    """A graph of one event; what changes has a row a depth."""

    counts: Int32s
    order: Int32s
    literal_starts: Int64s
    literal_counts: Int32s
    literals: Int32s
    twins: Int32s
    weights: Int32s
    pinned: Bools
    share_starts: Int64s
    shares: Int32s
    done: Bools
    verdicts: Marks
    known: Marks
    steps: Int64s
    """How many steps are left."""


@njit(cache=True)
def compact(
    begin: int,
    count: int,
    order: Int32s,
    literal_starts: Int64s,
    literal_counts: Int32s,
    literals: Int32s,
    twins: Int32s,
    pinned: Bools,
    share_starts: Int64s,
    shares: Int32s,
    done: Bools,
    concepts: int,
) -> Stack:
    """A copy of one event's open clauses as the first row of a stack; twins become one clause."""
    size, shared, lowest, highest = 0, 0, len(done), -1
    for i in range(begin, begin + count):
        size += literal_counts[order[i]]
        clause = order[i]
        while clause >= 0:
            for s in range(share_starts[clause], share_starts[clause + 1]):
                shared += 1
                lowest, highest = min(lowest, shares[s]), max(highest, shares[s])
            clause = twins[clause]
    links = max(highest - lowest + 1, 0)
    depths = MOST_DEPTH + 1
    stack = Stack(
        np.zeros(depths, np.int32),
        np.zeros((depths, count), np.int32),
        np.zeros(count, np.int64),
        np.zeros((depths, count), np.int32),
        np.zeros((depths, size), np.int32),
        np.zeros((depths, count), np.int32),
        np.ones((depths, count), np.int32),
        np.zeros(count, np.bool_),
        np.zeros(count + 1, np.int64),
        np.zeros(shared, np.int32),
        np.zeros((depths, links), np.bool_),
        np.zeros(count, np.uint8),
        np.empty(concepts, np.uint8),
        np.zeros(1, np.int64),
    )
    for concept in range(concepts):
        stack.known[concept] = UNASKED
    at = used = 0
    for i in range(count):
        clause = order[begin + i]
        stack.order[0, i], stack.literal_starts[i] = i, at
        stack.literal_counts[0, i], stack.twins[0, i] = literal_counts[clause], -1
        for j in range(literal_counts[clause]):
            stack.literals[0, at] = literals[literal_starts[clause] + j]
            at += 1
        while clause >= 0:
            stack.pinned[i] = stack.pinned[i] or pinned[clause]
            for s in range(share_starts[clause], share_starts[clause + 1]):
                link = shares[s] - lowest
                stack.shares[used] = link
                stack.done[0, link] = done[shares[s]]
                used += 1
            clause = twins[clause]
        stack.share_starts[i + 1] = used
    stack.counts[0] = count
    return stack


@njit(cache=True)
def push(stack: Stack, depth: int) -> None:
    """Copy a row to the next, and settle that by what is known."""
    count, to = stack.counts[depth], depth + 1
    for i in range(count):
        clause = stack.order[depth, i]
        stack.order[to, i] = clause
        stack.literal_counts[to, clause] = stack.literal_counts[depth, clause]
        start = stack.literal_starts[clause]
        for j in range(start, start + stack.literal_counts[depth, clause]):
            stack.literals[to, j] = stack.literals[depth, j]
    for i in range(stack.twins.shape[1]):
        stack.twins[to, i] = stack.twins[depth, i]
    for link in range(stack.done.shape[1]):
        stack.done[to, link] = stack.done[depth, link]
    stack.counts[to] = settle(
        0,
        count,
        stack.order[to],
        stack.literal_starts,
        stack.literal_counts[to],
        stack.literals[to],
        stack.twins[to],
        stack.weights[to],
        stack.pinned,
        stack.share_starts,
        stack.shares,
        stack.done[to],
        stack.verdicts,
        stack.known,
        False,
    )


@njit(cache=True)
def pick(
    by_price: bool, stack: Stack, depth: int, costs: Floats, chances: Floats, answered_by: Int32s
) -> int:
    """What one of the two policies would run at a depth."""
    count = stack.counts[depth]
    if by_price:
        return unit_price(
            0,
            count,
            stack.order[depth],
            stack.literal_starts,
            stack.literal_counts[depth],
            stack.literals[depth],
            stack.weights[depth],
            costs,
            chances,
            answered_by,
            False,
        )
    return lookahead(
        0,
        count,
        stack.order[depth],
        stack.literal_starts,
        stack.literal_counts[depth],
        stack.literals[depth],
        costs,
        chances,
        answered_by,
    )


@njit(cache=True)
def concepts_at(stack: Stack, depth: int, model: int, answered_by: Int32s, asked: Int32s) -> int:
    """The concepts of a model that open clauses at a depth need; more than fit: -1."""
    found = 0
    for i in range(stack.counts[depth]):
        clause = stack.order[depth, i]
        start = stack.literal_starts[clause]
        for at in range(start, start + stack.literal_counts[depth, clause]):
            concept = stack.literals[depth, at] >> 1
            if answered_by[concept] != model:
                continue
            k = 0
            while k < found and asked[k] != concept:
                k += 1
            if k < found:
                continue
            if found == len(asked):
                return -1
            asked[found] = concept
            found += 1
    return found


@njit(cache=True)
def followed(
    by_price: bool,
    stack: Stack,
    model: int,
    limit: float,
    costs: Floats,
    chances: Floats,
    answered_by: Int32s,
) -> float:
    """The expected cost of running a model and then following a policy; inf if it is no less than
    a limit, or cannot be told in the steps that are left.

    It is the sum over all steps of what they cost, times how likely one gets there.
    """
    weights, outcomes = np.ones(MOST_DEPTH), np.zeros(MOST_DEPTH, np.int32)
    asked, asks = np.empty((MOST_DEPTH, MOST_ASKED), np.int32), np.zeros(MOST_DEPTH, np.int32)
    asks[0] = concepts_at(stack, 0, model, answered_by, asked[0])
    total, depth = costs[model], 0
    while depth >= 0:
        if asks[depth] < 0 or stack.steps[0] <= 0 or total >= limit:
            forget(stack)
            return np.inf
        if outcomes[depth] == 1 << asks[depth]:
            for k in range(asks[depth]):
                stack.known[asked[depth, k]] = UNASKED
            depth -= 1
            continue
        chance = suppose(stack, outcomes[depth], asks[depth], asked[depth], chances)
        outcomes[depth] += 1
        if chance == 0:
            continue
        push(stack, depth)
        if stack.counts[depth + 1] == 0:
            continue
        weights[depth + 1], outcomes[depth + 1] = weights[depth] * chance, 0
        depth += 1
        model = pick(by_price, stack, depth, costs, chances, answered_by)
        asks[depth] = concepts_at(stack, depth, model, answered_by, asked[depth])
        total += weights[depth] * costs[model]
        stack.steps[0] -= 1
        if depth + 1 == MOST_DEPTH:
            stack.steps[0] = 0
    return total


@njit(cache=True)
def suppose(stack: Stack, outcome: int, asks: int, asked: Int32s, chances: Floats) -> float:
    """Take the asked concepts to be as the outcome's bits say; how likely that is."""
    chance = 1.0
    for k in range(asks):
        yes = (outcome >> k) & 1
        stack.known[asked[k]] = YES if yes else NO
        chance *= chances[2 * asked[k] + (0 if yes else 1)]
    return chance


@njit(cache=True)
def forget(stack: Stack) -> None:
    """Take nothing to be known."""
    for concept in range(len(stack.known)):
        stack.known[concept] = UNASKED


@njit(cache=True)
def better(
    stack: Stack,
    ahead: int,
    costs: Floats,
    chances: Floats,
    answered_by: Int32s,
) -> int:
    """The lookahead's choice, unless following the unit price instead is expected to cost less."""
    price = pick(True, stack, 0, costs, chances, answered_by)
    if price == ahead:
        return ahead
    stack.steps[0] = MOST_STEPS
    least = followed(False, stack, ahead, np.inf, costs, chances, answered_by)
    if least == np.inf:
        return ahead
    other = followed(True, stack, price, least * (1 - 1e-9), costs, chances, answered_by)
    return price if other < least else ahead
