"""Which models each event runs next, for a whole batch of graphs at a time.

Open clauses that share neither a model nor a link have nothing to do with each other: an event's
clauses fall into such parts, and each part picks a model of its own, all in one round. What a part
picks depends on nothing but what is open in it, and parts that are left with the same are frequent:
the choices that take thought are remembered under a hash of the part.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Bools, Int32s, Int64s
from caddis.models import UNASKED, Marks
from caddis.ordering.either_kernels import lookahead_either
from caddis.ordering.exact_kernels import open_models, solved
from caddis.ordering.layout import MEMO, GraphArrays, MemoArrays, PlanArrays
from caddis.ordering.lookahead_kernels import lookahead
from caddis.ordering.part_kernels import Scratch, new_scratch, part_ends, state_key
from caddis.ordering.price_kernels import NONE, cheapest_refutation, prank, unit_price
from caddis.ordering.residual_kernels import settle
from caddis.ordering.rollout_kernels import MOST_CLAUSES, better, compact

RUN_ALL, PER_SUBSCRIPTION, PRANK, UNIT_PRICE, LOOKAHEAD, FORESIGHT, ROLLOUT = range(7)
"""The policies, as the kernels know them."""

FULL = MEMO * 3 // 4


@njit(cache=True)
def has_open(
    model: int,
    begin: int,
    count: int,
    order: Int32s,
    literal_starts: Int64s,
    literal_counts: Int32s,
    literals: Int32s,
    answered_by: Int32s,
) -> bool:
    """Whether an open clause needs a model."""
    for i in range(begin, begin + count):
        start = literal_starts[order[i]]
        for at in range(start, start + literal_counts[order[i]]):
            if answered_by[literals[at] >> 1] == model:
                return True
    return False


@njit(cache=True)
def remembered(keys: Int64s, key: int) -> int:
    """The slot of a key in the memo, or the free one where it belongs."""
    slot = key & (len(keys) - 1)
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + 1) & (len(keys) - 1)
    return int(slot)


@njit(cache=True)
def shares_links(begin: int, count: int, graph: GraphArrays) -> bool:
    """Whether a clause of a part leads to a link that others lead to as well."""
    for i in range(begin, begin + count):
        clause = graph.order[i]
        while clause >= 0:
            if graph.share_starts[clause + 1] > graph.share_starts[clause]:
                return True
            clause = graph.twins[clause]
    return False


@njit(cache=True)
def thoughtful(policy: int, begin: int, count: int, graph: GraphArrays, plan: PlanArrays) -> int:
    """The choice of a policy that looks ahead, for one part."""
    ahead = lookahead(
        begin,
        count,
        graph.order,
        graph.literal_starts,
        graph.literal_counts,
        graph.literals,
        plan.costs,
        plan.chances,
        plan.answered_by,
    )
    if count == 1 or count > MOST_CLAUSES:
        return ahead
    if policy == LOOKAHEAD and not shares_links(begin, count, graph):
        return ahead
    stack = compact(
        begin,
        count,
        graph.order,
        graph.literal_starts,
        graph.literal_counts,
        graph.literals,
        graph.twins,
        graph.pinned,
        graph.share_starts,
        graph.shares,
        graph.done,
        len(plan.answered_by),
    )
    models = open_models(stack, plan.answered_by)
    if stack.shares.size > 0:
        either = lookahead_either(stack, models, plan.costs, plan.chances, plan.answered_by)
        ahead = ahead if either == NONE else either
    if policy == LOOKAHEAD:
        return ahead
    best = solved(stack, ahead, plan.costs, plan.chances, plan.answered_by)
    if best != NONE:
        return best
    if policy == FORESIGHT:
        return ahead
    return better(stack, ahead, plan.costs, plan.chances, plan.answered_by)


@njit(cache=True)
def greedy(policy: int, begin: int, count: int, graph: GraphArrays, plan: PlanArrays) -> int:
    """The choice of a policy that looks at prices alone."""
    if policy == PER_SUBSCRIPTION:
        return cheapest_refutation(
            begin, graph.order, graph.literal_starts, graph.literals, plan.answered_by
        )
    if policy == PRANK:
        return prank(
            begin,
            count,
            graph.order,
            graph.literal_starts,
            graph.literal_counts,
            graph.literals,
            graph.weights,
            plan.costs,
            plan.chances,
            plan.answered_by,
        )
    return unit_price(
        begin,
        count,
        graph.order,
        graph.literal_starts,
        graph.literal_counts,
        graph.literals,
        graph.weights,
        plan.costs,
        plan.chances,
        plan.answered_by,
        True,
    )


@njit(cache=True)
def recalled(
    policy: int,
    begin: int,
    count: int,
    graph: GraphArrays,
    plan: PlanArrays,
    memo: MemoArrays,
    scratch: Scratch,
) -> int:
    """The choice that was made for a part like this one, or is made now."""
    key = state_key(begin, count, graph, scratch)
    slot = remembered(memo.keys, key)
    if memo.keys[slot] == key:
        model = int(memo.models[slot])
        # Two different parts may have one hash: a choice that does not fit is thought over.
        if has_open(
            model,
            begin,
            count,
            graph.order,
            graph.literal_starts,
            graph.literal_counts,
            graph.literals,
            plan.answered_by,
        ):
            return model
    model = thoughtful(policy, begin, count, graph, plan)
    if memo.used[0] < FULL:
        memo.used[0] += memo.keys[slot] == 0
        memo.keys[slot], memo.models[slot] = key, model
    return model


@njit(cache=True)
def want_all(begin: int, count: int, graph: GraphArrays, plan: PlanArrays, wanted: Bools) -> None:
    """Every model that some clauses need."""
    order, starts = graph.order, graph.literal_starts
    for i in range(begin, begin + count):
        for at in range(starts[order[i]], starts[order[i]] + graph.literal_counts[order[i]]):
            wanted[plan.answered_by[graph.literals[at] >> 1]] = True


@njit(cache=True)
def choose(
    policy: int,
    events: Int32s,
    graph: GraphArrays,
    plan: PlanArrays,
    memo: MemoArrays,
    wanted: Bools,
) -> None:
    """Mark the models that events want to run next; each of them has something open."""
    scratch = new_scratch(graph, plan)
    for event in events:
        begin, count = graph.starts[event], graph.counts[event]
        if policy == RUN_ALL:
            want_all(begin, count, graph, plan, wanted[event])
            continue
        for part in range(part_ends(event, graph, plan, scratch)):
            end = scratch.ends[part]
            if policy < LOOKAHEAD:
                model = greedy(policy, begin, end - begin, graph, plan)
            else:
                model = recalled(policy, begin, end - begin, graph, plan, memo, scratch)
            wanted[event, model] = True
            begin = end


@njit(cache=True)
def settle_events(events: Int32s, graph: GraphArrays, news: bool) -> Int32s:
    """Bring events up to what is known of them; those that are still open."""
    still = np.empty(len(events), np.int32)
    kept = 0
    for event in events:
        graph.counts[event] = settle(
            graph.starts[event],
            graph.counts[event],
            graph.order,
            graph.literal_starts,
            graph.literal_counts,
            graph.literals,
            graph.twins,
            graph.weights,
            graph.pinned,
            graph.share_starts,
            graph.shares,
            graph.done,
            graph.verdicts,
            graph.known[event],
            news,
        )
        if graph.counts[event] > 0:
            still[kept] = event
            kept += 1
    return still[:kept]


@njit(cache=True)
def tell(events: Int32s, concepts: Int32s, answers: Marks, graph: GraphArrays) -> None:
    """Note answers (a row an event, a column a concept) where none is known yet."""
    for i in range(len(events)):
        for j in range(len(concepts)):
            if graph.known[events[i], concepts[j]] == UNASKED:
                graph.known[events[i], concepts[j]] = answers[i, j]
