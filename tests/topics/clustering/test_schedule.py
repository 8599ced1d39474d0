"""A schedule only lowers the cost, lets everybody vote, and comes to rest in a local minimum."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Int32s
from caddis.errors import TopicError
from caddis.lab.local_building_blocks.clusterings import (
    adopt_all,
    outcomes_and_cost,
    random_channels,
    settled,
)
from caddis.lab.workloads.interests import MODELS, planted, redrawn, uniform, zipf_interests
from caddis.topics.clustering.interests import Interests
from caddis.topics.clustering.schedule import Mode, Schedule, Settings, Wave
from tests.topics.clustering.plain_excess import cases, cost_of, is_local_minimum

Case = tuple[Interests, Int32s, int]
modes = st.sampled_from(["leader", "concurrent"])
shares = st.sampled_from([0.01, 0.2, 0.5, 1.0])
seeds = st.integers(0, 2**32 - 1)


@given(cases(), modes, shares, seeds)
def test_rest_is_a_local_minimum_no_worse_than_the_beginning(
    case: Case, mode: Mode, share: float, seed: int
):
    interests, channels, k = case
    schedule = Schedule(channels, k, Settings(share), np.random.default_rng(seed))
    end = settled(interests, schedule, k, schedule.begin(mode))
    assert end.mode == mode
    assert end.cost == cost_of(interests, end.channels) <= cost_of(interests, channels)
    assert is_local_minimum(interests, end.channels, k)


@given(st.integers(1, 40), modes, shares, seeds)
def test_where_nobody_moves_every_topic_votes_once(
    topics: int, mode: Mode, share: float, seed: int
):
    rng = np.random.default_rng(seed)
    schedule = Schedule(random_channels(topics, 3, rng), 3, Settings(share), rng)
    voted: list[int] = []
    wave = schedule.begin(mode)
    while True:
        assert wave.mode == mode
        assert len(wave.topics) <= (1 if mode == "leader" else np.ceil(share * topics))
        voted += wave.topics.tolist()
        following = schedule.settle(schedule.channels[wave.topics], 5)
        if following is None:
            break
        wave = following
    assert sorted(voted) == list(range(topics))


@given(cases(), shares, shares, seeds)
def test_a_wave_has_each_of_its_topics_once(case: Case, share: float, moves: float, seed: int):
    interests, channels, k = case
    schedule = Schedule(channels, k, Settings(share, moves=moves), np.random.default_rng(seed))
    wave: Wave | None = schedule.begin("concurrent")
    while wave is not None:
        assert 0 < len(set(wave.topics.tolist())) == len(wave.topics)
        chosen, cost = outcomes_and_cost(interests, schedule.channels, k)
        wave = schedule.settle(chosen[wave.topics], cost)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("k", [5, 10, 20])
def test_concurrent_votes_come_to_rest_after_20_of_100_topics_changed(model: str, k: int):
    for seed in range(5):
        rng = np.random.default_rng([seed, k])
        schedule = Schedule(random_channels(100, k, rng), k, Settings(), rng)
        before = MODELS[model](200, 100, rng)
        settled(before, schedule, k, schedule.begin("leader"))
        interests = redrawn(before, MODELS[model](200, 100, rng), 20, rng)
        interest, cost = outcomes_and_cost(interests, schedule.channels, k)
        moved = np.flatnonzero(interest != schedule.channels).astype(np.int32)
        end = settled(interests, schedule, k, schedule.stir(moved))
        assert end.mode == "concurrent"
        assert end.waves < 150
        assert end.cost < cost
        assert (outcomes_and_cost(interests, end.channels, k)[0] == end.channels).all()


def test_all_at_once_without_looking_at_the_cost_does_not_come_to_rest():
    rng = np.random.default_rng(3)
    interests = uniform(200, 100, rng)
    assert adopt_all(interests, random_channels(100, 10, rng), 10, 1.0, rng)[1] is None


def test_an_accepted_map_is_never_dearer_than_the_one_before():
    rng = np.random.default_rng(5)
    schedule = Schedule(random_channels(60, 6, rng), 6, Settings(1.0, moves=1.0), rng)
    costs = settled(zipf_interests(300, 60, rng), schedule, 6, schedule.begin("concurrent")).costs
    least = np.minimum.accumulate(costs)
    risen = np.flatnonzero(np.array(costs[1:]) > least[:-1])
    assert len(risen), "all at once is too bold at first"
    assert costs[-1] == min(costs)


def test_the_same_seed_gives_the_same_waves():
    ends = []
    for _ in range(2):
        rng = np.random.default_rng(11)
        schedule = Schedule(random_channels(50, 5, rng), 5, Settings(), rng)
        ends.append(settled(planted(200, 50, rng), schedule, 5, schedule.begin("concurrent")))
    assert ends[0].costs == ends[1].costs
    assert ends[0].channels.tolist() == ends[1].channels.tolist()


def test_a_small_change_lets_the_topics_that_it_touches_vote_first():
    schedule = Schedule(np.zeros(10, np.int32), 3, Settings(), np.random.default_rng(1))
    wave = schedule.stir(np.array([4, 7], np.int32))
    assert (wave.mode, sorted(wave.topics.tolist())) == ("concurrent", [4, 7])
    assert schedule.settle(np.zeros(2, np.int32), 9) is None, "they stay: nothing else changed"


@pytest.mark.parametrize(("moved", "again"), [([2], [0, 1, 3]), ([1, 2], [0, 1, 2, 3])])
def test_a_move_makes_all_others_vote_again(moved: list[int], again: list[int]):
    settings = Settings(share=0.5, moves=0.5)
    schedule = Schedule(np.zeros(4, np.int32), 3, settings, np.random.default_rng(1))
    wave = schedule.stir(np.array(moved, np.int32))
    assert sorted(wave.topics.tolist()) == moved
    following = schedule.settle(np.ones(len(moved), np.int32), 9)
    voted: list[int] = []
    while following is not None:
        voted += following.topics.tolist()
        following = schedule.settle(schedule.channels[following.topics], 8)
    assert sorted(voted) == again


def test_a_large_change_is_left_to_the_leader():
    schedule = Schedule(np.zeros(10, np.int32), 3, Settings(), np.random.default_rng(1))
    assert schedule.stir(np.arange(8, dtype=np.int32)).mode == "leader"


def test_the_leader_takes_over_when_votes_do_not_come_to_rest():
    rng = np.random.default_rng(1)
    schedule = Schedule(np.zeros(10, np.int32), 3, Settings(patience=30), rng)
    wave = schedule.begin("concurrent")
    for cost in range(1000, 900, -1):
        restless = (schedule.channels[wave.topics] + 1) % 3
        following = schedule.settle(restless.astype(np.int32), cost)
        assert following is not None
        wave = following
        if wave.mode == "leader":
            break
    assert cost == 1000 - 29


@pytest.mark.parametrize("cost", [100, 101])
def test_moves_that_do_not_pay_are_halved_until_one_is_left(cost: int):
    schedule = Schedule(
        np.zeros(8, np.int32), 2, Settings(1.0, moves=1.0), np.random.default_rng(1)
    )
    schedule.begin("concurrent")
    moved = []
    wave = schedule.settle(np.ones(8, np.int32), 100)
    while wave is not None and schedule.channels.sum() > 1:
        assert sorted(wave.topics.tolist()) == list(range(8)), "each of them once"
        moved.append(int(schedule.channels.sum()))
        wave = schedule.settle(np.ones(8, np.int32), cost)
    assert moved == [8, 4, 2]


def test_no_more_topics_move_at_once_than_may():
    schedule = Schedule(
        np.zeros(8, np.int32), 2, Settings(1.0, moves=0.25), np.random.default_rng(1)
    )
    schedule.begin("concurrent")
    wave = schedule.settle(np.ones(8, np.int32), 100)
    assert schedule.channels.sum() == 2
    assert wave is not None
    assert not schedule.channels[wave.topics].any(), "the others of this turn vote first"


def test_a_small_improvement_is_enough_where_that_is_wanted():
    interests = zipf_interests(300, 80, np.random.default_rng(2))
    ends = {}
    for improvement in (0.0, 0.01):
        rng = np.random.default_rng(7)
        schedule = Schedule(random_channels(80, 8, rng), 8, Settings(improvement=improvement), rng)
        ends[improvement] = settled(interests, schedule, 8, schedule.begin("concurrent"))
    assert ends[0.01].waves < ends[0.0].waves
    assert ends[0.0].cost <= ends[0.01].cost < 1.05 * ends[0.0].cost


@pytest.mark.parametrize(
    "wrong",
    [
        {"share": 0.0},
        {"share": 1.5},
        {"moves": 0.0},
        {"improvement": 1.0},
        {"large_change": -3.0},
        {"large_change": 1.1},
        {"large_change": np.nan},
    ],
)
def test_settings_are_shares(wrong: dict[str, Any]):
    with pytest.raises(TopicError, match="share"):
        Settings(**wrong)


@pytest.mark.parametrize("patience", [-1, 0])
def test_patience_lasts_for_a_wave(patience: int):
    with pytest.raises(TopicError, match=f"1 wave or more, not for {patience}"):
        Settings(patience=patience)
