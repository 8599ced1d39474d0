import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.models.statistics import Estimate

counts = st.integers(0, 5_000)
half_lives = st.floats(0.5, 1e7)
means = st.floats(0, 1e6)


@given(means, st.floats(0.1, 1e4), means, counts, counts, half_lives)
def test_observations_of_one_mean_may_come_in_any_parts(start, weight, mean, some, rest, half_life):
    before = Estimate(start, weight)
    at_once = before.after(mean, some + rest, half_life)
    in_parts = before.after(mean, some, half_life).after(mean, rest, half_life)
    assert in_parts.mean == pytest.approx(at_once.mean, rel=1e-9)
    assert in_parts.weight == pytest.approx(at_once.weight, rel=1e-9)


@given(st.lists(means, max_size=30), half_lives)
def test_an_observation_counts_half_after_a_half_life(seen, half_life):
    estimate = Estimate(5.0, 8.0)
    for one in seen:
        estimate = estimate.after(one, 1, half_life)
    ages = range(len(seen))[::-1]
    weights = [8.0 * 2 ** (-len(seen) / half_life), *(2 ** (-age / half_life) for age in ages)]
    total = math.fsum(weights)
    mean = math.fsum(w * x for w, x in zip(weights, [5.0, *seen], strict=True)) / total
    assert estimate.weight == pytest.approx(total, rel=1e-9)
    assert estimate.mean == pytest.approx(mean, rel=1e-9)


@given(means, means, counts, half_lives)
def test_an_estimate_stays_between_what_it_was_and_what_was_seen(start, mean, count, half_life):
    after = Estimate(start).after(mean, count, half_life).mean
    assert min(start, mean) * (1 - 1e-9) <= after <= max(start, mean) * (1 + 1e-9)


def test_very_many_observations_leave_nothing_of_the_guess():
    assert Estimate(1e6).after(2.0, 10**9, 100.0).mean == pytest.approx(2.0)
