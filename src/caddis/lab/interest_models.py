"""Interests to cluster: drawn by seeded models, or real ones.

    uniform   every topic is wanted by about the same share of all subscribers, independently
    zipf      a topic's support falls with its rank; independently, too
    planted   subscribers and topics belong to groups, and people want the topics of their groups

Independent interests have little to cluster but the topics' supports; planted ones show what
K-Means finds when there is something to find. Every subscriber has a row, even if it wants nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.interests import Interests, offsets_of

ROWS = 1 << 22
"""How many cells of the matrix of subscribers and topics are drawn at a time."""


def uniform(
    subscribers: int, topics: int, rng: np.random.Generator, support: float = 0.2
) -> Interests:
    """Every subscriber wants every topic with the same chance."""
    return _drawn(subscribers, lambda size: rng.random((size, topics)) < support, _ones(topics))


def zipf(
    subscribers: int,
    topics: int,
    rng: np.random.Generator,
    wanted: float = 20.0,
    exponent: float = 1.0,
) -> Interests:
    """Topics of rank i are wanted by a share that falls as 1 / i^exponent.

    wanted: how many topics a subscriber wants, on average; ranks are given out by chance.
    """
    shares = zipf_supports(topics, wanted, exponent)[rng.permutation(topics)]
    return _drawn(subscribers, lambda size: rng.random((size, topics)) < shares, _ones(topics))


def planted(
    subscribers: int,
    topics: int,
    rng: np.random.Generator,
    groups: int = 10,
    loyalty: float = 0.7,
    noise: float = 0.02,
    memberships: int = 2,
) -> Interests:
    """Subscribers want a topic of their groups with chance `loyalty`, of others with `noise`."""
    group = rng.permutation(np.arange(topics) % groups)

    def rows(size: int) -> Bools:
        member = np.zeros((size, groups), np.bool_)
        for _ in range(memberships):
            member[np.arange(size), rng.integers(0, groups, size)] = True
        chance = np.where(member, loyalty, noise)[:, group]
        drawn: Bools = rng.random((size, topics)) < chance
        return drawn

    return _drawn(subscribers, rows, _ones(topics))


MODELS: dict[str, Callable[[int, int, np.random.Generator], Interests]] = {
    "uniform": uniform,
    "zipf": zipf,
    "planted": planted,
}


def zipf_supports(topics: int, wanted: float, exponent: float) -> Floats:
    """By rank: which share of the subscribers wants a topic; at most 0.9, and `wanted` together."""
    weights = np.arange(1, topics + 1) ** -exponent
    if not 0 < wanted <= 0.9 * topics:
        raise TopicError(f"of {topics} topics a subscriber wants more than 0, at most 0.9 of them")
    scale = wanted / weights.sum()
    for _ in range(60):
        scale *= wanted / np.minimum(0.9, scale * weights).sum()
    shares: Floats = np.minimum(0.9, scale * weights)
    return shares


def redrawn(
    interests: Interests, changed: int, rng: np.random.Generator, other: Interests
) -> Interests:
    """Everybody's interest in some random topics as in `other`, drawn by the same model."""
    some = rng.choice(interests.topic_count, changed, replace=False)
    wanted, wanted_then = as_matrix(interests), as_matrix(other)
    wanted[:, some] = wanted_then[:, some]
    return from_matrix(wanted, interests.rates)


def from_json(text: str, rates: Int64s | None = None) -> tuple[Interests, list[str]]:
    """Real interests from a JSON object of users and the lists of topics that each wants.

    The topics' names are in the order of their numbers, that is, sorted.

    >>> interests, names = from_json('{"ann": ["rock", "jazz"], "bob": []}')
    >>> names, interests.subscribers, interests.wanted(0).tolist()
    (['jazz', 'rock'], 2, [0, 1])
    """
    users: dict[str, list[str]] = json.loads(text)
    names = sorted({topic for topics in users.values() for topic in topics})
    number = {name: i for i, name in enumerate(names)}
    rows = [sorted({number[name] for name in topics}) for topics in users.values()]
    sizes = np.array([len(row) for row in rows], np.int64)
    topics = np.array([topic for row in rows for topic in row], np.int32)
    return Interests(
        offsets_of(sizes), topics, _ones(len(names)) if rates is None else rates
    ), names


def as_matrix(interests: Interests) -> Bools:
    """By subscriber and topic: whether it is wanted."""
    matrix = np.zeros((interests.subscribers, interests.topic_count), np.bool_)
    matrix[np.repeat(np.arange(len(matrix)), np.diff(interests.offsets)), interests.topics] = True
    return matrix


def from_matrix(matrix: Bools, rates: Int64s) -> Interests:
    """Interests from a row of topics for each subscriber."""
    topics: Int32s = np.nonzero(matrix)[1].astype(np.int32)
    return Interests(offsets_of(matrix.sum(axis=1)), topics, rates)


def _drawn(subscribers: int, rows: Callable[[int], Bools], rates: Int64s) -> Interests:
    """Draw some subscribers at a time, so that the matrix of all need not fit into memory."""
    step = max(1, ROWS // max(1, len(rates)))
    sizes = [min(step, subscribers - begin) for begin in range(0, subscribers, step)]
    parts = [from_matrix(rows(size), rates) for size in sizes]
    filled = [np.diff(part.offsets) for part in parts] or [np.zeros(0, np.int64)]
    topics = [part.topics for part in parts] or [np.zeros(0, np.int32)]
    return Interests(offsets_of(np.concatenate(filled)), np.concatenate(topics), rates)


def _ones(topics: int) -> Int64s:
    return np.ones(topics, np.int64)
