"""What one node pays for topics in channels, from its own interests.

    wanted    [topic]   whether this node wants it
    channels  [topic]   its channel

Few topics are voted on at a time, many times: so these are loops, where calls of numpy on arrays of
a few numbers would take most of a node's time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Bools, Int32s, Int64s


@njit(cache=True)
def channel_sums(
    wanted: Bools, channels: Int32s, rates: Int64s, held: Int64s, carried: Int64s
) -> None:
    """By channel: how many of its topics are wanted, and the rate of all of them."""
    held[:] = 0
    carried[:] = 0
    for topic in range(len(channels)):
        held[channels[topic]] += wanted[topic]
        carried[channels[topic]] += rates[topic]


@njit(cache=True)
def own_costs(wanted: Bools, channels: Int32s, rates: Int64s, k: int, topics: Int32s) -> Int64s:
    """What one node puts into the votes on some topics: `excess.vote_costs` of it alone.

    A topic that it wants brings along all of a channel that it does not receive without it; one
    that it does not want is filtered in the channels that it receives.
    """
    held, carried = np.empty(k, np.int64), np.empty(k, np.int64)
    channel_sums(wanted, channels, rates, held, carried)
    costs = np.zeros((len(topics), k), np.int64)
    for row in range(len(topics)):
        topic = topics[row]
        home = channels[topic]
        held[home] -= wanted[topic]
        carried[home] -= rates[topic]
        for channel in range(k):
            if wanted[topic] and held[channel] == 0:
                costs[row, channel] = carried[channel]
            elif not wanted[topic] and held[channel] > 0:
                costs[row, channel] = rates[topic]
        held[home] += wanted[topic]
        carried[home] += rates[topic]
    return costs


@njit(cache=True)
def own_cost(wanted: Bools, channels: Int32s, rates: Int64s, k: int) -> int:
    """What one node receives and does not want."""
    held, carried = np.empty(k, np.int64), np.empty(k, np.int64)
    channel_sums(wanted, channels, rates, held, carried)
    cost = 0
    for channel in range(k):
        if held[channel] > 0:
            cost += carried[channel]
    for topic in range(len(channels)):
        if wanted[topic]:
            cost -= rates[topic]
    return cost
