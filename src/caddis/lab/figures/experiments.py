"""What is kept of experiments whose runs are spread over workers.

An experiment runs at places along its axis, several times at each, in one or more settings, and
tells all of its measures at once. A task is some places of one experiment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

Measured = dict[str, float]
"""What one run tells."""
Key = tuple[str, str, float, int]
"""What tells runs apart: experiment, setting, x, repeat."""


class Place(NamedTuple):
    """Where an experiment is run: along its axis, and which time."""

    x: float
    repeat: int


@dataclass(frozen=True, slots=True)
class Task:
    """Some places of one experiment."""

    experiment: str
    setting: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One measure of one run.

    of: how many measures the run has; without all of them it is run again.
    """

    experiment: str
    setting: str
    x: float
    repeat: int
    measure: str
    of: int
    value: float

    @property
    def key(self) -> Key:
        return self.experiment, self.setting, self.x, self.repeat


def keys(tasks: Iterable[Task]) -> set[Key]:
    """The runs of some tasks."""
    return {(task.experiment, task.setting, *place) for task in tasks for place in task.places}


def runs_of(task: Task, place: Place, measured: Measured) -> tuple[Run, ...]:
    """What was measured at one of a task's places, a run for each measure."""
    of = task.experiment, task.setting, *place
    return tuple(Run(*of, name, len(measured), float(v)) for name, v in measured.items())


def whole(runs: Iterable[Run]) -> set[Key]:
    """The runs that have all of their measures."""
    seen: dict[tuple[Key, int], set[str]] = {}
    for run in runs:
        seen.setdefault((run.key, run.of), set()).add(run.measure)
    return {key for (key, of), measures in seen.items() if len(measures) == of}
