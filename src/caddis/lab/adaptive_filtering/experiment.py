"""The experiment behind Figure 3 of "Adaptive Filtering of Visual Content": overlays of brokers.

One workload on one tree of brokers is simulated under several policies, so that ratios between
policies are those of paired runs. In the words of `caddis.lab.figures`:

    experiment   how popular concepts are: zipf or uniform
    setting      the policy and the number of concepts: "emec 100"
    x            the number of subscriptions
    repeat       the tree and the workload on it: workload · TREES + tree

What the paper fixes are the defaults. What it leaves open stands in `Conditions`, except for how
the mean delay is taken: a run measures all four means (see `caddis.lab.simulators.Mean`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from caddis.arrays import Floats
from caddis.errors import OverlayError
from caddis.lab.figures import Figure, Key, Measured, Place, Run, Task, runs_at
from caddis.lab.simulators import (
    MEANS,
    OverlayReport,
    RoutingTables,
    simulate,
    subscribe_all,
)
from caddis.lab.workloads import Popularity, Range, Workload, draw_workload, paper_workload
from caddis.overlay.forwarding import FORWARDINGS, Forwarding
from caddis.overlay.topology import Topology

SYNTHETIC = "synthetic"
TREES = 1000
"""At most so many trees; a repeat's number has the tree in its last three digits."""
TRAFFIC = ("publish", "learnt")
"""The kinds of messages that an event causes."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all runs have in common; runs under other conditions are not comparable.

    events: how many are published in a run.
    exponent: of Zipf's law; the paper does not give it.
    at_most: how many concepts a subscription names at most; the paper does not say.
    covering: whether covered clauses are kept from neighbours, under policies that allow it; the
        paper does not mention it.
    link_delays: whether links take time, which only matters to brokers that wait for others.
    trees: where the round-trip times come from: SYNTHETIC, or a digest of the matrices.
    """

    events: int = 1000
    brokers: int = 100
    exponent: float = 1.0
    at_most: int = 5
    covering: bool = False
    link_delays: bool = True
    seed: int = 1
    trees: str = SYNTHETIC
    costs: Range = (12, 16)
    selectivity: Range = (0, 0.25)


@dataclass(frozen=True, slots=True)
class Scale:
    """Where figures are measured, and how often.

    topologies: how many trees of brokers.
    repeats: how many workloads on each of them.
    fixed_subscriptions: their number where concepts vary, and for the frontier.
    fixed_concepts: their number where subscriptions vary, and for the frontier.
    """

    topologies: int = 5
    repeats: int = 5
    subscriptions: tuple[int, ...] = (500, 1000, 2000, 3000, 4000, 5000)
    concepts: tuple[int, ...] = (20, 50, 100, 150, 200)
    fixed_subscriptions: int = 3000
    fixed_concepts: int = 100


QUICK = Scale(
    topologies=2,
    repeats=1,
    subscriptions=(250, 500, 1000),
    concepts=(20, 50, 100),
    fixed_subscriptions=500,
)
QUICK_EVENTS = 10


def policy_named(name: str) -> Forwarding:
    """A policy, which may have its patience in milliseconds behind an @.

    >>> policy_named("frontier@50").sharing.patience_ms
    50.0
    """
    base, at, patience = name.partition("@")
    found = FORWARDINGS.named(base)
    if not at:
        return found
    if found.sharing is None or not patience.replace(".", "", 1).isdigit():
        raise OverlayError(f"{name!r}: write a patience as in frontier@50, in milliseconds")
    return replace(found, sharing=replace(found.sharing, patience_ms=float(patience)))


def setting_of(policy: str, concepts: int) -> str:
    """The setting of runs under a policy, with so many concepts."""
    return f"{policy} {concepts}"


