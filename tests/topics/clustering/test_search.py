"""A search never ends worse than K-Means, nor below the optimum, and finds planted groups."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Int32s
from caddis.lab.workloads.interests import planted, uniform
from caddis.topics.clustering.interests import Interests
from caddis.topics.clustering.k_means import Effort, Table, fill_empty, kmeans, recut, search
from tests.topics.clustering.plain_excess import (
    cases,
    cost_of,
    excess,
    interests_of,
    is_local_minimum,
    sets_of,
)

Case = tuple[Interests, Int32s, int]
seeds = st.integers(0, 2**32 - 1)
THOROUGH = Effort(restarts=4, merge_splits=10, swap_rounds=3)


def optimum(interests: Interests, k: int) -> int:
    """The least cost of all maps; the first topic may be in the first channel."""
    wanted, rates = sets_of(interests), interests.rates.tolist()
    rest = product(range(k), repeat=len(rates) - 1)
    return min(excess(wanted, (0, *channels), rates) for channels in rest)


@given(cases(topics=6, channels=3), seeds)
def test_it_ends_between_the_optimum_and_kmeans(case: Case, seed: int):
    interests, channels, k = case
    found = search(interests, k, np.random.default_rng(seed), channels, THOROUGH)
    plain = kmeans(interests, k, np.random.default_rng(seed), channels)
    assert optimum(interests, k) <= found.cost <= plain.cost
    assert found.cost == cost_of(interests, found.channels)
    assert is_local_minimum(interests, found.channels, k)


def test_it_mostly_finds_the_optimum_of_small_interests():
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        interests = uniform(12, 7, rng, support=0.3)
        hits += search(interests, 3, rng, effort=THOROUGH).cost == optimum(interests, 3)
    assert hits >= 18


@given(cases(topics=8, channels=6), seeds)
def test_cutting_anew_keeps_all_topics_in_channels(case: Case, seed: int):
    interests, channels, k = case
    if k < 3:
        return
    table = Table(interests, k)
    table.take(channels)
    fresh = recut(table, np.random.default_rng(seed))
    assert ((fresh >= 0) & (fresh < k)).all()
    assert table.cost == cost_of(interests, fresh)


def test_cutting_anew_parts_groups_that_kmeans_leaves_together():
    groups = [set(range(begin, begin + 4)) for begin in range(0, 20, 4)]
    interests = interests_of(groups * 3, [1] * 20)
    together = np.array([0] * 8 + [1] * 2 + [2] * 2 + [3] * 4 + [4] * 4, np.int32)
    stuck = kmeans(interests, 5, np.random.default_rng(1), start=together)
    found = search(interests, 5, np.random.default_rng(1), start=together)
    assert stuck.channels.tolist() == together.tolist()
    assert (stuck.cost, found.cost) == (2 * 3 * 4, 0)
    assert found.passes > stuck.passes


def test_the_same_seed_finds_the_same_map():
    interests = planted(300, 60, np.random.default_rng(1))
    one, other = (search(interests, 8, np.random.default_rng(5), None, THOROUGH) for _ in range(2))
    assert one.channels.tolist() == other.channels.tolist()


@given(cases(topics=8, channels=6), st.integers(0, 6), seeds)
def test_filling_empty_channels_is_never_dearer_not_even_by_a_sample(case: Case, size, seed: int):
    interests, channels, k = case
    ends = interests.offsets[: size + 1]
    sample = Interests(ends, interests.topics[: ends[-1]], interests.rates)
    filled = fill_empty(sample, k, channels, np.random.default_rng(seed))
    assert cost_of(interests, filled) <= cost_of(interests, channels)
    moved = filled != channels
    assert not np.isin(filled[moved], channels).any(), "topics go into empty channels only"
    if len(np.unique(filled)) < k:
        assert cost_of(sample, filled) == 0


def test_an_empty_channel_divides_the_group_that_cost_most():
    rng = np.random.default_rng(5)
    interests = interests_of([{0, 1}, {2, 3}, {4, 5}, {4}], [9, 9, 9, 9, 1, 1])
    start = np.array([0, 0, 0, 0, 1, 1], np.int32)
    filled = fill_empty(interests, 3, start, rng)
    assert filled[4:].tolist() == [1, 1]
    assert filled[0] == filled[1] != filled[2] == filled[3]
