"""Nodes with real messages do what the algebra says, and tell what it took."""

from __future__ import annotations

import numpy as np
import pytest

from caddis.arrays import Int32s
from caddis.lab.local_building_blocks.clusterings import Settled, outcomes_and_cost, settled
from caddis.lab.simulators.clustering import ClusteringSimulation, Spell
from caddis.lab.workloads.interests import planted, redrawn, uniform
from caddis.topics.clustering.interests import Interests, count, vote_costs
from caddis.topics.clustering.schedule import Mode, Schedule, Settings

TOPICS, NODES = 24, 25


def first_map(k: int) -> Int32s:
    return np.arange(TOPICS, dtype=np.int32) % k


def drawn(seed: int) -> tuple[Interests, Interests]:
    """Interests of all nodes, and those after a fifth of the topics has changed for everybody."""
    rng = np.random.default_rng(seed)
    before, other = (planted(NODES, TOPICS, rng, groups=5) for _ in range(2))
    return before, redrawn(before, other, TOPICS // 5, rng)


def of_the_leader(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed).spawn(1)[0]


def assert_same(spell: Spell, by_algebra: Settled) -> None:
    assert spell.at_rest
    assert spell.channels.tolist() == by_algebra.channels.tolist()
    assert spell.cost == by_algebra.cost
    assert [wave.cost for wave in spell.series] == by_algebra.costs


@pytest.mark.parametrize("protocol", ["aggregation", "voting"])
@pytest.mark.parametrize(("seed", "k", "start"), [(0, 3, "leader"), (1, 5, "concurrent")])
def test_messages_end_where_the_algebra_does(protocol: str, seed: int, k: int, start: Mode):
    before, after = drawn(seed)
    rng = np.random.default_rng(seed)
    simulation = ClusteringSimulation(before, k, rng, protocol=protocol, start=start)
    schedule = Schedule(first_map(k), k, Settings(), of_the_leader(seed))
    assert_same(simulation.run(), settled(before, schedule, k, schedule.begin(start)))

    simulation.change(after)
    chosen, _ = outcomes_and_cost(after, schedule.channels, k)
    moved = np.flatnonzero(chosen != schedule.channels).astype(np.int32)
    assert len(moved)
    assert_same(simulation.run(), settled(after, schedule, k, schedule.stir(moved)))


def test_a_small_change_is_settled_concurrently_and_a_large_one_by_the_leader():
    before, after = drawn(2)
    settings = Settings(large_change=0.3)
    simulation = ClusteringSimulation(
        before, 4, np.random.default_rng(2), settings=settings, start="concurrent"
    )
    assert not simulation.run().fell_back
    simulation.want(3, after.wanted(7))
    small = simulation.run()
    assert small.at_rest
    assert not small.fell_back
    simulation.change(uniform(NODES, TOPICS, np.random.default_rng(9), support=0.4))
    large = simulation.run()
    assert large.at_rest
    assert large.fell_back


@pytest.mark.parametrize("within_ms", [0.0, 30_000.0])
def test_a_fifth_of_all_topics_may_change_for_everybody_at_once_or_bit_by_bit(within_ms: float):
    for seed in range(3, 6):
        before, after = drawn(seed)
        simulation = ClusteringSimulation(
            before, 5, np.random.default_rng(seed), start="concurrent"
        )
        simulation.run()
        simulation.change(after, within_ms=within_ms)
        spell = simulation.run()
        assert spell.at_rest
        chosen, cost = outcomes_and_cost(after, spell.channels, 5)
        assert chosen.tolist() == spell.channels.tolist()
        assert spell.cost == cost == simulation.nodes[0].cost


@pytest.mark.parametrize("protocol", ["aggregation", "voting"])
def test_one_change_of_interest_costs_little_against_the_first_clustering(protocol: str):
    before, _ = drawn(7)
    simulation = ClusteringSimulation(before, 4, np.random.default_rng(7), protocol=protocol)
    first = simulation.run()
    simulation.want_at(simulation.tree.now + 500, 11, before.wanted(11)[1:])
    one = simulation.run()
    assert one.at_rest
    assert 0 < 20 * one.packets < first.packets
    assert one.nbytes < first.nbytes


def test_the_difficulty_of_standing_votes_is_that_of_what_nodes_put_in():
    before, _ = drawn(9)
    simulation = ClusteringSimulation(before, 4, np.random.default_rng(9))
    channels = simulation.run().channels
    inputs = np.array(
        [
            vote_costs(count(_alone(before, node), channels, 4), channels, before.rates)
            for node in range(NODES)
        ]
    )
    means, variances = inputs.mean(axis=0), inputs.var(axis=0)
    expected = []
    for mean, variance in zip(means, variances, strict=True):
        best = int(mean.argmin())
        gaps = (mean - mean[best]) ** 2 / (variance + variance[best])
        expected.append(min(np.delete(gaps, best)))
    assert simulation.difficulties() == pytest.approx(np.array(expected))


def _alone(interests: Interests, node: int) -> Interests:
    topics = interests.wanted(node)
    return Interests(np.array([0, len(topics)]), topics, interests.rates)


def test_time_may_be_over_before_the_nodes_rest():
    before, _ = drawn(8)
    simulation = ClusteringSimulation(before, 4, np.random.default_rng(8))
    spell = simulation.run(within_ms=3_000.0)
    assert not spell.at_rest
    assert spell.ms == 3_000.0
    assert simulation.run().at_rest
