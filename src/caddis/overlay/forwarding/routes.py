"""The publication routing graph as arrays, and the loops that decide one event on it.

A pair is a clause and a link that it leads to, the paper's subscription node. Pairs are numbered
link by link, so those of one link lie next to each other:

    pair ──needs──▶ need ──starts──▶ literals          literal 2c: concept c, 2c + 1: NOT c
    pair ──targets──▶ link ──slots──▶ its place among the links that several pairs lead to

What is open follows from what is known: a pair with a refuted literal leaves, one with nothing left
to ask satisfies its link, and the link's other pairs leave with it (the paper's graph
short-cutting). So the only state is the marks and a list of open pairs that gets shorter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Bools, Bytes, Floats, Int32s, Int64s, offsets_of
from caddis.compiling import kernel
from caddis.matching import NOTHING
from caddis.models import NO, UNASKED, YES, Marks
from caddis.ordering import Demand
from caddis.ordering.kernels import NONE, PlanArrays

ALWAYS = -1
"""Stands for a link's slot if only one pair leads to it: no other pair can leave with it."""


class Routes(NamedTuple):
    """The pairs of clause and link; the arrays are drawn above."""

    needs: Int32s
    """For each pair: its need. The last of all needs is empty, for clauses without concepts."""
    targets: Int32s
    """For each pair: its link."""
    starts: Int32s
    literals: Int32s
    """The literals of need n are `literals[starts[n]:starts[n + 1]]`."""
    slots: Int32s
    """For each link: its slot, or ALWAYS."""
    target_starts: Int32s
    """For each link: its first pair."""


class PairIndex(NamedTuple):
    """The pairs of each clause of a demand: `pairs[starts[clause]:starts[clause + 1]]`."""

    starts: Int64s
    pairs: Int32s


def routes_of(demand: Demand, numbers: Int32s) -> tuple[Routes, PairIndex]:
    """Lay out the pairs of a demand.

    numbers: for each concept of the demand, its number in the overlay.
    """
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
        offsets_of(counts, np.int32),
    )
    by_clause = np.argsort(order).astype(np.int32)
    return routes, PairIndex(demand.link_starts, by_clause)


WAITING, REACHED, SERVED = range(3)
"""The states of a link: undecided or refuted, satisfied just now, satisfied and sent to."""


@kernel
def left_of(pair: int, routes: Routes, known: Marks) -> int:
    """How many literals of a pair are unanswered; -1 if any is not true."""
    need, left = routes.needs[pair], 0
    for at in range(routes.starts[need], routes.starts[need + 1]):
        literal = routes.literals[at]
        mark = known[literal >> 1]
        if mark == UNASKED:
            left += 1
        elif mark != (NO if literal & 1 else YES):
            # UNKNOWN, too, makes neither a concept nor its negation true.
            return -1
    return left


@kernel
def settle(pairs: Int32s, count: int, routes: Routes, known: Marks, states: Bytes) -> int:
    """Move the open pairs to the front, in place; return their number, and mark reached links."""
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
    # Pairs that were kept before their link was reached leave in a second pass.
    count, kept = kept, 0
    for i in range(count):
        if states[routes.targets[pairs[i]]] == WAITING:
            pairs[kept] = pairs[i]
            kept += 1
    return kept


@kernel
def weigh_pair(
    pair: int, left: int, routes: Routes, known: Marks, plan: PlanArrays, gains: Floats
) -> int:
    """Add to each model's gain the edges of a pair that it is expected to cover.

    Answers that are all true cover the model's own edges, any other all that the pair has left.
    Returns the model if it alone can answer what is left, or NONE.
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
        # A model may answer several literals of the pair: count it at the first of them only.
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


@kernel
def pass_chance(pair: int, routes: Routes, known: Marks, plan: PlanArrays) -> float:
    """The chance that everything that a pair has left is true."""
    need, chance = routes.needs[pair], 1.0
    for at in range(routes.starts[need], routes.starts[need + 1]):
        if known[routes.literals[at] >> 1] == UNASKED:
            chance *= plan.chances[routes.literals[at]]
    return chance


@kernel
def unit_gains(pairs: Int32s, count: int, routes: Routes, known: Marks, plan: PlanArrays) -> Floats:
    """For each model: the edges that it is expected to cover (equation 1 of the paper)."""
    gains = np.zeros(len(plan.costs))
    for i in range(count):
        weigh_pair(pairs[i], left_of(pairs[i], routes, known), routes, known, plan, gains)
    return gains


@kernel
def extended_gains(
    pairs: Int32s, count: int, routes: Routes, known: Marks, plan: PlanArrays
) -> Floats:
    """Unit gains and the edges that leave when a true answer satisfies a link: EMEC's cover.

    An edge that an answer covers both by refuting its pair and by satisfying the link counts twice.
    With one concept for each model and no NOT, as in the paper, there is no such edge.
    """
    models, links = len(plan.costs), np.max(routes.slots) + 1 if len(routes.slots) else 0
    gains, edges = np.zeros(models), np.zeros(links)
    # By slot and model: the edges that the model covers itself, and the chance that it alone
    # satisfies the link.
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


@kernel
def cheapest(costs: Floats, gains: Floats, allowed: Bools) -> int:
    """The allowed model of least cost by gain, or NONE."""
    best, least = NONE, np.inf
    for model in range(len(costs)):
        if allowed[model] and gains[model] > 0 and costs[model] < least * gains[model]:
            best, least = model, costs[model] / gains[model]
    return best


@kernel
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


@kernel
def advance(
    pairs: Int32s,
    count: int,
    routes: Routes,
    known: Marks,
    states: Bytes,
    plan: PlanArrays,
    extended: bool,
) -> tuple[int, int]:
    """Settle an event and choose its next model; return the number of open pairs and the model."""
    count = settle(pairs, count, routes, known, states)
    return count, next_model(pairs, count, routes, known, plan, extended)


@kernel
def reach_candidates(
    pairs: Int32s, routes: Routes, known: Marks, states: Bytes, among: int
) -> None:
    """Mark those of the first `among` links as reached to which a pair leads that may hold."""
    for i in range(len(pairs)):
        target = routes.targets[pairs[i]]
        if target < among and states[target] == WAITING and left_of(pairs[i], routes, known) >= 0:
            states[target] = REACHED
