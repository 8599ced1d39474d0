"""How verbs of `caddis lab` redraw figures of lines: run what is missing on Spark, tell and draw.

A `Study` is what they differ in. What was found is the same for all: tables, PNG, CSV and JSON.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from caddis.cli.lab.runs import FIGURES, RUNS, RunFolder, finite
from caddis.cli.lab.tables import show_figure
from caddis.cli.shell import Job, count, require_matplotlib
from caddis.lab.figures import (
    Figure,
    Key,
    Run,
    RunTable,
    Task,
    Values,
    by_measure,
    cells,
    keys,
    whole,
    write_figures,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from caddis.lab.figures import Sheets


@dataclass(frozen=True, slots=True)
class Study:
    """What a verb runs and draws.

    plan: the tasks that are left, given the runs that are done.
    sheets: figures that are drawn side by side, too.
    notes: what the reader of its tables should know.
    alone: says which tasks are done one at a time.
    """

    figures: tuple[Figure, ...]
    conditions: DataclassInstance
    table: RunTable[Run]
    plan: Callable[[Collection[Key]], list[Task]]
    experiment: Callable[[Task], Sequence[Run]]
    sheets: Sheets
    notes: tuple[str, ...] = ()
    alone: Callable[[Task], bool] | None = None


@dataclass(frozen=True, slots=True)
class Redrawn:
    """What was found, up to now."""

    out: Path
    study: Study
    runs: tuple[Run, ...]
    left: int
    files: tuple[Path, ...]
    seconds: float

    @property
    def values(self) -> Values:
        """What lines are made of."""
        return by_measure(self.runs)

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        values = self.values
        return {
            "conditions": asdict(self.study.conditions),
            "figures": {
                figure.name: [finite(asdict(cell)) for cell in cells(figure, values)]
                for figure in self.study.figures
            },
            "runs": len({run.key for run in self.runs}),
            "tasks_left": self.left,
            "files": [str(path) for path in self.files],
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """A table a figure, and where the files are."""
        values = self.values
        for figure in self.study.figures:
            show_figure(console, figure, values)
        console.print()
        for note in self.study.notes:
            console.print(note)
        if self.left:
            console.print(f"{count(self.left, 'task')} left; the same command goes on from here.")
        console.print(f"In {self.out}: {', '.join(path.name for path in self.files)}")


def redraw(study: Study, out: Path, master: str, job: Job) -> Redrawn:
    """Run what is missing, and draw the figures."""
    began = time.monotonic()
    require_matplotlib()
    folder = RunFolder(out, study.table, study.conditions)
    wanted = keys(study.plan(()))
    tasks = study.plan(whole(folder.runs))

    def found(left: int, *files: Path) -> Redrawn:
        seconds = time.monotonic() - began
        runs = tuple(run for run in folder.runs if run.key in wanted)
        return Redrawn(out, study, runs, left, (out / RUNS, *files), seconds)

    if tasks:
        done: list[Task] = []
        job.so_far = lambda: found(len(tasks) - len(done))
        said = f"of {count(len({task.experiment for task in tasks}), 'experiment')}"
        folder.fill(study.experiment, tasks, done, said, master, job, study.alone)
    with job.screen.step("Drawing") as step:
        files = _drawn(study, out, found(0).values)
        step.done = f"{count(len(files) - 1, 'picture')} drawn"
    job.so_far = None
    return found(0, *files)


def _drawn(study: Study, out: Path, values: Values) -> list[Path]:
    from caddis.lab.figures import draw

    table = out / FIGURES
    with table.open("w", encoding="utf-8") as file:
        write_figures(file, study.figures, values)
    return [table, *draw(study.figures, values, out, study.sheets)]
