"""What `caddis lab adaptive-filtering` does: run what is missing on Spark, tell and draw it all.

Runs are appended to `runs.csv` as they are done. A later start with the same conditions, which are
kept beside it, reads them and runs only what is missing; under other conditions it refuses.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from rich.console import Console

from caddis.cli.adaptive_filtering_order import FigureOrder
from caddis.cli.adaptive_filtering_tables import show_figure, show_savings
from caddis.cli.java import require_java
from caddis.cli.order import start_spark
from caddis.cli.running import Job
from caddis.cli.summary import count
from caddis.errors import CaddisError, EnvironmentProblem
from caddis.lab.adaptive_filtering import (
    SYNTHETIC,
    Conditions,
    Experiment,
    Figure,
    Measure,
    Run,
    Task,
    draw_topologies,
    plan,
)
from caddis.lab.adaptive_filtering_results import (
    cells,
    read_runs,
    savings,
    write_figures,
    write_header,
    write_runs,
)

RUNS, FIGURES, CONDITIONS = "runs.csv", "figures.csv", "conditions.json"
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
                measure: [_finite(asdict(cell)) for cell in cells(figure, self.runs, mean, measure)]
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
    _require_matplotlib()
    figures, scale, matrices = order.wanted(), order.scale(), order.matrices()
    conditions = order.conditions(matrices)
    topologies = draw_topologies(conditions, scale.topologies, matrices)
    runs = _kept(order.out, conditions)
    tasks = plan(figures, scale, {run.key for run in runs})

    def found(left: int, *files: Path) -> Redrawn:
        shown = tuple(
            run for run in runs if run.topology < scale.topologies and run.repeat < scale.repeats
        )
        paths = (order.out / RUNS, *files)
        return Redrawn(order, conditions, figures, shown, left, paths, time.monotonic() - began)

    if tasks:
        total = len(tasks)
        file = job.resources.enter_context((order.out / RUNS).open("a", encoding="utf-8"))
        done: list[Task] = []
        job.so_far = lambda: found(total - len(done))
        _spread(Experiment(conditions, topologies), tasks, runs, done, file, order.master, job)
    with job.screen.step("Drawing") as step:
        files = _drawn(order, figures, found(0).runs)
        step.done = f"{count(len(files) - 1, 'picture')} drawn"
    job.so_far = None
    return found(0, *files)


def _require_matplotlib() -> None:
    """Before hours of work, not after them."""
    if find_spec("matplotlib") is None:
        raise EnvironmentProblem(
            "figures are drawn with matplotlib, which is not installed: pip install 'caddis[lab]'"
        )


def _kept(out: Path, conditions: Conditions) -> list[Run]:
    """The runs of an earlier start; the folder is made ready for more."""
    out.mkdir(parents=True, exist_ok=True)
    kept, ours = out / CONDITIONS, json.loads(json.dumps(asdict(conditions)))
    before = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else ours
    runs: list[Run] = []
    if (out / RUNS).exists():
        with (out / RUNS).open(encoding="utf-8") as file:
            runs = read_runs(file, str(out / RUNS))
    for name, value in ours.items():
        if runs and before.get(name) != value:
            other = f"{out} holds runs with {name} {before.get(name)}, not {value}"
            raise CaddisError(f"{other}; choose another --out")
    kept.write_text(json.dumps(ours, indent=2) + "\n", encoding="utf-8")
    whole = out / f".{RUNS}"
    with whole.open("w", encoding="utf-8") as file:
        write_header(file)
        write_runs(file, runs)
    whole.replace(out / RUNS)
    return runs


def _spread(
    experiment: Experiment,
    tasks: Sequence[Task],
    runs: list[Run],
    done: list[Task],
    file: TextIO,
    master: str,
    job: Job,
) -> None:
    """Do the tasks on Spark's workers, and keep each one's runs at once."""
    require_java()
    spark = start_spark(master, "UTC", job)
    from caddis.pipeline.spreading import spread

    what = count(len(tasks), "task")
    events = count(experiment.conditions.events, "event")
    kept = f"; {count(len(runs), 'run')} kept from before" if runs else ""
    job.screen.say(f"{what} of {events} under several policies{kept}")
    with job.screen.step("Simulating") as step:
        for task, some in spread(spark, experiment, tasks):
            write_runs(file, some)
            file.flush()
            runs.extend(some)
            done.append(task)
            left = step.seconds / len(done) * (len(tasks) - len(done))
            told = f"{len(done)}/{len(tasks)} tasks, {_minutes(left)} left"
            step.tell(told, len(done), len(tasks))
        step.done = f"{what} of {events} simulated"


def _drawn(order: FigureOrder, figures: Sequence[Figure], runs: Sequence[Run]) -> list[Path]:
    from caddis.lab.adaptive_filtering_plots import draw

    table = order.out / FIGURES
    with table.open("w", encoding="utf-8") as file:
        write_figures(file, figures, runs)
    return [table, *draw(figures, runs, order.mean, order.out)]


def _minutes(seconds: float) -> str:
    """A guess.

    >>> _minutes(20), _minutes(100), _minutes(9000)
    ('less than a minute', 'about 2 min', 'about 2.5 h')
    """
    if seconds < 60:
        return "less than a minute"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def _finite(values: dict[str, object]) -> dict[str, object]:
    """JSON knows no NaN."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }
