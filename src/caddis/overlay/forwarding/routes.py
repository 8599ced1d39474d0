"""The publication routing graph as arrays: what is wanted, and through which link.

A pair is a clause and a link that it leads to, the paper's subscription node. Pairs are numbered
link by link, so that those of one link lie next to each other:

    pair ──needs──▶ need ──starts──▶ literals          literal 2c: concept c, 2c + 1: NOT c
    pair ──targets──▶ link ──slots──▶ its place among the links that several pairs lead to

The same arrays serve a broker that decides one event at a time and one that decides batches.

Deciding one event on a publication routing graph: loops over its open pairs.

What is open follows from what is known: a pair with a refuted literal leaves, one with nothing
left to ask satisfies its link, and the link's other pairs leave with it (the paper's graph
short-cutting). So the only state is the marks and a list of open pairs that gets shorter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from caddis.arrays import Bools, Bytes, Floats, Int32s, Int64s
from caddis.matching import NOTHING
from caddis.models import NO, UNASKED, YES, Marks
from caddis.ordering import Demand
from caddis.ordering.kernels import NONE, PlanArrays

ALWAYS = -1
"""In place of a link's slot: no other pair leads to it."""


class Routes(NamedTuple):
    """Pairs of clause and link."""

    needs: Int32s
    """By pair: its need; the last of all needs is empty."""
    targets: Int32s
    """By pair: its link."""
    starts: Int32s
    literals: Int32s
    """By need."""
    slots: Int32s
    """By link."""
    target_starts: Int32s
    """By link: its first pair."""


class PairIndex(NamedTuple):
    """From the clauses of a demand to its pairs."""

    starts: Int64s
    pairs: Int32s


def routes_of(demand: Demand, numbers: Int32s) -> tuple[Routes, PairIndex]:
    """The pairs of a demand whose concepts are called by other numbers."""
    clauses = np.repeat(np.arange(len(demand.of_clause)), np.diff(demand.link_starts))
    order = np.argsort(demand.links, kind="stable")
    needs = demand.of_clause[clauses[order]]
    links = int(demand.link_offsets[-1])
    counts = np.bincount(demand.links, minlength=links)
    several = np.flatnonzero(counts > 1)
    slots = np.full(links, ALWAYS, np.int32)
    slots[several] = np.arange(len(several))
    empty = len(demand)
    starts = np.append(demand.starts, demand.starts[-1:]).astype(np.int32)
    literals = 2 * numbers[demand.literals >> 1] + (demand.literals & 1)
    routes = Routes(
        np.where(needs == NOTHING, empty, needs).astype(np.int32),
        demand.links[order].astype(np.int32),
        starts,
        literals.astype(np.int32),
        slots,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
    )
    by_clause = np.argsort(order).astype(np.int32)
    return routes, PairIndex(demand.link_starts, by_clause)


WAITING, REACHED, SERVED = range(3)
"""What became of a link: undecided or refused, satisfied just now, satisfied and sent to."""


@njit(cache=True)
def left_of(pair: int, routes: Routes, known: Marks) -> int:
    """How many literals of a pair are unanswered; -1 if one is not true."""
    need, left = routes.needs[pair], 0
    for at in range(routes.starts[need], routes.starts[need + 1]):
        literal = routes.literals[at]
        mark = known[literal >> 1]
        if mark == UNASKED:
            left += 1
        elif mark != (NO if literal & 1 else YES):
            return -1
    return left


@njit(cache=True)
def settle(pairs: Int32s, count: int, routes: Routes, known: Marks, states: Bytes) -> int:
    """Keep the open pairs, in place; how many there are. Links that are reached are marked."""
    kept, news = 0, False
    for i in range(count):
        pair = pairs[i]
        if states[routes.targets[pair]] != WAITING:
            continue
        left = left_of(pair, routes, known)
        if left == 0:
            states[routes.targets[pair]] = REACHED
            news = True
        elif left > 0:
            pairs[kept] = pair
            kept += 1
    if not news:
        return kept
    count, kept = kept, 0
    for i in range(count):
        if states[routes.targets[pairs[i]]] == WAITING:
            pairs[kept] = pairs[i]
            kept += 1
    return kept


