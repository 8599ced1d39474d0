"""What was counted while a model ran: tallies add up over batches and workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from caddis.arrays import Int64s


class TallyJson(TypedDict):
    """A tally in what JSON knows."""

    needed: int
    runs: int
    hits: int
    unreadable: int
    failed: int
    milliseconds: float
    yes: list[int]
    known: list[int]


def _uncounted() -> Int64s:
    return np.zeros(0, np.int64)


@dataclass(slots=True, eq=False)
class Tally:
    """What was counted of one reading; `Tally()` adds nothing to another.

    >>> (Tally(needed=5, runs=2) + Tally(needed=5, hits=1)).saved
    8
    """

    needed: int = 0
    """Events that running everything would have run it on."""
    runs: int = 0
    """Values that it really ran on."""
    hits: int = 0
    """Answers that came from the cache, or from an equal value of the batch."""
    unreadable: int = 0
    """Values that could not be read."""
    failed: int = 0
    """Values on which it raised."""
    milliseconds: float = 0.0
    """That its runs took."""
    yes: Int64s = field(default_factory=_uncounted)
    """By concept of the model: true answers, of runs and hits alike."""
    known: Int64s = field(default_factory=_uncounted)
    """By concept of the model: true or false answers, of runs and hits alike."""

    @property
    def saved(self) -> int:
        """Events that it was spared."""
        return max(0, self.needed - self.runs)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.needed + other.needed,
            self.runs + other.runs,
            self.hits + other.hits,
            self.unreadable + other.unreadable,
            self.failed + other.failed,
            self.milliseconds + other.milliseconds,
            _sum(self.yes, other.yes),
            _sum(self.known, other.known),
        )

    def to_json(self) -> TallyJson:
        """As numbers and lists of numbers."""
        return {
            "needed": self.needed,
            "runs": self.runs,
            "hits": self.hits,
            "unreadable": self.unreadable,
            "failed": self.failed,
            "milliseconds": self.milliseconds,
            "yes": self.yes.tolist(),
            "known": self.known.tolist(),
        }

    @classmethod
    def from_json(cls, plain: TallyJson) -> Tally:
        """What `to_json` gave."""
        return cls(
            plain["needed"],
            plain["runs"],
            plain["hits"],
            plain["unreadable"],
            plain["failed"],
            plain["milliseconds"],
            np.array(plain["yes"], np.int64),
            np.array(plain["known"], np.int64),
        )


def _sum(left: Int64s, right: Int64s) -> Int64s:
    """Counts by concept; a tally that saw no answers may have none."""
    if len(left) and len(right):
        return left + right
    return left if len(left) else right
