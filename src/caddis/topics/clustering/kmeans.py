"""K-Means as a leader does it, where all interests are in one memory.

Topics are taken out of their channels one after the other and put where they cost everybody least
(section 3 of "Local Building Blocks for a Scalable Pub/Sub Infrastructure"), which is exact algebra
over counts that are kept up to date, see `kmeans_kernels`. Every move lowers the cost, so passes
over all topics end in a map from which no single move pays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.clustering.excess import channel_rates, checked_channels
from caddis.topics.clustering.interests import Interests, offsets_of
from caddis.topics.clustering.kernels import Counts, by_topic, hold, place_each, swap_each

OVERLAP_ROWS = 1 << 20
"""So many subscribers are counted at a time in single precision, where that is exact."""


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """A map of topics into channels.

    cost: what all subscribers together receive and do not want.
    passes: how often all topics were considered.
    """

    channels: Int32s
    cost: int
    passes: int


def kmeans(
    interests: Interests,
    k: int,
    rng: np.random.Generator,
    start: Int32s | None = None,
    improvement: float = 0.0,
    most_passes: int = 1000,
) -> Clustering:
    """Move topics until no move pays, or a pass lowers the cost by a smaller share than asked.

    start: a map from before; without one, all topics are in the first channel, and the empty ones
        draw those that go together.

    >>> interests = Interests.from_pairs(
    ...     np.array([0, 0, 1, 1]), np.array([0, 2, 1, 3], np.int32), np.ones(4, np.int64)
    ... )
    >>> found = kmeans(interests, 2, np.random.default_rng(2))
    >>> found.cost, found.channels[0] == found.channels[2]
    (0, np.True_)
    """
    return refine(Table(interests, k), start, rng, improvement, most_passes)


class Table:
    """Interests by topic, and the counts of a map: what moves are judged by."""

    def __init__(self, interests: Interests, k: int) -> None:
        if k < 1:
            raise TopicError(f"topics go into 1 channel or more, not {k}")
        widest = int(np.diff(interests.offsets).max(initial=0))
        self._wide = widest > np.iinfo(np.uint16).max
        self.interests = interests
        self.k = k
        wants = np.bincount(interests.topics, minlength=interests.topic_count)
        self._offsets: Int64s = offsets_of(wants)
        self._subscribers = by_topic(interests.offsets, interests.topics, self._offsets)
        self._least = int(wants @ interests.rates)
        self.take(np.zeros(interests.topic_count, np.int32))

    def take(self, channels: Int32s) -> None:
        """Count a map."""
        interests = self.interests
        self.channels = channels.copy()
        size = interests.subscribers, self.k
        self._held: Counts = np.zeros(size, np.uint32) if self._wide else np.zeros(size, np.uint16)
        self._receivers = np.zeros(self.k, np.int64)
        hold(interests.offsets, interests.topics, channels, self._held, self._receivers)
        self._carried = channel_rates(channels, interests.rates, self.k)

    @property
    def cost(self) -> int:
        """What all subscribers receive and do not want."""
        return int(self._receivers @ self._carried) - self._least

    def place(self, order: Int32s) -> int:
        """Let topics move in turn, each if that pays; how many did."""
        return place_each(order, *self._state())

    def swap(self, pairs: Int32s) -> int:
        """Let pairs of topics change places in turn, each if that pays; how many did."""
        return swap_each(pairs, *self._state())

    def overlaps(self) -> Int64s:
        """By two channels: how many subscribers receive both; on the diagonal, its receivers."""
        together = np.zeros((self.k, self.k), np.int64)
        for begin in range(0, len(self._held), OVERLAP_ROWS):
            receives = (self._held[begin : begin + OVERLAP_ROWS] > 0).astype(np.float32)
            together += (receives.T @ receives).astype(np.int64)
        return together

    def excesses(self) -> Int64s:
        """By channel: what its receivers do not want of it."""
        wanted = np.diff(self._offsets) * self.interests.rates
        return self._receivers * self._carried - channel_rates(self.channels, wanted, self.k)

    def merge_costs(self) -> Int64s:
        """By two channels: what it would add to the cost if they were one."""
        receivers, carried = self._receivers, self._carried
        both = np.add.outer(receivers, receivers) - self.overlaps()
        apart = receivers * carried
        added: Int64s = both * np.add.outer(carried, carried) - np.add.outer(apart, apart)
        return added

    def _state(self) -> tuple[Int64s, Int32s, Int64s, Int32s, Counts, Int64s, Int64s]:
        by_topic = self._offsets, self._subscribers, self.interests.rates
        return *by_topic, self.channels, self._held, self._receivers, self._carried


def refine(
    table: Table,
    start: Int32s | None,
    rng: np.random.Generator,
    improvement: float = 0.0,
    most_passes: int = 1000,
) -> Clustering:
    """K-Means over interests that are laid out already."""
    topics = table.interests.topic_count
    if start is None:
        start = np.zeros(topics, np.int32)
    table.take(checked_channels(start, topics, table.k))
    passes, cost = 0, table.cost
    while passes < most_passes:
        moves = table.place(rng.permutation(topics).astype(np.int32))
        passes += 1
        before, cost = cost, table.cost
        if not moves or before - cost < improvement * before:
            break
    return Clustering(table.channels.copy(), cost, passes)
