"""Following a policy in a stack costs what following it from state to state costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from caddis.lab.workloads.instances import random_instance
from caddis.ordering.certificate import Instance
from caddis.ordering.kernels.lookahead import lookahead
from caddis.ordering.kernels.prices import unit_price
from caddis.ordering.kernels.rollout import AHEAD, BY_PRICE, MOST_STEPS, better, followed, pick
from tests.ordering.optimum import Strategy, expected_cost, undecided
from tests.ordering.twins import first_row, graphs_of

Kernel = Callable[..., int]


def following(kernel: Kernel, instance: Instance) -> Strategy:
    """What a policy runs next, each time in a new graph of what is undecided."""

    def choose(known: dict[int, bool]) -> int:
        graphs, plan = graphs_of(replace(instance, clauses=undecided(instance, known)))
        return kernel(0, int(graphs.arrays.counts[0]), graphs.arrays.clauses, plan.arrays)

    return choose


def drawn(rng: np.random.Generator) -> Instance:
    """No two clauses are equal: in a stack they would weigh as one."""
    instance = random_instance(rng, joined=0, models=(2, 6), concepts=(2, 7))
    distinct = sorted({literals for _, literals in instance.clauses})
    return replace(instance, clauses=tuple(enumerate(distinct)), links=len(distinct))


@pytest.mark.parametrize(("by_price", "kernel"), [(BY_PRICE, unit_price), (AHEAD, lookahead)])
def test_the_cost_of_following_is_summed_over_all_outcomes(by_price, kernel):
    rng = np.random.default_rng(1)
    for _ in range(40):
        instance = drawn(rng)
        stack, plan = first_row(instance)
        stack.steps[0] = 1 << 20
        first = pick(by_price, stack, 0, plan)
        expected = expected_cost(instance, following(kernel, instance))
        assert followed(by_price, stack, first, np.inf, plan) == pytest.approx(expected)
        assert followed(by_price, stack, first, expected * 0.99, plan) == np.inf


def test_the_better_of_two_policies_is_followed():
    rng = np.random.default_rng(2)
    disagreed = 0
    for _ in range(80):
        instance = drawn(rng)
        stack, plan = first_row(instance)
        price, ahead = pick(BY_PRICE, stack, 0, plan), pick(AHEAD, stack, 0, plan)
        costs = [
            expected_cost(instance, following(kernel, instance))
            for kernel in (unit_price, lookahead)
        ]
        chosen = better(stack, ahead, plan)
        if stack.steps[0] > 0 and abs(costs[0] / costs[1] - 1) > 1e-6:
            assert chosen == (price if costs[0] < costs[1] else ahead)
        disagreed += price != ahead
    assert disagreed > 10


def test_out_of_steps_the_lookahead_s_choice_stands():
    rng = np.random.default_rng(3)
    wide = random_instance(rng, joined=0, models=(11, 11), concepts=(11, 11), clauses=(30, 30))
    stack, plan = first_row(wide)
    stack.steps[0] = MOST_STEPS
    ahead = pick(AHEAD, stack, 0, plan)
    assert followed(AHEAD, stack, ahead, np.inf, plan) == np.inf
    assert better(stack, ahead, plan) == ahead
