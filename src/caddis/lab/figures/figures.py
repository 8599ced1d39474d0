"""Figures of lines, and the cells that runs make of them.

A line is one measure of an experiment in one setting, along the experiment's axis. Runs become
cells: the mean of a line at an x. A figure may have a baseline; then every cell also has the ratio
to it, which is the mean over paired runs: those with the same x and repeat, which saw the same
workload.

    line                       a cell an x: the mean over repeats
    line with `against`        a cell a run, whose x is measured, too: a cloud of points
    `against` and `pooled`     one cell, at the means of both measures
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TextIO

import numpy as np

from caddis.arrays import Floats
from caddis.errors import CaddisError
from caddis.lab.figures.runs import Experiments, Key, Run, S, Task, Worker, plan, written
from caddis.names import did_you_mean

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Spot(NamedTuple):
    """Where a line stands on a figure's axis, and the runs that it shows there.

    x: on the axis.
    setting, run_x: the setting and the x of the runs.
    """

    x: float
    setting: str
    run_x: float


class Style(NamedTuple):
    """The colour and the marker of a line."""

    colour: str
    marker: str


@dataclass(frozen=True, slots=True)
class Line:
    """One measure of an experiment in one setting.

    against: another measure of the same runs, which is where their points stand.
    over: another measure of the same runs, which the measure is divided by.
    spots: what the line goes through, if that is not all runs of its setting.
    pooled: draw one point at the mean of its runs, not a point a run.
    style: its own colour and marker, if it must look the same in every figure.
    curve: the name of a curve that joins the points of several pooled lines.
    note: what is written beside its point on that curve.
    """

    label: str
    experiment: str
    setting: str
    measure: str
    against: str = ""
    over: str = ""
    spots: tuple[Spot, ...] = ()
    pooled: bool = False
    style: Style | None = None
    curve: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """Lines over one axis.

    most: the largest possible value, if there is one.
    level: a value that lines are compared with, if there is one; the axis then need not show 0.
    headroom: how many times as high as its lines a logarithmic axis is, to make space for labels.
    baseline: the label of the line that the others are compared with.
    note: how to read the values, if their unit does not say it all.
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
    headroom: float = 1.0
    baseline: str = ""
    note: str = ""

    @property
    def base(self) -> Line | None:
        """The line that the others are compared with."""
        return next((line for line in self.lines if line.label == self.baseline), None)

    def of_measure(self, measure: str) -> Figure:
        """A figure of the same lines with another measure."""
        return replace(self, lines=tuple(replace(line, measure=measure) for line in self.lines))


def figures_named(figures: Sequence[Figure], wanted: Sequence[str]) -> tuple[Figure, ...]:
    """The figures of these names, in this order; all of them if no name is given."""
    known = {figure.name: figure for figure in figures}
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known)
            raise CaddisError(f"there is no figure {name!r}{hint}; there is: {', '.join(known)}")
    return tuple(known[name] for name in wanted or known)


Samples = dict[float, dict[int, float]]
"""What was measured, by x and repeat."""
Values = dict[tuple[str, str, str], Samples]
"""The samples of every experiment, setting and measure."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A line at one x: the mean over all runs that have a value there, and its standard error.

    ratio: to the figure's baseline, the mean over paired runs; None without a baseline.
    ratio_low, ratio_high: the least and the greatest of these ratios.
    x_ratio: the same for x, where x is measured.
    """

    line: str
    x: float
    mean: float
    error: float
    runs: int
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    x_ratio: float | None = None


def by_measure(runs: Iterable[Run]) -> Values:
    """Runs as lines look them up; a run that is there twice counts once."""
    values: Values = {}
    for run in runs:
        samples = values.setdefault((run.experiment, run.setting, run.measure), {})
        samples.setdefault(run.x, {})[run.repeat] = run.value
    return values


def cells(figure: Figure, values: Values) -> list[Cell]:
    """A figure's table, by line and then by x."""
    return [cell for line in figure.lines for cell in cells_of(line, values, figure.base)]


def cells_of(line: Line, values: Values, base: Line | None = None) -> list[Cell]:
    """What a line is drawn through, or a cloud's points, with the ratios to a baseline."""
    samples = _samples(line, line.measure, values)
    if line.against and not line.pooled:
        return sorted(
            _cloud(line, samples, _samples(line, line.against, values)), key=lambda cell: cell.x
        )
    if line.over:
        samples = _divided(samples, _samples(line, line.over, values))
    made = [_cell(line.label, x, samples[x]) for x in sorted(samples)]
    if base is not None:
        beside = _divided(samples, _samples(base, line.measure, values))
        made = [_compared(cell, beside.get(cell.x, {})) for cell in made]
    if line.pooled:
        made = [_moved(cell, line, values, base) for cell in made]
    return [cell for cell in made if cell.runs]


