"""Who wants which topic, and excess filtering: what subscribers receive and do not want.

    offsets  [subscriber]   its topics are topics[offsets[i] : offsets[i + 1]]
    topics   [interest]     ascending and distinct within a subscriber
    rates    [topic]        traffic, in whole units

Rates are whole numbers, as all costs of this room are: sums over any part of the subscribers, in
any order, are then the same to the last unit, and nodes that vote fall silent. `integer_rates`
finds a unit for rates that are not.

A subscriber receives all topics of every channel that holds a topic it wants; its cost is the
summed rate of those that it does not want. With N receivers of a channel whose topics have the rate
R, and W who want a topic of rate r, all of them together pay sum(N R) - sum(W r). A topic that is
taken out of its channel and put into one with (without it) N receivers and rate R, where A of those
who want it receive that channel anyway, adds

    r (N - A) + R (W - A)

which is the topic's rate for those who did not ask for it, and the channel's for those who newly
receive it. W, N and A of parts of the subscribers add up, and so do these costs: each node knows
its own from its own interests, and a vote finds the least of their sum (section 3 of "Local
Building Blocks for a Scalable Pub/Sub Infrastructure").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from caddis.arrays import Floats, Int32s, Int64s, offsets_of
from caddis.errors import TopicError
from caddis.topics.clustering.kernels import tally

LARGEST_RATES = 1 << 32
"""The largest sum of all rates: doubled costs of 2^29 subscribers then fit into 64 bits."""

LARGEST_GIVEN = 1e290
"""The largest rate that `integer_rates` takes: a sum of many must still be a float."""


@dataclass(frozen=True, slots=True, eq=False)
class Interests:
    """What each subscriber wants, as arrays.

    >>> interests = Interests.from_pairs(
    ...     np.array([7, 3, 7, 7]), np.array([2, 0, 1, 2], np.int32), np.array([5, 1, 1])
    ... )
    >>> interests.subscribers, interests.topic_count, len(interests)
    (2, 3, 3)
    >>> interests.wanted(1).tolist()
    [1, 2]
    """

    offsets: Int64s
    topics: Int32s
    rates: Int64s

    @classmethod
    def from_pairs(cls, subscribers: Int64s, topics: Int32s, rates: Int64s) -> Interests:
        """Pack (subscriber, topic) pairs, in any order; pairs that come twice count once.

        subscribers: any numbers; each that occurs gets a row, in ascending order.
        topics: numbers from 0 up, less than there are rates.
        rates: the rate of each topic.
        """
        if len(subscribers) != len(topics):
            raise TopicError(
                f"{len(subscribers):,} subscribers and {len(topics):,} topics do not form pairs"
            )
        rates = checked_rates(rates)
        if len(topics) and not 0 <= topics.min() <= topics.max() < len(rates):
            raise TopicError(
                f"topics are numbers from {topics.min()} to {topics.max()}, but there are"
                f" {len(rates)} rates"
            )
        rows, size = _rows(subscribers)
        # One number for each pair: sorting them brings topics in order and repetitions together.
        pairs = np.sort(rows * max(len(rates), 1) + topics)
        fresh = np.ones(len(pairs), np.bool_)
        np.not_equal(pairs[1:], pairs[:-1], out=fresh[1:])
        owner, topic = np.divmod(pairs[fresh], max(len(rates), 1))
        filled = np.bincount(owner, minlength=size)
        if not filled.all():
            filled = filled[filled > 0]
        return cls(offsets_of(filled), topic.astype(np.int32), rates)

    def __len__(self) -> int:
        return len(self.topics)

    @property
    def subscribers(self) -> int:
        return len(self.offsets) - 1

    @property
    def topic_count(self) -> int:
        return len(self.rates)

    def wanted(self, subscriber: int) -> Int32s:
        """The topics that one subscriber wants, ascending."""
        return self.topics[self.offsets[subscriber] : self.offsets[subscriber + 1]]


def integer_rates(rates: Floats) -> tuple[Int64s, float]:
    """Rates as whole numbers, and the rate of one unit.

    Whole rates stay as they are unless they are huge. Others keep about nine digits of their sum;
    no rate above 0 becomes 0.

    >>> numbers, unit = integer_rates(np.array([0.25, 1.5, 0.0]))
    >>> numbers.tolist(), unit
    ([1, 6, 0], 0.25)
    """
    given = np.asarray(rates, np.float64)
    usable = (given >= 0) & (given <= LARGEST_GIVEN)
    if not usable.all():
        raise TopicError(f"a rate is {given[~usable][0]}; rates are from 0 to {LARGEST_GIVEN}")
    total = float(given.sum())
    if total <= LARGEST_RATES and (given == np.rint(given)).all():
        return given.astype(np.int64), 1.0
    room = np.log10(LARGEST_RATES) - np.log10(total) - np.log1p(len(given) / LARGEST_RATES)
    # Powers of ten beyond the 300th come near the largest float.
    digits = min(int(np.floor(room)), 300)
    numbers = np.rint(_scaled(given, digits)).astype(np.int64)
    numbers[(numbers == 0) & (given > 0)] = 1
    common = int(np.gcd.reduce(numbers))
    return numbers // common, float(_scaled(np.array(float(common)), -digits))


def _scaled(values: Floats, digits: int) -> Floats:
    """Multiply by a power of ten; dividing by a whole power keeps 0.1 what it is."""
    return values * 10.0**digits if digits >= 0 else values / 10.0**-digits


def checked_rates(rates: Int64s) -> Int64s:
    """Rates as whole numbers; raises if they are too large, even if only all together.

    >>> checked_rates(np.array([5, 0], np.int8)).tolist()
    [5, 0]
    """
    given = np.asarray(rates)
    if given.dtype.kind not in "iu" and given.size:
        raise TopicError(f"rates are whole numbers, not {given.dtype}: see integer_rates")
    if given.size and (given.min() < 0 or max(given.max(), given.sum()) > LARGEST_RATES):
        raise TopicError(
            f"{given.size:,} rates from {given.min():,} to {given.max():,}: they are 0 or more, "
            f"and at most {LARGEST_RATES:,} together (see integer_rates)"
        )
    return given.astype(np.int64)


def _rows(subscribers: Int64s) -> tuple[Int64s, int]:
    """A number for each subscriber, in their order, and one more than the highest.

    Numbers that lie close together need no sorting; then some may be left out.
    """
    if not len(subscribers):
        return np.zeros(0, np.int64), 0
    lowest, highest = int(subscribers.min()), int(subscribers.max())
    if highest - lowest < 4 * len(subscribers):
        return subscribers.astype(np.int64) - lowest, highest - lowest + 1
    distinct, rows = np.unique(subscribers, return_inverse=True)
    return rows.astype(np.int64), len(distinct)


class Tallies(NamedTuple):
    """How many subscribers want and receive what. Tallies of parts of the subscribers add up.

    wants      [topic]            subscribers who want it
    receivers  [channel]          subscribers who receive it
    shared     [topic, channel]   subscribers who want the topic and another one of the channel
    """

    wants: Int64s
    receivers: Int64s
    shared: Int64s


def count(interests: Interests, channels: Int32s, k: int) -> Tallies:
    """Count all subscribers in one pass.

    channels: the channel of each topic, from 0 to k - 1.

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
    """What each topic would add to each channel, once it is taken out of its own."""
    topics = np.arange(len(rates))
    # `fresh` would newly receive the channel: in the topic's own one, those who are there for it
    # alone, who leave with it.
    fresh = tallies.wants[:, None] - tallies.shared
    receivers = np.broadcast_to(tallies.receivers, fresh.shape).copy()
    receivers[topics, channels] -= fresh[topics, channels]
    carried = np.broadcast_to(channel_rates(channels, rates, fresh.shape[1]), fresh.shape).copy()
    carried[topics, channels] -= rates
    costs: Int64s = rates[:, None] * (receivers - tallies.shared) + carried * fresh
    return costs


