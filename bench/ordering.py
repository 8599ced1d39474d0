"""What each policy pays for its models, relative to a clairvoyant, and what it takes to think.

    python bench/ordering.py [--parts a b candidates c] [--photos FOLDER] [--quick] [--plot FILE]

    a            the paper's workload: costs of 12–16, every clause is a candidate of every event
    b            the same, with costs spread log-uniformly over 1–1000
    candidates   300 subscriptions of which 5–40 are candidates of an event, costs as in b
    c            real photos and three real models, and wall time on Spark: see ordering_photos.py

The baseline of every cost is the exact certificate of the same events. Graph work is the CPU time
of choosing models and settling graphs, after a first run that compiled the kernels; answers are
free.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import numpy as np
from rich.console import Console

from caddis.arrays import Bools, Floats, Int32s
from caddis.lab.figures import Row, print_table, records
from caddis.lab.workloads import paper_workload, spread_costs
from caddis.lab.yardsticks import candidate_costs
from caddis.ordering import POLICIES, Graphs, Plan, Policy
from caddis.ordering.certificate import Instance, certificate

CONCEPTS = 100
SIZES = (100, 300, 1000, 3000, 5000)
CANDIDATES = (5, 10, 20, 40)
BASELINES = ("run-all", "per-subscription")
"""Not drawn: they cost several times as much."""
SOME = "So many of 300 subscriptions are candidates of an event"
COST, WORK = "cost/event", "µs/event and round"
MODEL_SECONDS = 0.01
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    """An instance, events drawn for it, and which of its clauses are candidates of which."""

    instance: Instance
    outcomes: Bools
    events: Int32s
    clauses: Int32s

    def certificates(self) -> Floats:
        """The least that each event costs."""
        ends = np.searchsorted(self.events, np.arange(len(self.outcomes) + 1))
        least = []
        for event, answers in enumerate(self.outcomes):
            chosen = self.clauses[ends[event] : ends[event + 1]].tolist()
            some = tuple(self.instance.clauses[clause] for clause in chosen)
            least.append(certificate(replaced(self.instance, some), answers))
        return np.array(least)


def replaced(instance: Instance, clauses: tuple[tuple[int, tuple[int, ...]], ...]) -> Instance:
    """An instance with some of its clauses."""
    if len(clauses) == len(instance.clauses):
        return instance
    return Instance(
        instance.costs, instance.answered_by, instance.selectivity, clauses, instance.links
    )


def every_clause(instance: Instance, events: int, rng: np.random.Generator) -> Case:
    outcomes = rng.random((events, instance.concepts)) < instance.selectivity
    pairs = (grid.ravel() for grid in np.indices((events, len(instance.clauses))))
    return Case(instance, outcomes, *(some.astype(np.int32) for some in pairs))


def some_clauses(size: int, candidates: int, events: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    instance = spread_costs(size, CONCEPTS, rng=rng)
    drawn = [np.sort(rng.choice(size, candidates, replace=False)) for _ in range(events)]
    outcomes = rng.random((events, instance.concepts)) < instance.selectivity
    owners = np.repeat(np.arange(events), candidates).astype(np.int32)
    return Case(instance, outcomes, owners, np.concatenate(drawn).astype(np.int32))


class Timed:
    """A policy that counts its event-rounds, the models it runs, and the CPU time of graph work."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.name, self.shares = policy.name, policy.shares
        self.seconds, self.event_rounds, self.runs = 0.0, 0, 0
        self._graphs: Graphs | None = None

    def next_models(self, graphs: Graphs, plan: Plan) -> Bools:
        if graphs is not self._graphs:
            self._graphs, settle = graphs, graphs.settle
            graphs.settle = lambda: self._timed(settle)  # type: ignore[method-assign]
        wanted = self._timed(lambda: self.policy.next_models(graphs, plan))
        self.event_rounds += len(graphs.open)
        self.runs += int(wanted.sum())
        return wanted

    def _timed(self, work: Callable[[], T]) -> T:
        began = time.process_time()
        done = work()
        self.seconds += time.process_time() - began
        return done


def measured(cases: list[Case], size: int) -> Iterator[Row]:
    """The mean over all events of all cases."""
    events = sum(len(case.outcomes) for case in cases)
    least = sum(case.certificates().sum() for case in cases)
    yield Row(size, "certificate", least / events, COST, events, "events")
    for policy in POLICIES.values():
        timed = Timed(policy)
        paid = 0.0
        for case in cases:
            given = (case.instance, case.outcomes, timed, case.events, case.clauses)
            paid += candidate_costs(*given).sum()
        yield Row(size, policy.name, paid / events, COST, events, "events")
        if policy.shares:
            yield from work_rows(size, timed)


