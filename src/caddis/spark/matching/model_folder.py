"""What the workers of a match share about its models: a folder beside the subscriptions.

    models.pickle       the models, by reference: their large parts are files beside it
    settings.json       where the statistics are kept: in a file of the user's, or in
    statistics.json     what the models have cost and answered so far

The files of `ReportFolder` are there, too. A worker reads the statistics when a task begins, and
adds its own tallies when the task ends, under a lock. So what one partition learnt serves the next,
on whichever worker it runs.

Where nothing is shared, each worker has a copy of the folder. It starts from the statistics that
the driver knew, and learns from its own tasks alone: `LearningAlone`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from pyspark import cloudpickle

from caddis.errors import IndexFolderError, ModelError
from caddis.files import locked
from caddis.models import Catalogue, Model, Reading, Statistics, Tally
from caddis.spark.matching.reporting import KeyedProblem, ReportFolder, Reports, TaskReports

MODELS, STATISTICS, SETTINGS = "models.pickle", "statistics.json", "settings.json"


class ModelFolder:
    """A folder that the driver creates, and that workers read and add to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(
        cls, path: Path, models: Sequence[Model], statistics: Path | None, *, shared: bool = True
    ) -> ModelFolder:
        """Create a folder for some models.

        statistics: a file to use in place of the folder's own; it need not exist yet.
        shared: whether workers see this folder and that file; otherwise they get a copy of both.
        """
        if statistics is not None and not statistics.parent.is_dir():
            raise ModelError(f"{statistics}: there is no folder {statistics.parent}")
        path.mkdir(parents=True)
        here = str(path)
        shipped = [
            model.by_reference(here) if shared else model.carried_in(here) for model in models
        ]
        (path / MODELS).write_bytes(cloudpickle.dumps(shipped))  # type: ignore[no-untyped-call]
        kept = statistics or path / STATISTICS
        with locked(kept):
            if not kept.exists():
                Statistics().save(kept)
        known = Statistics.load(kept)
        if not shared:
            kept = path / STATISTICS
            known.save(kept)
        place = str(kept) if shared else STATISTICS
        (path / SETTINGS).write_text(json.dumps({"statistics": place}))
        return cls(path)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models, loaded once in each process."""
        try:
            models: list[Model] = cloudpickle.loads((self.path / MODELS).read_bytes())
        except FileNotFoundError:
            raise IndexFolderError(
                f"{self.path} is gone, or this machine does not see it: it must lie where the "
                "driver and every worker can read and write it"
            ) from None
        return Catalogue([model.found_in(str(self.path)) for model in models])

    @cached_property
    def statistics_path(self) -> Path:
        """Where the statistics are kept."""
        settings = json.loads((self.path / SETTINGS).read_text())
        return self.path / str(settings["statistics"])

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
        learn(self.statistics_path, dict(zip(readings, tallies, strict=True)))
        done = {reading.name: tally for reading, tally in zip(readings, tallies, strict=True)}
        ReportFolder(self.path).add_tallies(done, problems)

    def tallies(self) -> dict[str, Tally]:
        """What each model did on each column, in all tasks that have ended."""
        return ReportFolder(self.path).tallies()


class Learning(Protocol):
    """What a worker knows of its models' costs and answers, and what it adds to that."""

    def statistics(self) -> Statistics:
        """What is known when a task begins."""

    def add(
        self,
        readings: Sequence[Reading],
        tallies: Sequence[Tally],
        problems: Sequence[KeyedProblem],
    ) -> None:
        """Add what one task did."""


class LearningAlone:
    """Learns from the tasks of one process.

    folder: a copy of the models' folder, whose statistics are where it starts.
    reports: where tasks report.
    """

    def __init__(self, folder: ModelFolder, reports: TaskReports) -> None:
        self._statistics = folder.statistics()
        self._reports = reports

    def statistics(self) -> Statistics:
        """What this process knows so far."""
        return self._statistics.copy()

    def add(
        self,
        readings: Sequence[Reading],
        tallies: Sequence[Tally],
        problems: Sequence[KeyedProblem],
    ) -> None:
        """Learn from one task, and report it."""
        for reading, tally in zip(readings, tallies, strict=True):
            self._statistics.learn(reading, tally)
        done = {reading.name: tally for reading, tally in zip(readings, tallies, strict=True)}
        self._reports.add_tallies(done, problems)


def learn(path: Path, seen: Mapping[Reading, Tally]) -> None:
    """Add what was seen to a file of statistics, under a lock."""
    with locked(path):
        statistics = Statistics.load(path)
        for reading, tally in seen.items():
            statistics.learn(reading, tally)
        statistics.save(path)


def learn_from(path: Path, readings: Iterable[Reading], reports: Reports) -> None:
    """Add what workers without a shared folder reported to a file of statistics."""
    tallies = reports.tallies()
    learn(path, {one: tallies[one.name] for one in readings if one.name in tallies})
