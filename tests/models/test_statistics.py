import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import ModelError
from caddis.models import Statistics, Tally
from caddis.models.model import DEFAULT_SELECTIVITY
from caddis.models.statistics import Estimate
from tests.models.readings import PHOTO, reading

LOUD = reading("loud", "loud", "rude", cost=4.0, selectivity={"rude": 0.05})


def seen(count: int, share: float = 0.0, milliseconds: float = 0.0) -> Tally:
    """A tally of so many values, a share of which is loud; whether they are rude is unknown."""
    yes = np.array([round(count * share), 0])
    return Tally(runs=count, milliseconds=milliseconds, yes=yes, known=np.array([count, 0]))


def estimates(statistics: Statistics) -> list[float]:
    shares = [statistics.selectivity(LOUD, concept) for concept in LOUD.model.concepts]
    return [statistics.cost(LOUD), *shares]


def test_guesses_hold_until_something_is_seen():
    assert estimates(Statistics()) == [4.0, DEFAULT_SELECTIVITY, 0.05]


def test_a_guess_counts_as_eight_observations():
    statistics = Statistics(half_life=1e9)
    statistics.learn(LOUD, seen(8, share=1.0, milliseconds=8 * 10.0))
    assert estimates(statistics) == pytest.approx([7.0, 0.6, 0.05])


def test_selectivity_is_learnt_from_hits_as_well_and_cost_from_runs_alone():
    statistics = Statistics()
    statistics.learn(LOUD, Tally(hits=9_000, yes=np.array([9_000, 0]), known=np.array([9_000, 0])))
    assert statistics.cost(LOUD) == 4.0
    assert statistics.selectivity(LOUD, "loud") > 0.98


def test_a_change_is_followed_within_a_few_half_lives():
    statistics = Statistics(half_life=500)
    for _ in range(50):
        statistics.learn(LOUD, seen(100, share=0.1, milliseconds=100 * 2.0))
    assert estimates(statistics) == pytest.approx([2.0, 0.1, 0.05], abs=0.01)
    for _ in range(4 * 5):
        statistics.learn(LOUD, seen(100, share=0.8, milliseconds=100 * 6.0))
    cost, loud, _ = estimates(statistics)
    assert loud == pytest.approx(0.8, abs=0.05)
    assert cost == pytest.approx(6.0, abs=0.5)


@given(st.integers(1, 400), st.integers(1, 400), st.sampled_from([0.0, 0.5, 1.0]))
def test_a_steady_batch_may_be_learnt_in_parts(some, rest, share):
    at_once, in_parts = Statistics(half_life=100), Statistics(half_life=100)
    at_once.learn(LOUD, seen(2 * (some + rest), share, milliseconds=6.0 * (some + rest)))
    for count in (some, rest):
        in_parts.learn(LOUD, seen(2 * count, share, milliseconds=6.0 * count))
    assert estimates(in_parts) == pytest.approx(estimates(at_once), rel=1e-9)


def test_nothing_is_free_impossible_or_certain():
    statistics = Statistics(half_life=10)
    statistics.learn(LOUD, seen(10_000, share=0.0))
    assert statistics.cost(LOUD) > 0
    assert statistics.selectivity(LOUD, "loud") == 0.001
    statistics.learn(LOUD, seen(10_000, share=1.0))
    assert statistics.selectivity(LOUD, "loud") == 0.999


def test_another_column_or_version_of_a_model_starts_anew():
    statistics = Statistics()
    statistics.learn(LOUD, seen(1_000, share=1.0, milliseconds=9_000))
    for other in (
        reading("loud", "loud", cost=4.0, version="2"),
        reading("loud", "loud", cost=4.0, column=PHOTO),
    ):
        assert statistics.cost(other) == 4.0
        assert statistics.selectivity(other, "loud") == DEFAULT_SELECTIVITY


def test_a_copy_learns_apart():
    statistics = Statistics()
    statistics.learn(LOUD, seen(100, share=0.5, milliseconds=100))
    before = estimates(statistics)
    copied = statistics.copy()
    assert estimates(copied) == before
    copied.learn(LOUD, seen(100, share=1.0, milliseconds=900))
    assert estimates(statistics) == before != estimates(copied)


@pytest.mark.parametrize("half_life", [0, -1, float("inf"), float("nan")])
def test_a_half_life_is_positive(half_life):
    with pytest.raises(ModelError, match="it is positive"):
        Statistics(half_life)


# -- the file


def test_what_is_saved_is_what_is_loaded(tmp_path):
    path = tmp_path / "statistics.json"
    statistics = Statistics(half_life=123.0)
    statistics.learn(LOUD, seen(57, share=0.3, milliseconds=57 * 1.7))
    statistics.save(path)
    loaded = Statistics.load(path)
    for one in (statistics, loaded):
        one.learn(LOUD, seen(31, share=0.6, milliseconds=31 * 2.9))
    assert estimates(loaded) == estimates(statistics)
    assert loaded.half_life == 123.0


