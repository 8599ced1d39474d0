"""Experiments for "Bloom Filters: A Content Based Prefiltering Technique" (Linghate and Ingole).

The paper tells one result, about an order of magnitude fewer costly operations, and no workload. So
experiments run on the synthetic one of the benchmarks (`zipf`): how many encrypted tests are left,
what prefiltering takes, how often filters err, and what all of it depends on. A task is one run of
one experiment. What is counted has the same result wherever it is done; what has a clock is done
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from caddis.lab.bloom_prefiltering.counts import (
    measure_bits,
    measure_equalities,
    measure_targets,
    measure_tests,
    measure_wire,
)
from caddis.lab.bloom_prefiltering.times import (
    measure_aspe,
    measure_batches,
    measure_times,
    measure_tokens,
)
from caddis.lab.bloom_prefiltering.workload import Case, Draw, Scale, Setup
from caddis.lab.figures import Figure, Key, Measured, Place, Run, Task, runs_of

Measure = Callable[[Setup, Case], Measured]


class Kind(NamedTuple):
    """An experiment.

    axis: the field of `Scale` that says where it is run; often: the one that says how often.
    timed: whether it has a clock.
    """

    measure: Measure
    axis: str
    often: str
    timed: bool = False


KINDS = {
    "tests": Kind(measure_tests, "subscriptions", "few"),
    "equalities": Kind(measure_equalities, "equalities", "few"),
    "targets": Kind(measure_targets, "rates", "few"),
    "bits": Kind(measure_bits, "bits", "repeats"),
    "wire": Kind(measure_wire, "wire", "repeats"),
    "aspe": Kind(measure_aspe, "aspe", "once", timed=True),
    "tokens": Kind(measure_tokens, "tokens", "once", timed=True),
    "times": Kind(measure_times, "subscriptions", "few", timed=True),
    "batches": Kind(measure_batches, "batches", "few", timed=True),
}


def plan(figures: Iterable[Figure], scale: Scale, done: Collection[Key] = ()) -> list[Task]:
    """What is left to do, many subscriptions first, so that no worker is left with them."""
    wanted = dict.fromkeys((line.experiment, line.setting) for one in figures for line in one.lines)
    tasks = [
        Task(experiment, setting, (place,))
        for experiment, setting in wanted
        for place in places(experiment, scale)
        if (experiment, setting, *place) not in done
    ]
    return sorted(tasks, key=_weight, reverse=True)


def places(experiment: str, scale: Scale) -> list[Place]:
    """Where an experiment is run."""
    kind = KINDS[experiment]
    xs: tuple[float, ...] = getattr(scale, kind.axis)
    return [Place(x, repeat) for x in xs for repeat in range(getattr(scale, kind.often))]


def is_timed(task: Task) -> bool:
    """Whether a task is done while no other is."""
    return KINDS[task.experiment].timed


def _weight(task: Task) -> float:
    [place] = task.places
    return place.x


@dataclass(frozen=True, slots=True)
class Experiment:
    """Does tasks."""

    setup: Setup

    def __call__(self, task: Task) -> tuple[Run, ...]:
        """All measures of a task's runs."""
        return tuple(run for place in task.places for run in self._runs(task, place))

    def _runs(self, task: Task, place: Place) -> tuple[Run, ...]:
        case = Case(task.setting, place.x, Draw(self.setup.conditions.seed, place.repeat))
        measured = KINDS[task.experiment].measure(self.setup, case)
        return runs_of(task, place, measured)
