"""Experiments on topics: votes on real interests, and what clusterings cost.

Where the paper draws the inputs of votes, here they are what people's interests make of them: what
each channel would cost each subscriber with a topic in it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.lab.figures import Measured
from caddis.lab.local_building_blocks.clusterings import (
    adopt_all,
    agglomerative,
    random_channels,
    settled,
    wishes,
)
from caddis.lab.local_building_blocks.runs import Setup
from caddis.lab.local_building_blocks.votes import COMPLETE, quiet, tree_of
from caddis.lab.simulators import VoteRounds, aggregated, aggregated_again
from caddis.lab.workloads import MODELS, owners_of, redrawn
from caddis.topics.clustering import Interests, Schedule, Settings, channel_rates, kmeans, search
from caddis.topics.voting import discriminability, moments

FIRST, LAST = "a random map", "the map of K-Means"
TOPICS, CHANGED = 100, 20
"""Of the paper's simulations of the concurrent protocol: topics, and how many of them change."""
MOST_WAVES = 500


class Ballot(NamedTuple):
    """What votes on a map are made of.

    held: by subscriber and channel, how many topics of it are wanted.
    """

    interests: Interests
    channels: Int32s
    held: Int64s

    @classmethod
    def on(cls, interests: Interests, channels: Int32s, k: int) -> Ballot:
        """The votes of all subscribers on a map."""
        places = owners_of(interests) * k + channels[interests.topics]
        held = np.bincount(places, minlength=interests.subscribers * k)
        return cls(interests, channels, held.reshape(interests.subscribers, k))

    def costs(self, topic: int) -> Int64s:
        """By subscriber and channel: what the topic, taken out of its own, would cost there.

        Who wants it newly receives the rest of a channel; who does not filters it in channels that
        are received anyway.
        """
        rates, home = self.interests.rates, self.channels[topic]
        wants = np.zeros(len(self.held), np.bool_)
        wants[owners_of(self.interests)[self.interests.topics == topic]] = True
        held, carried = self.held.copy(), channel_rates(self.channels, rates, self.held.shape[1])
        held[:, home] -= wants
        carried[home] -= rates[topic]
        costs: Int64s = np.where(wants[:, None], carried * (held == 0), rates[topic] * (held > 0))
        return costs


def measure_interests(setup: Setup, setting: str, x: float, rng: np.random.Generator) -> Measured:
    """A topic's vote and its upkeep; x: the topic, setting: on which map."""
    costs = _ballot(setup, setting).costs(int(x))
    before = costs[rng.permutation(len(costs))]
    tree = tree_of(COMPLETE, len(before), rng)
    size = max(1, round(setup.conditions.changed * len(before)))
    some = rng.choice(len(before), size, replace=False).astype(np.int32)
    after = before.copy()
    after[some] = before[rng.choice(len(before), size)]
    vote = quiet(VoteRounds(tree, before), before)
    [distance] = discriminability(moments(before).sum(axis=0, keepdims=True))
    measured = {"distance": float(distance), "voting": vote.messages}
    measured |= {"voting_radius": float(vote.radius.mean()), "aggregation": aggregated(tree)}
    vote.change(some, after[some])
    measured["voting_again"] = quiet(vote, after).messages
    return measured | {"aggregation_again": aggregated_again(tree, before, after)}


@lru_cache(maxsize=2)
def _ballot(setup: Setup, setting: str) -> Ballot:
    rng, k = np.random.default_rng(setup.conditions.seed), setup.conditions.k
    channels = random_channels(setup.interests.topic_count, k, rng)
    if setting == LAST:
        channels = kmeans(setup.interests, k, rng, channels).channels
    return Ballot.on(setup.interests, channels, k)


def measure_clustering(setup: Setup, _: str, x: float, rng: np.random.Generator) -> Measured:
    """What maps into k channels cost, by subscriber; x: k."""
    interests, k = setup.interests, int(x)
    start = random_channels(interests.topic_count, k, rng)
    schedule = Schedule(start, k, Settings(), rng)
    costs = {
        "random": wishes(interests, start, k)[1],
        "votes": settled(interests, schedule, k, schedule.begin("leader")).cost,
        "kmeans": kmeans(interests, k, rng).cost,
        "search": search(interests, k, rng).cost,
        "agglomerative": wishes(interests, agglomerative(interests, k), k)[1],
    }
    return {name: cost / interests.subscribers for name, cost in costs.items()}


def measure_convergence(setup: Setup, setting: str, x: float, rng: np.random.Generator) -> Measured:
    """Topics change for everybody at once; x: the share that votes at once, setting: k.

    Adopted as they come, outcomes may never come to rest; then waves are unknown.
    """
    k, draw = int(setting), MODELS[str(rng.choice(sorted(MODELS)))]
    before, other = (draw(setup.conditions.nodes, TOPICS, rng) for _ in range(2))
    start = kmeans(before, k, rng).channels
    after = redrawn(before, other, CHANGED, rng)
    _, waves = adopt_all(after, start, k, x, rng, MOST_WAVES)
    return {
        "adopted": float(waves is not None),
        "adopted_waves": float("nan") if waves is None else float(waves),
        **_scheduled(after, start, k, x, rng),
    }


def _scheduled(
    interests: Interests, start: Int32s, k: int, share: float, rng: np.random.Generator
) -> Measured:
    """The same by the schedule that nodes follow."""
    schedule = Schedule(start, k, Settings(share=share, moves=share, patience=MOST_WAVES), rng)
    chosen, _ = wishes(interests, start, k)
    moved = np.flatnonzero(chosen != start).astype(np.int32)
    if not len(moved):
        return {"scheduled": 1.0, "scheduled_waves": 0.0}
    found = settled(interests, schedule, k, schedule.stir(moved))
    rested = found.mode == "concurrent"
    waves = float(found.waves) if rested else float("nan")
    return {"scheduled": float(rested), "scheduled_waves": waves}
