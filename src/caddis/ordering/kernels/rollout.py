"""A copy of one part to try answers on, and two ways to use it.

A part is copied into a stack, a row a depth; each outcome of a model settles the next row.

The *rollout* follows the lookahead and the unit price to the end and takes the better: only where
they choose differently, and only within a budget of steps, as following a policy to the end takes
up to 2^concepts of them. Where the budget is not enough the lookahead's choice stands, which is the
better on average.

`lookahead_either` is the lookahead where links have several clauses, any of which will do. A clause
whose links are all satisfied by others is never evaluated, so each clause has a *gate*: how likely
one of its links still waits when its turn comes, if the clauses of a link are tried one after
another, those that promise most for their cost first. A clause with a link of its own has a gate of
1. Reach, need and the value of a state are those of `lookahead`; only that the value is worked out
anew for every answer, which is affordable for some dozens of clauses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Floats, Int32s, Int64s
from caddis.compiling import inner_kernel
from caddis.models import NO, UNASKED, YES, Marks
from caddis.ordering.kernels.layout import MOST_ASKED, NONE, Clauses, PlanArrays
from caddis.ordering.kernels.lookahead import lookahead
from caddis.ordering.kernels.prices import unit_price
from caddis.ordering.kernels.residual import settle, thin_chance

FIRST: int = np.int64(0)  # type: ignore[assignment]
"""The first depth, and the first clause of a row."""
BY_PRICE: bool = np.bool_(True)  # type: ignore[assignment]
AHEAD: bool = np.bool_(False)  # type: ignore[assignment]
"""Which of the two policies is followed. A literal in its place is a type of its own to numba, for
which all that it is passed to would be compiled again; so it is for `FIRST`.
"""
MOST_DEPTH = 12
MOST_CLAUSES = 64
MOST_STEPS = 256
"""How deep, in how large a part and for how many steps in all policies may be followed."""


class Stack(NamedTuple):
    """The graph of one part; what changes has a row for each depth."""

    counts: Int64s
    clauses: Clauses
    """With a row for each depth in all that settling an event changes; `row` gives one of them."""
    known: Marks
    steps: Int64s
    """How many steps are left."""


@inner_kernel
def sizes(begin: int, count: int, clauses: Clauses) -> tuple[int, int, int, int]:
    """How many literals, edges to shared links, and links a part has, with the lowest link third.

    The links of one event have adjacent numbers, so they are counted from the lowest on.
    """
    size, shared, lowest, highest = 0, 0, len(clauses.done), -1
    for i in range(begin, begin + count):
        clause = clauses.order[i]
        size += clauses.literal_counts[clause]
        while clause >= 0:
            for s in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
                shared += 1
                lowest = min(lowest, clauses.shares[s])
                highest = max(highest, clauses.shares[s])
            clause = clauses.twins[clause]
    return size, shared, lowest, max(highest - lowest + 1, 0)


@inner_kernel
def new_stack(count: int, size: int, shared: int, links: int, concepts: int) -> Stack:
    """An empty stack for a part, of which nothing is known."""
    depths = MOST_DEPTH + 1
    clauses = Clauses(
        np.zeros((depths, count), np.int32),
        np.zeros(count, np.int64),
        np.zeros((depths, count), np.int32),
        np.zeros((depths, size), np.int32),
        np.full((depths, count), -1, np.int32),
        np.zeros((depths, count), np.int32),
        np.zeros(count, np.bool_),
        np.zeros(count + 1, np.int64),
        np.zeros(shared, np.int32),
        np.zeros((depths, links), np.bool_),
        np.zeros(count, np.uint8),
    )
    known = np.full(concepts, UNASKED, np.uint8)
    return Stack(np.zeros(depths, np.int64), clauses, known, np.zeros(1, np.int64))


@inner_kernel
def compact(begin: int, count: int, clauses: Clauses, concepts: int) -> Stack:
    """Copy a part to the first row of a new stack; twins become one clause.

    Each weighs 1: a choice is remembered by what clauses need, however many links wait for them.
    """
    size, shared, lowest, links = sizes(begin, count, clauses)
    stack = new_stack(count, size, shared, links, concepts)
    copy = stack.clauses
    stack.counts[0] = count
    at = used = 0
    for i in range(count):
        clause = clauses.order[begin + i]
        copy.order[0, i], copy.literal_starts[i] = i, at
        copy.literal_counts[0, i], copy.weights[0, i] = clauses.literal_counts[clause], 1
        for j in range(clauses.literal_counts[clause]):
            copy.literals[0, at] = clauses.literals[clauses.literal_starts[clause] + j]
            at += 1
        while clause >= 0:
            copy.pinned[i] = copy.pinned[i] or clauses.pinned[clause]
            for s in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
                link = clauses.shares[s] - lowest
                copy.shares[used] = link
                copy.done[0, link] = clauses.done[clauses.shares[s]]
                used += 1
            clause = clauses.twins[clause]
        copy.share_starts[i + 1] = used
    return stack


@inner_kernel
def row(stack: Stack, depth: int) -> Clauses:
    """The clauses as they are at a depth."""
    rows = stack.clauses
    return Clauses(
        rows.order[depth],
        rows.literal_starts,
        rows.literal_counts[depth],
        rows.literals[depth],
        rows.twins[depth],
        rows.weights[depth],
        rows.pinned,
        rows.share_starts,
        rows.shares,
        rows.done[depth],
        rows.verdicts,
    )


@inner_kernel
def push(stack: Stack, depth: int) -> None:
    """Copy a row to the next, and settle that by what is known."""
    clauses = stack.clauses
    count, to = stack.counts[depth], depth + 1
    for i in range(count):
        clause = clauses.order[depth, i]
        clauses.order[to, i] = clause
        clauses.literal_counts[to, clause] = clauses.literal_counts[depth, clause]
        clauses.weights[to, clause] = clauses.weights[depth, clause]
        start = clauses.literal_starts[clause]
        for j in range(start, start + clauses.literal_counts[depth, clause]):
            clauses.literals[to, j] = clauses.literals[depth, j]
    for i in range(clauses.twins.shape[1]):
        clauses.twins[to, i] = clauses.twins[depth, i]
    for link in range(clauses.done.shape[1]):
        clauses.done[to, link] = clauses.done[depth, link]
    # `count < 0` is a False that numba does not take for a literal; see BY_PRICE.
    stack.counts[to] = settle(FIRST, count, row(stack, to), stack.known, count < 0)


@inner_kernel
def pick(by_price: bool, stack: Stack, depth: int, plan: PlanArrays) -> int:
    """What one of the two policies would run at a depth."""
    if by_price:
        return unit_price(FIRST, stack.counts[depth], row(stack, depth), plan)
    return lookahead(FIRST, stack.counts[depth], row(stack, depth), plan)


@inner_kernel
def concepts_at(stack: Stack, depth: int, model: int, answered_by: Int32s, asked: Int32s) -> int:
    """How many concepts of a model are open at a depth, or -1 if they do not fit `asked`."""
    clauses = stack.clauses
    found = 0
    for i in range(stack.counts[depth]):
        clause = clauses.order[depth, i]
        start = clauses.literal_starts[clause]
        for at in range(start, start + clauses.literal_counts[depth, clause]):
            concept = clauses.literals[depth, at] >> 1
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


@inner_kernel
def followed(by_price: bool, stack: Stack, model: int, limit: float, plan: PlanArrays) -> float:
    """The expected cost of running a model and then following a policy.

    It is the sum over all steps of what they cost, times how likely one gets there; inf if that is
    no less than the limit, or cannot be worked out in the steps that are left.
    """
    # A depth-first walk through all outcomes; each depth has its model's concepts and next outcome.
    weights, outcomes = np.ones(MOST_DEPTH), np.zeros(MOST_DEPTH, np.int64)
    asked, asks = np.empty((MOST_DEPTH, MOST_ASKED), np.int32), np.zeros(MOST_DEPTH, np.int64)
    asks[0] = concepts_at(stack, FIRST, model, plan.answered_by, asked[0])
    total, depth = plan.costs[model], FIRST
    while depth >= 0:
        if asks[depth] < 0 or stack.steps[0] <= 0 or total >= limit:
            forget(stack)
            return np.inf
        # All outcomes of this depth were tried: forget its last one and go back.
        if outcomes[depth] == 1 << asks[depth]:
            for k in range(asks[depth]):
                stack.known[asked[depth, k]] = UNASKED
            depth -= 1
            continue
        chance = suppose(stack, outcomes[depth], asks[depth], asked[depth], plan.chances)
        outcomes[depth] += 1
        if chance == 0:
            continue
        push(stack, depth)
        if stack.counts[depth + 1] == 0:
            continue
        weights[depth + 1], outcomes[depth + 1] = weights[depth] * chance, 0
        depth += 1
        model = pick(by_price, stack, depth, plan)
        asks[depth] = concepts_at(stack, depth, model, plan.answered_by, asked[depth])
        total += weights[depth] * plan.costs[model]
        stack.steps[0] -= 1
        # The stack is full: without steps left the next turn gives up.
        if depth + 1 == MOST_DEPTH:
            stack.steps[0] = 0
    return float(total)


@inner_kernel
def suppose(stack: Stack, outcome: int, asks: int, asked: Int32s, chances: Floats) -> float:
    """Suppose that the asked concepts are as the outcome's bits say; gives how likely that is."""
    chance = 1.0
    for k in range(asks):
        yes = (outcome >> k) & 1
        stack.known[asked[k]] = YES if yes else NO
        chance *= chances[2 * asked[k] + (0 if yes else 1)]
    return chance


