"""Counting, in one pass over all interests, what every vote's costs are made of.

A subscriber receives the channels that hold a topic it wants. For each topic that it wants, every
such channel with another topic that it wants is shared by topic and channel; its topics' own
channel counts if it wants two topics of it or more. A pass costs interests × channels, but adds
whole rows at a time, which is quicker than to go from one received channel to the next.

Topic after topic into its best channel, by exact algebra.

    held       [subscriber, channel]   how many topics of the channel the subscriber wants
    receivers  [channel]               subscribers that hold one or more
    carried    [channel]               the summed rate of the channel's topics
    offsets, subscribers               who wants each topic, packed by topic

To judge a topic one row of `held` is read for each subscriber who wants it; a move writes two cells
of each. While two topics change places, one of them is in no channel: -1.

What one node pays for topics in channels, from its own interests.

    wanted    [topic]   whether this node wants it
    channels  [topic]   its channel

Few topics are voted on at a time, many times: so these are loops, where calls of numpy on arrays of
a few numbers would take most of a node's time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from caddis.arrays import Bools, Int32s, Int64s


@njit(cache=True)
def tally(
    offsets: Int64s,
    topics: Int32s,
    channels: Int32s,
    wants: Int64s,
    receivers: Int64s,
    shared: Int64s,
) -> None:
    """Add all subscribers to the three tallies: by topic, by channel, by topic and channel."""
    held = np.zeros(len(receivers), np.int32)
    receives = np.zeros(len(receivers), np.int64)
    for subscriber in range(len(offsets) - 1):
        begin, end = offsets[subscriber], offsets[subscriber + 1]
        held[:] = 0
        for place in range(begin, end):
            held[channels[topics[place]]] += 1
        for channel in range(len(receivers)):
            receives[channel] = held[channel] > 0
            receivers[channel] += receives[channel]
        for place in range(begin, end):
            topic = topics[place]
            wants[topic] += 1
            row = shared[topic]
            for channel in range(len(receivers)):
                row[channel] += receives[channel]
            row[channels[topic]] -= held[channels[topic]] == 1


Counts = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


@njit(cache=True)
def by_topic(offsets: Int64s, topics: Int32s, begins: Int64s) -> Int32s:
    """Who wants each topic, ascending; begins: by topic, where its subscribers begin."""
    subscribers = np.empty(len(topics), np.int32)
    at = begins.copy()
    for subscriber in range(len(offsets) - 1):
        for place in range(offsets[subscriber], offsets[subscriber + 1]):
            topic = topics[place]
            subscribers[at[topic]] = subscriber
            at[topic] += 1
    return subscribers


@njit(cache=True)
def hold(
    offsets: Int64s, topics: Int32s, channels: Int32s, held: Counts, receivers: Int64s
) -> None:
    """Fill `held` and `receivers`, which are zeros, for a map."""
    for subscriber in range(len(offsets) - 1):
        row = held[subscriber]
        for place in range(offsets[subscriber], offsets[subscriber + 1]):
            row[channels[topics[place]]] += 1
        for channel in range(len(receivers)):
            receivers[channel] += row[channel] > 0


@njit(cache=True)
def judge(
    wanting: Int32s,
    rate: int,
    current: int,
    held: Counts,
    receivers: Int64s,
    carried: Int64s,
    costs: Int64s,
) -> None:
    """What a topic adds to each channel once it is taken out of its current one."""
    alone = 0
    for channel in range(len(costs)):
        costs[channel] = 0
    for subscriber in wanting:
        row = held[subscriber]
        for channel in range(len(costs)):
            costs[channel] += row[channel] > 0
        if current >= 0:
            alone += row[current] == 1
    if current >= 0:
        costs[current] -= alone
    for channel in range(len(costs)):
        shared = costs[channel]
        others, rates = receivers[channel], carried[channel]
        if channel == current:
            others -= alone
            rates -= rate
        costs[channel] = rate * (others - shared) + rates * (len(wanting) - shared)


@njit(cache=True)
def move(
    wanting: Int32s,
    rate: int,
    current: int,
    chosen: int,
    held: Counts,
    receivers: Int64s,
    carried: Int64s,
) -> None:
    """Take a topic out of one channel and put it into another; -1 stands for none."""
    if current >= 0:
        carried[current] -= rate
        for subscriber in wanting:
            held[subscriber, current] -= 1
            receivers[current] -= held[subscriber, current] == 0
    if chosen >= 0:
        carried[chosen] += rate
        for subscriber in wanting:
            receivers[chosen] += held[subscriber, chosen] == 0
            held[subscriber, chosen] += 1


@njit(cache=True)
def place_each(
    order: Int32s,
    offsets: Int64s,
    subscribers: Int32s,
    rates: Int64s,
    channels: Int32s,
    held: Counts,
    receivers: Int64s,
    carried: Int64s,
) -> int:
    """Move each topic in turn if that pays; how many moved."""
    costs = np.empty(len(receivers), np.int64)
    moves = 0
    for topic in order:
        wanting = subscribers[offsets[topic] : offsets[topic + 1]]
        current = channels[topic]
        judge(wanting, rates[topic], current, held, receivers, carried, costs)
        best = current
        for channel in range(len(costs)):
            if costs[channel] < costs[best]:
                best = channel
        if best == current:
            continue
        moves += 1
        move(wanting, rates[topic], current, best, held, receivers, carried)
        channels[topic] = best
    return moves


@njit(cache=True)
def swap_each(
    pairs: Int32s,
    offsets: Int64s,
    subscribers: Int32s,
    rates: Int64s,
    channels: Int32s,
    held: Counts,
    receivers: Int64s,
    carried: Int64s,
) -> int:
    """Let the two topics of each pair change places if that pays; how many did."""
    costs = np.empty(len(receivers), np.int64)
    swaps = 0
    for one, other in pairs:
        here, there = channels[one], channels[other]
        if here == there:
            continue
        first = subscribers[offsets[one] : offsets[one + 1]]
        second = subscribers[offsets[other] : offsets[other + 1]]
        judge(first, rates[one], here, held, receivers, carried, costs)
        before = costs[here]
        move(first, rates[one], here, -1, held, receivers, carried)
        judge(second, rates[other], there, held, receivers, carried, costs)
        gain = before + costs[there] - costs[here]
        move(second, rates[other], there, here, held, receivers, carried)
        judge(first, rates[one], -1, held, receivers, carried, costs)
        gain -= costs[there]
        if gain > 0:
            move(first, rates[one], -1, there, held, receivers, carried)
            channels[one], channels[other] = there, here
            swaps += 1
        else:
            move(second, rates[other], here, there, held, receivers, carried)
            move(first, rates[one], -1, here, held, receivers, carried)
    return swaps


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
