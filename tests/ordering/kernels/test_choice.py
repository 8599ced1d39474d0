"""A choice is remembered for parts that are left with the same, and for no others."""

from __future__ import annotations

import numpy as np

from caddis.ordering.kernels import NONE, recall, remember, split
from caddis.ordering.kernels.choice import THOUGHT_OVER
from tests.ordering.twins import an_instance, graphs_of

ROUND = np.arange(2, dtype=np.int32)


def two_events():
    """Two events that are left with the same, of which model 2 is no part."""
    return graphs_of(an_instance([3, 2, 1], [0.5] * 3, {0, 2}, {0}), events=2)


def test_parts_that_are_alike_follow_the_one_that_is_thought_over():
    graphs, plan = two_events()
    clauses = graphs.arrays.clauses
    parts = split(graphs.open, graphs.arrays, plan.arrays)
    assert recall(ROUND, parts, clauses, plan.arrays, plan.memo).tolist() == [0]
    parts["choice"][0] = 1
    assert remember(ROUND, parts, clauses, plan.arrays, plan.memo).tolist() == []
    assert parts["choice"].tolist() == [1, 1]
    again = split(graphs.open, graphs.arrays, plan.arrays)
    assert recall(ROUND, again, clauses, plan.arrays, plan.memo).tolist() == []
    assert again["choice"].tolist() == [1, 1]


def test_a_part_that_has_no_use_for_the_choice_of_one_like_it_is_thought_over_itself():
    """Two different parts may have one hash; here the first one's choice is no model of either."""
    graphs, plan = two_events()
    clauses = graphs.arrays.clauses
    parts = split(graphs.open, graphs.arrays, plan.arrays)
    recall(ROUND, parts, clauses, plan.arrays, plan.memo)
    parts["choice"][0] = 2
    assert remember(ROUND, parts, clauses, plan.arrays, plan.memo).tolist() == [1]
    assert parts["choice"].tolist() == [2, NONE]
    parts["choice"][1] = 0
    assert remember(ROUND, parts, clauses, plan.arrays, plan.memo).tolist() == []
    assert parts["choice"].tolist() == [2, 0]


def test_leftovers_of_a_round_that_was_broken_off_are_thought_over_again():
    graphs, plan = two_events()
    clauses = graphs.arrays.clauses
    recall(ROUND, split(graphs.open, graphs.arrays, plan.arrays), clauses, plan.arrays, plan.memo)
    slot = int(np.flatnonzero(plan.memo.keys)[0])
    for left in (0, 1, 7):
        plan.memo.models[slot] = THOUGHT_OVER - left
        parts = split(graphs.open, graphs.arrays, plan.arrays)
        assert recall(ROUND, parts, clauses, plan.arrays, plan.memo).tolist() == [0]
        assert parts["like"].tolist() == [0, 0]
