"""Topic after topic into its best channel, by exact algebra.

    held       [subscriber, channel]   how many topics of the channel the subscriber wants
    receivers  [channel]               subscribers that hold one or more
    carried    [channel]               the summed rate of the channel's topics
    offsets, subscribers               who wants each topic, packed by topic

To judge a topic one row of `held` is read for each subscriber who wants it; a move writes two cells
of each. While two topics change places, one of them is in no channel: -1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from caddis.arrays import Int32s, Int64s

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