def write_figures(file: TextIO, figures: Sequence[Figure], values: Values) -> None:
    """A line for each figure, line and x."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("figure", *(field.name for field in fields(Cell))))
    for figure in figures:
        for cell in cells(figure, values):
            writer.writerow((figure.name, *map(written, astuple(cell))))


def _samples(line: Line, measure: str, values: Values) -> Samples:
    if not line.spots:
        return values.get((line.experiment, line.setting, measure), {})
    found = {
        spot.x: values.get((line.experiment, spot.setting, measure), {}).get(spot.run_x, {})
        for spot in line.spots
    }
    return {x: samples for x, samples in found.items() if samples}


def _divided(samples: Samples, other: Samples) -> Samples:
    """Run by run; what is divided by 0, or by nothing, has no value."""
    return {
        x: {
            repeat: value / divisor if (divisor := other.get(x, {}).get(repeat)) else math.nan
            for repeat, value in by_repeat.items()
        }
        for x, by_repeat in samples.items()
    }


def _cloud(line: Line, samples: Samples, other: Samples) -> list[Cell]:
    return [
        Cell(line.label, other[x][repeat], value, 0.0, 1)
        for x, by_repeat in samples.items()
        for repeat, value in by_repeat.items()
        if np.isfinite(value) and np.isfinite(other[x][repeat])
    ]


def _cell(label: str, x: float, by_repeat: Mapping[int, float]) -> Cell:
    known = _finite(by_repeat)
    error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0
    mean = float(known.mean()) if len(known) else math.nan
    return Cell(label, x, mean, float(error), len(known))


def _compared(cell: Cell, ratios: Mapping[int, float]) -> Cell:
    known = _finite(ratios)
    if not len(known):
        return cell
    low, high = float(known.min()), float(known.max())
    return replace(cell, ratio=float(known.mean()), ratio_low=low, ratio_high=high)


def _moved(cell: Cell, line: Line, values: Values, base: Line | None) -> Cell:
    """The cell of a pooled line, where its runs stand on average."""
    there = replace(line, measure=line.against, against="", pooled=False)
    [found] = [one for one in cells_of(there, values, base) if one.x == cell.x]
    return replace(cell, x=found.mean, x_ratio=found.ratio)


def _finite(by_repeat: Mapping[int, float]) -> Floats:
    values = np.array(list(by_repeat.values()), np.float64)
    finite: Floats = values[np.isfinite(values)]
    return finite


@dataclass(frozen=True, slots=True)
class Table:
    """A table beside the figures: rows of texts for people, records for JSON.

    name: its key in JSON.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    records: tuple[dict[str, object], ...]


Sheets = Mapping[str, Sequence[str]]
"""Figures that are also drawn together, by the name of the sheet."""


def _never(_: Task) -> bool:
    return False


def _no_tables(_: Values) -> tuple[Table, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Study:
    """A paper's figures, and everything that is needed to run and draw them.

    conditions: what all runs have in common; runs under other conditions are not comparable.
    plan: gives the tasks that are left, from the runs that are done.
    worker: does a task.
    notes: what the reader of its tables should know.
    timed: whether a clock runs in a task, which is then done while no other is.
    tables: gives the tables that stand beside the figures.
    """

    figures: tuple[Figure, ...]
    conditions: DataclassInstance
    plan: Callable[[Collection[Key]], list[Task]]
    worker: Callable[[Task], Sequence[Run]]
    sheets: Sheets
    notes: tuple[str, ...] = ()
    timed: Callable[[Task], bool] = _never
    tables: Callable[[Values], Sequence[Table]] = _no_tables

    @classmethod
    def of(
        cls,
        figures: tuple[Figure, ...],
        experiments: Experiments[S],
        scale: object,
        setup: S,
        sheets: Sheets,
    ) -> Study:
        """The study that runs what the figures' lines name, at the places of a scale."""
        lines = (line for figure in figures for line in figure.lines)
        wanted = tuple(dict.fromkeys((line.experiment, line.setting) for line in lines))
        return cls(
            figures,
            setup.conditions,
            partial(plan, experiments, scale, wanted),
            Worker(experiments, setup),
            sheets,
            timed=lambda task: experiments[task.experiment].timed,
        )
