"""The catch-all: bounded buckets for unpopular topics."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import TopicError
from caddis.topics.catch_all import MERGE, catch_all, next_map, popular_topics

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


@pytest.mark.parametrize("rate", [-1, 0.5, True])
def test_rates_are_whole_numbers(rate):
    with pytest.raises(TopicError, match="topic 'tea': a rate is a whole number"):
        catch_all({"tea": rate}, BOUND, 0)


def test_a_bound_is_more_than_nothing():
    with pytest.raises(TopicError, match="buckets hold 1 or more"):
        catch_all({}, 0, 0)


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
