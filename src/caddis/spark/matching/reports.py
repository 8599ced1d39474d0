"""What the models of a match did: how often they ran, what that cost, what it saved."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from caddis.models import Tally
from caddis.spark.matching.model_folder import ModelFolder


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What one model did, on one column."""

    name: str
    """As in `efficientnet_lite0(photo)`."""
    runs: int
    """Values that it ran on."""
    saved: int
    """Events whose candidate clauses name it, and that it did not run on."""
    hits: int
    """Answers that came from the cache, or from an equal value of the batch."""
    unreadable: int
    failed: int
    milliseconds: float
    """That all its runs took."""

    @classmethod
    def of(cls, name: str, tally: Tally) -> ModelUse:
        """From what was counted."""
        return cls(
            name,
            tally.runs,
            tally.saved,
            tally.hits,
            tally.unreadable,
            tally.failed,
            tally.milliseconds,
        )


class ModelReport:
    """Pass one to `match` as `report`, and read it when a job has run.

    It adds up over all jobs and micro-batches of that match, and counts a task when it ends.
    """

    def __init__(self) -> None:
        self._folder: ModelFolder | None = None

    def attach(self, folder: ModelFolder) -> None:
        """From now on, tell of this match."""
        self._folder = folder

    @property
    def models(self) -> tuple[ModelUse, ...]:
        """By model and column, in the order of their names."""
        tallies = {} if self._folder is None else self._folder.tallies()
        return tuple(ModelUse.of(name, tally) for name, tally in sorted(tallies.items()))

    @property
    def problems(self) -> pa.Table:
        """Events that a model could not read (or, if `failed`, raised on), and why.

        The first 10,000 are kept; `models` counts all.
        """
        found = [] if self._folder is None else self._folder.problems()
        columns = ("event", "column", "model", "reason", "failed")
        return pa.table({name: [getattr(one, name) for one in found] for name in columns})
