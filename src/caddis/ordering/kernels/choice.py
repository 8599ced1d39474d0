"""Remembers choices that are expensive to make, for parts that are left with the same clauses.

What a part picks depends on nothing but what is open in it, and parts that are left with the same
are frequent: a choice is remembered under a hash of the part. Parts of one round with the same hash
are thought over once: `recall` gives the first of each kind, and `remember` tells the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from caddis.arrays import Anys, Int32s
from caddis.compiling import inner_kernel, kernel
from caddis.ordering.kernels.layout import MEMO, NONE, Clauses, MemoArrays, PlanArrays
from caddis.ordering.kernels.parts import state_key

FULL = MEMO * 3 // 4
"""How many slots of a memo may be taken. A fuller table would be slow to search, so nothing more is
remembered then.
"""
THOUGHT_OVER = -2
"""In the slot of a key that part i is the first of a round to have stands THOUGHT_OVER - i."""


@inner_kernel(borrows=True)
def needs_model(part: Any, model: int, clauses: Clauses, plan: PlanArrays) -> bool:
    """Whether an open clause of a part needs a model."""
    for i in range(part.begin, part.begin + part.count):
        need = clauses.needs[clauses.order[i]]
        for at in range(need.start, need.start + need.count):
            if plan.answered_by[clauses.literals[at] >> 1] == model:
                return True
    return False


@inner_kernel(borrows=True)
def only_model(part: Any, clauses: Clauses, plan: PlanArrays) -> int:
    """The model that all open clauses of a part need, if they need no other; else NONE."""
    # Any model of the first clause will do to compare with.
    first = clauses.needs[clauses.order[part.begin]]
    model = plan.answered_by[clauses.literals[first.start] >> 1]
    for i in range(part.begin, part.begin + part.count):
        need = clauses.needs[clauses.order[i]]
        for at in range(need.start, need.start + need.count):
            if plan.answered_by[clauses.literals[at] >> 1] != model:
                return NONE
    return int(model)


@inner_kernel(borrows=True)
def slot_of(key: int, memo: MemoArrays) -> int:
    """The slot of a key in the memo, or the free one where it belongs."""
    last = len(memo.keys) - 1
    slot = key & last
    while memo.keys[slot] != 0 and memo.keys[slot] != key:
        slot = (slot + 1) & last
    return slot


@kernel
def recall(
    some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays, memo: MemoArrays
) -> Int32s:
    """Choose for parts for which there is nothing to choose, or a choice is remembered.

    Gives those that are to be thought over, and leaves out those that are like one of them.
    """
    by_link, waiting, kept = np.zeros(len(clauses.done), np.int64), np.empty(len(some), np.int32), 0
    for i in some:
        part = parts[i]
        part.like, part.slot = i, NONE
        # Where one model is all that is needed there is nothing to remember.
        part.choice = only_model(part, clauses, plan)
        if part.choice != NONE:
            continue
        part.key = state_key(part.begin, part.count, clauses, by_link)
        slot = slot_of(part.key, memo)
        if memo.keys[slot] == part.key:
            model = memo.models[slot]
            first = THOUGHT_OVER - model
            # What stands there may have been left by a round that was broken off.
            if 0 <= first < i and parts[first].key == part.key:
                part.like = first
                continue
            # Two different parts may have one hash: a choice that does not fit is thought over.
            if needs_model(part, model, clauses, plan):
                part.choice = model
                continue
        waiting[kept] = i
        kept += 1
        # A key that is there already is overwritten, which takes no slot.
        if memo.used[0] < FULL:
            memo.used[0] += memo.keys[slot] == 0
            part.slot, memo.keys[slot], memo.models[slot] = slot, part.key, THOUGHT_OVER - i
    return waiting[:kept]


@kernel
def remember(
    some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays, memo: MemoArrays
) -> Int32s:
    """Remember choices, and let parts choose like those that they are like.

    Gives those that such a choice does not fit, since two different parts may have one hash; they
    are to be thought over, too.
    """
    unlike, kept = np.empty(len(some), np.int32), 0
    for i in some:
        part = parts[i]
        if part.slot != NONE:
            memo.models[part.slot] = part.choice
        elif part.like != i:
            model = parts[part.like].choice
            if needs_model(part, model, clauses, plan):
                part.choice = model
            else:
                part.like, unlike[kept] = i, i
                kept += 1
    return unlike[:kept]
