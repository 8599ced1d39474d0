"""Instances are what they say: same seed, same instance, and the stated ranges."""

import numpy as np
import pytest

from caddis.lab.workloads.instances import outcomes, paper_workload, random_instance, spread_costs
from caddis.ordering.certificate import Instance


def concepts_of(literals: tuple[int, ...]) -> list[int]:
    return [literal // 2 for literal in literals]


def same(one: Instance, other: Instance) -> bool:
    return (
        np.array_equal(one.costs, other.costs)
        and np.array_equal(one.answered_by, other.answered_by)
        and np.array_equal(one.selectivity, other.selectivity)
        and (one.clauses, one.links) == (other.clauses, other.links)
    )


def assert_well_formed(instance: Instance) -> None:
    assert instance.costs.dtype == np.float64
    assert instance.answered_by.dtype == np.int32
    assert instance.selectivity.dtype == np.float64
    assert instance.selectivity.shape == instance.answered_by.shape
    assert set(instance.answered_by.tolist()) == set(range(instance.models))
    assert {link for link, _ in instance.clauses} == set(range(instance.links))
    for _, literals in instance.clauses:
        named = concepts_of(literals)
        assert literals
        assert named == sorted(set(named))
        assert all(0 <= concept < instance.concepts for concept in named)
        assert all(type(literal) is int for literal in literals)


@pytest.mark.parametrize("popularity", ["zipf", "uniform"])
def test_a_subscription_is_a_link_of_one_positive_clause(popularity):
    instance = paper_workload(400, popularity=popularity, rng=np.random.default_rng(1))
    assert_well_formed(instance)
    assert instance.links == len(instance.clauses) == 400
    assert instance.models == instance.concepts == 100
    assert {len(literals) for _, literals in instance.clauses} == {1, 2, 3, 4, 5}
    assert all(literal % 2 == 0 for _, literals in instance.clauses for literal in literals)
    assert 0 <= instance.selectivity.min() <= instance.selectivity.max() <= 0.25


def test_the_paper_s_costs_are_close_and_the_spread_ones_are_not():
    close = paper_workload(1, rng=np.random.default_rng(1)).costs
    spread = spread_costs(1, rng=np.random.default_rng(1)).costs
    assert 12 <= close.min() <= close.max() <= 16
    assert 1 <= spread.min() < 5
    assert 300 < spread.max() <= 1000
    assert 15 < np.median(spread) < 60


def test_spread_costs_changes_nothing_but_the_costs():
    close = paper_workload(40, rng=np.random.default_rng(1))
    spread = spread_costs(40, rng=np.random.default_rng(1))
    assert close.clauses == spread.clauses
    assert np.array_equal(close.selectivity, spread.selectivity)


def test_zipf_popularity_falls_with_the_concept_s_number():
    instance = paper_workload(4000, at_most=1, rng=np.random.default_rng(2))
    asked = np.bincount([literals[0] // 2 for _, literals in instance.clauses], minlength=100)
    expected = 1 / np.arange(1, 101)
    assert np.allclose(asked / 4000, expected / expected.sum(), atol=0.03)


def test_a_clause_never_asks_for_more_concepts_than_there_are():
    instance = paper_workload(50, 3, rng=np.random.default_rng(3))
    assert_well_formed(instance)
    assert max(len(literals) for _, literals in instance.clauses) == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: paper_workload(30, rng=rng),
        lambda rng: paper_workload(30, popularity="uniform", rng=rng),
        lambda rng: spread_costs(30, rng=rng),
        random_instance,
    ],
)
def test_the_same_seed_gives_the_same_instance(make):
    one, again, other = (make(np.random.default_rng(seed)) for seed in (7, 7, 8))
    assert same(one, again)
    assert not same(one, other)


def test_small_instances_share_models_negate_and_join_clauses():
    rng = np.random.default_rng(4)
    drawn = [random_instance(rng) for _ in range(300)]
    for instance in drawn:
        assert_well_formed(instance)
        assert 2 <= instance.models <= 7
        assert instance.models <= instance.concepts <= 8
        assert 1 <= len(instance.clauses) <= 8
        assert all(1 <= len(literals) <= 4 for _, literals in instance.clauses)
        assert 1 <= instance.costs.min() <= instance.costs.max() <= 100
        assert 0.05 <= instance.selectivity.min() <= instance.selectivity.max() <= 0.95
    assert sum(instance.models < instance.concepts for instance in drawn) > 100
    assert sum(instance.links < len(instance.clauses) for instance in drawn) > 100
    literals = [literal for i in drawn for _, clause in i.clauses for literal in clause]
    assert 0.25 < np.mean([literal % 2 for literal in literals]) < 0.35


def test_outcomes_are_true_as_often_as_the_selectivity_says():
    instance = random_instance(np.random.default_rng(5))
    drawn = outcomes(instance, 20_000, np.random.default_rng(6))
    assert drawn.shape == (20_000, instance.concepts)
    assert drawn.dtype == np.bool_
    assert np.allclose(drawn.mean(axis=0), instance.selectivity, atol=0.02)