def work_rows(size: int, timed: Timed) -> Iterator[Row]:
    """Graph work for itself, and by the time of models that take 10 ms each."""
    what, rounds = f"{timed.name}, graph work", timed.event_rounds
    yield Row(size, what, 1e6 * timed.seconds / rounds, WORK, rounds, "rounds")
    share = 100 * timed.seconds / (timed.runs * MODEL_SECONDS)
    yield Row(size, what, share, "% of 10 ms a model", timed.runs, "runs")


def workload_rows(
    make: Callable[..., Instance], sizes: tuple[int, ...], events: int, seeds: int
) -> list[Row]:
    rows: list[Row] = []
    for size in sizes:
        tell(f"{make.__name__}: {size:,} subscriptions")
        cases = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            cases.append(every_clause(make(size, CONCEPTS, rng=rng), events // seeds, rng))
        rows += measured(cases, size)
    return rows


def candidate_rows(events: int, seeds: int) -> list[Row]:
    rows: list[Row] = []
    for count in CANDIDATES:
        tell(f"{count} candidates of 300 subscriptions")
        cases = [some_clauses(300, count, events // seeds, seed) for seed in range(seeds)]
        rows += measured(cases, count)
    return rows


def plot(tables: dict[str, list[Row]], path: Path) -> None:
    """Cost relative to the certificate against subscriptions, a panel a table."""
    from matplotlib import pyplot

    drawn = {
        title: rows for title, rows in tables.items() if len({r.subscriptions for r in rows}) > 1
    }
    figure, axes = pyplot.subplots(1, len(drawn), figsize=(6 * len(drawn), 4.5), squeeze=False)
    for axis, (title, rows) in zip(axes[0], drawn.items(), strict=True):
        by_size = {(row.subscriptions, row.what): row.figure for row in rows if row.unit == COST}
        sizes = sorted({row.subscriptions for row in rows})
        for name in [name for name in POLICIES if name not in BASELINES]:
            ratios = [by_size[size, name] / by_size[size, "certificate"] for size in sizes]
            axis.plot(sizes, ratios, marker="o", label=name)
        axis.set(
            title=title, xscale="log", xlabel="candidates" if title == SOME else "subscriptions"
        )
        axis.set_ylabel("cost ÷ certificate")
        axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("a", "b", "candidates", "c")
    parser.add_argument("--parts", nargs="+", choices=parts, default=["a", "b", "candidates"])
    parser.add_argument("--quick", action="store_true", help="fewer events and sizes")
    parser.add_argument("--events", type=int, default=500, help="of each size; %(default)s")
    parser.add_argument("--photos", type=Path, help="a folder of photos, for part c")
    parser.add_argument("--json", type=Path, help="write all rows there, too")
    parser.add_argument("--plot", type=Path, help="draw parts a, b and candidates there, as PNG")
    given = parser.parse_args()
    if "c" in given.parts and given.photos is None:
        parser.error("part c needs --photos FOLDER")
    return given


def run(part: str, given: argparse.Namespace) -> tuple[str, list[Row]]:
    sizes, events, seeds = (SIZES[:3], 100, 2) if given.quick else (SIZES, given.events, 5)
    if part == "candidates":
        return SOME, candidate_rows(events, seeds)
    title = "The paper's workload" if part == "a" else "Costs spread over 1–1000"
    make = paper_workload if part == "a" else spread_costs
    return title, workload_rows(make, sizes, events, seeds)


def main() -> None:
    given, console = arguments(), Console(width=110)
    workload_rows(paper_workload, (100,), 10, 1)  # compiles the kernels
    tables: dict[str, list[Row]] = {}
    for part in given.parts:
        if part != "c":
            title, rows = run(part, given)
            tables[title] = rows
            print_table(console, title, rows, ["certificate"])
    if given.plot and tables:
        plot(tables, given.plot)
    if given.json:
        by_title = {title: records(rows, ["certificate"]) for title, rows in tables.items()}
        report = {"environment": environment(), "tables": by_title}
        given.json.write_text(json.dumps(report, indent=2) + "\n")
    if "c" in given.parts:
        script = Path(__file__).with_name("ordering_photos.py")
        subprocess.run([sys.executable, script, "--photos", given.photos], check=True)


def environment() -> dict[str, str | int | None]:
    """What the figures were measured with."""
    names = ("caddis", "numpy", "numba")
    found = {name: version(name) for name in names}
    return {"python": platform.python_version(), "cores": os.cpu_count(), **found}


if __name__ == "__main__":
    main()
