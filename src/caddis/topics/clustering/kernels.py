"""Counting what votes and moves cost: for all subscribers, for one topic, for one node.

`tally` goes once over all interests. For each topic that a subscriber wants, every channel that the
subscriber receives anyway counts as shared by topic and channel; the topic's own channel counts if
the subscriber wants another topic of it. A pass costs interests × channels.

The kernels of K-Means keep counts of a map, so that a topic is judged by exact algebra:

    held       [subscriber, channel]   how many topics of the channel the subscriber wants
    receivers  [channel]               subscribers that hold one or more
    carried    [channel]               the summed rate of the channel's topics
    offsets, subscribers               who wants each topic, packed by topic

To judge a topic one row of `held` is read for each subscriber who wants it; a move writes two cells
of each. While two topics change places, one of them is in no channel, which is channel -1.

The last kernels compute what one node pays, from its own interests:

    wanted    [topic]   whether this node wants it
    channels  [topic]   its channel

Nodes vote on few topics at a time, but often. So these are loops: calls of numpy on arrays of a few
numbers would take most of a node's time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bools, Int32s, Int64s
from caddis.compiling import kernel


@kernel
def tally(
    offsets: Int64s,
    topics: Int32s,
    channels: Int32s,
    wants: Int64s,
    receivers: Int64s,
    shared: Int64s,
) -> None:
    """Add all subscribers to the three tallies (see `Tallies`)."""
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
            # Adding whole rows is quicker than going from one received channel to the next.
            for channel in range(len(receivers)):
                row[channel] += receives[channel]
            # Its own channel is shared only with another topic of it.
            row[channels[topic]] -= held[channels[topic]] == 1


Counts = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
"""How many topics of a channel a subscriber wants: narrow, as it is the largest array."""


@kernel
def by_topic(offsets: Int64s, topics: Int32s, begins: Int64s) -> Int32s:
    """List who wants each topic, in ascending order.

    begins: where each topic's subscribers begin in the result.
    """
    subscribers = np.empty(len(topics), np.int32)
    at = begins.copy()
    for subscriber in range(len(offsets) - 1):
        for place in range(offsets[subscriber], offsets[subscriber + 1]):
            topic = topics[place]
            subscribers[at[topic]] = subscriber
            at[topic] += 1
    return subscribers


@kernel
def hold(
    offsets: Int64s, topics: Int32s, channels: Int32s, held: Counts, receivers: Int64s
) -> None:
    """Count a map into `held` and `receivers`, which are zeros."""
    for subscriber in range(len(offsets) - 1):
        row = held[subscriber]
        for place in range(offsets[subscriber], offsets[subscriber + 1]):
            row[channels[topics[place]]] += 1
        for channel in range(len(receivers)):
            receivers[channel] += row[channel] > 0


@kernel
def judge(
    wanting: Int32s,
    rate: int,
    current: int,
    held: Counts,
    receivers: Int64s,
    carried: Int64s,
    costs: Int64s,
) -> None:
    """Compute what a topic adds to each channel once it is taken out of its current one."""
    # First `costs` counts who wants the topic and receives the channel, and `alone` counts who
    # receives the current channel for this topic only.
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


@kernel
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


@kernel
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
    """Move each topic in turn if that pays; returns how many moved."""
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


@kernel
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
    """Let the two topics of each pair change places if that pays; returns how many did."""
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
        # The second topic is judged while the first is in no channel, and the first again while the
        # second is in its new one: so the gain is exact even if the same subscribers want both.
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


@kernel
def channel_sums(
    wanted: Bools, channels: Int32s, rates: Int64s, held: Int64s, carried: Int64s
) -> None:
    """Count how many topics of each channel are wanted, and sum up the rate of all of them."""
    held[:] = 0
    carried[:] = 0
    for topic in range(len(channels)):
        held[channels[topic]] += wanted[topic]
        carried[channels[topic]] += rates[topic]


@kernel
def own_costs(wanted: Bools, channels: Int32s, rates: Int64s, k: int, topics: Int32s) -> Int64s:
    """Compute what one node puts into the votes on some topics: its own part of `vote_costs`.

    A topic that it wants brings along all of a channel that it does not receive without it; one
    that it does not want is filtered in the channels that it receives.
    """
    held, carried = np.empty(k, np.int64), np.empty(k, np.int64)
    channel_sums(wanted, channels, rates, held, carried)
    costs = np.zeros((len(topics), k), np.int64)
    for row in range(len(topics)):
        topic = topics[row]
        home = channels[topic]
        # Take the topic out of its channel, and put it back below.
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


@kernel
def own_cost(wanted: Bools, channels: Int32s, rates: Int64s, k: int) -> int:
    """Sum up the rate of what one node receives and does not want."""
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
