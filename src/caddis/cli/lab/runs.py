"""How every verb of `caddis lab` runs: what is missing, on Spark's workers, each run kept at once.

Runs are appended to `runs.csv` as they are done. A later start with the same conditions, which are
kept beside it, reads them and runs only what is missing; under other conditions it refuses.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from caddis.cli.shell import Job, count, require_java, start_spark
from caddis.errors import CaddisError
from caddis.lab.figures import RunTable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    R = TypeVar("R", bound=DataclassInstance)
else:
    R = TypeVar("R")

T = TypeVar("T")
RUNS, FIGURES, CONDITIONS = "runs.csv", "figures.csv", "conditions.json"


class RunFolder(Generic[R]):
    """A folder of runs under the same conditions.

    runs: those of earlier starts, and then those of this one.
    """

    def __init__(self, out: Path, table: RunTable[R], conditions: DataclassInstance) -> None:
        self.path, self._table = out / RUNS, table
        self.runs: list[R] = []
        self._make_ready(out, json.loads(json.dumps(asdict(conditions))))

    def _make_ready(self, out: Path, conditions: dict[str, object]) -> None:
        """Read what is there, and leave whole lines only."""
        out.mkdir(parents=True, exist_ok=True)
        kept = out / CONDITIONS
        before = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else conditions
        if self.path.exists():
            with self.path.open(encoding="utf-8") as file:
                self.runs = self._table.read(file, str(self.path))
        for name, value in conditions.items():
            if self.runs and before.get(name) != value:
                other = f"{out} holds runs with {name} {before.get(name)}, not {value}"
                raise CaddisError(f"{other}; choose another --out")
        kept.write_text(json.dumps(conditions, indent=2) + "\n", encoding="utf-8")
        whole = out / f".{RUNS}"
        with whole.open("w", encoding="utf-8") as file:
            self._table.write_header(file)
            self._table.write(file, self.runs)
        whole.replace(self.path)

    def fill(
        self,
        experiment: Callable[[T], Sequence[R]],
        tasks: Sequence[T],
        done: list[T],
        said: str,
        master: str,
        job: Job,
        alone: Callable[[T], bool] | None = None,
    ) -> None:
        """Do the tasks on Spark's workers, and keep each one's runs at once.

        done: gets each task as soon as its runs are kept.
        said: what the tasks are of, for the person who waits.
        alone: says which of them are done one at a time, after all others: those with a clock.
        """
        require_java()
        spark = start_spark(master, "UTC", job)
        from caddis.spark.base import AT_ONCE, spread

        what = count(len(tasks), "task")
        kept = f"; {count(len(self.runs), 'line')} of {RUNS} kept" if self.runs else ""
        job.screen.say(f"{what} {said}{kept}")
        file = job.resources.enter_context(self.path.open("a", encoding="utf-8"))
        with job.screen.step("Simulating") as step:
            shared, timed = _apart(tasks, alone)
            coming = spread(spark, experiment, shared, at_once=AT_ONCE)
            for task, some in chain(coming, spread(spark, experiment, timed, at_once=1)):
                self._table.write(file, some)
                file.flush()
                self.runs.extend(some)
                done.append(task)
                left = step.seconds / len(done) * (len(tasks) - len(done))
                told = f"{len(done)}/{len(tasks)} tasks, {_minutes(left)} left"
                step.update(told, len(done), len(tasks))
            step.done = f"{what} {said}"


def _apart(tasks: Sequence[T], alone: Callable[[T], bool] | None) -> tuple[list[T], list[T]]:
    timed = [alone is not None and alone(task) for task in tasks]
    return (
        [task for task, one in zip(tasks, timed, strict=True) if not one],
        [task for task, one in zip(tasks, timed, strict=True) if one],
    )


def finite(values: dict[str, object]) -> dict[str, object]:
    """JSON knows no NaN.

    >>> finite({"mean": float("nan"), "runs": 3})
    {'mean': None, 'runs': 3}
    """
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


def words(text: str) -> tuple[str, ...]:
    """A list as it is given to an option.

    >>> words("3a, 3b,3a")
    ('3a', '3b')
    """
    found = (word.strip() for word in text.split(","))
    return tuple(dict.fromkeys(word for word in found if word))


def up_to(largest: int | None, usual: tuple[float, ...]) -> tuple[float, ...]:
    """The usual sizes that are smaller, and this one; without it, the usual ones.

    >>> up_to(50_000, (1e3, 1e4, 1e5))
    (1000.0, 10000.0, 50000.0)
    """
    if largest is None:
        return usual
    return *(size for size in usual if size < largest), float(largest)


def _minutes(seconds: float) -> str:
    """A guess.

    >>> _minutes(20), _minutes(100), _minutes(9000)
    ('less than a minute', 'about 2 min', 'about 2.5 h')
    """
    if seconds < 60:
        return "less than a minute"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
