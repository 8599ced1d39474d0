"""Excess filtering: what subscribers receive and do not want, and what moving a topic would change.

A subscriber receives all topics of every channel that holds a topic it wants; its cost is the
summed rate of those that it does not want. With N receivers of a channel whose topics have the rate
R, and W who want a topic of rate r, all of them together pay sum(N R) - sum(W r). A topic that is
taken out of its channel and put into one with (without it) N receivers and rate R, where A of those
who want it receive that channel anyway, adds

    r (N - A) + R (W - A)

the topic's rate to those who did not ask for it, the channel's to those who newly receive it. W, N
and A of parts of the subscribers add up, and so do these costs: each node knows its own from its
own interests, and a vote finds the least of their sum (section 3 of "Local Building Blocks for a
Scalable Pub/Sub Infrastructure").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.clustering.interests import Interests
from caddis.topics.clustering.kernels import tally


class Tallies(NamedTuple):
    """How many subscribers want and receive what; those of parts of the subscribers add up.

    wants:     [topic]            want it
    receivers: [channel]          receive it
    shared:    [topic, channel]   want the topic, and another topic of the channel
    """

    wants: Int64s
    receivers: Int64s
    shared: Int64s


def count(interests: Interests, channels: Int32s, k: int) -> Tallies:
    """Count all subscribers in one pass.

    channels: by topic, its channel, from 0 to k - 1.

    >>> interests = Interests.from_pairs(
    ...     np.array([0, 0, 1]), np.array([0, 1, 1], np.int32), np.array([5, 2])
    ... )
    >>> tallies = count(interests, np.array([0, 0], np.int32), k=2)
    >>> tallies.receivers.tolist(), tallies.shared.tolist()
    ([2, 0], [[1, 0], [1, 0]])
    """
    channels = checked_channels(channels, interests.topic_count, k)
    wants = np.zeros(interests.topic_count, np.int64)
    receivers = np.zeros(k, np.int64)
    shared = np.zeros((interests.topic_count, k), np.int64)
    tally(interests.offsets, interests.topics, channels, wants, receivers, shared)
    return Tallies(wants, receivers, shared)


def vote_costs(tallies: Tallies, channels: Int32s, rates: Int64s) -> Int64s:
    """By topic and channel: what the topic adds there, once it is taken out of its own channel."""
    topics = np.arange(len(rates))
    fresh = tallies.wants[:, None] - tallies.shared
    receivers = np.broadcast_to(tallies.receivers, fresh.shape).copy()
    receivers[topics, channels] -= fresh[topics, channels]
    carried = np.broadcast_to(channel_rates(channels, rates, fresh.shape[1]), fresh.shape).copy()
    carried[topics, channels] -= rates
    costs: Int64s = rates[:, None] * (receivers - tallies.shared) + carried * fresh
    return costs


def favour_current(costs: Int64s, channels: Int32s) -> Int64s:
    """Costs doubled, less one for the channel that each topic is in.

    The least is then where it was, but of equals the topic's own channel comes before the first:
    a topic only moves if that pays, so that moves cannot go round in a circle. Nodes get there by
    plain voting if one of them, the leader, puts this in for its own costs and all others put in
    their costs doubled.

    >>> favour_current(np.array([[3, 3, 4]]), np.array([1], np.int32)).tolist()
    [[6, 5, 8]]
    """
    favoured = 2 * costs
    favoured[np.arange(len(costs)), channels] -= 1
    return favoured


def outcomes(costs: Int64s, channels: Int32s) -> Int32s:
    """What every topic's vote comes to when it has settled: the least cost, else no move.

    >>> outcomes(np.array([[3, 3, 4], [2, 1, 1]]), np.array([1, 0], np.int32)).tolist()
    [1, 1]
    """
    chosen: Int32s = favour_current(costs, channels).argmin(axis=1).astype(np.int32)
    return chosen


def total_cost(tallies: Tallies, channels: Int32s, rates: Int64s) -> int:
    """What all subscribers receive and do not want."""
    carried = channel_rates(channels, rates, len(tallies.receivers))
    return int(tallies.receivers @ carried - tallies.wants @ rates)


def channel_rates(channels: Int32s, rates: Int64s, k: int) -> Int64s:
    """By channel: the summed rate of its topics."""
    carried = np.zeros(k, np.int64)
    np.add.at(carried, channels, rates)
    return carried


def checked_channels(channels: Int32s, topics: int, k: int) -> Int32s:
    """A map of that many topics into k channels."""
    if len(channels) != topics:
        raise TopicError(f"{topics:,} topics need a channel each; {len(channels):,} are given")
    if k < 1 or (topics and not 0 <= channels.min() <= channels.max() < k):
        raise TopicError(
            f"topics are in channels from 0 to {k - 1}, not up to {channels.max(initial=-1)}"
        )
    return np.ascontiguousarray(channels, np.int32)
