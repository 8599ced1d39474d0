"""Figure 3 of "Adaptive Filtering of Visual Content in Distributed Publish/Subscribe Systems".

A figure is a list of points (how many subscriptions and concepts, how popular each concept is) and
the policies that are compared there. A task is one workload at one point, on one topology, with all
policies that are to be run on it, so that ratios between policies are those of paired runs. Figures
3a and 3c are of the same runs, and a point that several figures share is run once.

What the paper fixes are the defaults. What it leaves open stands in `Conditions`, but for how the
mean delay is taken: a run tells all four (see `simulation.Mean`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from caddis.arrays import Floats
from caddis.errors import OverlayError
from caddis.lab.simulators import RoutingTables, Simulation, simulate, subscribe_all
from caddis.lab.workloads import Popularity, Range, Workload, draw_workload, paper_workload
from caddis.overlay.forwarding import FORWARDINGS, Forwarding
from caddis.overlay.topology import Topology

BASELINE = "air"
POLICIES = ("air", "ail", "mec", "emec", "frontier")
PATIENCES = (0, 25, 50, 100, 200, 400)
"""Milliseconds at which the policy `frontier` is tried, besides its own."""
SYNTHETIC = "synthetic"
TRAFFIC = ("publish", "learnt")
"""The kinds of messages that an event causes."""

Measure = Literal["delay", "cost"]
Axis = Literal["subscriptions", "concepts"]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all runs have in common; runs under other conditions are not comparable.

    events: published in a run.
    exponent: of Zipf's law; the paper does not tell.
    at_most: so many concepts a subscription; the paper does not tell.
    covering: whether covered clauses are kept from neighbours, where the policy likes it; the paper
        does not speak of it.
    link_delays: whether links take time, which only matters to who waits for another broker.
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

    fixed_subscriptions: where concepts vary, and for the frontier.
    fixed_concepts: where subscriptions vary, and for the frontier.
    """

    topologies: int = 5
    repeats: int = 5
    subscriptions: tuple[int, ...] = (500, 1000, 2000, 3000, 4000, 5000)
    concepts: tuple[int, ...] = (20, 50, 100, 150, 200)
    fixed_subscriptions: int = 3000
    fixed_concepts: int = 100


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """Where a figure is measured."""

    popularity: Popularity
    subscriptions: int
    concepts: int


@dataclass(frozen=True, slots=True)
class Figure:
    """What is drawn: a measure against an axis; the frontier has no axis, and both measures."""

    name: str
    title: str
    measure: Measure
    axis: Axis | None
    points: tuple[Point, ...]
    policies: tuple[str, ...]

    def x(self, point: Point) -> int:
        """Where a point stands on the axis."""
        return point.concepts if self.axis == "concepts" else point.subscriptions


FIGURES = ("3a", "3b", "3c", "3d", "frontier")


def figure(name: str, scale: Scale, policies: Sequence[str] = POLICIES) -> Figure:
    """One of FIGURES.

    >>> figure("3d", Scale()).points[0]
    Point(popularity='zipf', subscriptions=3000, concepts=20)
    """
    zipf = tuple(Point("zipf", count, scale.fixed_concepts) for count in scale.subscriptions)
    few = tuple(Point("zipf", scale.fixed_subscriptions, count) for count in scale.concepts)
    uniform = tuple(replace(point, popularity="uniform") for point in zipf)
    one = (Point("zipf", scale.fixed_subscriptions, scale.fixed_concepts),)
    law, flat = f"Zipf popularity, {scale.fixed_concepts:,} concepts", "uniform popularity"
    many = f"Zipf popularity, {scale.fixed_subscriptions:,} subscriptions"
    made = (
        Figure("3a", f"delay, {law}", "delay", "subscriptions", zipf, (*policies,)),
        Figure("3b", f"delay, {flat}", "delay", "subscriptions", uniform, (*policies,)),
        Figure("3c", f"total cost, {law}", "cost", "subscriptions", zipf, (*policies,)),
        Figure("3d", f"delay, {many}", "delay", "concepts", few, (*policies,)),
        Figure("frontier", f"delay and total cost, {many}", "delay", None, one, _compared()),
    )
    found = [one for one in made if one.name == name]
    if not found:
        raise OverlayError(f"there is no figure {name!r}; there is: {', '.join(FIGURES)}")
    return found[0]


def policy_named(name: str) -> Forwarding:
    """A policy, perhaps with a patience of its own in milliseconds.

    >>> policy_named("frontier@50").sharing.patience_ms
    50.0
    """
    base, at, patience = name.partition("@")
    found = FORWARDINGS.named(base)
    if not at:
        return found
    if found.sharing is None or not patience.replace(".", "", 1).isdigit():
        raise OverlayError(f"{name!r}: patience is told as in frontier@50, in milliseconds")
    return replace(found, sharing=replace(found.sharing, patience_ms=float(patience)))


@dataclass(frozen=True, slots=True)
class Task:
    """One workload, under some policies."""

    point: Point
    topology: int
    repeat: int
    policies: tuple[str, ...]


