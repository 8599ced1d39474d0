"""How every verb of `caddis lab` runs: do what is missing on Spark, then draw and show it all.

Runs are appended to `runs.csv` as they are done. A later start under the same conditions, which
are kept beside it, reads them and runs only what is missing; under other conditions it refuses,
since such runs cannot be compared.
"""

from __future__ import annotations

import io
import json
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from caddis.cli.shell import (
    Job,
    count,
    require_java,
    require_matplotlib,
    show_titled,
    start_spark,
    text_table,
)
from caddis.errors import CaddisError
from caddis.files import replace_file
from caddis.lab.figures import (
    Cell,
    Figure,
    Run,
    Study,
    Task,
    Values,
    by_measure,
    cells,
    cells_of,
    draw,
    keys,
    read_runs,
    whole,
    write_figures,
    write_header,
    write_runs,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

logger = logging.getLogger(__name__)
RUNS, FIGURES, CONDITIONS = "runs.csv", "figures.csv", "conditions.json"
NOTHING = "–"


@dataclass(frozen=True, slots=True)
class StudySummary:
    """What is known so far: the runs that are done, and the files that are written.

    left: how many tasks are not done.
    """

    out: Path
    study: Study
    runs: tuple[Run, ...]
    left: int
    files: tuple[Path, ...]
    seconds: float

    def as_json(self) -> dict[str, object]:
        """One object."""
        values = by_measure(self.runs)
        return {
            "conditions": asdict(self.study.conditions),
            "figures": {
                figure.name: [finite(asdict(cell)) for cell in cells(figure, values)]
                for figure in self.study.figures
            },
            **{table.name: list(table.records) for table in self.study.tables(values)},
            "runs": len({run.key for run in self.runs}),
            "tasks_left": self.left,
            "files": [str(path) for path in self.files],
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """Show a table for each figure, and where the files are."""
        values = by_measure(self.runs)
        for figure in self.study.figures:
            show_figure(console, figure, values)
        for table in self.study.tables(values):
            shown = text_table(*table.columns)
            for row in table.rows:
                shown.add_row(*row)
            show_titled(table.title, shown, console)
        console.print()
        for note in self.study.notes:
            console.print(note)
        if self.left:
            console.print(f"{count(self.left, 'task')} left; the same command goes on from here.")
        console.print(f"In {self.out}: {', '.join(path.name for path in self.files)}")


def redraw(study: Study, out: Path, master: str, job: Job) -> StudySummary:
    """Run what is missing of a study, and draw its figures."""
    began = time.monotonic()
    require_matplotlib()
    folder = RunFolder(out, study.conditions)
    wanted = keys(study.plan(()))
    tasks = study.plan(whole(folder.runs))

    def summary(left: int, *files: Path) -> StudySummary:
        runs = tuple(run for run in folder.runs if run.key in wanted)
        return StudySummary(out, study, runs, left, files, time.monotonic() - began)

    if tasks:
        done: list[Task] = []
        job.so_far = lambda: summary(len(tasks) - len(done), folder.path)
        folder.fill(study, tasks, done, master, job)
    with job.screen.step("Drawing") as step:
        values = by_measure(summary(0).runs)
        table = io.StringIO()
        write_figures(table, study.figures, values)
        replace_file(out / FIGURES, table.getvalue())
        pictures = draw(study.figures, values, out, study.sheets)
        step.done = f"{count(len(pictures), 'picture')} drawn"
    job.so_far = None
    return summary(0, folder.path, out / FIGURES, *pictures)


class RunFolder:
    """A folder of runs under the same conditions.

    runs: those of earlier starts, and then those of this one.
    """

    def __init__(self, out: Path, conditions: DataclassInstance) -> None:
        self.path = out / RUNS
        self.runs: list[Run] = []
        self._make_ready(out, json.loads(json.dumps(asdict(conditions))))

    def _make_ready(self, out: Path, conditions: dict[str, object]) -> None:
        """Read the runs that are there, and leave whole lines only."""
        out.mkdir(parents=True, exist_ok=True)
        kept = out / CONDITIONS
        before = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else conditions
        if self.path.exists():
            with self.path.open(encoding="utf-8") as file:
                self.runs = read_runs(file, str(self.path))
        for name, value in conditions.items():
            if self.runs and before.get(name) != value:
                other = f"{out} holds runs with {name} {before.get(name)}, not {value}"
                raise CaddisError(f"{other}; choose another --out")
        replace_file(kept, json.dumps(conditions, indent=2) + "\n")
        lines = io.StringIO()
        write_header(lines)
        write_runs(lines, self.runs)
        replace_file(self.path, lines.getvalue())

    def fill(
        self, study: Study, tasks: Sequence[Task], done: list[Task], master: str, job: Job
    ) -> None:
        """Do the tasks on Spark's workers, and keep each one's runs at once.

        done: gets each task as soon as its runs are kept.
        """
        require_java()
        spark = start_spark(master, "UTC", job)
        from caddis.spark.base import AT_ONCE, spread

        experiments = count(len({task.experiment for task in tasks}), "experiment")
        what = f"{count(len(tasks), 'task')} of {experiments}"
        kept = f"; {count(len(self.runs), 'line')} of {RUNS} kept" if self.runs else ""
        job.screen.say(f"{what}{kept}")
        logger.info("%s on %s%s", what, master, kept)
        file = job.resources.enter_context(self.path.open("a", encoding="utf-8"))
        # Tasks with a clock come last, one at a time: others would slow them down.
        shared = [task for task in tasks if not study.timed(task)]
        timed = [task for task in tasks if study.timed(task)]
        with job.screen.step("Simulating") as step:
            coming = spread(spark, study.worker, shared, at_once=AT_ONCE)
            for task, some in chain(coming, spread(spark, study.worker, timed, at_once=1)):
                write_runs(file, some)
                file.flush()
                self.runs.extend(some)
                done.append(task)
                logger.debug("done: %s", task)
                left = step.seconds / len(done) * (len(tasks) - len(done))
                progress = f"{len(done)}/{len(tasks)} tasks, {_minutes(left)} left"
                step.update(progress, len(done), len(tasks))
            step.done = what


def finite(values: dict[str, object]) -> dict[str, object]:
    """Replace NaN, which JSON does not know, by None.

    >>> finite({"mean": float("nan"), "runs": 3})
    {'mean': None, 'runs': 3}
    """
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


def show_figure(console: Console, figure: Figure, values: Values) -> None:
    """Show a table of a figure: a row a line, a column an x.

    With a baseline, its row has the values and the other rows their ratios to it.
    """
    title = f"{figure.name}: {figure.title} ({figure.unit})"
    if any(line.pooled for line in figure.lines):
        _show_points(console, figure, values)
    elif any(line.against for line in figure.lines):
        _show_clouds(console, figure, title, values)
    else:
        found = {
            line.label: {cell.x: cell for cell in cells_of(line, values, figure.base)}
            for line in figure.lines
        }
        xs = sorted({x for row in found.values() for x in row})
        table = text_table(figure.axis, *(f"{x:,g}" if x < 1e4 else f"{x:,.0f}" for x in xs))
        for label, row in found.items():
            if row:
                texts = [_mean_or_ratio(row.get(x), figure.baseline) for x in xs]
                table.add_row(label, *texts)
        show_titled(title, table, console)
    if figure.note:
        console.print(f"[dim]{figure.note}[/dim]")


def _show_points(console: Console, figure: Figure, values: Values) -> None:
    """Show the two measures of every line, each with its ratio to the baseline."""
    ratio = f"÷ {figure.baseline}"
    table = text_table("", figure.unit, ratio, figure.axis, ratio)
    for cell in cells(figure, values):
        table.add_row(
            cell.line, short(cell.mean), _times(cell.ratio), short(cell.x), _times(cell.x_ratio)
        )
    show_titled(f"{figure.name}: {figure.title}", table, console)


def _show_clouds(console: Console, figure: Figure, title: str, values: Values) -> None:
    """Show where the points of each cloud stand: medians of both measures."""
    table = text_table("median over runs", "runs", figure.axis, figure.unit, "90% below")
    for line in figure.lines:
        some = cells_of(line, values) if line.against else []
        if some:
            means = np.array([cell.mean for cell in some])
            x = np.median([cell.x for cell in some])
            numbers = (x, np.median(means), np.quantile(means, 0.9))
            table.add_row(line.label, f"{len(some):,}", *(short(float(one)) for one in numbers))
    show_titled(title, table, console)


def _mean_or_ratio(cell: Cell | None, baseline: str) -> str:
    if cell is None:
        return NOTHING
    if cell.line == baseline or cell.ratio is None:
        return short(cell.mean)
    return _times(cell.ratio)


def _times(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio:.2f}×"


def short(number: float) -> str:
    """A number to three digits, or as many as a whole number has; a small one to two.

    >>> short(10.234), short(0.0256), short(971.4), short(0.00373), short(1e-120), short(0)
    ('10.2', '0.0256', '971', '3.7e-03', '<1e-99', '0')
    """
    if 0 < number < 1e-99:
        return "<1e-99"
    if 0 < number < 0.01:
        return f"{number:.1e}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _minutes(seconds: float) -> str:
    """How long something will take, roughly.

    >>> _minutes(20), _minutes(100), _minutes(9000)
    ('less than a minute', 'about 2 min', 'about 2.5 h')
    """
    if seconds < 60:
        return "less than a minute"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
