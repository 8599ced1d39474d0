"""What `caddis lab adaptive-filtering` does: run what is missing on Spark, tell and draw it all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from caddis.cli.lab.adaptive_filtering_order import FigureOrder
from caddis.cli.lab.adaptive_filtering_tables import show_figure, show_savings
from caddis.cli.lab.runs import FIGURES, RUNS, RunFolder, finite
from caddis.cli.shell import Job, count, require_matplotlib
from caddis.lab.adaptive_filtering import (
    SYNTHETIC,
    TABLE,
    Conditions,
    Experiment,
    Figure,
    Measure,
    Run,
    Task,
    cells,
    draw_topologies,
    plan,
    savings,
    write_figures,
)

MADE_UP = (
    "Topologies are made up like PlanetLab's; --round-trips names measured round trips instead."
)


@dataclass(frozen=True, slots=True)
class Redrawn:
    """What was found, up to now."""

    order: FigureOrder
    conditions: Conditions
    figures: tuple[Figure, ...]
    runs: tuple[Run, ...]
    left: int
    files: tuple[Path, ...]
    seconds: float

    @property
    def headline(self) -> Figure | None:
        """The figure of delays that the paper's claim is about, or the next best."""
        delays = [one for one in self.figures if one.measure == "delay" and one.axis is not None]
        return delays[0] if delays else None

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        told = {}
        for figure in self.figures:
            both: tuple[Measure, ...] = ("delay", "cost")
            mean = "notifications" if figure.axis is None else self.order.mean
            told[figure.name] = {
                measure: [finite(asdict(cell)) for cell in cells(figure, self.runs, mean, measure)]
                for measure in (both if figure.axis is None else (figure.measure,))
            }
        head = self.headline
        return {
            "conditions": asdict(self.conditions),
            "mean": self.order.mean,
            "figures": told,
            "less_delay_than_air": [asdict(one) for one in savings(head, self.runs)]
            if head is not None
            else [],
            "runs": len(self.runs),
            "tasks_left": self.left,
            "files": [str(path) for path in self.files],
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """A table a figure, the headline, and where the files are."""
        for figure in self.figures:
            show_figure(console, figure, self.runs, self.order.mean)
        if self.headline is not None:
            show_savings(console, self.headline, self.runs)
        console.print()
        if self.conditions.trees == SYNTHETIC:
            console.print(MADE_UP)
        if self.left:
            console.print(f"{count(self.left, 'task')} left; the same command goes on from here.")
        console.print(f"In {self.order.out}: {', '.join(path.name for path in self.files)}")


def redraw(order: FigureOrder, job: Job) -> Redrawn:
    """Run what is missing, and draw the figures."""
    began = time.monotonic()
    require_matplotlib()
    figures, scale, matrices = order.wanted(), order.scale(), order.matrices()
    conditions = order.conditions(matrices)
    topologies = draw_topologies(conditions, scale.topologies, matrices)
    folder = RunFolder(order.out, TABLE, conditions)
    tasks = plan(figures, scale, {run.key for run in folder.runs})

    def found(left: int, *files: Path) -> Redrawn:
        shown = tuple(
            run
            for run in folder.runs
            if run.topology < scale.topologies and run.repeat < scale.repeats
        )
        paths = (order.out / RUNS, *files)
        return Redrawn(order, conditions, figures, shown, left, paths, time.monotonic() - began)

    if tasks:
        done: list[Task] = []
        job.so_far = lambda: found(len(tasks) - len(done))
        said = f"of {count(conditions.events, 'event')} under several policies"
        folder.fill(Experiment(conditions, topologies), tasks, done, said, order.master, job)
    with job.screen.step("Drawing") as step:
        files = _drawn(order, figures, found(0).runs)
        step.done = f"{count(len(files) - 1, 'picture')} drawn"
    job.so_far = None
    return found(0, *files)


def _drawn(order: FigureOrder, figures: Sequence[Figure], runs: Sequence[Run]) -> list[Path]:
    from caddis.lab.adaptive_filtering import draw

    table = order.out / FIGURES
    with table.open("w", encoding="utf-8") as file:
        write_figures(file, figures, runs)
    return [table, *draw(figures, runs, order.mean, order.out)]
