"""What a clustering of topics did, wave by wave, and what it saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Literal


@dataclass(frozen=True, slots=True)
class WaveReport:
    """A wave that has settled.

    voters: how many topics voted.
    moved: how many of them chose another channel.
    cost: the cost of the map on which they voted.
    """

    number: int
    voters: int
    moved: int
    cost: float
    seconds: float


Ended = Literal["rest", "little", "kept", "limit"]
"""Why there were no more waves.

rest    no topic, alone, would cost less in another channel
little  all topics had a turn to vote, and the cost fell by less than `improvement`
kept    the waves would have lowered the cost of the previous map by less than `improvement`
limit   as many waves were held as `waves` allows
"""


@dataclass(slots=True)
class ClusteringReport:
    """What a clustering did and saved. Pass one to `topics_to_channels`, and read it afterwards.

    A cost is the summed rate of what reaches subscribers and is not wanted by them.

    interests: how many there are; each pair (subscriber, topic) counts once.
    random_cost: the cost if each topic's channel is drawn at random.
    start_cost: the cost of the map that the waves began with.
    cost: the cost of the result.
    wanted_rate: the summed rate of what reaches subscribers and is wanted, with any map.
    at_rest: whether no topic, alone, would cost less in another channel.
    ended: why there were no more waves; None before the end.
    seconds: how long each phase took: read, pack, start, waves, random.
    """

    topics: int = 0
    interests: int = 0
    random_cost: float = 0.0
    start_cost: float = 0.0
    cost: float = 0.0
    wanted_rate: float = 0.0
    at_rest: bool = False
    ended: Ended | None = None
    waves: list[WaveReport] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def saved(self) -> float:
        """The share of the random cost that is saved."""
        return self.saved_by(self.cost)

    def saved_by(self, cost: float) -> float:
        """The share of the random cost that a map of this cost saves."""
        return 1 - cost / self.random_cost if self.random_cost else 0.0

    def clear(self) -> None:
        """Forget what was reported."""
        blank = ClusteringReport()
        for one in fields(self):
            setattr(self, one.name, getattr(blank, one.name))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what happens in the block."""
        began = time.monotonic()
        try:
            yield
        finally:
            spent = time.monotonic() - began
            self.seconds[name] = self.seconds.get(name, 0.0) + spent


Progress = Callable[[WaveReport], None]
"""Called after each wave."""


def silent(_: WaveReport) -> None:
    """Report no progress."""
