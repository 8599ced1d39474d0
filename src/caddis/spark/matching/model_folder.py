"""What the workers of a match share about its models: a folder beside the subscriptions.

    models.pickle       the models, by reference: what is large in them lies in files beside it
    settings.json       where the statistics are kept: a file of the user's, or
    statistics.json     what they were seen to cost and answer
    tallies.json        what they did, task by task added up
    problems.jsonl      events that a model could not read or failed on, the first of them

A worker reads the statistics when a task begins, and adds its own tallies when the task ends, under
a lock: so what one partition learnt serves the next, on whatever worker it runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from pyspark import cloudpickle

from caddis.errors import IndexFolderError, ModelError
from caddis.models import Catalogue, Model, Reading, Statistics, Tally
from caddis.spark.base import append_lines, lines_of, locked, replace_json

MODELS, STATISTICS, TALLIES, PROBLEMS = (
    "models.pickle",
    "statistics.json",
    "tallies.json",
    "problems.jsonl",
)
KEPT_PROBLEMS = 10_000


@dataclass(frozen=True, slots=True)
class KeyedProblem:
    """Why an event has no answer from a model."""

    event: object
    column: str
    model: str
    reason: str
    failed: bool


class ModelFolder:
    """A folder that the driver makes and workers read and add to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, models: Sequence[Model], statistics: Path | None) -> ModelFolder:
        """A new folder for some models.

        statistics: a file in place of the folder's own; it need not exist yet.
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
        (path / "settings.json").write_text(json.dumps({"statistics": str(kept)}))
        return cls(path)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models, loaded once a process."""
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
        return Path(json.loads((self.path / "settings.json").read_text())["statistics"])

    def statistics(self) -> Statistics:
        """What is known by now."""
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
        with locked(self.path / TALLIES):
            all_ = self._tallies()
            for reading, tally in zip(readings, tallies, strict=True):
                all_[reading.name] = all_.get(reading.name, Tally()) + tally
            replace_json(self.path / TALLIES, {name: one.to_json() for name, one in all_.items()})
            self._keep(problems)

    def tallies(self) -> dict[str, Tally]:
        """By reading's name: what it did in all tasks that have ended."""
        with locked(self.path / TALLIES):
            return self._tallies()

    def _tallies(self) -> dict[str, Tally]:
        path = self.path / TALLIES
        plain = json.loads(path.read_text()) if path.exists() else {}
        return {name: Tally.from_json(one) for name, one in plain.items()}

    def problems(self) -> list[KeyedProblem]:
        """The first events that models could not read or failed on."""
        with locked(self.path / TALLIES):
            return [KeyedProblem(**json.loads(line)) for line in lines_of(self.path / PROBLEMS)]

    def _keep(self, problems: Sequence[KeyedProblem]) -> None:
        if problems:
            append_lines(self.path / PROBLEMS, map(asdict, problems), KEPT_PROBLEMS)