def plan(figures: Iterable[Figure], scale: Scale, done: Collection[Key] = ()) -> list[Task]:
    """The tasks that are left, shuffled so that long and short ones are mixed.

    A task has all policies that are wanted on one workload; what figures share is run once.
    """
    wanted: dict[tuple[str, int, int], dict[str, None]] = {}
    for line in (line for figure in figures for line in figure.lines):
        for spot in line.spots:
            _, concepts = spot.setting.split()
            point = line.experiment, int(spot.run_x), int(concepts)
            wanted.setdefault(point, {})[spot.setting] = None
    repeats = [
        workload * TREES + tree
        for tree in range(scale.topologies)
        for workload in range(scale.repeats)
    ]
    tasks = []
    for point in sorted(wanted):
        for repeat in repeats:
            places = [Place(setting, float(point[1]), repeat) for setting in wanted[point]]
            left = tuple(place for place in places if (point[0], *place) not in done)
            tasks += [Task(point[0], left)] if left else []
    order = np.random.default_rng(0).permutation(len(tasks))
    return [tasks[place] for place in order.tolist()]


def draw_topologies(
    conditions: Conditions, count: int, matrices: Sequence[Floats] = ()
) -> tuple[Topology, ...]:
    """Trees of brokers, each from the next matrix; a tree is the same whatever the count."""
    made = []
    for number in range(count):
        rng = np.random.default_rng([conditions.seed, number])
        if matrices:
            matrix = matrices[number % len(matrices)]
            made.append(Topology.from_round_trips(matrix, conditions.brokers, rng))
        else:
            made.append(Topology.synthetic(conditions.brokers, rng))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class OverlayWorker:
    """Does tasks: the same task has the same result on any machine."""

    conditions: Conditions
    topologies: tuple[Topology, ...]

    def __call__(self, task: Task) -> tuple[Run, ...]:
        """All measures under each policy; all policies must notify the same subscribers."""
        topology, workload = self._workload(task)
        tables: dict[bool, RoutingTables] = {}
        runs: list[Run] = []
        notified = None
        for place in task.places:
            forwarding = policy_named(place.setting.split()[0])
            covers = self.conditions.covering and forwarding.covers
            if covers not in tables:
                tables[covers] = subscribe_all(topology, workload, covering=covers)
            report = simulate(
                topology,
                workload,
                forwarding,
                covering=covers,
                link_delays=self.conditions.link_delays,
                tables=tables[covers],
            )
            if notified not in (None, report.notified):
                first = task.places[0].setting
                raise OverlayError(f"{place.setting} notifies others than {first} does: {task}")
            notified = report.notified
            runs += runs_at(task.experiment, place, measured(report))
        return tuple(runs)

    def _workload(self, task: Task) -> tuple[Topology, Workload]:
        """The tree and the workload, which is drawn alike wherever the concepts are the same."""
        ours, place = self.conditions, task.places[0]
        repeat, tree = divmod(place.repeat, TREES)
        rng = np.random.default_rng([ours.seed, tree, repeat])
        instance = paper_workload(
            int(place.x),
            int(place.setting.split()[1]),
            popularity=cast(Popularity, task.experiment),
            exponent=ours.exponent,
            at_most=ours.at_most,
            costs=ours.costs,
            selectivity=ours.selectivity,
            rng=rng,
        )
        topology = self.topologies[tree]
        return topology, draw_workload(topology, instance, events=ours.events, rng=rng)


def measured(report: OverlayReport) -> Measured:
    """The measures of a run; delays, costs, messages and bytes are means over events.

    A delay leaves out what links take, a latency has it.
    """
    events = len(report.runs)
    return {f"delay_{mean}_ms": report.mean_delay_ms(mean) for mean in MEANS} | {
        "delay_p95_ms": _p95(report.delay_ms),
        "latency_ms": float(report.latency_ms.mean()) if len(report.event) else float("nan"),
        "latency_p95_ms": _p95(report.latency_ms),
        "cost_ms": report.cost_ms,
        "runs": report.runs_per_event,
        "messages": sum(report.messages.get(kind, 0) for kind in TRAFFIC) / events,
        "bytes": sum(report.nbytes.get(kind, 0) for kind in TRAFFIC) / events,
        "notifications": len(report.event),
    }


def _p95(values: Floats) -> float:
    return float(np.quantile(values, 0.95)) if len(values) else float("nan")
