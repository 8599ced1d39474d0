"""K-Means keeps exact counts, lowers the cost with every move, and ends where none pays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Int32s
from caddis.errors import TopicError
from caddis.lab.local_building_blocks.clusterings import random_channels
from caddis.lab.workloads.interests import planted, zipf_interests
from caddis.topics.clustering.interests import Interests, count, outcomes, total_cost, vote_costs
from caddis.topics.clustering.k_means import Table, kmeans
from tests.topics.clustering.plain_excess import (
    cases,
    cost_of,
    excess,
    interests_of,
    is_local_minimum,
    moved_costs,
    sets_of,
)

Case = tuple[Interests, Int32s, int]
seeds = st.integers(0, 2**32 - 1)


def plain_pass(interests: Interests, channels: Int32s, k: int, order: list[int]) -> Int32s:
    """A pass from its definition: try every channel for each topic, and recompute everything."""
    now = channels.copy()
    for topic in order:
        row = moved_costs(interests, now, k)[topic]
        if min(row) < row[now[topic]]:
            now[topic] = row.index(min(row))
    return now


@given(cases(topics=6, channels=4), st.randoms(use_true_random=False))
def test_a_pass_is_what_trying_everything_gives(case: Case, random):
    interests, channels, k = case
    order = list(range(len(channels)))
    random.shuffle(order)
    table = Table(interests, k)
    table.take(channels)
    moves = table.place(np.array(order, np.int32))
    assert table.channels.tolist() == plain_pass(interests, channels, k, order).tolist()
    assert table.cost == cost_of(interests, table.channels)
    assert (moves == 0) == (table.channels == channels).all()


@given(cases(topics=6, channels=4), st.data())
def test_a_swap_is_made_exactly_if_it_pays(case: Case, data):
    interests, channels, k = case
    topics = st.integers(0, len(channels) - 1)
    one, other = data.draw(topics), data.draw(topics)
    swapped = channels.copy()
    swapped[[one, other]] = channels[[other, one]]
    pays = cost_of(interests, swapped) < cost_of(interests, channels)
    table = Table(interests, k)
    table.take(channels)
    assert table.swap(np.array([[one, other]], np.int32)) == pays
    assert table.channels.tolist() == (swapped if pays else channels).tolist()
    table.place(np.arange(len(channels), dtype=np.int32))
    assert table.cost == cost_of(interests, table.channels), "counts are as before"


@given(cases(topics=6, channels=4))
def test_merging_and_excess_are_what_they_cost_everybody(case: Case):
    interests, channels, k = case
    wanted, rates = sets_of(interests), interests.rates.tolist()
    table = Table(interests, k)
    table.take(channels)
    for channel in range(k):
        alone = np.where(channels == channel, channels, -1).tolist()
        assert table.excesses()[channel] == excess(wanted, alone, rates)
        for other in set(range(k)) - {channel}:
            merged = np.where(channels == other, channel, channels)
            added = cost_of(interests, merged) - cost_of(interests, channels)
            assert table.merge_costs()[channel, other] == added


@given(cases(), seeds, st.booleans())
def test_it_ends_in_a_local_minimum_no_worse_than_its_start(case: Case, seed: int, warm: bool):
    interests, channels, k = case
    found = kmeans(interests, k, np.random.default_rng(seed), channels if warm else None)
    assert found.cost == cost_of(interests, found.channels)
    assert is_local_minimum(interests, found.channels, k)
    if warm:
        assert found.cost <= cost_of(interests, channels)


@pytest.mark.parametrize("k", [3, 20, 70])
def test_it_agrees_with_votes_on_larger_interests(k: int):
    rng = np.random.default_rng(k)
    interests = zipf_interests(500, 150, rng)
    found = kmeans(interests, k, rng)
    tallies = count(interests, found.channels, k)
    costs = vote_costs(tallies, found.channels, interests.rates)
    assert found.cost == total_cost(tallies, found.channels, interests.rates)
    assert (outcomes(costs, found.channels) == found.channels).all()


def test_a_warm_start_from_rest_moves_nothing():
    rng = np.random.default_rng(4)
    interests = planted(300, 60, rng)
    found = kmeans(interests, 10, rng)
    again = kmeans(interests, 10, rng, start=found.channels)
    assert (again.channels == found.channels).all()
    assert again.passes == 1


def test_less_improvement_asked_means_more_passes():
    interests = zipf_interests(500, 200, np.random.default_rng(1))
    start = random_channels(200, 10, np.random.default_rng(2))
    quick, full = (
        kmeans(interests, 10, np.random.default_rng(3), start, improvement=least)
        for least in (0.02, 0.0)
    )
    assert quick.passes < full.passes
    assert full.cost <= quick.cost < 1.1 * full.cost


def test_the_passes_can_be_limited():
    interests = zipf_interests(500, 200, np.random.default_rng(1))
    assert kmeans(interests, 10, np.random.default_rng(3), most_passes=2).passes == 2


def test_planted_groups_cost_far_less_than_chance():
    rng = np.random.default_rng(9)
    interests = planted(1000, 100, rng)
    table = Table(interests, 10)
    table.take(random_channels(100, 10, rng))
    assert kmeans(interests, 10, rng).cost < 0.4 * table.cost


def test_there_is_a_channel():
    with pytest.raises(TopicError, match="1 or more channels"):
        kmeans(interests_of([{0}], [1]), 0, np.random.default_rng(1))


def test_a_subscriber_may_want_more_topics_than_sixteen_bits_count():
    interests = interests_of([set(range(65_536)), {7}], [1] * 65_536)
    table = Table(interests, 2)
    assert table.cost == 65_535, "what the second one receives beside topic 7"
    assert table.place(np.array([7], np.int32)) == 1
    assert table.cost == 0
