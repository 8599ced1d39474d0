"""The experiments on people's interests: votes on topics, and what clusterings cost.

Where the paper draws the inputs of votes, here they follow from interests: what each channel would
cost each subscriber with a topic in it.

Distributed K-Means is compared with other ways to cluster. `settled` follows a schedule with every
vote's outcome by algebra, which is what nodes do once all of their messages have arrived.
`adopt_all` is the concurrent version as the paper describes it, where outcomes are adopted whether
or not they pay together. Random assignment and agglomerative clustering are the yardsticks.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.lab.figures import Measured, Place
from caddis.lab.local_building_blocks.votes import COMPLETE, Setup, quiet, tree_of
from caddis.lab.simulators import VoteRounds, aggregated, aggregated_again
from caddis.lab.workloads import MODELS, owners_of, redrawn
from caddis.topics.clustering import (
    Interests,
    Mode,
    Schedule,
    Settings,
    Wave,
    channel_rates,
    count,
    kmeans,
    outcomes,
    search,
    total_cost,
    vote_costs,
)
from caddis.topics.voting import discriminability, moments


class Settled(NamedTuple):
    """The map at which the waves of votes came to rest.

    costs: for each wave, the cost of the map that it voted on.
    mode: the mode of the last wave; "leader" where concurrent votes did not come to rest.
    """

    channels: Int32s
    cost: int
    costs: list[int]
    mode: Mode

    @property
    def waves(self) -> int:
        return len(self.costs)


def random_channels(topics: int, k: int, rng: np.random.Generator) -> Int32s:
    """A map with every topic in a random channel."""
    return rng.integers(0, k, topics).astype(np.int32)


def outcomes_and_cost(interests: Interests, channels: Int32s, k: int) -> tuple[Int32s, int]:
    """The outcome of every topic's vote on a map, and what the map costs."""
    tallies = count(interests, channels, k)
    costs = vote_costs(tallies, channels, interests.rates)
    return outcomes(costs, channels), total_cost(tallies, channels, interests.rates)


def settled(
    interests: Interests, schedule: Schedule, k: int, wave: Wave, most: int = 100_000
) -> Settled:
    """Follow the schedule from a wave that it gave, until it rests or `most` waves have settled."""
    costs: list[int] = []
    following: Wave | None = wave
    while following is not None and len(costs) < most:
        wave = following
        chosen, cost = outcomes_and_cost(interests, schedule.channels, k)
        costs.append(cost)
        following = schedule.settle(chosen[wave.topics], cost)
    _, cost = outcomes_and_cost(interests, schedule.channels, k)
    return Settled(schedule.channels, cost, costs, wave.mode)


def adopt_all(
    interests: Interests,
    channels: Int32s,
    k: int,
    share: float,
    rng: np.random.Generator,
    most: int = 500,
) -> tuple[Int32s, int | None]:
    """Let a random share of all topics vote at a time and adopt whatever they choose.

    Gives the last map and the number of waves, which is None if it did not come to rest.
    """
    channels = channels.copy()
    voted = np.zeros(len(channels), np.bool_)
    size = int(np.ceil(share * len(channels)))
    for wave in range(most):
        topics = rng.permutation(np.flatnonzero(~voted))[:size]
        chosen, _ = outcomes_and_cost(interests, channels, k)
        moving = topics[chosen[topics] != channels[topics]]
        if len(moving):
            channels[moving] = chosen[moving]
            voted[:] = False
            continue
        voted[topics] = True
        if voted.all():
            return channels, wave + 1
    return channels, None


def agglomerative(interests: Interests, k: int) -> Int32s:
    """Merge the two channels that add least to the cost, from one channel a topic down to k.

    It is for some hundred topics: it takes memory in proportion to subscribers times topics, and
    time in proportion to that times topics.
    """
    size = interests.topic_count
    receives = np.zeros((size, interests.subscribers), np.float32)
    receives[interests.topics, owners_of(interests)] = 1.0
    together = (receives @ receives.T).astype(np.int64)
    carried, channels = interests.rates.copy(), np.arange(size)
    for _ in range(size - k):
        kept, freed = _cheapest_merge(together, carried, channels)
        channels[channels == freed] = kept
        carried[kept] += carried[freed]
        np.maximum(receives[kept], receives[freed], out=receives[kept])
        together[kept] = together[:, kept] = (receives @ receives[kept]).astype(np.int64)
    return np.unique(channels, return_inverse=True)[1].astype(np.int32)


