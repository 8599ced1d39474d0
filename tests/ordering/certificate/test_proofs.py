"""The certificate is the cheapest proof: no set of models that decides every link costs less."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.lab.workloads.instances import outcomes, paper_workload, random_instance, spread_costs
from caddis.ordering.certificate import Instance, certificate, hitting_sets
from caddis.ordering.certificate.hitting_sets import BranchAndBound, by_integer_programme, cheapest
from caddis.ordering.certificate.proofs import certificates, to_prove
from tests.ordering.optimum import undecided


def an_instance(costs, clauses, answered_by=None) -> Instance:
    """Clauses are given as (link, literals)."""
    answered_by = range(len(costs)) if answered_by is None else answered_by
    return Instance(
        costs=np.array(costs, dtype=np.float64),
        answered_by=np.array(answered_by, dtype=np.int32),
        selectivity=np.full(len(answered_by), 0.5),
        clauses=tuple(clauses),
        links=1 + max((link for link, _ in clauses), default=-1),
    )


def cheapest_of_all_subsets(instance: Instance, answers) -> float:
    """The cheapest set of models whose answers leave nothing undecided."""
    models = range(instance.models)
    subsets = chain.from_iterable(combinations(models, n) for n in range(instance.models + 1))
    decided = []
    for subset in subsets:
        known = {
            concept: bool(answers[concept])
            for concept, model in enumerate(instance.answered_by.tolist())
            if model in subset
        }
        if not undecided(instance, known):
            decided.append(float(instance.costs[list(subset)].sum()))
    return min(decided)


def total(masks, costs) -> float:
    run = 0
    for mask in masks:
        run |= mask
    return float(sum(cost for model, cost in enumerate(costs) if run >> model & 1))


def drawn_requirements(rng: np.random.Generator, models: int, count: int, wide: float):
    """Requirements of 2-4 alternatives; the chance that one is of several models is `wide`."""

    def an_alternative() -> int:
        size = int(rng.integers(2, 4)) if rng.random() < wide else 1
        return sum(1 << int(model) for model in rng.choice(models, size=size, replace=False))

    return {
        frozenset(an_alternative() for _ in range(int(rng.integers(2, 5)))) for _ in range(count)
    }


def test_nothing_to_decide_costs_nothing():
    assert certificate(an_instance([3, 4], []), np.array([True, False])) == 0


def test_a_true_clause_is_shown_in_full():
    instance = an_instance([3, 4, 5], [(0, (0, 2, 5))])
    assert certificate(instance, np.array([True, True, False])) == 12


def test_a_false_clause_is_shown_by_its_cheapest_false_literal():
    instance = an_instance([3, 4, 5], [(0, (0, 2, 5))])
    assert certificate(instance, np.array([True, False, True])) == 4


def test_one_shared_false_concept_is_cheaper_than_one_each():
    instance = an_instance([3, 3, 5], [(0, (0, 4)), (1, (2, 4))])
    assert certificate(instance, np.zeros(3, dtype=np.bool_)) == 5


def test_a_concept_paid_for_a_true_clause_contradicts_others_for_free():
    instance = an_instance([9, 1], [(0, (0,)), (1, (1, 2))])
    assert certificate(instance, np.array([True, False])) == 9


def test_the_clairvoyant_chooses_which_true_clause_of_a_link_to_show():
    instance = an_instance([9, 4, 4], [(0, (0,)), (0, (2, 4))])
    assert certificate(instance, np.ones(3, dtype=np.bool_)) == 8
    both = an_instance([9, 4, 4], [*instance.clauses, (1, (0,))])
    assert certificate(both, np.ones(3, dtype=np.bool_)) == 9


def test_a_model_of_several_concepts_is_paid_once():
    instance = an_instance([7, 5], [(0, (0, 2)), (1, (4,))], answered_by=[0, 0, 1])
    assert certificate(instance, np.ones(3, dtype=np.bool_)) == 12


def test_an_empty_clause_satisfies_its_link_for_free():
    instance = an_instance([7], [(0, ()), (0, (0,))])
    assert certificate(instance, np.array([True])) == 0


@given(st.integers(0, 2**32 - 1))
def test_no_cheaper_set_of_models_decides_every_link(seed):
    rng = np.random.default_rng(seed)
    for _ in range(4):
        instance = random_instance(rng)
        answers = outcomes(instance, 1, rng)[0]
        assert certificate(instance, answers) == pytest.approx(
            cheapest_of_all_subsets(instance, answers)
        )


@given(st.integers(0, 2**32 - 1))
def test_links_of_many_true_clauses_are_proved_as_cheaply(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, clauses=(8, 24), joined=0.75, negated=0.5)
    answers = outcomes(instance, 1, rng)[0]
    assert certificate(instance, answers) == pytest.approx(
        cheapest_of_all_subsets(instance, answers)
    )


@pytest.mark.parametrize("wide", [0.0, 0.3, 1.0])
def test_branch_and_bound_agrees_with_the_integer_programme(wide):
    rng = np.random.default_rng(11)
    for _ in range(25):
        costs = np.exp(rng.uniform(0, 5, size=12))
        requirements = drawn_requirements(rng, 12, int(rng.integers(1, 20)), wide)
        searched = BranchAndBound(costs).cheapest(requirements)
        solved = by_integer_programme(requirements, costs)
        for run in (searched, solved):
            assert all(any(a & run == a for a in needed) for needed in requirements)
        assert total([searched], costs) == pytest.approx(total([solved], costs))


@pytest.mark.parametrize("make", [paper_workload, spread_costs])
@pytest.mark.parametrize("popularity", ["zipf", "uniform"])
@pytest.mark.parametrize("subscriptions", [100, 1000])
def test_both_agree_on_the_paper_s_workload(make, popularity, subscriptions):
    rng = np.random.default_rng(subscriptions)
    instance = make(subscriptions, popularity=popularity, rng=rng)
    for answers in outcomes(instance, 3, rng):
        forced, requirements = to_prove(instance, answers)
        solved = by_integer_programme(requirements, instance.costs)
        expected = total([forced, solved], instance.costs)
        assert certificate(instance, answers) == pytest.approx(expected)


def test_what_branch_and_bound_does_not_finish_the_integer_programme_does(monkeypatch):
    rng = np.random.default_rng(12)
    costs = rng.uniform(12, 16, size=20)
    requirements = drawn_requirements(rng, 20, 40, 0.2)
    searched = total(cheapest(requirements, costs), costs)
    monkeypatch.setattr(hitting_sets, "NODES", 0)
    assert total(cheapest(requirements, costs), costs) == pytest.approx(searched)


def test_certificates_are_one_for_each_event():
    rng = np.random.default_rng(13)
    instance = random_instance(rng)
    drawn = outcomes(instance, 5, rng)
    found = certificates(instance, drawn)
    assert found.dtype == np.float64
    assert found.tolist() == [certificate(instance, answers) for answers in drawn]
    assert certificates(instance, drawn[:0]).shape == (0,)