@njit(cache=True)
def weigh_pair(
    pair: int, left: int, routes: Routes, known: Marks, plan: PlanArrays, gains: Floats
) -> int:
    """Add to each model's gain what it is expected to cover of a pair; the only model, or NONE.

    A true answer covers its own edges, a false one all edges that the pair has left.
    """
    need, first, alone = routes.needs[pair], NONE, True
    begin, end = routes.starts[need], routes.starts[need + 1]
    for at in range(begin, end):
        concept = routes.literals[at] >> 1
        if known[concept] != UNASKED:
            continue
        model = plan.answered_by[concept]
        if first == NONE:
            first = model
        alone = alone and model == first
        chance, edges, counted = 1.0, 0, False
        for other in range(begin, end):
            literal = routes.literals[other]
            if known[literal >> 1] == UNASKED and plan.answered_by[literal >> 1] == model:
                counted = counted or other < at
                chance *= plan.chances[literal]
                edges += 1
        if not counted:
            gains[model] += chance * edges + (1 - chance) * left
    return first if alone else NONE


@njit(cache=True)
def pass_chance(pair: int, routes: Routes, known: Marks, plan: PlanArrays) -> float:
    """How likely all that a pair has left is true."""
    need, chance = routes.needs[pair], 1.0
    for at in range(routes.starts[need], routes.starts[need + 1]):
        if known[routes.literals[at] >> 1] == UNASKED:
            chance *= plan.chances[routes.literals[at]]
    return chance


@njit(cache=True)
def unit_gains(pairs: Int32s, count: int, routes: Routes, known: Marks, plan: PlanArrays) -> Floats:
    """By model: the edges that it is expected to cover (equation 1 of the paper)."""
    gains = np.zeros(len(plan.costs))
    for i in range(count):
        weigh_pair(pairs[i], left_of(pairs[i], routes, known), routes, known, plan, gains)
    return gains


@njit(cache=True)
def extended_gains(
    pairs: Int32s, count: int, routes: Routes, known: Marks, plan: PlanArrays
) -> Floats:
    """The same, with the edges that go when a true answer satisfies a link: EMEC's cover.

    An edge that an answer covers both by refuting its pair and by satisfying the link counts twice;
    with one concept a model and no NOT, as in the paper, there is none.
    """
    models, links = len(plan.costs), np.max(routes.slots) + 1 if len(routes.slots) else 0
    gains, edges = np.zeros(models), np.zeros(links)
    own, chances = np.zeros((links, models)), np.zeros((links, models))
    for i in range(count):
        pair = pairs[i]
        left = left_of(pair, routes, known)
        only = weigh_pair(pair, left, routes, known, plan, gains)
        slot = routes.slots[routes.targets[pair]]
        if slot < 0:
            continue
        edges[slot] += left
        need = routes.needs[pair]
        for at in range(routes.starts[need], routes.starts[need + 1]):
            if known[routes.literals[at] >> 1] == UNASKED:
                own[slot, plan.answered_by[routes.literals[at] >> 1]] += 1
        if only != NONE:
            chances[slot, only] = max(chances[slot, only], pass_chance(pair, routes, known, plan))
    for slot in range(links):
        for model in range(models):
            if chances[slot, model] > 0:
                gains[model] += chances[slot, model] * (edges[slot] - own[slot, model])
    return gains


@njit(cache=True)
def cheapest(costs: Floats, gains: Floats, allowed: Bools) -> int:
    """The allowed model with the least cost for its gain, or NONE."""
    best, least = NONE, np.inf
    for model in range(len(costs)):
        if allowed[model] and gains[model] > 0 and costs[model] < least * gains[model]:
            best, least = model, costs[model] / gains[model]
    return best


@njit(cache=True)
def next_model(
    pairs: Int32s, count: int, routes: Routes, known: Marks, plan: PlanArrays, extended: bool
) -> int:
    """The model of least unit price among those that open pairs need, or NONE."""
    if count == 0:
        return NONE
    if extended:
        gains = extended_gains(pairs, count, routes, known, plan)
    else:
        gains = unit_gains(pairs, count, routes, known, plan)
    return cheapest(plan.costs, gains, np.ones(len(gains), np.bool_))


@njit(cache=True)
def advance(
    pairs: Int32s,
    count: int,
    routes: Routes,
    known: Marks,
    states: Bytes,
    plan: PlanArrays,
    extended: bool,
) -> tuple[int, int]:
    """Settle an event and choose its next model: how many pairs are open, and the model."""
    count = settle(pairs, count, routes, known, states)
    return count, next_model(pairs, count, routes, known, plan, extended)


@njit(cache=True)
def reach_candidates(
    pairs: Int32s, routes: Routes, known: Marks, states: Bytes, among: int
) -> None:
    """Mark the first links as reached wherever a pair may still hold."""
    for i in range(len(pairs)):
        target = routes.targets[pairs[i]]
        if target < among and states[target] == WAITING and left_of(pairs[i], routes, known) >= 0:
            states[target] = REACHED
