"""Experiments for "Local Building Blocks for a Scalable Pub/Sub Infrastructure" (Shraer et al.).

An experiment runs at some places along its axis, several times at each, and tells all of its
measures at once, so that what is compared comes from the same runs. A figure names the experiments
and settings that it needs (see `local_building_blocks_figures`); what figures share is run once. A
task is some places of one experiment, about a second of work, and has the same result wherever it
is done: the n-th run draws alike at all places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from caddis.lab.figures import Figure, Key, Measured, Place, Run, Task, runs_of
from caddis.lab.local_building_blocks.clusterings import (
    measure_clustering,
    measure_convergence,
    measure_interests,
)
from caddis.lab.local_building_blocks.runs import Conditions, Scale, Setup
from caddis.lab.local_building_blocks.votes import (
    measure_choices,
    measure_delays,
    measure_distance,
    measure_filters,
    measure_growth,
    measure_packets,
    measure_second,
)

TOPICS = "topics"
Measure = Callable[[Setup, str, float, np.random.Generator], Measured]


class Kind(NamedTuple):
    """An experiment.

    axis: the field of `Scale` that says where it is run; often: the one that says how often. TOPICS
        is once on every topic.
    together: places a task.
    """

    measure: Measure
    axis: str
    often: str
    together: int


KINDS = {
    "filters": Kind(measure_filters, "bits", "repeats", 30),
    "distance": Kind(measure_distance, "distances", "repeats", 30),
    "second": Kind(measure_second, "second", "repeats", 60),
    "delays": Kind(measure_delays, "delayed", "few", 1),
    "growth": Kind(measure_growth, "nodes", "few", 1),
    "choices": Kind(measure_choices, "choices", "repeats", 30),
    "packets": Kind(measure_packets, "together", "few", 5),
    "interests": Kind(measure_interests, TOPICS, "", 6),
    "clustering": Kind(measure_clustering, "channels", "few", 1),
    "convergence": Kind(measure_convergence, "shares", "repeats", 10),
}


def plan(
    figures: Iterable[Figure], scale: Scale, conditions: Conditions, done: Collection[Key] = ()
) -> list[Task]:
    """What is left to do, large tasks first, so that no worker is left with one at the end."""
    wanted = dict.fromkeys((line.experiment, line.setting) for one in figures for line in one.lines)
    tasks = []
    for experiment, setting in wanted:
        everywhere = places(experiment, scale, conditions)
        left = [place for place in everywhere if (experiment, setting, *place) not in done]
        size = KINDS[experiment].together
        groups = (tuple(left[begin : begin + size]) for begin in range(0, len(left), size))
        tasks += [Task(experiment, setting, group) for group in groups]
    return sorted(tasks, key=_weight, reverse=True)


def places(experiment: str, scale: Scale, conditions: Conditions) -> list[Place]:
    """Where an experiment is run."""
    kind = KINDS[experiment]
    if kind.axis == TOPICS:
        return [Place(float(topic), 0) for topic in range(0, conditions.topics, scale.every)]
    xs: tuple[float, ...] = getattr(scale, kind.axis)
    return [Place(x, repeat) for x in xs for repeat in range(getattr(scale, kind.often))]


def _weight(task: Task) -> float:
    """How many nodes vote, where that makes a task long."""
    return task.places[0].x if task.experiment == "growth" else 0.0


@dataclass(frozen=True, slots=True)
class Experiment:
    """Does tasks."""

    setup: Setup

    def __call__(self, task: Task) -> tuple[Run, ...]:
        """All measures of a task's runs."""
        return tuple(run for place in task.places for run in self._runs(task, place))

    def _runs(self, task: Task, place: Place) -> tuple[Run, ...]:
        rng = np.random.default_rng([self.setup.conditions.seed, place.repeat])
        measured = KINDS[task.experiment].measure(self.setup, task.setting, place.x, rng)
        return runs_of(task, place, measured)
