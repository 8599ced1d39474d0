"""Interests keep every pair once; rates become whole numbers that stand for them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import TopicError
from caddis.topics.clustering.interests import LARGEST_RATES, Interests, integer_rates

numbers = st.integers(-5, 5) | st.integers(-(2**62), 2**62)


@given(st.lists(st.tuples(numbers, st.integers(0, 6))))
def test_every_subscriber_has_its_topics_once_and_in_order(pairs: list[tuple[int, int]]):
    subscribers = np.array([who for who, _ in pairs], np.int64)
    topics = np.array([topic for _, topic in pairs], np.int32)
    packed = Interests.from_pairs(subscribers, topics, np.ones(7, np.int64))
    wanted = [
        sorted({topic for other, topic in pairs if other == who})
        for who in sorted({who for who, _ in pairs})
    ]
    assert [packed.wanted(i).tolist() for i in range(packed.subscribers)] == wanted
    assert len(packed) == sum(map(len, wanted))


@pytest.mark.parametrize("topic", [-1, 2])
def test_topics_have_a_rate(topic: int):
    with pytest.raises(TopicError, match="rates"):
        Interests.from_pairs(np.array([1]), np.array([topic], np.int32), np.array([1, 1]))


@pytest.mark.parametrize("rates", [[-1, 2], [LARGEST_RATES, 1], [1 << 62, 1 << 62], [0.5, 1.0]])
def test_rates_that_cannot_be_summed_exactly_are_refused(rates: list[float]):
    with pytest.raises(TopicError, match="rates"):
        Interests.from_pairs(np.array([1]), np.array([0], np.int32), np.array(rates))


def test_pairs_have_two_sides():
    with pytest.raises(TopicError, match="pairs"):
        Interests.from_pairs(np.array([1]), np.zeros(0, np.int32), np.array([1]))


@given(st.lists(st.integers(0, 10**6), max_size=20))
def test_whole_rates_stay(rates: list[int]):
    units, unit = integer_rates(np.array(rates, np.float64))
    assert (units.tolist(), unit) == (rates, 1.0)


@given(st.lists(st.floats(0, 1e12, allow_subnormal=False), min_size=1, max_size=20))
def test_rates_keep_eight_digits_of_their_sum(rates: list[float]):
    units, unit = integer_rates(np.array(rates))
    total = sum(rates)
    assert units.sum() <= LARGEST_RATES
    assert ((units > 0) == (np.array(rates) > 0)).all()
    assert np.abs(units * unit - rates).max() <= total * 1e-8


@pytest.mark.parametrize("wrong", [-0.5, np.nan, np.inf, 1e300])
def test_rates_are_finite_numbers_from_0_upwards(wrong: float):
    with pytest.raises(TopicError, match="a rate is"):
        integer_rates(np.array([1.0, wrong]))


def test_decimal_rates_are_exact():
    units, unit = integer_rates(np.array([0.1, 2.5, 30.0]))
    assert (units.tolist(), unit) == ([1, 25, 300], 0.1)


def test_tiny_rates_still_count():
    units, unit = integer_rates(np.array([3e-308, 0.0]))
    assert units.tolist() == [1, 0]
    assert 0 < unit < 1e-290