@inner_kernel
def forget(stack: Stack) -> None:
    """Suppose that nothing is known."""
    for concept in range(len(stack.known)):
        stack.known[concept] = UNASKED


@inner_kernel
def better(stack: Stack, ahead: int, plan: PlanArrays) -> int:
    """The lookahead's choice, unless following the unit price instead is expected to cost less."""
    price = pick(BY_PRICE, stack, FIRST, plan)
    if price == ahead:
        return ahead
    stack.steps[0] = MOST_STEPS
    least = followed(AHEAD, stack, ahead, np.inf, plan)
    if least == np.inf:
        return ahead
    # Of two that cost the same the lookahead's choice stands.
    other = followed(BY_PRICE, stack, price, least * (1 - 1e-9), plan)
    return price if other < least else ahead


@inner_kernel
def promise(stack: Stack, clause: int, plan: PlanArrays) -> float:
    """What a clause alone is expected to cost, divided by its chance to hold: less is better."""
    clauses = stack.clauses
    cost, chance, start = 0.0, 1.0, clauses.literal_starts[clause]
    for at in range(start, start + clauses.literal_counts[0, clause]):
        cost += chance * plan.costs[plan.answered_by[clauses.literals[0, at] >> 1]]
        chance *= plan.chances[clauses.literals[0, at]]
    return cost / max(chance, 1e-12)


