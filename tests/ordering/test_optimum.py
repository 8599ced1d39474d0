"""The optimum lies between the clairvoyant's certificate and every strategy's expected cost."""

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
import pytest

from caddis.lab.workloads.instances import random_instance
from caddis.ordering.certificate import Instance, certificate
from tests.ordering.optimum import Strategy, expected_cost, optimum, undecided
from tests.runs import times


def an_instance(costs, selectivity, clauses, answered_by=None) -> Instance:
    """Clauses are given as (link, literals)."""
    answered_by = range(len(costs)) if answered_by is None else answered_by
    return Instance(
        costs=np.array(costs, dtype=np.float64),
        answered_by=np.array(answered_by, dtype=np.int32),
        selectivity=np.array(selectivity, dtype=np.float64),
        clauses=tuple(clauses),
        links=1 + max((link for link, _ in clauses), default=-1),
    )


def in_order(instance: Instance, order: Sequence[int]) -> Strategy:
    """Run the models in this order; those that no undecided clause asks for are left out."""

    def choose(known: dict[int, bool]) -> int:
        asked = {literal // 2 for _, rest in undecided(instance, known) for literal in rest}
        needed = {int(instance.answered_by[concept]) for concept in asked}
        return next(model for model in order if model in needed)

    return choose


def run_all(instance: Instance, order: Sequence[int]) -> Strategy:
    """Run the models in this order, needed or not, until all is decided."""

    def choose(known: dict[int, bool]) -> int:
        ran = {int(instance.answered_by[concept]) for concept in known}
        return next(model for model in order if model not in ran)

    return choose


def expected_certificate(instance: Instance) -> float:
    mean = 0.0
    for values in product((False, True), repeat=instance.concepts):
        answers = np.array(values, dtype=np.bool_)
        chance = np.where(answers, instance.selectivity, 1 - instance.selectivity).prod()
        mean += float(chance) * certificate(instance, answers)
    return mean


def least_of_all_trees(instance: Instance, known: dict[int, bool]) -> float:
    """Every adaptive strategy tried, with no memory and no thought."""
    if not undecided(instance, known):
        return 0.0
    tried = []
    for model in range(instance.models):
        concepts = np.flatnonzero(instance.answered_by == model).tolist()
        if any(concept in known for concept in concepts):
            continue
        mean = float(instance.costs[model])
        for values in product((False, True), repeat=len(concepts)):
            answers = dict(zip(concepts, values, strict=True))
            chance = 1.0
            for concept, value in answers.items():
                share = float(instance.selectivity[concept])
                chance *= share if value else 1 - share
            mean += chance * least_of_all_trees(instance, known | answers)
        tried.append(mean)
    return min(tried)


def test_true_literals_leave_their_clause_and_a_false_one_takes_it_along():
    instance = an_instance([1] * 3, [0.5] * 3, [(0, (0, 2)), (1, (1, 4))])
    assert undecided(instance, {}) == instance.clauses
    assert undecided(instance, {0: True}) == ((0, (2,)),)
    assert undecided(instance, {0: False}) == ((1, (4,)),)


def test_a_satisfied_link_drops_its_other_clauses():
    instance = an_instance([1] * 3, [0.5] * 3, [(0, (0,)), (0, (2, 4)), (1, (4,))])
    assert undecided(instance, {0: True}) == ((1, (4,)),)


def test_a_link_fails_once_all_of_its_clauses_are_contradicted():
    instance = an_instance([1] * 2, [0.5] * 2, [(0, (0,)), (0, (2,))])
    assert undecided(instance, {0: False}) == ((0, (2,)),)
    assert undecided(instance, {0: False, 1: False}) == ()


def test_two_filters_of_one_clause_cost_what_the_hand_computes():
    instance = an_instance([10, 4], [0.2, 0.5], [(0, (0, 2))])
    assert expected_cost(instance, in_order(instance, [0, 1])) == pytest.approx(10 + 0.2 * 4)
    assert expected_cost(instance, in_order(instance, [1, 0])) == pytest.approx(4 + 0.5 * 10)
    assert optimum(instance) == pytest.approx(9)


def test_a_shared_filter_is_run_first_though_it_is_dearer():
    instance = an_instance([3, 3, 4], [0.5, 0.5, 0.1], [(0, (0, 4)), (1, (2, 4))])
    assert optimum(instance) == pytest.approx(4 + 0.1 * (3 + 3))


def test_a_link_of_two_clauses_stops_at_the_first_true_one():
    instance = an_instance([10, 4], [0.9, 0.5], [(0, (0,)), (0, (2,))])
    assert optimum(instance) == pytest.approx(4 + 0.5 * 10)


def test_a_model_of_several_concepts_is_paid_once():
    instance = an_instance([6, 5], [0.5] * 3, [(0, (0, 2)), (1, (4,))], answered_by=[0, 0, 1])
    assert optimum(instance) == pytest.approx(11)


def test_nothing_to_decide_costs_nothing():
    assert optimum(an_instance([1], [0.5], [])) == 0


def test_the_best_order_of_a_single_clause_is_by_cost_over_chance_of_false():
    rng = np.random.default_rng(1)
    for _ in range(20):
        size = int(rng.integers(1, 6))
        costs, selectivity = rng.uniform(1, 20, size), rng.uniform(0.05, 0.95, size)
        instance = an_instance(costs, selectivity, [(0, tuple(range(0, 2 * size, 2)))])
        order = np.argsort(costs / (1 - selectivity)).tolist()
        assert optimum(instance) == pytest.approx(
            expected_cost(instance, in_order(instance, order))
        )


def test_no_decision_tree_is_cheaper_than_the_optimum():
    rng = np.random.default_rng(2)
    for _ in range(40):
        instance = random_instance(rng, models=(2, 4), concepts=(2, 5), clauses=(1, 6))
        assert optimum(instance) == pytest.approx(least_of_all_trees(instance, {}))


@pytest.mark.no_cover
def test_the_optimum_lies_between_the_certificate_and_any_order():
    rng = np.random.default_rng(3)
    adaptivity_pays = 0
    instances = times(40, 400)
    for _ in range(instances):
        instance = random_instance(rng)
        order = rng.permutation(instance.models).tolist()
        least = optimum(instance)
        lean = expected_cost(instance, in_order(instance, order))
        assert expected_certificate(instance) <= least * (1 + 1e-9)
        assert least <= lean * (1 + 1e-9)
        assert lean <= expected_cost(instance, run_all(instance, order)) * (1 + 1e-9)
        assert lean <= instance.costs.sum() * (1 + 1e-9)
        adaptivity_pays += lean > least * 1.01
    assert adaptivity_pays > 0.3 * instances


@pytest.mark.no_cover
def test_an_adaptive_strategy_may_beat_every_fixed_order():
    rng = np.random.default_rng(4)
    drawn = [random_instance(rng, models=(3, 4), concepts=(3, 5)) for _ in range(30)]
    beaten = 0
    for instance in drawn:
        orders = permutations(range(instance.models))
        fixed = min(expected_cost(instance, in_order(instance, order)) for order in orders)
        assert optimum(instance) <= fixed * (1 + 1e-9)
        beaten += optimum(instance) < fixed * (1 - 1e-6)
    assert beaten > 0


def test_a_strategy_that_repeats_a_model_is_refused():
    instance = an_instance([1, 1], [0.5, 0.5], [(0, (0, 2))])
    with pytest.raises(ValueError, match="model 0 was chosen"):
        expected_cost(instance, lambda known: 0)
