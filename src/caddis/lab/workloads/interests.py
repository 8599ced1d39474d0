"""Interests to cluster: drawn by seeded models, or real ones.

    uniform   every topic is wanted by the same share of all subscribers, independently
    zipf      a topic's support falls with its rank; independently, too
    planted   subscribers and topics belong to groups, and people want the topics of their groups

Independent interests have nothing to cluster except the topics' supports; planted ones show what
K-Means finds when there is something to find. Every subscriber has a row, even if it wants nothing.
Time and memory are in proportion to the interests, not to subscribers times topics.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import numpy as np

from caddis.arrays import Floats, Int64s, offsets_of
from caddis.errors import TopicError
from caddis.topics.clustering import Interests

MOST_SUPPORT = 0.9
"""The most popular topic of a Zipf model is wanted by no larger share of the subscribers."""

RIGHT = 'write interests as {"ann": ["jazz", "rock"], "bob": []}'


def uniform(
    subscribers: int, topics: int, rng: np.random.Generator, support: float = 0.2
) -> Interests:
    """Every subscriber wants every topic with the same chance."""
    return _by_topic((chosen(subscribers, support, rng) for _ in range(topics)), subscribers)


def zipf_interests(
    subscribers: int,
    topics: int,
    rng: np.random.Generator,
    wanted: float = 20.0,
    exponent: float = 1.0,
) -> Interests:
    """Topics of rank i are wanted by a share that falls as 1 / i^exponent.

    wanted: how many topics a subscriber wants, on average; ranks are given out by chance.
    """
    supports = rng.permutation(zipf_supports(topics, wanted, exponent))
    return _by_topic((chosen(subscribers, support, rng) for support in supports), subscribers)


def planted(
    subscribers: int,
    topics: int,
    rng: np.random.Generator,
    groups: int = 10,
    loyalty: float = 0.7,
    stray: float = 2.0,
) -> Interests:
    """Subscribers are in one group or two, and want its topics with the chance `loyalty`.

    stray: how many topics a subscriber wants beside, on average, whatever their groups.
    """
    first, second = rng.integers(0, groups, (2, subscribers))
    members = [np.flatnonzero((first == group) | (second == group)) for group in range(groups)]

    def people(group: int) -> Int64s:
        loyal = members[group][chosen(len(members[group]), loyalty, rng)]
        return np.union1d(loyal, chosen(subscribers, min(1.0, stray / topics), rng))

    return _by_topic(map(people, rng.permutation(topics) % groups), subscribers)


Model = Callable[[int, int, np.random.Generator], Interests]
MODELS: dict[str, Model] = {"uniform": uniform, "zipf": zipf_interests, "planted": planted}
"""Models by name; a model draws the interests of some subscribers in some topics."""


def redrawn(
    interests: Interests, other: Interests, changed: int, rng: np.random.Generator
) -> Interests:
    """Interests in which some random topics are wanted as in `other`, and the rest as before."""
    renewed = np.zeros(interests.topic_count, np.bool_)
    renewed[rng.choice(len(renewed), changed, replace=False)] = True
    kept, fresh = ~renewed[interests.topics], renewed[other.topics]
    return _packed(
        np.concatenate([owners_of(interests)[kept], owners_of(other)[fresh]]),
        np.concatenate([interests.topics[kept], other.topics[fresh]]).astype(np.int64),
        interests.subscribers,
        interests.rates,
    )


def from_json(text: str, rates: Int64s | None = None) -> tuple[Interests, list[str]]:
    """Real interests from a JSON object of subscribers and the lists of topics that each wants.

    The topics' names are in the order of their numbers, that is, sorted.

    >>> interests, names = from_json('{"ann": ["rock", "jazz"], "bob": []}')
    >>> names, interests.subscribers, interests.wanted(0).tolist()
    (['jazz', 'rock'], 2, [0, 1])
    """
    wanted = _lists(text)
    names = sorted({topic for topics in wanted.values() for topic in topics})
    number = {name: i for i, name in enumerate(names)}
    rows = [sorted({number[name] for name in topics}) for topics in wanted.values()]
    sizes = np.array([len(row) for row in rows], np.int64)
    topics = np.array([topic for row in rows for topic in row], np.int32)
    given = np.ones(len(names), np.int64) if rates is None else rates
    return Interests(offsets_of(sizes), topics, given), names


def _lists(text: str) -> dict[str, list[str]]:
    """The topics' names that each subscriber wants; somebody must want something."""
    try:
        wanted = json.loads(text)
    except ValueError:
        wanted = None
    if not isinstance(wanted, dict):
        raise TopicError(f"not an object of lists: {RIGHT}")
    for subscriber, topics in wanted.items():
        if not isinstance(topics, list) or not all(isinstance(one, str) for one in topics):
            raise TopicError(f"what {subscriber!r} wants is not a list of topics' names: {RIGHT}")
    if not any(wanted.values()):
        raise TopicError(f"nobody wants anything: {RIGHT}")
    return wanted


def zipf_supports(topics: int, wanted: float, exponent: float) -> Floats:
    """The share of subscribers that wants each topic, by rank; the shares add up to `wanted`."""
    if not 0 < wanted <= MOST_SUPPORT * topics:
        raise TopicError(
            f"a subscriber wants from 0 to {MOST_SUPPORT} of {topics} topics, not {wanted}"
        )
    weights = np.arange(1, topics + 1) ** -exponent
    scale = wanted / weights.sum()
    for _ in range(60):
        scale *= wanted / np.minimum(MOST_SUPPORT, scale * weights).sum()
    supports: Floats = np.minimum(MOST_SUPPORT, scale * weights)
    return supports


def chosen(size: int, chance: float, rng: np.random.Generator) -> Int64s:
    """Choose among `size` things, each with the same chance, by drawing the gaps between them."""
    if chance <= 0:
        return np.zeros(0, np.int64)
    ahead = int(size * chance + 6 * np.sqrt(size * chance) + 10)
    places = np.cumsum(rng.geometric(chance, ahead)) - 1
    while places[-1] < size:
        places = np.concatenate([places, places[-1] + np.cumsum(rng.geometric(chance, ahead))])
    return places[places < size]


def _by_topic(people: Iterable[Int64s], subscribers: int) -> Interests:
    """Interests from those who want each topic; all rates are 1."""
    parts = list(people)
    topics = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    owners = np.concatenate([*parts, np.zeros(0, np.int64)])
    return _packed(owners, topics, subscribers, np.ones(len(parts), np.int64))


def _packed(owners: Int64s, topics: Int64s, subscribers: int, rates: Int64s) -> Interests:
    """Interests from distinct pairs; subscribers are numbers below their count."""
    pairs = np.sort(owners * max(1, len(rates)) + topics)
    offsets = offsets_of(np.bincount(owners, minlength=subscribers))
    return Interests(offsets, (pairs % max(1, len(rates))).astype(np.int32), rates)


def owners_of(interests: Interests) -> Int64s:
    """The number of the subscriber that has each interest."""
    return np.repeat(np.arange(interests.subscribers), np.diff(interests.offsets))
