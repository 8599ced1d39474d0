"""The papers' prices, against their formulas worked out naively."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.lab.workloads.instances import random_instance
from caddis.ordering import POLICIES
from caddis.ordering.certificate import Instance
from caddis.ordering.kernels.prices import cheapest_refutation, prank, unit_price
from tests.ordering.twins import (
    an_instance,
    fares,
    graphs_of,
    models_of,
    open_literals,
    outcomes_of,
)


def chosen(policy: str, instance: Instance) -> list[int]:
    graphs, plan = graphs_of(instance)
    return np.flatnonzero(POLICIES[policy].next_models(graphs, plan)[0]).tolist()


def covered_edges(instance: Instance, model: int) -> float:
    """The edges that a model is expected to cover: outcome by outcome, clause by clause.

    Equation 1's s·Δt + (1 - s)·Δf for a model of one concept.
    """
    literals = [clause for _, clause in instance.clauses]
    expected = 0.0
    for answers, chance in outcomes_of(model, literals, instance):
        for clause in literals:
            own = [one for one in clause if instance.answered_by[one >> 1] == model]
            if own:
                expected += chance * (len(own) if fares(clause, answers) else len(clause))
    return expected


def refuted_clauses(instance: Instance, model: int) -> float:
    literals = [clause for _, clause in instance.clauses]
    return sum(
        chance * sum(not fares(clause, answers) for clause in literals)
        for answers, chance in outcomes_of(model, literals, instance)
    )


@pytest.mark.parametrize(
    ("kernel", "gained"), [(unit_price, covered_edges), (prank, refuted_clauses)]
)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_model_with_the_least_price_is_chosen(kernel, gained, seed):
    instance = random_instance(np.random.default_rng(seed), joined=0, clauses=(1, 12))
    graphs, plan = graphs_of(instance)
    count = int(graphs.arrays.counts[0])
    model = kernel(0, count, graphs.arrays.clauses, plan.arrays)
    prices = {
        one: instance.costs[one] / gained(instance, one)
        for one in models_of([clause for _, clause in instance.clauses], instance.answered_by)
    }
    assert prices[model] == pytest.approx(min(prices.values()))


def test_equation_1_by_hand():
    """f1 stands in two of three subscriptions of two filters each: Δt = 2 and Δf = 4."""
    s, cost = 0.25, 7.0
    instance = an_instance([cost, 1, 1], [s, 0.5, 0.5], {0, 2}, {0, 4}, {2, 4})
    assert covered_edges(instance, 0) == pytest.approx(s * 2 + (1 - s) * 4)
    dearer = 7.0 / 3.5 * (0.5 * 2 + 0.5 * 4)
    for others, first in ((dearer * 1.01, 0), (dearer * 0.99, 1)):
        drawn = an_instance([cost, others, 50], [s, 0.5, 0.5], {0, 2}, {0, 4}, {2, 4})
        assert chosen("unit-price", drawn) == [first]


def test_prank_is_the_cost_by_popularity_and_chance_of_false():
    """c / (p(1 - s)): 6 / (2 · 0.5) = 6 against 2 / (1 · 0.4) = 5, then against 3 / 0.4 = 7.5."""
    for cost, first in ((2, 1), (3, 0)):
        instance = an_instance([6, cost, 90], [0.5, 0.6, 0.5], {0, 2}, {0, 4})
        assert chosen("prank", instance) == [first]


def test_prank_disregards_what_a_true_outcome_covers_and_the_unit_price_does_not():
    """f1 refutes 6 · 0.1 subscriptions and covers 6.6 edges; f2 refutes one, and covers two."""
    shared = [{0, 2 * other} for other in range(1, 7)]
    instance = an_instance([10, 12, *[99] * 5], [0.9, 0.0, *[0.5] * 5], *shared)
    assert chosen("prank", instance) == [1]
    assert chosen("unit-price", instance) == [0]


def test_subscriptions_that_ask_the_same_weigh_as_many_edges():
    costs, selectivity = [10, 9], [0.5, 0.5]
    assert chosen("unit-price", an_instance(costs, selectivity, {0, 2}, {0})) == [0]
    graphs, plan = graphs_of(an_instance(costs, selectivity, {0}, {2}, {0}))
    clauses = graphs.arrays.clauses
    assert open_literals(graphs.arrays, 0) == [(0,), (2,)]
    assert clauses.needs["weight"].tolist() == [2, 1]
    assert unit_price(0, 2, clauses, plan.arrays) == prank(0, 2, clauses, plan.arrays) == 0


def test_a_model_of_several_concepts_is_priced_once_for_all_of_them():
    instance = an_instance([10, 6], [0.5] * 3, {0, 2}, {0, 4}, answered_by=[0, 0, 1])
    assert covered_edges(instance, 0) == pytest.approx(0.25 * 2 + 0.75 * 2 + 0.5 * 1 + 0.5 * 2)
    assert chosen("unit-price", instance) == [0]


def test_alone_a_subscription_runs_its_cheapest_refutation_first():
    """c / (1 - s): 10 / 0.8 = 12.5, 4 / 0.3 = 13.3, NOT: 4 / 0.7 = 5.7."""
    for literals, first in (({0, 2}, 0), ({0, 3}, 1)):
        graphs, plan = graphs_of(an_instance([10, 4], [0.2, 0.7], literals))
        assert cheapest_refutation(0, graphs.arrays.clauses, plan.arrays) == first


def test_a_concept_that_is_always_true_is_asked_all_the_same():
    instance = an_instance([1], [1.0], {0})
    for policy in POLICIES:
        assert chosen(policy, instance) == [0]
