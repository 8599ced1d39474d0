"""Ways to cluster topics, to compare distributed K-Means with.

`settled` follows a schedule with every vote's outcome by algebra: what nodes do once all of their
messages have arrived. `adopt_all` is the concurrent version as the paper tells it, where outcomes
are adopted whether or not they pay together. Random assignment and agglomerative clustering are
the yardsticks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.lab.workloads import owners_of
from caddis.topics.clustering import (
    Interests,
    Mode,
    Schedule,
    Wave,
    count,
    outcomes,
    total_cost,
    vote_costs,
)


class Settled(NamedTuple):
    """Where the waves of votes came to rest.

    costs: by wave, what the map cost on which it voted.
    mode: that of the last wave; "leader" where concurrent votes did not come to rest.
    """

    channels: Int32s
    cost: int
    costs: list[int]
    mode: Mode

    @property
    def waves(self) -> int:
        return len(self.costs)


def random_channels(topics: int, k: int, rng: np.random.Generator) -> Int32s:
    """Every topic in a channel by chance."""
    return rng.integers(0, k, topics).astype(np.int32)


def wishes(interests: Interests, channels: Int32s, k: int) -> tuple[Int32s, int]:
    """What every topic's vote on a map comes to, and what the map costs."""
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
        chosen, cost = wishes(interests, schedule.channels, k)
        costs.append(cost)
        following = schedule.settle(chosen[wave.topics], cost)
    _, cost = wishes(interests, schedule.channels, k)
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

    The map in the end, and the number of waves; None if it did not come to rest.
    """
    channels = channels.copy()
    voted = np.zeros(len(channels), np.bool_)
    size = int(np.ceil(share * len(channels)))
    for wave in range(most):
        topics = rng.permutation(np.flatnonzero(~voted))[:size]
        chosen, _ = wishes(interests, channels, k)
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
    """Merge the two channels that add least to the cost, from one a topic down to k.

    For some hundred topics: memory goes with subscribers times topics, time with that times topics.
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
    """Two channels whose merger adds the least.

    together: by two channels, how many receive both; carried: their rates.
    """
    left = np.unique(channels)
    receivers, rates = together[left, left], carried[left]
    both = np.add.outer(receivers, receivers) - together[np.ix_(left, left)]
    apart = receivers * rates
    added = both * np.add.outer(rates, rates) - np.add.outer(apart, apart)
    np.fill_diagonal(added, np.iinfo(np.int64).max)
    one, other = np.unravel_index(added.argmin(), added.shape)
    return int(left[one]), int(left[other])
