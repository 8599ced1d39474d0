"""The greedy prices of the papers: what it is worth to run a model next.

Each kernel takes the open clauses of one event and gives the model to run. An edge leads from a
clause to a concept that it needs, and counts as often as links wait for the clause. A model that
answers several concepts of a clause is priced once for all of them.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Anys, Bools, Floats, Int32s
from caddis.compiling import inner_kernel, kernel
from caddis.ordering.kernels.layout import NONE, Clauses, GraphArrays, PlanArrays


@inner_kernel(borrows=True)
def is_first(literals: Int32s, start: int, at: int, answered_by: Int32s) -> bool:
    """Whether no literal of the clause before `at` is answered by the same model."""
    model = answered_by[literals[at] >> 1]
    for i in range(start, at):
        if answered_by[literals[i] >> 1] == model:
            return False
    return True


@inner_kernel(borrows=True)
def pass_chance(literals: Int32s, at: int, end: int, plan: PlanArrays) -> tuple[float, int]:
    """How likely the model of a literal leaves its clause alive, and how many edges it covers."""
    model = plan.answered_by[literals[at] >> 1]
    chance, edges = plan.chances[literals[at]], 1
    for i in range(at + 1, end):
        if plan.answered_by[literals[i] >> 1] == model:
            chance *= plan.chances[literals[i]]
            edges += 1
    return chance, edges


@inner_kernel(borrows=True)
def best_ratio(costs: Floats, gains: Floats) -> int:
    """The model with the least cost for its gain; models without any gain are no choice."""
    best, least = NONE, np.inf
    for model in range(len(costs)):
        if gains[model] > 0 and costs[model] < least * gains[model]:
            best, least = model, costs[model] / gains[model]
    return best


@inner_kernel
def unit_price(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> int:
    """Liu et al.'s edge cover (equation 1 of the adaptive-filtering paper).

    A true literal covers its own edge, a false one all edges of its clause.
    """
    gains, literals = np.zeros(len(plan.costs)), clauses.literals
    for i in range(begin, begin + count):
        need = clauses.needs[clauses.order[i]]
        start, length = need.start, need.count
        for at in range(start, start + length):
            if is_first(literals, start, at, plan.answered_by):
                chance, edges = pass_chance(literals, at, start + length, plan)
                gain = need.weight * (chance * edges + (1 - chance) * length)
                gains[plan.answered_by[literals[at] >> 1]] += gain
    return best_ratio(plan.costs, gains)


@inner_kernel(borrows=True)
def share_range(begin: int, count: int, clauses: Clauses) -> tuple[int, int]:
    """The shared links of open clauses lie from the first number up to the second.

    They are numbered event by event, so this is a short range, and tables by link can be small.
    """
    low, high = len(clauses.done), 0
    for i in range(begin, begin + count):
        clause = clauses.order[i]
        while clause >= 0:
            wait = clauses.waits[clause]
            for s in range(wait.start, wait.start + wait.count):
                low, high = min(low, clauses.shares[s]), max(high, clauses.shares[s] + 1)
            clause = wait.twin
    return low, max(low, high)


@inner_kernel(borrows=True)
def links_waiting(clause: int, clauses: Clauses) -> int:
    """How many links still wait for a clause or its twins: those that are satisfied do not."""
    waiting, done = clauses.needs[clause].weight, clauses.done
    while clause >= 0:
        wait = clauses.waits[clause]
        for s in range(wait.start, wait.start + wait.count):
            waiting -= done[clauses.shares[s]]
        clause = wait.twin
    return int(waiting)


@inner_kernel
def extended_unit_price(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> int:
    """The unit price with the edges that go along when a link is satisfied: the paper's EMEC.

    A model that may satisfy a clause, and thereby a link, covers all edges of the link's clauses.
    An edge that an answer covers both so and by refuting its clause counts twice; with one concept
    a model and no NOT, as in the paper, there is none.
    """
    models, literals = len(plan.costs), clauses.literals
    low, high = share_range(begin, count, clauses)
    # edges: those of each link's clauses; own: those among them that lead to a model; chances: how
    # likely a model alone satisfies the link.
    gains, edges = np.zeros(models), np.zeros(high - low)
    own, chances = np.zeros((high - low, models)), np.zeros((high - low, models))
    for i in range(begin, begin + count):
        clause = clauses.order[i]
        start, length = clauses.needs[clause].start, clauses.needs[clause].count
        weight = links_waiting(clause, clauses)
        for at in range(start, start + length):
            if not is_first(literals, start, at, plan.answered_by):
                continue
            model = plan.answered_by[literals[at] >> 1]
            chance, covered = pass_chance(literals, at, start + length, plan)
            gains[model] += weight * (chance * covered + (1 - chance) * length)
            twin = clause
            while twin >= 0:
                wait = clauses.waits[twin]
                for s in range(wait.start, wait.start + wait.count):
                    link = clauses.shares[s] - low
                    if not clauses.done[clauses.shares[s]]:
                        edges[link] += covered
                        own[link, model] += covered
                        # Only a model that is all that a clause still needs can satisfy it.
                        if covered == length:
                            chances[link, model] = max(chances[link, model], chance)
                twin = wait.twin
    for link in range(high - low):
        for model in range(models):
            gains[model] += chances[link, model] * (edges[link] - own[link, model])
    return best_ratio(plan.costs, gains)


@inner_kernel
def prank(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> int:
    """Munagala et al.'s rank: the cost by the clauses that a model is expected to refute.

    A model that can refute none (every literal is certain) still has to run, so it gains a little.
    """
    gains, literals = np.zeros(len(plan.costs)), clauses.literals
    for i in range(begin, begin + count):
        need = clauses.needs[clauses.order[i]]
        start, length = need.start, need.count
        for at in range(start, start + length):
            if is_first(literals, start, at, plan.answered_by):
                chance, _ = pass_chance(literals, at, start + length, plan)
                gain = need.weight * max(1 - chance, 1e-9)
                gains[plan.answered_by[literals[at] >> 1]] += gain
    return best_ratio(plan.costs, gains)


@inner_kernel(borrows=True)
def cheapest_refutation(begin: int, clauses: Clauses, plan: PlanArrays) -> int:
    """The first literal of the first open clause: what one subscription alone would run."""
    first = clauses.literals[clauses.needs[clauses.order[begin]].start]
    return int(plan.answered_by[first >> 1])


@inner_kernel(borrows=True)
def want_needs(begin: int, count: int, clauses: Clauses, plan: PlanArrays, wanted: Bools) -> None:
    """Mark every model that these clauses need."""
    for i in range(begin, begin + count):
        need = clauses.needs[clauses.order[i]]
        for at in range(need.start, need.start + need.count):
            wanted[plan.answered_by[clauses.literals[at] >> 1]] = True


@kernel
def want_all(events: Int32s, graph: GraphArrays, plan: PlanArrays, wanted: Bools) -> None:
    """Mark every model that events need."""
    for event in events:
        begin, count = graph.starts[event], graph.counts[event]
        want_needs(begin, count, graph.clauses, plan, wanted[event])


@kernel
def by_unit_price(some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays) -> None:
    """Choose for some parts by the unit price."""
    for i in some:
        parts[i].choice = unit_price(parts[i].begin, parts[i].count, clauses, plan)


@kernel
def by_extended_unit_price(some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays) -> None:
    """Choose for some parts by the unit price of the paper's EMEC."""
    for i in some:
        parts[i].choice = extended_unit_price(parts[i].begin, parts[i].count, clauses, plan)


@kernel
def by_prank(some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays) -> None:
    """Choose for some parts by Munagala et al.'s rank."""
    for i in some:
        parts[i].choice = prank(parts[i].begin, parts[i].count, clauses, plan)


@kernel
def by_refutation(some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays) -> None:
    """Choose for some parts what refutes their first clause most cheaply."""
    for i in some:
        parts[i].choice = cheapest_refutation(parts[i].begin, clauses, plan)
