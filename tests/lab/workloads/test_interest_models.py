"""Models draw the interests that they say, and the same ones from the same seed."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import TopicError
from caddis.lab.local_building_blocks.clusterings import outcomes_and_cost, random_channels
from caddis.lab.workloads.interests import (
    MODELS,
    chosen,
    from_json,
    planted,
    redrawn,
    uniform,
    zipf_interests,
    zipf_supports,
)
from caddis.topics.clustering.k_means import kmeans
from tests.topics.clustering.plain_excess import sets_of

DEEZER = Path(__file__).resolve().parents[4] / "shared/data/interests/deezer_HU_genres.json"


@pytest.mark.parametrize("model", MODELS)
def test_the_same_seed_draws_the_same_interests(model: str):
    one, other = (MODELS[model](50, 30, np.random.default_rng(4)) for _ in range(2))
    assert sets_of(one) == sets_of(other)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("subscribers", "topics"), [(0, 30), (3, 30), (200, 40)])
def test_rows_are_ascending_and_distinct(model: str, subscribers: int, topics: int):
    interests = MODELS[model](subscribers, topics, np.random.default_rng(1))
    assert (interests.subscribers, interests.topic_count) == (subscribers, topics)
    for row in range(subscribers):
        assert (np.diff(interests.wanted(row)) > 0).all()
        assert set(interests.wanted(row).tolist()) <= set(range(topics))


@given(st.integers(0, 200), st.sampled_from([0.0, 0.001, 0.3, 1.0]), st.integers(0, 2**32 - 1))
def test_chosen_ones_are_distinct_and_in_range(size: int, chance: float, seed: int):
    places = chosen(size, chance, np.random.default_rng(seed)).tolist()
    assert places == sorted(set(places))
    assert set(places) <= set(range(size))
    if chance in (0.0, 1.0):
        assert len(places) == size * chance


def test_everyone_is_chosen_with_the_same_chance():
    rng = np.random.default_rng(1)
    times = np.bincount(np.concatenate([chosen(20, 0.3, rng) for _ in range(4000)]), minlength=20)
    assert np.abs(times / 4000 - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 4000)


def test_supports_are_what_was_asked_for():
    rng = np.random.default_rng(2)
    assert len(uniform(2000, 50, rng, support=0.2)) / 2000 == pytest.approx(10, rel=0.02)
    assert len(zipf_interests(2000, 100, rng, wanted=20)) / 2000 == pytest.approx(20, rel=0.02)
    supports = zipf_supports(100, 20, 1.0)
    assert supports.sum() == pytest.approx(20)
    assert supports.max() <= 0.9
    assert supports[50] == pytest.approx(supports[25] * 26 / 51)


@pytest.mark.parametrize("wanted", [0, 95])
def test_subscribers_want_some_topics_and_not_all(wanted: int):
    with pytest.raises(TopicError, match="wants"):
        zipf_supports(100, wanted, 1.0)


def test_groups_want_their_topics():
    interests = planted(500, 40, np.random.default_rng(3), groups=4, loyalty=1.0, stray=0.0)
    rows = {frozenset(row) for row in sets_of(interests)}
    assert len(rows) == 4 + 4 * 3 // 2, "one group or two"
    assert min(map(len, rows)) == 10


@given(st.integers(0, 10), st.integers(0, 2**32 - 1))
def test_only_some_topics_are_redrawn(changed: int, seed: int):
    rng = np.random.default_rng(seed)
    before, other = uniform(20, 10, rng), uniform(20, 10, rng)
    after = redrawn(before, other, changed, rng)
    differ = [
        topic
        for topic in range(10)
        if any(
            (topic in old) != (topic in new)
            for old, new in zip(sets_of(before), sets_of(after), strict=True)
        )
    ]
    assert len(differ) <= changed
    for topic in differ:
        for new, drawn in zip(sets_of(after), sets_of(other), strict=True):
            assert (topic in new) == (topic in drawn)


def test_names_may_come_twice_and_rates_may_be_given():
    interests, names = from_json('{"a": ["y", "x", "y"], "b": ["z"]}', np.array([3, 1, 2]))
    assert names == ["x", "y", "z"]
    assert sets_of(interests) == [{0, 1}, {2}]
    assert interests.rates.tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not an object of lists"),
        ('[["jazz"]]', "not an object of lists"),
        ('{"ann": "jazz"}', "what 'ann' wants is not a list"),
        ('{"ann": {"jazz": 1}}', "what 'ann' wants is not a list"),
        ('{"bob": [], "ann": ["jazz", 7]}', "what 'ann' wants is not a list"),
        ("{}", "nobody wants anything"),
        ('{"ann": []}', "nobody wants anything"),
    ],
)
def test_what_is_not_interests_is_refused(text: str, complaint: str):
    with pytest.raises(TopicError, match=f"{complaint}.*write interests as"):
        from_json(text)


@pytest.mark.skipif(not DEEZER.exists(), reason="the Deezer interests are not on this machine")
def test_kmeans_more_than_halves_the_cost_of_real_interests():
    interests, names = from_json(DEEZER.read_text())
    assert (interests.subscribers, len(names)) == (47_538, 84)
    rng = np.random.default_rng(1)
    by_chance = outcomes_and_cost(interests, random_channels(84, 10, rng), 10)[1]
    assert kmeans(interests, 10, rng).cost < 0.5 * by_chance
