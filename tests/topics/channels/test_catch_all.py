"""The catch-all: bounded buckets for unpopular topics."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import TopicError
from caddis.lab.simulators.tree import TreeSimulator, random_tree
from caddis.topics.channels.catch_all import (
    MERGE,
    catch_all,
    next_map,
    popular_by_levels,
    popular_topics,
    popularity_steps,
)
from caddis.topics.channels.map import ChannelMap
from caddis.topics.clustering.interests import integer_rates
from caddis.topics.majority.filter import MajorityCascade

BOUND = 20
RATES = st.dictionaries(st.integers(0, 40).map(str), st.integers(0, 25), max_size=30)
FIRSTS = st.integers(0, 4)


def loads_of(places: dict[str, int], rates: dict[str, int]) -> Counter[int]:
    loads: Counter[int] = Counter()
    for topic, number in places.items():
        loads[number] += rates[topic]
    return loads


def check(places: dict[str, int], rates: dict[str, int], bound: int, first: int) -> None:
    assert places.keys() == rates.keys()
    members = Counter(places.values())
    loads = loads_of(places, rates)
    for number, load in loads.items():
        assert number >= first
        assert load <= bound or members[number] == 1
    emptiest = sorted(loads.values())[:2]
    assert len(emptiest) < 2 or sum(emptiest) > MERGE * bound


@given(RATES, FIRSTS, st.dictionaries(st.integers(0, 50).map(str), st.integers(0, 9)))
def test_all_topics_have_a_bucket_and_no_bucket_exceeds_the_bound(rates, first, before):
    check(catch_all(rates, BOUND, first, before), rates, BOUND, first)


@given(RATES, FIRSTS)
def test_nothing_moves_while_nothing_changes(rates, first):
    places = catch_all(rates, BOUND, first)
    assert catch_all(rates, BOUND, first, places) == places


@given(RATES, FIRSTS, st.text(max_size=2), st.integers(0, 25))
def test_a_new_topic_moves_no_other(rates, first, topic, rate):
    before = catch_all({one: each for one, each in rates.items() if one != topic}, BOUND, first)
    after = catch_all({**rates, topic: rate}, BOUND, first, before)
    assert before == {one: after[one] for one in before}


def test_few_topics_move_when_rates_drift():
    rng = np.random.default_rng(1)
    rates = {f"topic {number}": int(rate) for number, rate in enumerate(rng.zipf(1.8, 5_000) % 999)}
    places = catch_all(rates, 1_000, 30)
    for _ in range(10):
        drift = rng.lognormal(0, 0.05, len(rates))
        rates = {
            topic: round(rate * by) for (topic, rate), by in zip(rates.items(), drift, strict=True)
        }
        after = catch_all(rates, 1_000, 30, places)
        check(after, rates, 1_000, 30)
        moved = sum(after[topic] != places[topic] for topic in rates)
        assert moved < 0.05 * len(rates)
        places = after


def test_a_topic_above_the_bound_is_alone():
    before = {"loud": 0, "tea": 0, "rain": 0}
    after = catch_all({"loud": 50, "tea": 3, "rain": 0, "wind": 0}, BOUND, 0, before)
    assert after == {"loud": 1, "tea": 0, "rain": 0, "wind": 0}


def test_the_largest_leave_a_bucket_that_has_grown():
    before = {"tea": 7, "rain": 7, "wind": 7}
    after = catch_all({"tea": 8, "rain": 15, "wind": 9}, BOUND, 5, before)
    assert after == {"tea": 7, "rain": 5, "wind": 7}


def test_nearly_empty_buckets_are_poured_together():
    before = {"tea": 5, "rain": 6, "wind": 6, "loud": 7}
    after = catch_all({"tea": 5, "rain": 5, "wind": 5, "loud": 19}, BOUND, 5, before)
    assert after == {"tea": 6, "rain": 6, "wind": 6, "loud": 7}


def test_channels_below_the_first_bucket_are_no_buckets():
    assert catch_all({"tea": 1}, BOUND, 6, {"tea": 5}) == {"tea": 6}


def test_buckets_are_about_as_many_as_needed():
    rng = np.random.default_rng(2)
    rates = {str(number): int(rate) for number, rate in enumerate(rng.integers(1, 400, 2_000))}
    needed = sum(rates.values()) / 1_000
    assert len(set(catch_all(rates, 1_000, 0).values())) < 1.05 * needed


def test_rates_may_come_from_an_array():
    numbers, _ = integer_rates(np.array([0.5, 2.5, 3.0]))
    rates = dict(zip(["tea", "rain", "wind"], numbers, strict=True))
    five: Any = np.int32(5)
    places = catch_all(rates, five + 1, five, {"wind": five + 2})
    assert places == {"tea": 5, "rain": 5, "wind": 7}
    assert {type(number) for number in places.values()} == {int}


@pytest.mark.parametrize("rate", [-1, 0.5, True])
def test_rates_are_whole_numbers(rate):
    with pytest.raises(TopicError, match="topic 'tea': a rate is a whole number"):
        catch_all({"tea": rate}, BOUND, 0)


def test_a_bound_is_more_than_nothing():
    bounds: list[Any] = [0, -3, float("nan"), float("inf"), 2.5, True]
    for bound in bounds:
        with pytest.raises(TopicError, match="bound is a whole number from 1 up, not"):
            catch_all({}, bound, 0)
    with pytest.raises(TopicError, match="the first bucket is a whole number from 0 up, not -1"):
        catch_all({}, 1, -1)


# -- who is popular


def test_a_topic_around_the_threshold_does_not_flap():
    popular: set[str] = set()
    seen = []
    for support in [0.09, 0.1, 0.095, 0.101, 0.081, 0.079, 0.081, 0.099, 0.1]:
        popular = popular_topics({"tea": support}, 0.1, popular)
        seen.append("tea" in popular)
    assert seen == [False, True, True, True, True, False, False, False, True]


def test_the_lower_threshold_is_a_share():
    with pytest.raises(TopicError, match=r"not 1\.2"):
        popular_topics({}, 0.1, leave=1.2)


@pytest.mark.parametrize("threshold", [0.1, "0.1", "1/10", Fraction(1, 10), np.float64(0.1)])
def test_at_either_threshold_a_topic_is_popular(threshold):
    assert popular_topics({"tea": 0.1, "rain": 0.0999}, threshold) == {"tea"}
    supports = {"tea": 0.08, "rain": 0.0799, "wind": 0.08}
    assert popular_topics(supports, threshold, before={"tea", "rain"}) == {"tea"}


@given(st.integers(1, 999), st.integers(1, 999), st.integers(1, 99))
def test_shares_are_compared_without_the_errors_of_floats(wanted, subscribers, percent):
    wanted = min(wanted, subscribers)
    high, low = wanted * 100 >= percent * subscribers, wanted * 500 >= 4 * percent * subscribers
    supports = {"tea": wanted / subscribers}
    assert bool(popular_topics(supports, percent / 100)) == high
    assert bool(popular_topics(supports, percent / 100, before={"tea"})) == low


def test_supports_may_be_numbers_of_subscribers():
    supports: dict[str, Any] = {"tea": 40, "rain": np.int64(39), "wind": 32.0, "fog": 31, "hail": 0}
    assert popular_topics(supports, 40) == {"tea"}
    assert popular_topics(supports, 0.1 * 400, before=supports) == {"tea", "rain", "wind"}
    assert popular_topics({"tea": 3}, 0.1 * 30) == {"tea"}


@pytest.mark.parametrize("support", [-1, float("nan"), float("inf"), "many", True, None])
def test_a_support_is_a_share_or_a_number(support):
    with pytest.raises(TopicError, match="the support of topic 'tea' is a share from 0 to 1 or a"):
        popular_topics({"tea": support}, 0.1)
    with pytest.raises(TopicError, match="the threshold is a share from 0 to 1 or a number"):
        popular_topics({}, support)


# -- both together


def test_the_next_map_has_clusters_and_catch_all():
    rates = {"chess": 90, "tea": 8, "rain": 7, "wind": 9}
    first = next_map(None, {"chess": 0}, rates, 16)
    assert first.version == 1
    assert first.topics_of(0) == ("chess",)
    rest = {topic: rate for topic, rate in rates.items() if topic != "chess"}
    check({topic: first.channel_of(topic) for topic in rest}, rest, 16, 1)
    second = next_map(first, {"chess": 0, "tea": 0}, rates, 16)
    assert second.version == 2
    assert set(first.moves(second)) == {"tea"}


def test_the_next_map_takes_numbers_of_numpy():
    names, channels = ["chess", "tea"], np.array([1, 0], np.int32)
    rates, _ = integer_rates(np.array([90.0, 80.0, 2.0]))
    clustered = dict(zip(names, channels, strict=True))
    made = next_map(None, clustered, dict(zip([*names, "rain"], rates, strict=True)), 10)
    assert made == ChannelMap({"chess": 1, "tea": 0, "rain": 2})
    assert ChannelMap.from_json(made.to_json()) == made


def test_a_bucket_does_not_take_the_number_of_a_cluster_that_is_empty():
    rates = {"chess": 90, "tea": 80, "rain": 2}
    first = next_map(None, {"chess": 0, "tea": 1}, rates, 10, channels=2)
    second = next_map(first, {"chess": 0, "tea": 0}, rates, 10, channels=2)
    assert first.channel_of("rain") == second.channel_of("rain") == 2
    with pytest.raises(TopicError, match="topics are clustered into 2 channels, not into 1"):
        next_map(first, {"chess": 0, "tea": 1}, rates, 10, channels=1)


def test_the_next_map_may_have_a_channel_for_all_others():
    first = next_map(None, {"chess": 0}, {"chess": 90}, 10, otherwise=1)
    assert first.channel_of("news") == 1
    assert next_map(first, {"chess": 0}, {}, 10).otherwise == 1
    assert next_map(first, {"chess": 0}, {}, 10, otherwise=3).otherwise == 3


# -- with majority filters


def test_nodes_with_majority_filters_find_popular_topics_that_do_not_flap():
    rng = np.random.default_rng(0)
    nodes = [MajorityCascade(popularity_steps("0.5"), bits=512, hashes=4) for _ in range(20)]
    tree = TreeSimulator(nodes, rng, parents=random_tree(20, rng))
    popular: set[str] = set()
    rates = {"chess": 90, "tea": 80, "rain": 2}
    maps: list[ChannelMap | None] = [None]
    for wanting_tea in (9, 10, 9, 8, 7, 8, 9, 10):
        wants = [{"chess"} | ({"tea"} if place < wanting_tea else set()) for place in range(20)]
        wants[0].add("rain")
        for place, node in enumerate(nodes):
            tree.say(place, node.set_elements(sorted(wants[place])))
        tree.run()
        supports = {topic: sum(topic in one for one in wants) for topic in rates}
        expected = popular_topics(supports, 10, popular)
        levels = [{topic: node.level(topic) for topic in rates} for node in nodes]
        found = [popular_by_levels(one, popular) for one in levels]
        assert found == [expected] * len(nodes)
        popular = expected
        maps.append(next_map(maps[-1], dict.fromkeys(popular, 0), rates, 80, channels=1))
    clustered = [made.channel_of("tea") == 0 for made in maps if made is not None]
    assert clustered == [False, True, True, True, False, False, False, True]


def test_the_steps_of_popularity_are_exact():
    assert popularity_steps(2 / 3) == (Fraction(8, 15), Fraction(2, 3))
    assert popularity_steps(0.5, leave=1) == (Fraction(1, 2), Fraction(1, 2))