def _cheapest_merge(together: Int64s, carried: Int64s, channels: Int64s) -> tuple[int, int]:
    """The two channels whose merger adds the least.

    together: how many subscribers receive both of two channels.
    carried: the rate of each channel.
    """
    left = np.unique(channels)
    receivers, rates = together[left, left], carried[left]
    both = np.add.outer(receivers, receivers) - together[np.ix_(left, left)]
    apart = receivers * rates
    added = both * np.add.outer(rates, rates) - np.add.outer(apart, apart)
    np.fill_diagonal(added, np.iinfo(np.int64).max)
    one, other = np.unravel_index(added.argmin(), added.shape)
    return int(left[one]), int(left[other])


FIRST, LAST = "a random map", "the map of K-Means"
TOPICS, CHANGED = 100, 20
"""The topics of the paper's simulations of the concurrent protocol, and how many change."""
MOST_WAVES = 500


class Ballot(NamedTuple):
    """The votes of all subscribers on a map.

    held: how many topics of each channel each subscriber wants.
    """

    interests: Interests
    channels: Int32s
    held: Int64s

    @classmethod
    def on(cls, interests: Interests, channels: Int32s, k: int) -> Ballot:
        """Count what subscribers want of each channel of a map."""
        places = owners_of(interests) * k + channels[interests.topics]
        held = np.bincount(places, minlength=interests.subscribers * k)
        return cls(interests, channels, held.reshape(interests.subscribers, k))

    def costs(self, topic: int) -> Int64s:
        """What the topic would cost in every channel: a row a subscriber, a column a channel.

        The topic is taken out of its own channel. Subscribers who want it pay for the rest of a
        channel that they do not receive yet; the others pay for the topic itself in channels that
        they receive anyway.
        """
        rates, home = self.interests.rates, self.channels[topic]
        wants = np.zeros(len(self.held), np.bool_)
        wants[owners_of(self.interests)[self.interests.topics == topic]] = True
        held, carried = self.held.copy(), channel_rates(self.channels, rates, self.held.shape[1])
        held[:, home] -= wants
        carried[home] -= rates[topic]
        costs: Int64s = np.where(wants[:, None], carried * (held == 0), rates[topic] * (held > 0))
        return costs


def measure_interests(setup: Setup, place: Place) -> Measured:
    """Cast a topic's vote and keep it up; x: the topic, setting: the map that is voted on."""
    rng = setup.rng(place)
    costs = _ballot(setup, place.setting).costs(int(place.x))
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


def measure_clustering(setup: Setup, place: Place) -> Measured:
    """Compare the costs of maps per subscriber; x: the number of channels."""
    rng = setup.rng(place)
    interests, k = setup.interests, int(place.x)
    start = random_channels(interests.topic_count, k, rng)
    schedule = Schedule(start, k, Settings(), rng)
    costs = {
        "random": outcomes_and_cost(interests, start, k)[1],
        "votes": settled(interests, schedule, k, schedule.begin("leader")).cost,
        "kmeans": kmeans(interests, k, rng).cost,
        "search": search(interests, k, rng).cost,
        "agglomerative": outcomes_and_cost(interests, agglomerative(interests, k), k)[1],
    }
    return {name: cost / interests.subscribers for name, cost in costs.items()}


def measure_convergence(setup: Setup, place: Place) -> Measured:
    """Let topics change for everybody at once; x: the share that votes at once, setting: k.

    If outcomes are adopted as they come, they may never come to rest; the waves are then NaN.
    """
    rng = setup.rng(place)
    k, draw = int(place.setting), MODELS[str(rng.choice(sorted(MODELS)))]
    before, other = (draw(setup.conditions.nodes, TOPICS, rng) for _ in range(2))
    start = kmeans(before, k, rng).channels
    after = redrawn(before, other, CHANGED, rng)
    _, waves = adopt_all(after, start, k, place.x, rng, MOST_WAVES)
    return {
        "adopted": float(waves is not None),
        "adopted_waves": float("nan") if waves is None else float(waves),
        **_scheduled(after, start, k, place.x, rng),
    }


def _scheduled(
    interests: Interests, start: Int32s, k: int, share: float, rng: np.random.Generator
) -> Measured:
    """Let the topics move by the schedule that nodes follow."""
    schedule = Schedule(start, k, Settings(share=share, moves=share, patience=MOST_WAVES), rng)
    chosen, _ = outcomes_and_cost(interests, start, k)
    moved = np.flatnonzero(chosen != start).astype(np.int32)
    if not len(moved):
        return {"scheduled": 1.0, "scheduled_waves": 0.0}
    found = settled(interests, schedule, k, schedule.stir(moved))
    rested = found.mode == "concurrent"
    waves = float(found.waves) if rested else float("nan")
    return {"scheduled": float(rested), "scheduled_waves": waves}
