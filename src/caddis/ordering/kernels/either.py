"""The lookahead where links have several clauses, any of which will do.

A clause whose links are all satisfied by others is never evaluated, so each clause has a *gate*:
how likely one of its links still waits when its turn comes, if the clauses of a link are tried one
after another, those that promise most for their cost first. A clause with a link of its own has a
gate of 1. Reach, need and the value of a state are those of `lookahead`; only that the value is
worked out anew for every answer, which is affordable for some dozens of clauses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from caddis.arrays import Anys, Floats, Int32s
from caddis.compiling import inner_kernel, kernel
from caddis.models import NO, UNASKED, YES, Marks
from caddis.ordering.kernels.layout import MOST_ASKED, MOST_CLAUSES, NONE, Clauses, PlanArrays
from caddis.ordering.kernels.prices import want_needs


@inner_kernel(borrows=True)
def concepts_at(
    begin: int, count: int, clauses: Clauses, model: int, answered_by: Int32s, asked: Int32s
) -> int:
    """How many concepts of a model are open, or -1 if they do not fit `asked`."""
    found = 0
    for i in range(begin, begin + count):
        need = clauses.needs[clauses.order[i]]
        for at in range(need.start, need.start + need.count):
            concept = clauses.literals[at] >> 1
            if answered_by[concept] == model:
                k = 0
                while k < found and asked[k] != concept:
                    k += 1
                if k == len(asked):
                    return -1
                if k == found:
                    asked[found] = concept
                    found += 1
    return found


@inner_kernel(borrows=True)
def suppose(known: Marks, outcome: int, asks: int, asked: Int32s, chances: Floats) -> float:
    """Suppose that the asked concepts are as the outcome's bits say; gives how likely that is."""
    chance = 1.0
    for k in range(asks):
        yes = (outcome >> k) & 1
        known[asked[k]] = YES if yes else NO
        chance *= chances[2 * asked[k] + 1 - yes]
    return chance


@inner_kernel(borrows=True)
def thin_chance(literals: Int32s, start: int, count: int, known: Marks, chances: Floats) -> float:
    """How likely what is left of a clause holds; -1 if one of its literals is not true."""
    chance = 1.0
    for i in range(start, start + count):
        literal = literals[i]
        answer = known[literal >> 1]
        if answer == UNASKED:
            chance *= chances[literal]
        elif answer != (NO if literal & 1 else YES):
            return -1.0
    return chance


@inner_kernel(borrows=True)
def shares_links(begin: int, count: int, clauses: Clauses) -> bool:
    """Whether a clause of a part leads to a link that others lead to as well."""
    for i in range(begin, begin + count):
        clause = clauses.order[i]
        while clause >= 0:
            wait = clauses.waits[clause]
            if wait.count > 0:
                return True
            clause = wait.twin
    return False


@inner_kernel(borrows=True)
def promise(need: Any, literals: Int32s, plan: PlanArrays) -> float:
    """What a clause alone is expected to cost, divided by its chance to hold: less is better."""
    cost, chance = 0.0, 1.0
    for at in range(need.start, need.start + need.count):
        cost += chance * plan.costs[plan.answered_by[literals[at] >> 1]]
        chance *= plan.chances[literals[at]]
    return cost / max(chance, 1e-12)


@inner_kernel
def by_promise(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> Int32s:
    """The clauses of a part in the order in which they are tried."""
    tried, promises = np.empty(count, np.int32), np.empty(count)
    for i in range(count):
        clause, at = clauses.order[begin + i], i
        own = promise(clauses.needs[clause], clauses.literals, plan)
        while at > 0 and promises[at - 1] > own:
            tried[at], promises[at] = tried[at - 1], promises[at - 1]
            at -= 1
        tried[at], promises[at] = clause, own
    return tried


@inner_kernel(borrows=True)
def gate(clause: int, clauses: Clauses, waiting: Floats) -> float:
    """How likely a link still waits for a clause or its twins when its turn comes."""
    satisfied = 1.0
    while clause >= 0:
        wait = clauses.waits[clause]
        if wait.pinned:
            return 1.0
        for s in range(wait.start, wait.start + wait.count):
            satisfied *= 1 - waiting[clauses.shares[s]]
        clause = wait.twin
    return 1 - satisfied


@inner_kernel(borrows=True)
def reset_links(tried: Int32s, clauses: Clauses, waiting: Floats) -> None:
    """Let every link of some clauses wait that is not done."""
    for clause in tried:
        twin = clause
        while twin >= 0:
            wait = clauses.waits[twin]
            for s in range(wait.start, wait.start + wait.count):
                waiting[clauses.shares[s]] = 0.0 if clauses.done[clauses.shares[s]] else 1.0
            twin = wait.twin


@inner_kernel(borrows=True)
def value(
    tried: Int32s, clauses: Clauses, known: Marks, plan: PlanArrays, waiting: Floats, idle: Floats
) -> float:
    """What is expected to be paid for a part, with what is known besides."""
    reset_links(tried, clauses, waiting)
    for model in range(len(plan.costs)):
        idle[model] = 1.0
    for clause in tried:
        need = clauses.needs[clause]
        holds = thin_chance(clauses.literals, need.start, need.count, known, plan.chances)
        if holds < 0:
            continue
        reach = gate(clause, clauses, waiting)
        for at in range(need.start, need.start + need.count):
            literal = clauses.literals[at]
            if known[literal >> 1] == UNASKED:
                idle[plan.answered_by[literal >> 1]] *= 1 - reach
                reach *= plan.chances[literal]
        twin = clause
        while twin >= 0:
            wait = clauses.waits[twin]
            for s in range(wait.start, wait.start + wait.count):
                waiting[clauses.shares[s]] *= 1 - holds
            twin = wait.twin
    total = 0.0
    for model in range(len(plan.costs)):
        total += plan.costs[model] * (1 - idle[model])
    return total


@inner_kernel
def lookahead_either(
    begin: int, count: int, clauses: Clauses, plan: PlanArrays, waiting: Floats
) -> int:
    """The model that minimises its cost and what is expected to remain after it.

    NONE if a model answers too many open concepts for that to be worked out.

    waiting: memory for a number for each shared link.
    """
    tried = by_promise(begin, count, clauses, plan)
    idle, asked = np.empty(len(plan.costs)), np.empty(MOST_ASKED, np.int32)
    known, needed = np.empty(len(plan.answered_by), np.uint8), np.zeros(len(plan.costs), np.bool_)
    for concept in range(len(known)):
        known[concept] = UNASKED
    want_needs(begin, count, clauses, plan, needed)
    best, least = NONE, np.inf
    for model in range(len(plan.costs)):
        if not needed[model]:
            continue
        asks = concepts_at(begin, count, clauses, model, plan.answered_by, asked)
        if asks < 0:
            return NONE
        total = plan.costs[model]
        for outcome in range(1 << asks):
            chance = suppose(known, outcome, asks, asked, plan.chances)
            if chance > 0:
                total += chance * value(tried, clauses, known, plan, waiting, idle)
        for k in range(asks):
            known[asked[k]] = UNASKED
        if total < least:
            best, least = model, total
    return best


@kernel
def by_lookahead_either(some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays) -> None:
    """Choose again for those of some parts that share links, where that can be worked out."""
    waiting = np.empty(len(clauses.done))
    for i in some:
        begin, count = parts[i].begin, parts[i].count
        if 1 < count <= MOST_CLAUSES and shares_links(begin, count, clauses):
            choice = lookahead_either(begin, count, clauses, plan, waiting)
            if choice != NONE:
                parts[i].choice = choice
