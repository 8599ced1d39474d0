"""K-Means as a leader does it, where all interests are in one memory, and better optima than its.

Topics are taken out of their channels one after the other and put where they cost everybody least
(section 3 of "Local Building Blocks for a Scalable Pub/Sub Infrastructure"). That is exact algebra
over counts that are kept up to date (see `kernels`). Every move lowers the cost, so passes over all
topics end in a map from which no single move pays. Three ways lead on from there (`search`):

    restarts      run K-Means again; the best map is kept
    merge_splits  two channels that are much alike become one, and one with much excess becomes two
    swaps         two topics change places

Every step is taken only if the exact cost falls, so a search never ends worse than K-Means from its
first start. What it gains depends on the interests: much where groups of topics are clear and
K-Means had put two of them into one channel, little where interests are independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caddis.arrays import Int32s, Int64s, offsets_of
from caddis.errors import TopicError
from caddis.topics.clustering.interests import (
    Interests,
    channel_rates,
    checked_channels,
)
from caddis.topics.clustering.kernels import Counts, by_topic, hold, place_each, swap_each

OVERLAP_ROWS = 1 << 20
"""How many subscribers are counted at a time: single precision counts that far exactly."""


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """A map of topics into channels.

    cost: the summed rate of what all subscribers receive and do not want.
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
    """Move topics until no move pays.

    start: the map to begin with. Without one, all topics are in the first channel, and the empty
        channels draw those that go together.
    improvement: also end when a pass lowers the cost by a smaller share than this.

    >>> interests = Interests.from_pairs(
    ...     np.array([0, 0, 1, 1]), np.array([0, 2, 1, 3], np.int32), np.ones(4, np.int64)
    ... )
    >>> found = kmeans(interests, 2, np.random.default_rng(2))
    >>> found.cost, found.channels[0] == found.channels[2]
    (0, np.True_)
    """
    return refine(Table(interests, k), start, rng, improvement, most_passes)


class Table:
    """Interests by topic, and the counts of a map, by which moves are judged."""

    def __init__(self, interests: Interests, k: int) -> None:
        if k < 1:
            raise TopicError(f"topics go into 1 or more channels, not into {k}")
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
        """Count who receives what under a map."""
        interests = self.interests
        self.channels = channels.copy()
        size = interests.subscribers, self.k
        self._held: Counts = np.zeros(size, np.uint32) if self._wide else np.zeros(size, np.uint16)
        self._receivers = np.zeros(self.k, np.int64)
        hold(interests.offsets, interests.topics, channels, self._held, self._receivers)
        self._carried = channel_rates(channels, interests.rates, self.k)

    @property
    def cost(self) -> int:
        """The summed rate of what all subscribers receive and do not want."""
        return int(self._receivers @ self._carried) - self._least

    def place(self, order: Int32s) -> int:
        """Let topics move in turn, each if that pays; returns how many moved."""
        return place_each(order, *self._state())

    def swap(self, pairs: Int32s) -> int:
        """Let pairs of topics change places in turn, each if that pays; returns how many did."""
        return swap_each(pairs, *self._state())

    def overlaps(self) -> Int64s:
        """How many subscribers receive both of each two channels; the diagonal has each alone."""
        together = np.zeros((self.k, self.k), np.int64)
        for begin in range(0, len(self._held), OVERLAP_ROWS):
            receives = (self._held[begin : begin + OVERLAP_ROWS] > 0).astype(np.float32)
            together += (receives.T @ receives).astype(np.int64)
        return together

    def excesses(self) -> Int64s:
        """The summed rate of what each channel's receivers do not want of it."""
        wanted = np.diff(self._offsets) * self.interests.rates
        return self._receivers * self._carried - channel_rates(self.channels, wanted, self.k)

    def merge_costs(self) -> Int64s:
        """What it would add to the cost if each two channels were one."""
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
    """Run K-Means over interests that are laid out already; see `kmeans`."""
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


@dataclass(frozen=True, slots=True)
class Effort:
    """How much `search` tries.

    restarts: how many more times K-Means begins, with its topics in another order.
    merge_splits: how many of these may fail in a row before it is enough; each takes some passes.
    swap_rounds: the most rounds of swaps. Each round tries as many random pairs as there are
        topics.
    improvement: K-Means ends when a pass lowers the cost by a smaller share than this.
    """

    restarts: int = 0
    merge_splits: int = 10
    swap_rounds: int = 0
    improvement: float = 0.0


