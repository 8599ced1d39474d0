"""What the workers of a match share about its models: a folder beside the subscriptions.

    models.pickle       the models, by reference: their large parts are files beside it
    settings.json       where the statistics are kept: in a file of the user's, or in
    statistics.json     what the models have cost and answered so far

The files of `ReportFolder` are there, too. A worker reads the statistics when a task begins, and
adds its own tallies when the task ends, under a lock. So what one partition learnt serves the next,
on whichever worker it runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from pyspark import cloudpickle

from caddis.errors import IndexFolderError, ModelError
from caddis.files import locked
from caddis.models import Catalogue, Model, Reading, Statistics, Tally
from caddis.spark.matching.reports import KeyedProblem, ReportFolder

MODELS, STATISTICS, SETTINGS = "models.pickle", "statistics.json", "settings.json"


class ModelFolder:
    """A folder that the driver creates, and that workers read and add to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, models: Sequence[Model], statistics: Path | None) -> ModelFolder:
        """Create a folder for some models.

        statistics: a file to use in place of the folder's own; it need not exist yet.
        """
        if statistics is not None and not statistics.parent.is_dir():
            raise ModelError(f"{statistics}: there is no folder {statistics.parent}")
        path.mkdir(parents=True)
        shipped = [model.by_reference(str(path)) for model in models]
        (path / MODELS).write_bytes(cloudpickle.dumps(shipped))  # type: ignore[no-untyped-call]
        kept = statistics or path / STATISTICS
        with locked(kept):
            if not kept.exists():
                Statistics().save(kept)
        Statistics.load(kept)
        (path / SETTINGS).write_text(json.dumps({"statistics": str(kept)}))
        return cls(path)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models, loaded once in each process."""
        try:
            return Catalogue(cloudpickle.loads((self.path / MODELS).read_bytes()))
        except FileNotFoundError:
            raise IndexFolderError(
                f"{self.path} is gone, or this machine does not see it: it must lie where the "
                "driver and every worker can read and write it"
            ) from None

    @cached_property
    def statistics_path(self) -> Path:
        """Where the statistics are kept."""
        return Path(json.loads((self.path / SETTINGS).read_text())["statistics"])

    def statistics(self) -> Statistics:
        """The statistics so far."""
        return Statistics.load(self.statistics_path)

    def add(
        self,
        readings: Sequence[Reading],
        tallies: Sequence[Tally],
        problems: Sequence[KeyedProblem],
    ) -> None:
        """Add what one task did."""
        with locked(self.statistics_path):
            statistics = self.statistics()
            for reading, tally in zip(readings, tallies, strict=True):
                statistics.learn(reading, tally)
            statistics.save(self.statistics_path)
        done = {reading.name: tally for reading, tally in zip(readings, tallies, strict=True)}
        ReportFolder(self.path).add_tallies(done, problems)

    def tallies(self) -> dict[str, Tally]:
        """What each model did on each column, in all tasks that have ended."""
        return ReportFolder(self.path).tallies()
