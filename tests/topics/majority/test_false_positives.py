"""Theorem 1 as the paper states it, and what a filter really lets through."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Bools
from caddis.errors import TopicError
from caddis.topics.majority.false_positives import (
    aggregation_bound,
    aggregation_bound_per_bit,
    aggregation_tail_per_bit,
    bits_for,
    expected_false_positives,
    popular_bits,
    share_of_ones,
)
from caddis.topics.majority.filter import Hashing


def near(figure: float, rel: float = 0.01) -> object:
    """However small it is: pytest takes all below 1e-12 for the same."""
    return pytest.approx(figure, rel=rel, abs=0)


@pytest.mark.parametrize(
    ("bits", "per_bit", "per_element"), [(50, 0.0256, 1.68e-5), (100, 5.26e-30, 1.46e-88)]
)
def test_the_papers_figures_are_bounds_for_a_bit(bits, per_bit, per_element):
    assert aggregation_bound_per_bit(1000, 20, 3, bits, "0.8") == near(per_bit)
    assert aggregation_bound(1000, 20, 3, bits, "0.8") == near(per_element)


def test_there_is_no_bound_where_bits_are_set_as_often_as_the_threshold_asks():
    assert share_of_ones(20, 3, 30) > 0.8
    assert aggregation_bound_per_bit(1000, 20, 3, 30, "0.8") == 1
    assert aggregation_bound(1000, 20, 3, 30, "0.8") == 1


def test_beyond_the_theorems_epsilon_another_bound_holds():
    assert aggregation_bound_per_bit(50, 1, 1, 100, "0.8") == near(2.0**-40, rel=1e-9)


@given(st.integers(1, 60), st.integers(1, 10), st.integers(1, 4), st.integers(5, 200))
def test_the_tail_is_the_sum_over_all_counts(nodes, elements, hashes, bits):
    share = share_of_ones(elements, hashes, bits)
    least = -(-4 * nodes // 5)
    plain = sum(
        comb(nodes, count) * share**count * (1 - share) ** (nodes - count)
        for count in range(least, nodes + 1)
    )
    tail = aggregation_tail_per_bit(nodes, elements, hashes, bits, "0.8")
    assert tail == near(plain, rel=1e-6)
    assert tail <= aggregation_bound_per_bit(nodes, elements, hashes, bits, "0.8") * (1 + 1e-9)


def test_figure_1_falls_with_bits_and_thresholds():
    thresholds = ("0.8", "0.85", "0.9", "0.95", "1")
    cases = [[(1000, 20, 3, bits, share) for bits in range(40, 121)] for share in thresholds]
    bound, per_bit, tail = (
        np.array([[figure(*case) for case in row] for row in cases])
        for figure in (aggregation_bound, aggregation_bound_per_bit, aggregation_tail_per_bit)
    )
    assert (bound <= per_bit).all()
    assert (tail <= per_bit).all()
    assert (np.diff(bound, axis=0) <= 0).all()
    assert (np.diff(bound, axis=1) <= 0).all()


def test_popular_bits_are_those_that_enough_nodes_set():
    interests = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]], bool)
    places = np.array([[0, 1], [1, 2], [3, 3]], np.int32)
    assert popular_bits(interests, places, 5, "0.6").tolist() == [True, True, False, False, False]
    assert popular_bits(interests, places, 5, "0.8").tolist() == [False, True, False, False, False]


def measured(supports: np.ndarray, bits: int, threshold: str, runs: int) -> float:
    """The share of unpopular topics that seem popular, with real hash functions."""
    rng = np.random.default_rng(0)
    names = [f"topic {i}" for i in range(len(supports))]
    wrong = unpopular = 0
    for run in range(runs):
        interests = rng.random((1000, len(supports))) < supports
        places = Hashing(bits, 3, run.to_bytes(4, "little")).positions_of(names)
        bits_set = popular_bits(interests, places, bits, threshold)
        found: Bools = np.asarray(bits_set[places].all(axis=1))
        popular: Bools = np.asarray(interests.mean(axis=0) >= float(threshold))
        assert found[popular].all()
        wrong += int(np.count_nonzero(found & ~popular))
        unpopular += int(np.count_nonzero(~popular))
    return wrong / unpopular


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("supports", "bits", "threshold"),
    [
        (np.full(100, 0.2), 50, "0.8"),
        (np.minimum(0.9, 3 / np.arange(1, 301)), 150, "0.2"),
        (np.array([0.9] * 10 + [0.01] * 90), 50, "0.5"),
    ],
    ids=["alike", "zipf", "apart"],
)
def test_the_estimate_is_what_is_measured(supports, bits, threshold):
    rng = np.random.default_rng(1)
    expected = expected_false_positives(supports, bits, 3, threshold, 1000, rng)
    assert (expected[supports >= float(threshold)] == 0).all()
    rate = expected[supports < float(threshold)].mean()
    assert measured(supports, bits, threshold, runs=40) == pytest.approx(rate, rel=0.3)


def test_the_theorems_premise_fails_where_nodes_share_hash_functions():
    supports = np.full(100, 0.2)
    rng = np.random.default_rng(0)
    expected = expected_false_positives(supports, 50, 3, "0.8", 1000, rng).mean()
    assert expected > 1000 * aggregation_bound(1000, supports.sum(), 3, 50, "0.8")


def test_as_many_bits_as_a_rate_asks_for_are_enough_and_few_fewer_are_not():
    supports = np.minimum(0.9, 3 / np.arange(1, 101))
    bits = bits_for(supports, 3, "0.3", 1000, rate=0.01)

    def rate(size: int) -> float:
        rng = np.random.default_rng(5)
        expected = expected_false_positives(supports, size, 3, "0.3", 1000, rng)
        return float(expected[supports < 0.3].mean())

    assert rate(bits) < 0.012
    assert rate(int(bits * 0.85)) > 0.01


def test_nodes_that_hold_nothing_make_no_bit_popular():
    assert aggregation_bound(1000, 0, 3, 50, "0.8") == 0
    assert aggregation_tail_per_bit(1000, 0, 3, 50, "0.8") == 0


@pytest.mark.parametrize(
    ("nodes", "elements", "hashes", "bits", "problem"),
    [
        (1000, 20, 0, 50, "a bit and a hash, not 50 and 0"),
        (1000, 20, 3, 0, "a bit and a hash, not 0 and 3"),
        (1000, -1, 3, 50, "0 elements or more, not -1"),
        (0, 20, 3, 50, "needs a node, not 0"),
    ],
)
def test_sizes_that_mean_nothing_are_refused(nodes, elements, hashes, bits, problem):
    for ask in (aggregation_bound, aggregation_tail_per_bit):
        with pytest.raises(TopicError, match=problem):
            ask(nodes, elements, hashes, bits, "0.8")
    if elements > 0:
        rng = np.random.default_rng(0)
        with pytest.raises(TopicError, match=problem):
            expected_false_positives([0.1], bits, hashes, "0.8", nodes, rng)


@pytest.mark.parametrize("support", [1.7, -0.2, np.nan])
def test_a_support_that_is_no_share_is_refused(support):
    with pytest.raises(TopicError, match="shares of the nodes, from 0 to 1"):
        expected_false_positives([0.1, support], 50, 3, "0.8", 100, np.random.default_rng(0))
    with pytest.raises(TopicError, match="shares of the nodes, from 0 to 1"):
        bits_for([0.1, support], 3, "0.5", 100, 0.1)


def test_supports_may_be_a_list():
    supports = [0.9, 0.2, 0.1]
    expected = [
        expected_false_positives(given_as, 50, 3, "0.8", 100, np.random.default_rng(0)).tolist()
        for given_as in (supports, np.array(supports))
    ]
    assert expected[0] == expected[1]
    assert bits_for(supports, 3, "0.5", 100, 0.1) == bits_for(
        np.array(supports), 3, "0.5", 100, 0.1
    )


@pytest.mark.parametrize(("supports", "rate"), [([0.1], 0.0), ([0.1], 1.0), ([0.9], 0.1)])
def test_a_rate_that_means_nothing_is_refused(supports, rate):
    with pytest.raises(TopicError, match="above 0 and below 1"):
        bits_for(np.array(supports), 3, "0.5", 100, rate)