def favour_current(costs: Int64s, channels: Int32s) -> Int64s:
    """Double the costs, and take one off for the channel that each topic is in.

    The least is then where it was, but among equals the topic's own channel wins: a topic only
    moves if that pays, so moves cannot go round in a circle. Plain voting comes to the same if one
    node, the leader, puts in its own costs so, and all others put in theirs doubled.

    >>> favour_current(np.array([[3, 3, 4]]), np.array([1], np.int32)).tolist()
    [[6, 5, 8]]
    """
    favoured = 2 * costs
    favoured[np.arange(len(costs)), channels] -= 1
    return favoured


def outcomes(costs: Int64s, channels: Int32s) -> Int32s:
    """The channel that each topic's vote settles on: the cheapest; among equals it stays.

    >>> outcomes(np.array([[3, 3, 4], [2, 1, 1]]), np.array([1, 0], np.int32)).tolist()
    [1, 1]
    """
    chosen: Int32s = favour_current(costs, channels).argmin(axis=1).astype(np.int32)
    return chosen


def total_cost(tallies: Tallies, channels: Int32s, rates: Int64s) -> int:
    """The summed rate of what all subscribers receive and do not want."""
    carried = channel_rates(channels, rates, len(tallies.receivers))
    return int(tallies.receivers @ carried - tallies.wants @ rates)


def channel_rates(channels: Int32s, rates: Int64s, k: int) -> Int64s:
    """The summed rate of each channel's topics."""
    carried = np.zeros(k, np.int64)
    np.add.at(carried, channels, rates)
    return carried


def checked_channels(channels: Int32s, topics: int, k: int) -> Int32s:
    """The map itself; raises unless it has a channel below k for each of the topics."""
    if len(channels) != topics:
        raise TopicError(f"{topics:,} topics need a channel each; {len(channels):,} are given")
    if k < 1 or (topics and not 0 <= channels.min() <= channels.max() < k):
        raise TopicError(
            f"topics are in channels from 0 to {k - 1}, not up to {channels.max(initial=-1)}"
        )
    return np.ascontiguousarray(channels, np.int32)