def test_the_file_is_the_same_whatever_was_learnt_first(tmp_path):
    other = reading("apt", "apt")
    for name, order in (("a", [LOUD, other]), ("b", [other, LOUD])):
        statistics = Statistics()
        for one in order:
            statistics.learn(one, seen(5, share=0.2, milliseconds=3.0))
        statistics.save(tmp_path / name)
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    plain = json.loads((tmp_path / "a").read_text())
    assert [one["model"] for one in plain["readings"]] == ["apt", "loud"]


def test_a_save_replaces_the_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "statistics.json"
    for _ in range(2):
        Statistics().save(path)
    assert list(tmp_path.iterdir()) == [path]


GOOD = {"mean": 0.5, "weight": 9.0}
NAMED = {"model": "m", "version": "v", "column": "c", "cost": GOOD, "concepts": {"a": GOOD}}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "holds no statistics"),
        ("[1]", "holds no statistics"),
        ('{"a": 1}', "holds no statistics"),
        ("\x80", "holds no statistics"),
        ('{"format": 99}', "has format 99, this version reads 1"),
        ('{"format": 1}', "is damaged: 'half_life'"),
        ('{"format": 1, "half_life": "x", "readings": []}', "is damaged"),
        ('{"format": 1, "half_life": -3, "readings": []}', "is damaged"),
        ('{"format": 1, "half_life": 9, "readings": 3}', "is damaged"),
    ],
)
def test_a_damaged_or_foreign_file_is_named(content, problem, tmp_path):
    path = tmp_path / "statistics.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ModelError, match=rf"statistics\.json.*{problem}"):
        Statistics.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"model": ...},
        {"cost": 3},
        {"cost": {"mean": float("nan"), "weight": 1}},
        {"cost": {"mean": float("inf"), "weight": 1}},
        {"cost": {"mean": 1, "weight": 0}},
        {"concepts": [1]},
        {"concepts": {"a": {"mean": 1.5, "weight": 1}}},
    ],
)
def test_a_file_with_numbers_that_cannot_be_is_damaged(change, tmp_path):
    path = tmp_path / "statistics.json"
    one = {name: value for name, value in (NAMED | change).items() if value is not ...}
    path.write_text(json.dumps({"format": 1, "half_life": 9.0, "readings": [one]}))
    with pytest.raises(ModelError, match=r"statistics\.json is damaged: .*; remove it"):
        Statistics.load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"none\.json"):
        Statistics.load(tmp_path / "none.json")


counts = st.integers(0, 10**9)
arrays = st.one_of(st.just([]), st.lists(st.integers(0, 10**9), min_size=3, max_size=3)).map(
    lambda some: np.array(some, np.int64)
)
tallies = st.builds(
    Tally, counts, counts, counts, counts, counts, counts.map(float), yes=arrays, known=arrays
)


def test_what_is_saved_is_never_less_than_nothing():
    assert (Tally(needed=5, runs=2).saved, Tally(needed=2, runs=5).saved) == (3, 0)


@given(tallies, tallies, tallies)
def test_tallies_add_up_in_any_order(one, two, three):
    assert (one + (two + three)).to_json() == ((three + one) + two).to_json()
    assert (Tally() + one).to_json() == one.to_json() == (one + Tally()).to_json()
    assert (one + two).needed == one.needed + two.needed


@given(tallies)
def test_a_tally_passes_through_json(tally):
    again = Tally.from_json(json.loads(json.dumps(tally.to_json())))
    assert again.to_json() == tally.to_json()
    assert again.yes.dtype == np.int64


def test_adding_leaves_what_was_added_as_it_was():
    kept = one = Tally(runs=1, yes=np.array([1]), known=np.array([2]))
    one += Tally(runs=1, yes=np.array([1]), known=np.array([2]))
    assert (kept.runs, kept.yes.tolist(), one.runs, one.yes.tolist()) == (1, [1], 2, [2])


observations = st.integers(0, 5_000)
half_lives = st.floats(0.5, 1e7)
means = st.floats(0, 1e6)


@given(means, st.floats(0.1, 1e4), means, observations, observations, half_lives)
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


@given(means, means, observations, half_lives)
def test_an_estimate_stays_between_what_it_was_and_what_was_seen(start, mean, count, half_life):
    after = Estimate(start).after(mean, count, half_life).mean
    assert min(start, mean) * (1 - 1e-9) <= after <= max(start, mean) * (1 + 1e-9)


def test_very_many_observations_leave_nothing_of_the_guess():
    assert Estimate(1e6).after(2.0, 10**9, 100.0).mean == pytest.approx(2.0)
