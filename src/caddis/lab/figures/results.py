"""What the runs of experiments say, brought together by figure and line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import TextIO

import numpy as np

from caddis.arrays import Floats
from caddis.lab.figures.experiments import Run
from caddis.lab.figures.figures import Figure, Line

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
