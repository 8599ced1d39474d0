"""Experiments, the tasks that workers do for them, and the file that keeps their runs.

An experiment is run at places: in some setting, at some x along its axis, several times. Every
run gives all of its measures at once, so that what is compared comes from the same runs. A task is
a few places of one experiment, and has the same result on any worker.

`runs.csv` has a line for each measure of each run, appended as soon as the run is done. Work that
was stopped goes on from it; a run that lost a measure, because a line was cut short, is run again.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any, Generic, NamedTuple, Protocol, TextIO, TypeVar

from caddis.errors import CaddisError

Measured = dict[str, float]
"""What one run measured, by the measure's name."""
Key = tuple[str, str, float, int]
"""What tells runs apart: experiment, setting, x and repeat."""


class Place(NamedTuple):
    """Where an experiment is run: its setting, the x along its axis, and which repeat it is."""

    setting: str
    x: float
    repeat: int


@dataclass(frozen=True, slots=True)
class Task:
    """Some places of one experiment, which one worker does together."""

    experiment: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One measure of one run, which is one line of `runs.csv`.

    of: how many measures the run has; a run without all of them is run again.
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
    """The runs that some tasks consist of."""
    return {(task.experiment, *place) for task in tasks for place in task.places}


def runs_at(experiment: str, place: Place, measured: Measured) -> tuple[Run, ...]:
    """The lines of what was measured at one place."""
    key = (experiment, *place)
    return tuple(Run(*key, name, len(measured), float(v)) for name, v in measured.items())


def whole(runs: Iterable[Run]) -> set[Key]:
    """The runs that have all of their measures."""
    seen: dict[tuple[Key, int], set[str]] = {}
    for run in runs:
        seen.setdefault((run.key, run.of), set()).add(run.measure)
    return {key for (key, of), measures in seen.items() if len(measures) == of}


class HasConditions(Protocol):
    """What an experiment's runs are given.

    conditions: a frozen dataclass of what all runs have in common.
    """

    @property
    def conditions(self) -> Any: ...


S = TypeVar("S", bound=HasConditions)


@dataclass(frozen=True, slots=True)
class Experiment(Generic[S]):
    """How an experiment is measured, and where.

    measure: gives all measures of one run.
    axis: the field of a paper's `Scale` that holds the xs.
    often: the field of the scale that says how many repeats each x has.
    together: how many places make up one task.
    timed: whether a clock runs; such tasks are done one at a time.
    grows: whether a larger x means a longer run; then tasks with a large x are done first.
    """

    measure: Callable[[S, Place], Measured]
    axis: str
    often: str = "repeats"
    together: int = 1
    timed: bool = False
    grows: bool = False

    def places(self, setting: str, scale: object) -> list[Place]:
        """Where the experiment is run in one setting."""
        xs, repeats = getattr(scale, self.axis), getattr(scale, self.often)
        return [Place(setting, x, repeat) for x in xs for repeat in range(repeats)]


Experiments = Mapping[str, Experiment[S]]
"""A paper's experiments by their names."""


@dataclass(frozen=True, slots=True)
class Worker(Generic[S]):
    """Does tasks; it is sent to Spark's workers."""

    experiments: Experiments[S]
    setup: S

    def __call__(self, task: Task) -> tuple[Run, ...]:
        """All measures of a task's runs."""
        measure = self.experiments[task.experiment].measure
        return tuple(
            run
            for place in task.places
            for run in runs_at(task.experiment, place, measure(self.setup, place))
        )


def plan(
    experiments: Experiments[S],
    scale: object,
    wanted: Iterable[tuple[str, str]],
    done: Collection[Key] = (),
) -> list[Task]:
    """The tasks that are left, long ones first, so that no worker is left with one at the end.

    wanted: experiments and settings.
    """
    tasks = []
    for name, setting in wanted:
        experiment = experiments[name]
        places = experiment.places(setting, scale)
        left = [place for place in places if (name, *place) not in done]
        starts = range(0, len(left), experiment.together)
        tasks += [Task(name, tuple(left[at : at + experiment.together])) for at in starts]
    return sorted(
        tasks, key=lambda task: task.places[0].x * experiments[task.experiment].grows, reverse=True
    )


COLUMNS = tuple(field.name for field in fields(Run))


def write_header(file: TextIO) -> None:
    """Name the columns of `runs.csv`."""
    csv.writer(file, lineterminator="\n").writerow(COLUMNS)


def write_runs(file: TextIO, runs: Iterable[Run]) -> None:
    """Append a line for each run."""
    lines = (map(written, astuple(run)) for run in runs)
    csv.writer(file, lineterminator="\n").writerows(lines)


def written(value: object) -> object:
    """A value as tables have it: whole numbers as they are, others to six digits, None as nothing.

    >>> [written(value) for value in (1234567.0, 0.12345678, None, "air")]
    ['1234567', '0.123457', '', 'air']
    """
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:.6g}"
    return "" if value is None else value


def read_runs(file: TextIO, name: str) -> list[Run]:
    """The runs of a file; a last line that was cut short does not count."""
    lines = [line for line in file.read().splitlines(keepends=True) if line.endswith("\n")]
    rows = list(csv.reader(lines))
    if not rows or tuple(rows[0]) != COLUMNS:
        raise CaddisError(f"{name}: the first line does not name the columns of runs")
    return [_read(row, f"{name}, line {at}") for at, row in enumerate(rows[1:], 2)]


def _read(row: list[str], where: str) -> Run:
    try:
        experiment, setting, x, repeat, measure, of, value = row
        return Run(experiment, setting, float(x), int(repeat), measure, int(of), float(value))
    except ValueError as error:
        raise CaddisError(f"{where}: not a run: {error}") from None
