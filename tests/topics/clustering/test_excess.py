"""What moving a topic costs is what everybody's unwanted traffic says it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import TopicError
from caddis.topics.clustering.interests import (
    Interests,
    Tallies,
    count,
    favour_current,
    outcomes,
    total_cost,
    vote_costs,
)
from tests.topics.clustering.plain_excess import cases, cost_of, interests_of, moved_costs, sets_of

Case = tuple[Interests, np.ndarray, int]


@given(cases())
def test_the_total_is_everybodys_unwanted_traffic(case: Case):
    interests, channels, k = case
    tallies = count(interests, channels, k)
    assert total_cost(tallies, channels, interests.rates) == cost_of(interests, channels)


@given(cases())
def test_votes_differ_by_what_a_move_changes_for_everybody(case: Case):
    interests, channels, k = case
    costs = vote_costs(count(interests, channels, k), channels, interests.rates)
    for topic, row in enumerate(moved_costs(interests, channels, k)):
        differences = costs[topic] - costs[topic, channels[topic]]
        assert differences.tolist() == [cost - row[channels[topic]] for cost in row]


@given(cases())
def test_a_vote_costs_what_the_topic_adds_when_nobody_had_it(case: Case):
    interests, channels, k = case
    costs = vote_costs(count(interests, channels, k), channels, interests.rates)
    for topic, row in enumerate(moved_costs(interests, channels, k)):
        nowhere = np.where(np.arange(len(channels)) == topic, -1, channels)
        assert costs[topic].tolist() == [cost - cost_of(interests, nowhere) for cost in row]


@given(cases())
def test_nodes_tallies_and_votes_add_up(case: Case):
    interests, channels, k = case
    alone = [
        count(interests_of([wanted], interests.rates.tolist()), channels, k)
        for wanted in sets_of(interests)
    ]
    together = count(interests, channels, k)
    votes = sum(vote_costs(one, channels, interests.rates) for one in alone)
    for part, whole in zip(zip(*alone, strict=True), together, strict=False):
        np.testing.assert_array_equal(sum(part), whole)
    if alone:
        np.testing.assert_array_equal(votes, vote_costs(together, channels, interests.rates))


@given(cases(), st.integers(0, 7))
def test_a_vote_does_not_depend_on_where_its_own_topic_is(case: Case, topic: int):
    interests, channels, k = case
    topic %= len(channels)
    moved = channels.copy()
    moved[topic] = (moved[topic] + 1) % k
    before = vote_costs(count(interests, channels, k), channels, interests.rates)
    after = vote_costs(count(interests, moved, k), moved, interests.rates)
    assert before[topic].tolist() == after[topic].tolist()


@given(cases())
def test_a_topic_moves_only_if_that_pays_and_then_to_the_first_of_the_best(case: Case):
    interests, channels, k = case
    costs = vote_costs(count(interests, channels, k), channels, interests.rates)
    chosen = outcomes(costs, channels)
    for topic, row in enumerate(costs.tolist()):
        stays = row[channels[topic]] == min(row)
        assert chosen[topic] == (channels[topic] if stays else row.index(min(row)))


def test_one_node_that_favours_the_present_channel_is_enough():
    costs = np.array([[[3, 1, 5]], [[1, 3, 0]], [[1, 1, 0]]])
    channels = np.array([1], np.int32)
    inputs = [favour_current(costs[0], channels), 2 * costs[1], 2 * costs[2]]
    assert sum(inputs).argmin() == 1


def test_more_than_64_channels_are_counted():
    wanted = [set(range(0, 200, 3)), set(range(0, 200, 2)), {199}]
    interests = interests_of(wanted, [1] * 200)
    channels = (np.arange(200) % 100).astype(np.int32)
    tallies = count(interests, channels, 100)
    assert total_cost(tallies, channels, interests.rates) == cost_of(interests, channels)


@pytest.mark.parametrize("channels", [[0, 1], [0, 1, 3], [0, -1, 1]])
def test_a_map_that_does_not_fit_is_refused(channels: list[int]):
    interests = interests_of([{0, 1}], [1, 1, 1])
    with pytest.raises(TopicError, match="channel"):
        count(interests, np.array(channels, np.int32), 3)


def test_nobody_has_no_cost():
    interests = interests_of([], [4, 2])
    tallies = count(interests, np.zeros(2, np.int32), 1)
    assert isinstance(tallies, Tallies)
    assert total_cost(tallies, np.zeros(2, np.int32), interests.rates) == 0