@inner_kernel
def by_promise(stack: Stack, plan: PlanArrays) -> Int32s:
    """The clauses of the first row, in the order in which they are tried."""
    count = stack.counts[0]
    promises = np.empty(count)
    for clause in range(count):
        promises[clause] = promise(stack, clause, plan)
    return np.argsort(promises).astype(np.int32)


@inner_kernel
def gate(stack: Stack, clause: int, waiting: Floats) -> float:
    """How likely a link still waits for a clause when its turn comes."""
    clauses = stack.clauses
    if clauses.pinned[clause]:
        return 1.0
    satisfied = 1.0
    for s in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
        satisfied *= 1 - waiting[clauses.shares[s]]
    return 1 - satisfied


@inner_kernel
def value(stack: Stack, tried: Int32s, plan: PlanArrays, waiting: Floats, idle: Floats) -> float:
    """What is expected to be paid for the first row, with what is known besides."""
    clauses = stack.clauses
    for link in range(len(waiting)):
        waiting[link] = 0.0 if clauses.done[0, link] else 1.0
    for model in range(len(plan.costs)):
        idle[model] = 1.0
    for clause in tried:
        start = clauses.literal_starts[clause]
        end = start + clauses.literal_counts[0, clause]
        holds = thin_chance(clauses.literals[0], start, end, stack.known, plan.chances)
        if holds < 0:
            continue
        reach = gate(stack, clause, waiting)
        for at in range(start, end):
            literal = clauses.literals[0, at]
            if stack.known[literal >> 1] == UNASKED:
                idle[plan.answered_by[literal >> 1]] *= 1 - reach
                reach *= plan.chances[literal]
        for s in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
            waiting[clauses.shares[s]] *= 1 - holds
    total = 0.0
    for model in range(len(plan.costs)):
        total += plan.costs[model] * (1 - idle[model])
    return total


@inner_kernel
def open_models(stack: Stack, plan: PlanArrays) -> Int64s:
    """The models that clauses of the first row need."""
    clauses = stack.clauses
    needed = np.zeros(len(plan.costs), np.bool_)
    for at in range(clauses.literals.shape[1]):
        needed[plan.answered_by[clauses.literals[0, at] >> 1]] = True
    return np.flatnonzero(needed)


@inner_kernel
def lookahead_either(stack: Stack, plan: PlanArrays) -> int:
    """The model that minimises its cost and what is expected to remain after it.

    NONE if a model answers too many open concepts for that to be worked out.
    """
    clauses = stack.clauses
    tried = by_promise(stack, plan)
    waiting, idle = np.empty(clauses.done.shape[1]), np.empty(len(plan.costs))
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
