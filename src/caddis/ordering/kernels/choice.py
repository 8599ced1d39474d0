"""Which models each event runs next, for a whole batch of graphs at a time.

Open clauses that share neither a model nor a link have nothing to do with each other: an event's
clauses fall into such parts, and each part picks a model of its own, all in one round. What a part
picks depends on nothing but what is open in it, and parts that are left with the same are frequent:
the choices that take thought are remembered under a hash of the part.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Int32s
from caddis.compiling import inner_kernel, kernel
from caddis.models import UNASKED, Marks
from caddis.ordering.kernels.exact import solved
from caddis.ordering.kernels.layout import MEMO, NONE, Clauses, GraphArrays, MemoArrays, PlanArrays
from caddis.ordering.kernels.lookahead import lookahead
from caddis.ordering.kernels.parts import Scratch, new_scratch, part_ends, state_key
from caddis.ordering.kernels.prices import (
    cheapest_refutation,
    extended_unit_price,
    prank,
    unit_price,
)
from caddis.ordering.kernels.residual import settle
from caddis.ordering.kernels.rollout import MOST_CLAUSES, better, compact, lookahead_either

RUN_ALL, PER_SUBSCRIPTION, PRANK, UNIT_PRICE, EMEC, LOOKAHEAD, FORESIGHT, ROLLOUT = range(8)
POLICY_NUMBERS = {
    "run-all": RUN_ALL,
    "per-subscription": PER_SUBSCRIPTION,
    "prank": PRANK,
    "unit-price": UNIT_PRICE,
    "emec": EMEC,
    "lookahead": LOOKAHEAD,
    "foresight": FORESIGHT,
    "rollout": ROLLOUT,
}
"""The policies, as the kernels know them; those from LOOKAHEAD on think, the others are greedy."""

MOST_LOOKED_AHEAD = 256
"""In a part of more clauses the unit price is as good as looking ahead, and far quicker."""

FULL = MEMO * 3 // 4
"""How many slots of a memo may be taken. A fuller table would be slow to search, so nothing more is
remembered then.
"""


@inner_kernel
def needs_model(model: int, begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> bool:
    """Whether an open clause needs a model."""
    for i in range(begin, begin + count):
        start = clauses.literal_starts[clauses.order[i]]
        for at in range(start, start + clauses.literal_counts[clauses.order[i]]):
            if plan.answered_by[clauses.literals[at] >> 1] == model:
                return True
    return False


@inner_kernel
def only_model(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> int:
    """The model that all open clauses need, if they need no other; else NONE."""
    # Any model of the first clause will do to compare with.
    model = cheapest_refutation(begin, clauses, plan)
    for i in range(begin, begin + count):
        start = clauses.literal_starts[clauses.order[i]]
        for at in range(start, start + clauses.literal_counts[clauses.order[i]]):
            if plan.answered_by[clauses.literals[at] >> 1] != model:
                return NONE
    return model


@inner_kernel
def shares_links(begin: int, count: int, clauses: Clauses) -> bool:
    """Whether a clause of a part leads to a link that others lead to as well."""
    for i in range(begin, begin + count):
        clause = clauses.order[i]
        while clause >= 0:
            if clauses.share_starts[clause + 1] > clauses.share_starts[clause]:
                return True
            clause = clauses.twins[clause]
    return False


@inner_kernel
def thoughtful(policy: int, begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> int:
    """The choice of a policy that looks ahead, for one part."""
    # What can be solved is solved; else lookahead decides, unless links have several clauses or
    # the unit price is to be tried against it.
    if policy > LOOKAHEAD and 1 < count <= MOST_CLAUSES:
        best = solved(begin, count, clauses, plan)
        if best != NONE:
            return best
    ahead = lookahead(begin, count, clauses, plan)
    if count == 1 or count > MOST_CLAUSES:
        return ahead
    if policy < ROLLOUT and not shares_links(begin, count, clauses):
        return ahead
    stack = compact(begin, count, clauses, len(plan.answered_by))
    if stack.clauses.shares.size > 0:
        either = lookahead_either(stack, plan)
        ahead = ahead if either == NONE else either
    return ahead if policy < ROLLOUT else better(stack, ahead, plan)


@inner_kernel
def greedy(policy: int, begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> int:
    """The choice of a policy that looks at prices alone."""
    if policy == PER_SUBSCRIPTION:
        return cheapest_refutation(begin, clauses, plan)
    if policy == PRANK:
        return prank(begin, count, clauses, plan)
    if policy == EMEC:
        return extended_unit_price(begin, count, clauses, plan)
    return unit_price(begin, count, clauses, plan)


@inner_kernel
def slot_of(key: int, memo: MemoArrays) -> int:
    """The slot of a key in the memo, or the free one where it belongs."""
    last = len(memo.keys) - 1
    slot = key & last
    while memo.keys[slot] != 0 and memo.keys[slot] != key:
        slot = (slot + 1) & last
    return int(slot)


@inner_kernel
def recalled(
    policy: int,
    begin: int,
    count: int,
    clauses: Clauses,
    plan: PlanArrays,
    memo: MemoArrays,
    scratch: Scratch,
) -> int:
    """The choice that was made for a part like this one, or is made now."""
    # Where one model is all that is needed there is nothing to choose, and nothing to remember.
    model = only_model(begin, count, clauses, plan)
    if model != NONE:
        return model
    key = state_key(begin, count, clauses, scratch)
    slot = slot_of(key, memo)
    if memo.keys[slot] == key:
        model = int(memo.models[slot])
        # Two different parts may have one hash: a choice that does not fit is thought over.
        if needs_model(model, begin, count, clauses, plan):
            return model
    model = thoughtful(policy, begin, count, clauses, plan)
    # A key that is there already is overwritten, which takes no slot.
    if memo.used[0] < FULL:
        memo.used[0] += memo.keys[slot] == 0
        memo.keys[slot], memo.models[slot] = key, model
    return model


@inner_kernel
def want_all(begin: int, count: int, clauses: Clauses, plan: PlanArrays, wanted: Bools) -> None:
    """Mark every model that some clauses need."""
    order, starts = clauses.order, clauses.literal_starts
    for i in range(begin, begin + count):
        for at in range(starts[order[i]], starts[order[i]] + clauses.literal_counts[order[i]]):
            wanted[plan.answered_by[clauses.literals[at] >> 1]] = True


@kernel
def choose(
    policy: int,
    events: Int32s,
    graph: GraphArrays,
    plan: PlanArrays,
    memo: MemoArrays,
    wanted: Bools,
) -> None:
    """Mark the models that events run next; each of these events has something open."""
    scratch, clauses = new_scratch(graph, plan), graph.clauses
    for event in events:
        begin, count = graph.starts[event], graph.counts[event]
        if policy == RUN_ALL:
            want_all(begin, count, clauses, plan, wanted[event])
            continue
        # Parts follow each other in the order of the clauses: each begins where the last one ended.
        for part in range(part_ends(event, graph, plan, scratch)):
            end = scratch.ends[part]
            if policy < LOOKAHEAD or end - begin > MOST_LOOKED_AHEAD:
                model = greedy(policy, begin, end - begin, clauses, plan)
            else:
                model = recalled(policy, begin, end - begin, clauses, plan, memo, scratch)
            wanted[event, model] = True
            begin = end


@kernel
def settle_events(events: Int32s, graph: GraphArrays, news: bool) -> Int32s:
    """Draw the conclusions of what is known of events, and give those that are still open."""
    still, kept, clauses = np.empty(len(events), np.int32), 0, graph.clauses
    for event in events:
        begin, count = graph.starts[event], graph.counts[event]
        graph.counts[event] = settle(begin, count, clauses, graph.known[event], news)
        if graph.counts[event] > 0:
            still[kept] = event
            kept += 1
    return still[:kept]


@kernel
def tell(events: Int32s, concepts: Int32s, answers: Marks, graph: GraphArrays) -> None:
    """Note answers, a row for each event and a column for each concept, where none is known yet."""
    for i in range(len(events)):
        for j in range(len(concepts)):
            # What is known already stays: it may have come with the event from another broker.
            if graph.known[events[i], concepts[j]] == UNASKED:
                graph.known[events[i], concepts[j]] = answers[i, j]
