"""What the runs of Figure 3 say: kept as CSV, brought together as tables.

Ratios are of paired runs: a policy's figure is divided by the baseline's on the same workload, and
the mean of these ratios is told. A run in which nobody was notified has no delay, and counts
nowhere.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO, get_args

import numpy as np

from caddis.arrays import Floats
from caddis.errors import OverlayError
from caddis.lab.adaptive_filtering.figures import BASELINE, Figure, Measure, Run
from caddis.lab.figures import RunTable
from caddis.lab.simulators import Mean

MEANS: tuple[Mean, ...] = get_args(Mean)


@dataclass(frozen=True, slots=True)
class Cell:
    """A policy's figure at one place, over all runs there; NaN where no run has one.

    error: the standard error of the mean.
    ratio: to the baseline, the mean over runs; low and high are the least and the greatest.
    """

    policy: str
    x: int
    mean: float
    error: float
    ratio: float
    ratio_low: float
    ratio_high: float
    runs: int


@dataclass(frozen=True, slots=True)
class Saving:
    """How much less a policy's delay is than the baseline's: shares, at its least and greatest."""

    policy: str
    mean: Mean
    least: float
    most: float


TABLE = RunTable(Run, OverlayError)
write_header, write_runs, read_runs = TABLE.write_header, TABLE.write, TABLE.read


def write_figures(file: TextIO, figures: Sequence[Figure], runs: Sequence[Run]) -> None:
    """A line for each figure, x and run."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("figure", "x", *TABLE.fields))
    for figure in figures:
        for run in of_figure(figure, runs):
            writer.writerow((figure.name, figure.x(run.point), *TABLE.told(run)))


def of_figure(figure: Figure, runs: Iterable[Run]) -> list[Run]:
    """The runs that a figure shows, in its order."""
    places = {point: at for at, point in enumerate(figure.points)}
    names = {policy: at for at, policy in enumerate(figure.policies)}
    some = [run for run in runs if run.point in places and run.policy in names]
    return sorted(some, key=lambda r: (places[r.point], names[r.policy], r.topology, r.repeat))


def cells(
    figure: Figure, runs: Sequence[Run], mean: Mean, measure: Measure | None = None
) -> list[Cell]:
    """A figure's table, by policy and then by x; another measure than its own may be asked for."""
    field = measured_by(measure or figure.measure, mean)
    values = {run.key: float(getattr(run, field)) for run in runs}
    made = []
    for policy in figure.policies:
        for point in figure.points:
            keys = [key for key in values if key[0] == point and key[3] == policy]
            own = np.array([values[key] for key in keys], np.float64)
            base = [values.get((*key[:3], BASELINE), np.nan) for key in keys]
            made.append(_cell(policy, figure.x(point), own, np.array(base, np.float64)))
    return [cell for cell in made if cell.runs]


def measured_by(measure: Measure, mean: Mean) -> str:
    """The field of a run."""
    return "cost_ms" if measure == "cost" else f"delay_{mean}_ms"


def savings(figure: Figure, runs: Sequence[Run]) -> list[Saving]:
    """What each policy saves, by every mean: from the x where it is least to where it is most."""
    made = []
    for policy in figure.policies:
        for mean in MEANS:
            found = [cell for cell in cells(figure, runs, mean) if cell.policy == policy]
            saved = [1 - cell.ratio for cell in found if np.isfinite(cell.ratio)]
            if saved and policy != BASELINE:
                made.append(Saving(policy, mean, min(saved), max(saved)))
    return made


def percent_less(saving: Saving) -> str:
    """As a person reads it.

    >>> percent_less(Saving("mec", "paths", 0.412, 0.467))
    '41–47% less'
    >>> percent_less(Saving("ail", "paths", -0.2, 0.1))
    '20% more to 10% less'
    """
    least, most = round(100 * saving.least), round(100 * saving.most)
    if least >= 0:
        return f"{_range(least, most)}% less"
    if most <= 0:
        return f"{_range(-most, -least)}% more"
    return f"{-least}% more to {most}% less"


def _range(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low}–{high}"


def _cell(policy: str, x: int, own: Floats, base: Floats) -> Cell:
    known = own[np.isfinite(own)]
    ratios = own / np.where(base > 0, base, np.nan)
    ratios = ratios[np.isfinite(ratios)]
    low, high = (ratios.min(), ratios.max()) if len(ratios) else (np.nan, np.nan)
    error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0
    return Cell(
        policy,
        x,
        float(known.mean()) if len(known) else float("nan"),
        float(error),
        float(ratios.mean()) if len(ratios) else float("nan"),
        float(low),
        float(high),
        len(own),
    )
