"""Better optima than K-Means alone: more starts, topics that change places, channels cut anew.

K-Means ends where no single move pays. Three ways lead on from there:

    restarts      K-Means from other starts; the best is kept
    merge_splits  two channels that are much alike become one, and a channel with much excess two
    swaps         two topics change places

Every step is taken only if the exact cost falls, so a search never ends worse than K-Means from its
first start. What it brings depends on the interests: much where groups of topics are clear and
K-Means had put two of them into one channel, little where interests are independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.topics.clustering.interests import Interests, offsets_of
from caddis.topics.clustering.kmeans import Clustering, Table, kmeans, refine


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried.

    restarts: K-Means from so many random starts beside the first.
    merge_splits: so many in a row without success are enough; each costs some passes.
    swap_rounds: the most rounds in which as many random pairs as there are topics are tried.
    improvement: K-Means ends when a pass lowers the cost by a smaller share.
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
    """K-Means, and what else lowers the cost.

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
    """Cut channels anew until that has failed often enough; how many passes it took."""
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

    One of the three pairs that add the least cost merges; a channel splits with a chance that goes
    with its excess.
    """
    costs = table.merge_costs()
    pairs = rng.permutation(np.transpose(np.triu_indices(table.k, 1)))
    ranked = pairs[np.argsort(costs[pairs[:, 0], pairs[:, 1]], kind="stable")]
    kept, freed = ranked[rng.integers(min(3, len(ranked)))]
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
    """The map with its empty channels in use: each takes over a part of the dearest channel.

    Whoever received a channel receives one of its parts or both, so a map never gets dearer, not
    even for subscribers of whom these interests are only a sample.
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
    """What is wanted of these topics, which are numbered anew; by whoever wants one of them."""
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
    """Let topics change places, and then move, until a round brings nothing."""
    passes = 0
    for _ in range(effort.swap_rounds):
        table.take(best.channels)
        size = table.interests.topic_count
        if not table.swap(rng.integers(0, size, (size, 2)).astype(np.int32)):
            break
        best = refine(table, table.channels, rng, effort.improvement)
        passes += best.passes
    return best, passes
