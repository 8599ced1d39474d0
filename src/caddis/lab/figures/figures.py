"""What is drawn of experiments: figures of lines, and lines of what was measured.

A line is one measure of an experiment in one setting, so what figures share is run once.

What is kept of experiments whose runs are spread over workers.

An experiment runs at places along its axis, several times at each, in one or more settings, and
tells all of its measures at once. A task is some places of one experiment.

What the runs of experiments say, brought together by figure and line.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import NamedTuple, TextIO

import numpy as np

from caddis.arrays import Floats
from caddis.errors import CaddisError


@dataclass(frozen=True, slots=True)
class Line:
    """One measure of an experiment in one setting.

    against: another measure of the same runs, for a cloud of points instead of a line of means.
    over: another measure of the same runs, which each is divided by.
    """

    label: str
    experiment: str
    setting: str
    measure: str
    against: str = ""
    over: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """Lines over one axis.

    most: the largest value that can be, if there is one.
    level: a value that lines are compared with, if there is one; the axis then need not show 0.
    room: how many times as high as its lines a logarithmic axis is, so that names stand above them.
    """

    name: str
    title: str
    axis: str
    unit: str
    lines: tuple[Line, ...]
    log_x: bool = True
    log_y: bool = False
    most: float | None = None
    level: float | None = None
    room: float = 1.0


def named(
    figures: Sequence[Figure], wanted: Sequence[str], error: type[CaddisError]
) -> tuple[Figure, ...]:
    """Some of them, in the order in which they are wanted; without a name, all."""
    made = {figure.name: figure for figure in figures}
    for name in wanted:
        if name not in made:
            raise error(f"there is no figure {name!r}; there is: {', '.join(made)}")
    return tuple(made[name] for name in wanted or made)


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


Places = dict[float, dict[int, float]]
"""By x and repeat: what was measured."""
Values = dict[tuple[str, str, str], Places]
"""The same by experiment, setting and measure."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A line at one x: the mean over all runs that have a value there, and its standard error.

    Of a cloud, one point: where it stands is measured, too.
    """

    line: str
    x: float
    mean: float
    error: float
    runs: int


def by_measure(runs: Iterable[Run]) -> Values:
    """Runs as lines look for them; a run that is there twice counts once."""
    values: Values = {}
    for run in runs:
        of = values.setdefault((run.experiment, run.setting, run.measure), {})
        of.setdefault(run.x, {})[run.repeat] = run.value
    return values


def cells(figure: Figure, values: Values) -> list[Cell]:
    """A figure's table, by line and then by x."""
    return [cell for line in figure.lines for cell in of_line(line, values)]


def of_line(line: Line, values: Values) -> list[Cell]:
    """What a line is drawn through, or a cloud's points."""
    found = values.get((line.experiment, line.setting, line.measure), {})
    if line.against:
        other = values.get((line.experiment, line.setting, line.against), {})
        return sorted(_points(line, found, other), key=lambda cell: cell.x)
    if line.over:
        found = _ratios(found, values.get((line.experiment, line.setting, line.over), {}))
    made = [_cell(line.label, x, np.array(list(found[x].values()))) for x in sorted(found)]
    return [cell for cell in made if cell.runs]


def write_figures(file: TextIO, figures: Sequence[Figure], values: Values) -> None:
    """A line for each figure, line and x."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("figure", *(field.name for field in fields(Cell))))
    for figure in figures:
        for cell in cells(figure, values):
            told = [f"{v:.6g}" if isinstance(v, float) else v for v in astuple(cell)]
            writer.writerow((figure.name, *told))


def _ratios(found: Places, other: Places) -> Places:
    """Run by run; what is divided by 0 has no value."""
    return {
        x: {
            repeat: value / other[x][repeat] if other[x][repeat] else math.nan
            for repeat, value in by_repeat.items()
        }
        for x, by_repeat in found.items()
    }


def _points(line: Line, found: Places, other: Places) -> list[Cell]:
    return [
        Cell(line.label, other[x][repeat], value, 0.0, 1)
        for x, by_repeat in found.items()
        for repeat, value in by_repeat.items()
        if np.isfinite(value) and np.isfinite(other[x][repeat])
    ]


def _cell(label: str, x: float, values: Floats) -> Cell:
    known = values[np.isfinite(values)]
    error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0
    mean = float(known.mean()) if len(known) else float("nan")
    return Cell(label, x, mean, float(error), len(known))