Key = tuple[Point, int, int, str]
"""What tells a run from others: point, topology, repeat and policy."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one policy made of one workload; delays, costs, messages and bytes are by event."""

    popularity: Popularity
    subscriptions: int
    concepts: int
    topology: int
    repeat: int
    policy: str
    delay_notifications_ms: float
    delay_brokers_ms: float
    delay_events_ms: float
    delay_paths_ms: float
    delay_p95_ms: float
    latency_ms: float
    latency_p95_ms: float
    """With links, as `delay` is without them; means over notifications."""
    cost_ms: float
    runs: float
    messages: float
    bytes: float
    notifications: int

    @property
    def point(self) -> Point:
        return Point(self.popularity, self.subscriptions, self.concepts)

    @property
    def key(self) -> Key:
        return self.point, self.topology, self.repeat, self.policy


def plan(figures: Iterable[Figure], scale: Scale, done: Collection[Key] = ()) -> list[Task]:
    """What is left to do, in an order in which long and short tasks are mixed."""
    wanted: dict[Point, dict[str, None]] = {}
    for one in figures:
        for point in one.points:
            wanted.setdefault(point, {}).update(dict.fromkeys(one.policies))
    tasks = [
        Task(point, topology, repeat, left)
        for point in sorted(wanted)
        for topology in range(scale.topologies)
        for repeat in range(scale.repeats)
        if (left := tuple(p for p in wanted[point] if (point, topology, repeat, p) not in done))
    ]
    order = np.random.default_rng(0).permutation(len(tasks))
    return [tasks[place] for place in order.tolist()]


def draw_topologies(
    conditions: Conditions, count: int, matrices: Sequence[Floats] = ()
) -> tuple[Topology, ...]:
    """Trees of brokers, the next one from the next matrix; each is the same whatever the count."""
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
class Experiment:
    """Does tasks: the same task has the same result, wherever it is done."""

    conditions: Conditions
    topologies: tuple[Topology, ...]

    def __call__(self, task: Task) -> tuple[Run, ...]:
        """A run for each policy; all of them notify the same people of the same events."""
        topology, workload = self.topologies[task.topology], self._workload(task)
        tables: dict[bool, RoutingTables] = {}
        runs, notified = [], None
        for policy in task.policies:
            forwarding = policy_named(policy)
            covers = self.conditions.covering and forwarding.covers
            if covers not in tables:
                tables[covers] = subscribe_all(topology, workload, covering=covers)
            found = simulate(
                topology,
                workload,
                forwarding,
                covering=covers,
                link_delays=self.conditions.link_delays,
                tables=tables[covers],
            )
            if notified not in (None, found.notified):
                raise OverlayError(f"{policy} notifies others than {task.policies[0]}: {task}")
            notified = found.notified
            runs.append(_run(task, policy, found))
        return tuple(runs)

    def _workload(self, task: Task) -> Workload:
        """Drawn alike at all points, as far as they have the same concepts."""
        ours, point = self.conditions, task.point
        rng = np.random.default_rng([ours.seed, task.topology, task.repeat])
        instance = paper_workload(
            point.subscriptions,
            point.concepts,
            popularity=point.popularity,
            exponent=ours.exponent,
            at_most=ours.at_most,
            costs=ours.costs,
            selectivity=ours.selectivity,
            rng=rng,
        )
        topology = self.topologies[task.topology]
        return draw_workload(topology, instance, events=ours.events, rng=rng)


def _run(task: Task, policy: str, found: Simulation) -> Run:
    point, events = task.point, len(found.runs)
    return Run(
        popularity=point.popularity,
        subscriptions=point.subscriptions,
        concepts=point.concepts,
        topology=task.topology,
        repeat=task.repeat,
        policy=policy,
        delay_notifications_ms=found.mean_delay_ms("notifications"),
        delay_brokers_ms=found.mean_delay_ms("brokers"),
        delay_events_ms=found.mean_delay_ms("events"),
        delay_paths_ms=found.mean_delay_ms("paths"),
        delay_p95_ms=_p95(found.delay_ms),
        latency_ms=float(found.latency_ms.mean()) if len(found.event) else float("nan"),
        latency_p95_ms=_p95(found.latency_ms),
        cost_ms=found.cost_ms,
        runs=found.runs_per_event,
        messages=sum(found.messages.get(kind, 0) for kind in TRAFFIC) / events,
        bytes=sum(found.nbytes.get(kind, 0) for kind in TRAFFIC) / events,
        notifications=len(found.event),
    )


def _p95(values: Floats) -> float:
    return float(np.quantile(values, 0.95)) if len(values) else float("nan")


def _compared() -> tuple[str, ...]:
    """What the figure of the frontier compares: the paper's policies, eager, and the knob."""
    knob = (f"frontier@{patience}" for patience in PATIENCES)
    return ("air", "ail", "mec", "emec", "eager", *knob, "frontier")
