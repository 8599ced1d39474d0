"""Both policies followed to the end, on a copy of one part to try answers on.

A part is copied into a stack, a row a depth; each outcome of a model settles the next row.

The *rollout* follows the lookahead and the unit price to the end and takes the better: only where
they choose differently, and only within a budget of steps, as following a policy to the end takes
up to 2^concepts of them. Where the budget is not enough the lookahead's choice stands, which is the
better on average.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Anys, Int32s, Int64s
from caddis.compiling import inner_kernel, kernel
from caddis.models import UNASKED, Marks
from caddis.ordering.kernels.either import concepts_at, suppose
from caddis.ordering.kernels.layout import (
    MOST_ASKED,
    MOST_CLAUSES,
    NEED,
    WAIT,
    ZERO,
    Clauses,
    PlanArrays,
)
from caddis.ordering.kernels.lookahead import lookahead
from caddis.ordering.kernels.prices import unit_price
from caddis.ordering.kernels.residual import settle

BY_PRICE: bool = np.bool_(True)  # type: ignore[assignment]
AHEAD: bool = np.bool_(False)  # type: ignore[assignment]
"""Which of the two policies is followed; no literals, like `layout.ZERO`."""
MOST_DEPTH = 12
MOST_STEPS = 256
"""How deep and for how many steps in all policies may be followed."""


class Stack(NamedTuple):
    """The graph of one part; what changes has a row for each depth."""

    counts: Int64s
    clauses: Clauses
    """What settling an event changes has a row for each depth; `at_depth` gives one of them."""
    known: Marks
    steps: Int64s
    """How many steps are left."""


@inner_kernel(borrows=True)
def sizes(begin: int, count: int, clauses: Clauses) -> tuple[int, int, int, int]:
    """How many literals, edges to shared links, and links a part has, with the lowest link third.

    The links of one event have adjacent numbers, so they are counted from the lowest on.
    """
    size, shared, lowest, highest = 0, 0, len(clauses.done), -1
    for i in range(begin, begin + count):
        clause = clauses.order[i]
        size += clauses.needs[clause].count
        while clause >= 0:
            wait = clauses.waits[clause]
            for s in range(wait.start, wait.start + wait.count):
                shared += 1
                lowest = min(lowest, clauses.shares[s])
                highest = max(highest, clauses.shares[s])
            clause = wait.twin
    return size, shared, lowest, max(highest - lowest + 1, 0)


@inner_kernel
def new_stack(count: int, size: int, shared: int, links: int, concepts: int) -> Stack:
    """An empty stack for a part, of which nothing is known."""
    depths = MOST_DEPTH + 1
    clauses = Clauses(
        np.zeros((depths, count), np.int32),
        np.zeros((depths, count), NEED),
        np.zeros((depths, count), WAIT),
        np.zeros((depths, size), np.int32),
        np.zeros(shared, np.int32),
        np.zeros((depths, links), np.bool_),
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
        clause, own = clauses.order[begin + i], copy.waits[0, i]
        copy.order[0, i], own.start, own.twin = i, used, -1
        need, copied = clauses.needs[clause], copy.needs[0, i]
        copied.start, copied.count, copied.weight = at, need.count, 1
        for j in range(need.start, need.start + need.count):
            copy.literals[0, at] = clauses.literals[j]
            at += 1
        while clause >= 0:
            wait = clauses.waits[clause]
            own.pinned |= wait.pinned
            for s in range(wait.start, wait.start + wait.count):
                link = clauses.shares[s] - lowest
                copy.shares[used] = link
                copy.done[0, link] = clauses.done[clauses.shares[s]]
                used += 1
            clause = wait.twin
        own.count = used - own.start
    return stack


@inner_kernel
def at_depth(stack: Stack, depth: int) -> Clauses:
    """The clauses as they are at a depth."""
    rows = stack.clauses
    return Clauses(
        rows.order[depth],
        rows.needs[depth],
        rows.waits[depth],
        rows.literals[depth],
        rows.shares,
        rows.done[depth],
    )


@inner_kernel
def push(stack: Stack, depth: int) -> None:
    """Copy a row to the next, and settle that by what is known."""
    clauses = stack.clauses
    count, to = stack.counts[depth], depth + 1
    for i in range(count):
        clauses.order[to, i] = clauses.order[depth, i]
    for i in range(clauses.needs.shape[1]):
        clauses.needs[to, i] = clauses.needs[depth, i]
        clauses.waits[to, i] = clauses.waits[depth, i]
    for i in range(clauses.literals.shape[1]):
        clauses.literals[to, i] = clauses.literals[depth, i]
    for link in range(clauses.done.shape[1]):
        clauses.done[to, link] = clauses.done[depth, link]
    # `count < 0` is a False that numba does not take for a literal.
    stack.counts[to] = settle(ZERO, count, at_depth(stack, to), stack.known, count < 0)


@inner_kernel
def pick(by_price: bool, stack: Stack, depth: int, plan: PlanArrays) -> int:
    """What one of the two policies would run at a depth."""
    if by_price:
        return unit_price(ZERO, stack.counts[depth], at_depth(stack, depth), plan)
    return lookahead(ZERO, stack.counts[depth], at_depth(stack, depth), plan)


@inner_kernel
def ask(stack: Stack, depth: int, model: int, answered_by: Int32s, asked: Int32s) -> int:
    """How many concepts of a model are open at a depth, or -1 if they do not fit `asked`."""
    return concepts_at(ZERO, stack.counts[depth], at_depth(stack, depth), model, answered_by, asked)


@inner_kernel
def followed(by_price: bool, stack: Stack, model: int, limit: float, plan: PlanArrays) -> float:
    """The expected cost of running a model and then following a policy.

    It is the sum over all steps of what they cost, times how likely one gets there; inf if that is
    no less than the limit, or cannot be worked out in the steps that are left.
    """
    # A depth-first walk through all outcomes; each depth has its model's concepts and next outcome.
    weights, outcomes = np.ones(MOST_DEPTH), np.zeros(MOST_DEPTH, np.int64)
    asked, asks = np.empty((MOST_DEPTH, MOST_ASKED), np.int32), np.zeros(MOST_DEPTH, np.int64)
    asks[0] = ask(stack, ZERO, model, plan.answered_by, asked[0])
    total, depth = plan.costs[model], ZERO
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
        chance = suppose(stack.known, outcomes[depth], asks[depth], asked[depth], plan.chances)
        outcomes[depth] += 1
        if chance == 0:
            continue
        push(stack, depth)
        if stack.counts[depth + 1] == 0:
            continue
        weights[depth + 1], outcomes[depth + 1] = weights[depth] * chance, 0
        depth += 1
        model = pick(by_price, stack, depth, plan)
        asks[depth] = ask(stack, depth, model, plan.answered_by, asked[depth])
        total += weights[depth] * plan.costs[model]
        stack.steps[0] -= 1
        # The stack is full: without steps left the next turn gives up.
        if depth + 1 == MOST_DEPTH:
            stack.steps[0] = 0
    return float(total)


@inner_kernel(borrows=True)
def forget(stack: Stack) -> None:
    """Suppose that nothing is known."""
    for concept in range(len(stack.known)):
        stack.known[concept] = UNASKED


@inner_kernel
def better(stack: Stack, ahead: int, plan: PlanArrays) -> int:
    """The lookahead's choice, unless following the unit price instead is expected to cost less."""
    price = pick(BY_PRICE, stack, ZERO, plan)
    if price == ahead:
        return ahead
    stack.steps[0] = MOST_STEPS
    least = followed(AHEAD, stack, ahead, np.inf, plan)
    if least == np.inf:
        return ahead
    # Of two that cost the same the lookahead's choice stands.
    other = followed(BY_PRICE, stack, price, least * (1 - 1e-9), plan)
    return price if other < least else ahead


@kernel
def by_rollout(some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays) -> None:
    """Choose again for those of some parts that can be followed to the end."""
    for i in some:
        part = parts[i]
        if 1 < part.count <= MOST_CLAUSES:
            stack = compact(part.begin, part.count, clauses, len(plan.answered_by))
            part.choice = better(stack, part.choice, plan)
