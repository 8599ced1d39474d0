"""What `caddis lab local-building-blocks` does: run what is missing on Spark, tell and draw it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from caddis.cli.lab_runs import FIGURES, RUNS, RunFolder, finite, require_matplotlib
from caddis.cli.local_building_blocks_order import BlocksOrder
from caddis.cli.local_building_blocks_tables import show_figure
from caddis.cli.running import Job
from caddis.cli.summary import count
from caddis.lab.local_building_blocks import Experiment, keys, plan
from caddis.lab.local_building_blocks_figures import Figure
from caddis.lab.local_building_blocks_results import Values, by_measure, cells, write_figures
from caddis.lab.local_building_blocks_runs import DRAWN, TABLE, Conditions, Run, Task, whole

MADE_UP = "Interests are drawn; --interests names a file of real ones instead."


@dataclass(frozen=True, slots=True)
class Redrawn:
    """What was found, up to now."""

    order: BlocksOrder
    conditions: Conditions
    figures: tuple[Figure, ...]
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
            "conditions": asdict(self.conditions),
            "figures": {
                figure.name: [finite(asdict(cell)) for cell in cells(figure, values)]
                for figure in self.figures
            },
            "runs": len({run.key for run in self.runs}),
            "tasks_left": self.left,
            "files": [str(path) for path in self.files],
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """A table a figure, and where the files are."""
        values = self.values
        for figure in self.figures:
            show_figure(console, figure, values)
        console.print()
        if self.conditions.interests == DRAWN:
            console.print(MADE_UP)
        if self.left:
            console.print(f"{count(self.left, 'task')} left; the same command goes on from here.")
        console.print(f"In {self.order.out}: {', '.join(path.name for path in self.files)}")


def redraw(order: BlocksOrder, job: Job) -> Redrawn:
    """Run what is missing, and draw the figures."""
    began = time.monotonic()
    require_matplotlib()
    figures, scale, setup = order.wanted(), order.scale(), order.setup()
    folder = RunFolder(order.out, TABLE, setup.conditions)
    wanted = keys(plan(figures, scale, setup.conditions))
    tasks = plan(figures, scale, setup.conditions, whole(folder.runs))

    def found(left: int, *files: Path) -> Redrawn:
        paths = (order.out / RUNS, *files)
        seconds = time.monotonic() - began
        runs = tuple(run for run in folder.runs if run.key in wanted)
        return Redrawn(order, setup.conditions, figures, runs, left, paths, seconds)

    if tasks:
        done: list[Task] = []
        job.so_far = lambda: found(len(tasks) - len(done))
        said = f"of {count(len({task.experiment for task in tasks}), 'experiment')}"
        folder.fill(Experiment(setup), tasks, done, said, order.master, job)
    with job.screen.step("Drawing") as step:
        files = _drawn(order, figures, found(0).values)
        step.done = f"{count(len(files) - 1, 'picture')} drawn"
    job.so_far = None
    return found(0, *files)


def _drawn(order: BlocksOrder, figures: Sequence[Figure], values: Values) -> list[Path]:
    from caddis.lab.local_building_blocks_plots import draw

    table = order.out / FIGURES
    with table.open("w", encoding="utf-8") as file:
        write_figures(file, figures, values)
    return [table, *draw(figures, values, order.out)]