def search(
    interests: Interests,
    k: int,
    rng: np.random.Generator,
    start: Int32s | None = None,
    effort: Effort | None = None,
) -> Clustering:
    """Run K-Means, and then whatever else lowers the cost.

    >>> wanted = np.repeat(np.arange(4, dtype=np.int32), 5)
    >>> interests = Interests.from_pairs(np.arange(20), wanted, np.ones(4, np.int64))
    >>> search(interests, 4, np.random.default_rng(1)).cost
    0
    """
    effort = effort or Effort()
    table = Table(interests, k)
    best = refine(table, start, rng, effort.improvement)
    passes = best.passes
    for _ in range(effort.restarts):
        other = refine(table, None, rng, effort.improvement)
        passes += other.passes
        best = min(best, other, key=lambda found: found.cost)
    best, more = _merge_and_split(table, best, rng, effort)
    passes += more
    best, more = _swap(table, best, rng, effort)
    return Clustering(best.channels, best.cost, passes + more)


def _merge_and_split(
    table: Table, best: Clustering, rng: np.random.Generator, effort: Effort
) -> tuple[Clustering, int]:
    """Cut channels again until that has failed often enough; also returns the passes it took."""
    failures, passes = 0, 0
    while failures < effort.merge_splits and table.k > 2:
        table.take(best.channels)
        found = refine(table, recut(table, rng), rng, effort.improvement)
        passes += found.passes
        failures += 1
        if found.cost < best.cost:
            best, failures = found, 0
    return best, passes


def recut(table: Table, rng: np.random.Generator) -> Int32s:
    """The table's map with two channels made one, and another made two.

    One of the three pairs that add the least cost merges. The channel that splits is drawn with a
    probability proportional to its excess.
    """
    costs = table.merge_costs()
    pairs = rng.permutation(np.transpose(np.triu_indices(table.k, 1)))
    ranked = pairs[np.argsort(costs[pairs[:, 0], pairs[:, 1]], kind="stable")]
    # The shuffle before the stable sort breaks ties at random.
    kept, freed = ranked[rng.integers(min(3, len(ranked)))]
    # One is added so that a channel can be drawn even if none has any excess.
    weights = table.excesses().astype(np.float64) + 1.0
    weights[[kept, freed]] = 0.0
    divided = rng.choice(table.k, p=weights / weights.sum())
    channels = np.where(table.channels == freed, kept, table.channels).astype(np.int32)
    inside = rng.permutation(np.flatnonzero(channels == divided)).astype(np.int32)
    channels[inside[::2]] = freed
    table.take(channels)
    table.place(inside)
    return table.channels


def fill_empty(interests: Interests, k: int, channels: Int32s, rng: np.random.Generator) -> Int32s:
    """The map with its empty channels in use: each takes over a part of the costliest channel.

    Whoever received a channel receives one of its parts or both. So a map never gets costlier, not
    even for the subscribers of whom these interests are only a sample.
    """
    table = Table(interests, k)
    filled = channels.copy()
    for empty in np.setdiff1d(np.arange(k), channels):
        table.take(filled)
        excesses = table.excesses()
        if not excesses.any():
            break
        inside = np.flatnonzero(filled == excesses.argmax())
        parts = kmeans(_only(interests, inside), 2, rng).channels
        filled[inside[parts == 1]] = empty
    return filled


def _only(interests: Interests, topics: Int64s) -> Interests:
    """The interests in these topics alone, which get new numbers."""
    number = np.full(interests.topic_count, -1, np.int32)
    number[topics] = np.arange(len(topics), dtype=np.int32)
    owners = np.repeat(np.arange(interests.subscribers), np.diff(interests.offsets))
    numbers = number[interests.topics]
    kept = numbers >= 0
    sizes = np.bincount(owners[kept])
    return Interests(offsets_of(sizes[sizes > 0]), numbers[kept], interests.rates[topics])


def _swap(
    table: Table, best: Clustering, rng: np.random.Generator, effort: Effort
) -> tuple[Clustering, int]:
    """Let topics change places, and then move, until a round gains nothing."""
    passes = 0
    for _ in range(effort.swap_rounds):
        table.take(best.channels)
        size = table.interests.topic_count
        if not table.swap(rng.integers(0, size, (size, 2)).astype(np.int32)):
            break
        best = refine(table, table.channels, rng, effort.improvement)
        passes += best.passes
    return best, passes
