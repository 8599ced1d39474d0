"""What brokers pay for their models, how long subscribers wait, and how quick the simulator is.

    python bench/overlay.py [--parts policies load speed many] [--round-trips FILE ...] [--quick]

    policies   delay and cost of each policy, each event alone; the baselines are air and emec
    load       the same while events keep coming, closer and closer
    speed      CPU time to simulate 1,000 events; 100 brokers, 3,000 subscriptions, 100 concepts
    many       the same for a few events and 10,000 brokers

The workload is the adaptive-filtering paper's: Zipf popularity, 1–5 concepts a subscription, costs
of 12–16 ms, selectivities of 0–0.25. Trees span round-trip times: those of the files that are
given, one after the other, else synthetic ones. All policies see the same trees, subscriptions and
events, and must notify the same subscribers.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from caddis.errors import OverlayError
from caddis.files import text_of
from caddis.lab.figures import Record, Row, print_table, records
from caddis.lab.simulators import OverlayReport, RoutingTables, simulate, subscribe_all
from caddis.lab.workloads import Workload, draw_workload, paper_workload
from caddis.overlay import FORWARDINGS, Forwarding, Sharing, Topology, parse_round_trips

PARTS = ("policies", "load", "speed", "many")
BASELINES = ("air", "emec")
SUBSCRIPTIONS, CONCEPTS, BROKERS = 3000, 100, 100
PATIENCES = (0.0, 10.0, 25.0, 100.0)
INTERVALS = (2000.0, 1000.0, 500.0, 250.0, 125.0)
Tables = list[tuple[str, list[Row]]]


def patient(patience_ms: float) -> Forwarding:
    """Frontier whose brokers lose their patience; news never waits longer than half of it."""
    sharing = Sharing(patience_ms=patience_ms, linger_ms=min(50.0, patience_ms / 2))
    return replace(FORWARDINGS["frontier"], name=f"frontier, {patience_ms:g} ms", sharing=sharing)


def trees(files: list[Path], count: int) -> Iterator[Topology]:
    matrices = [parse_round_trips(text_of(path, OverlayError), str(path)) for path in files]
    for seed in range(count):
        if matrices:
            yield Topology.from_round_trips(matrices[seed % len(matrices)], BROKERS, seed=seed)
        else:
            yield Topology.synthetic(BROKERS, seed=seed)


def drawn(tree: Topology, events: int, seed: int) -> tuple[Workload, RoutingTables]:
    rng = np.random.default_rng(seed)
    instance = paper_workload(SUBSCRIPTIONS, CONCEPTS, rng=rng)
    work = draw_workload(tree, instance, events=events, rng=rng)
    return work, subscribe_all(tree, work, covering=False)


def checked(run: OverlayReport, work: Workload) -> OverlayReport:
    if run.notified != work.expected():
        raise SystemExit(f"{run.policy} did not notify those who asked")
    return run


def policies(arguments: argparse.Namespace) -> Tables:
    """Every policy on every tree."""
    count, events = (1, 20) if arguments.quick else (5, 200)
    found: dict[str, list[OverlayReport]] = {}
    for seed, tree in enumerate(trees(arguments.round_trips, count)):
        work, tables = drawn(tree, events, seed)
        for policy in [*FORWARDINGS.values(), *map(patient, PATIENCES)]:
            run = simulate(tree, work, policy, covering=False, tables=tables)
            found.setdefault(policy.name, []).append(checked(run, work))
    names = f"Each event alone, {count} trees of {BROKERS} brokers"

    def table(title: str, unit: str, figure: str) -> tuple[str, list[Row]]:
        rows = [
            Row(SUBSCRIPTIONS, name, _mean(runs, figure), unit, count * events, "events")
            for name, runs in found.items()
        ]
        return f"{names}: {title}", rows

    return [
        table("mean processing delay of a notification", "ms", "delay"),
        table("models' time in all brokers", "ms/event", "cost"),
        table("mean time from publication to notification, links included", "ms", "latency"),
        table("messages between brokers", "an event", "messages"),
    ]


def messages(run: OverlayReport) -> float:
    return (run.messages["publish"] + run.messages.get("learnt", 0)) / len(run.work_ms)


FIGURES: dict[str, Callable[[OverlayReport], float]] = {
    "delay": lambda run: run.mean_delay_ms(),
    "cost": lambda run: run.cost_ms,
    "latency": lambda run: float(run.latency_ms.mean()),
    "messages": messages,
}


def _mean(runs: list[OverlayReport], figure: str) -> float:
    return float(np.mean([FIGURES[figure](run) for run in runs]))


def load(arguments: argparse.Namespace) -> Tables:
    """Events that come closer and closer: those that wait delay those behind them."""
    (tree,) = trees(arguments.round_trips, 1)
    events = 20 if arguments.quick else 200
    work, tables = drawn(tree, events, 0)
    made: Tables = []
    for interval in INTERVALS:
        rows = []
        for name in ("air", "mec", "emec", "frontier"):
            run = simulate(tree, work, name, covering=False, tables=tables, interval_ms=interval)
            checked(run, work)
            rows.append(Row(SUBSCRIPTIONS, name, run.mean_delay_ms(), "ms", events, "events"))
        made.append((f"An event every {interval:g} ms on average: mean delay", rows))
    return made


def speed(arguments: argparse.Namespace) -> Tables:
    """CPU time of whole simulations: subscribing, compiling graphs, events."""
    (tree,) = trees(arguments.round_trips, 1)
    events = 50 if arguments.quick else 1000
    work, _ = drawn(tree, events, 0)
    few, _ = drawn(tree, 2, 0)
    rows = []
    for name in FORWARDINGS:
        simulate(tree, few, name, covering=False)
        begin = time.process_time()
        checked(simulate(tree, work, name, covering=False), work)
        spent = time.process_time() - begin
        rows.append(Row(SUBSCRIPTIONS, name, spent, "s", events, "events"))
    return [(f"CPU time of a simulation, {BROKERS} brokers, {CONCEPTS} concepts", rows)]


def many(arguments: argparse.Namespace) -> Tables:
    """A hundred times as many brokers."""
    tree = Topology.synthetic(1000 if arguments.quick else 10_000)
    work, tables = drawn(tree, 10, 0)
    rows = []
    for name in ("air", "emec", "frontier"):
        begin = time.process_time()
        checked(simulate(tree, work, name, covering=False, tables=tables), work)
        spent = time.process_time() - begin
        rows.append(Row(SUBSCRIPTIONS, name, spent, "s", 10, "events"))
    return [(f"CPU time of a simulation once all have subscribed, {len(tree):,} brokers", rows)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--round-trips", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="few events: a minute or two")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    arguments = parser.parse_args()
    console, kept = Console(), dict[str, list[Record]]()
    for part in arguments.parts:
        for title, rows in globals()[part](arguments):
            print_table(console, title, rows, BASELINES)
            console.print()
            kept[title] = records(rows, BASELINES)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
