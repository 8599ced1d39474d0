"""What a clustering of topics did, wave by wave, and what it saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Literal


@dataclass(frozen=True, slots=True)
class WaveReport:
    """A wave that has settled."""

    number: int
    voters: int
    """Topics that voted."""
    moved: int
    """Those of them that chose another channel."""
    cost: float
    """Of the map on which they voted: the rate of all that reaches subscribers unwanted."""
    seconds: float


Ended = Literal["rest", "little", "kept", "limit"]
"""Why there were no more waves:

rest    no topic, alone, would cost less in another channel
little  all topics had a turn to vote, and the cost fell by less than was asked
kept    the waves would have lowered the cost of the previous map by less than was asked
limit   as many waves were held as may be
"""


@dataclass(slots=True)
class ClusteringReport:
    """Pass one to `topics_to_channels` as `report`, and read it afterwards.

    Costs are the summed rate of what reaches subscribers and is not wanted by them.
    """

    topics: int = 0
    interests: int = 0
    """Each (subscriber, topic) once."""
    random_cost: float = 0.0
    """Of topics that are put into channels at random."""
    start_cost: float = 0.0
    """Of the map that the waves began with."""
    cost: float = 0.0
    """Of the map that was found."""
    wanted_rate: float = 0.0
    """The summed rate of what reaches subscribers and is wanted by them, in any map."""
    at_rest: bool = False
    """Whether no topic, alone, would cost less in another channel."""
    ended: Ended | None = None
    """Why there were no more waves; None as long as there are some."""
    waves: list[WaveReport] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """By phase: read, pack, start, waves, random."""

    @property
    def saved(self) -> float:
        """The share of a random assignment's cost that is saved."""
        return self.saved_by(self.cost)

    def saved_by(self, cost: float) -> float:
        """The share that a map of this cost saves."""
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


def silent(_: WaveReport) -> None:
    """Nobody listens."""
