"""What distributed K-Means is compared with, from definitions."""

from itertools import combinations

import numpy as np
from hypothesis import given

from caddis.arrays import Int32s
from caddis.lab.local_building_blocks.clusterings import (
    adopt_all,
    agglomerative,
    outcomes_and_cost,
    random_channels,
    settled,
)
from caddis.lab.workloads.interests import planted, uniform
from caddis.topics.clustering.interests import Interests
from caddis.topics.clustering.schedule import Schedule, Settings
from tests.topics.clustering.plain_excess import cases, cost_of, is_local_minimum, moved_costs

Case = tuple[Interests, Int32s, int]


def plain_agglomerative(interests: Interests, k: int) -> int:
    """The least added cost at every step; of equals the first pair."""
    channels = np.arange(interests.topic_count, dtype=np.int32)
    while len(set(channels.tolist())) > k:
        merged = [
            np.where(channels == other, one, channels).astype(np.int32)
            for one, other in combinations(sorted(set(channels.tolist())), 2)
        ]
        channels = min(merged, key=lambda some: cost_of(interests, some))
    return cost_of(interests, channels)


@given(cases(topics=7, channels=3))
def test_agglomerative_clustering_merges_the_cheapest_pair(case: Case):
    interests, _, k = case
    channels = agglomerative(interests, k)
    assert len(set(channels.tolist())) == min(k, interests.topic_count)
    assert set(channels.tolist()) == set(range(min(k, interests.topic_count)))
    assert cost_of(interests, channels) == plain_agglomerative(interests, k)


def test_agglomerative_clustering_finds_planted_groups():
    rng = np.random.default_rng(2)
    interests = planted(400, 60, rng, groups=6, stray=0.5)
    found = outcomes_and_cost(interests, agglomerative(interests, 6), 6)[1]
    assert found < 0.4 * outcomes_and_cost(interests, random_channels(60, 6, rng), 6)[1]


@given(cases())
def test_wishes_are_the_best_single_moves(case: Case):
    interests, channels, k = case
    chosen, cost = outcomes_and_cost(interests, channels, k)
    assert cost == cost_of(interests, channels)
    for topic, row in enumerate(moved_costs(interests, channels, k)):
        assert row[chosen[topic]] == min(row)


def test_a_limit_of_waves_is_kept():
    rng = np.random.default_rng(1)
    schedule = Schedule(random_channels(40, 5, rng), 5, Settings(), rng)
    end = settled(uniform(100, 40, rng), schedule, 5, schedule.begin("concurrent"), most=3)
    assert end.waves == len(end.costs) == 3


def test_outcomes_that_are_adopted_unseen_rest_in_a_local_minimum_if_at_all():
    rng = np.random.default_rng(1)
    interests = planted(60, 12, rng, groups=3)
    channels, waves = adopt_all(interests, random_channels(12, 3, rng), 3, 0.1, rng)
    assert waves is not None
    assert is_local_minimum(interests, channels, 3)
