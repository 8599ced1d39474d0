"""What every run for the paper on local building blocks is given, and where runs stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from caddis.lab.figures import Place
from caddis.topics.clustering import Interests

DRAWN = "drawn"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all runs have in common; runs under other conditions are not comparable.

    nodes: how many a tree has, where that does not vary.
    changed: the share of nodes whose inputs change once a vote is quiet.
    interests: where the interests come from whose topics are voted on: DRAWN, or a digest of
        their file.
    subscribers, topics: how many these interests have.
    k: the number of channels that topics are voted into.
    """

    nodes: int = 1000
    changed: float = 0.01
    seed: int = 1
    interests: str = DRAWN
    subscribers: int = 10_000
    topics: int = 100
    k: int = 10

    def of_file(self, interests: Interests, digest: str) -> Conditions:
        """Conditions with the real interests of a file."""
        return replace(
            self,
            interests=digest,
            subscribers=interests.subscribers,
            topics=interests.topic_count,
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """Where experiments are run along their axes, and how often.

    repeats: how often; few: how often where a single run is large.
    distances: values of d'(1,2); second: of d'(2,3); fixed: of d'(1,2) where that does not vary.
    together: how many votes are cast side by side.
    delayed: values of d'(1,2) where messages take random times.
    every: how far apart the topics are that are voted on; 5 takes every fifth.
    shares: the shares of the topics that vote at once.
    topics: the topics whose votes are cast, once each; see `on_topics`.
    """

    repeats: int = 30
    few: int = 5
    distances: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 4)
    second: tuple[float, ...] = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 4)
    fixed: tuple[float, ...] = (0.01, 0.05, 0.1, 0.5, 1)
    nodes: tuple[float, ...] = (1e3, 1e4, 1e5, 1e6)
    choices: tuple[float, ...] = (2, 3, 5, 10, 20)
    together: tuple[float, ...] = (1, 3, 10, 30, 100)
    bits: tuple[float, ...] = (40, 50, 60, 80, 100, 150, 200)
    every: int = 1
    channels: tuple[float, ...] = (2, 5, 10, 20, 40)
    shares: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0)
    delayed: tuple[float, ...] = (0.01, 0.1, 0.5, 1, 4)
    topics: tuple[float, ...] = ()
    once: int = 1

    def on_topics(self, count: int) -> Scale:
        """A scale that votes on topics, of which there are so many."""
        return replace(self, topics=tuple(map(float, range(0, count, self.every))))


QUICK = Scale(
    repeats=5,
    few=2,
    distances=(0.01, 0.1, 0.5, 1, 4),
    second=(0, 0.1, 0.5, 1, 4),
    fixed=(0.1, 1),
    nodes=(1e3, 1e4, 1e5),
    choices=(2, 3, 5, 10),
    together=(1, 10, 30),
    bits=(50, 60, 80, 100),
    every=5,
    channels=(5, 10, 20),
    shares=(0.2, 1.0),
    delayed=(0.1, 1),
)
QUICK_SUBSCRIBERS = 2000


class Setup(NamedTuple):
    """What every run is given: the conditions, and the interests whose topics are voted on."""

    conditions: Conditions
    interests: Interests

    def rng(self, place: Place) -> np.random.Generator:
        """What a run draws from: the n-th repeat draws alike at all places."""
        return np.random.default_rng([self.conditions.seed, place.repeat])
