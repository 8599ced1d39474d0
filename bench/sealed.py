"""What sealed matching takes: Bloom prefilters, encrypted tests, sealing and opening.

    python bench/sealed.py [--quick] [--sizes 10000,100000] [--json FILE]

The synthetic workload of `matching.py`, sealed. Four tables, every ratio from the same run: how
many encrypted tests are left, what prefiltering takes, how many events a second a broker matches,
and what sealing, checking and opening take. Everything runs in processes of its own, one after the
other, whose libraries may start one thread only; times are CPU time of that core. README.md beside
this file says what each row means.
"""

import argparse
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa
from rich.console import Console

from caddis.lab.bloom_prefiltering import (
    Conditions,
    SealedStream,
    Setup,
    batch_of,
    measure_aspe,
    measure_tests,
    measure_times,
    measure_tokens,
)
from caddis.lab.figures import Measured, Place, Row, print_table, records
from caddis.lab.workloads import zipf_subscriptions
from caddis.sealed import SCHEMES, Opener, Scheme
from caddis.sealed.events import Gate, NoMemory

LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in LIBRARIES}
"""Set before processes start, since libraries read it when they are loaded."""

T = TypeVar("T")
Measure = Callable[[Setup, Place], Measured]
MICRO = 1e6
PARTY_EVENTS, PARTY_SUBSCRIPTIONS = 2_000, 5_000

OURS, PLAIN, SEALING = "ours", "plain events, Matcher", "sealing events, aspe"
AT_MOST = "events at most"
TESTS = (
    ("none", "no prefilter"),
    ("paper", "the paper's filters"),
    ("ours", OURS),
    ("matches", "subscriptions that match"),
)
PREFILTERS = (
    ("scan", "all filters in turn"),
    ("paper", "the paper's lists, its filters"),
    ("sparse", "the paper's lists, 2 hashes"),
    ("paper_ours", "the paper's lists, our filters"),
    ("ours", OURS),
)
MATCHING = (
    ("ours", ""),
    ("checked", ", signatures checked"),
    ("paper", ", the paper's lists"),
    ("none", ", no prefilter"),
)


class Table(NamedTuple):
    """Rows with the same baseline."""

    title: str
    rows: list[Row]
    baseline: str
    size: str = "subscriptions"


def tests_table(setup: Setup, sizes: Sequence[int]) -> Table:
    rows, events = [], setup.conditions.events
    for size in sizes:
        found = measured(measure_tests, setup, size)
        rows += [Row(size, label, found[n], "tests/event", events, "events") for n, label in TESTS]
    return Table("Encrypted tests that are left", rows, OURS)


def prefiltering_table(setup: Setup, sizes: Sequence[int]) -> Table:
    rows = []
    for size in sizes:
        found = measured(measure_times, setup, size)
        rows += [
            Row(size, label, found[name], "µs/event", setup.batch, AT_MOST)
            for name, label in PREFILTERS
        ]
    return Table("Prefiltering, CPU time of one core", rows, OURS)


def matching_table(setup: Setup, sizes: Sequence[int]) -> Table:
    rows = []
    for size in sizes:
        by_scheme = {"tokens": measured(measure_tokens, setup, size)}
        by_scheme["aspe"] = measured(measure_aspe, setup, size)
        plain = MICRO / by_scheme["tokens"]["plain"]
        rows.append(Row(size, PLAIN, plain, "events/s", setup.batch, AT_MOST))
        rows += [
            Row(
                size, scheme + label, MICRO / found[name], "events/s", setup.batch, "events at most"
            )
            for scheme, found in by_scheme.items()
            for name, label in MATCHING
        ]
    return Table("Sealed matching on one core", rows, PLAIN)


def party_table(setup: Setup) -> Table:
    rows = apart(party_rows, setup)
    title = "What parties do, on one core: sealing, checking signatures, opening"
    return Table(title, rows, SEALING, size="events")


def party_rows(setup: Setup) -> list[Row]:
    return [row for scheme in SCHEMES for row in scheme_rows(setup, scheme)]


def scheme_rows(setup: Setup, scheme: Scheme) -> list[Row]:
    """Opening checks the signature, opens the payload and reads it."""
    stream = SealedStream.of(scheme, os.urandom, setup.conditions.rate)
    plain, texts = batch_of(PARTY_EVENTS, 1), zipf_subscriptions(PARTY_SUBSCRIPTIONS, 2)
    sealed = stream.events(plain)

    def row(what: str, work: Callable[[pa.RecordBatch], object], events: pa.RecordBatch) -> Row:
        taken = setup.per_event(lambda count: work(events.slice(0, count)), len(events))
        return Row(len(plain), f"{what}, {scheme}", MICRO / taken, "events/s", len(events), AT_MOST)

    def seconds() -> float:
        started = time.process_time()
        stream.subscriptions(texts)
        return time.process_time() - started

    rate, size = len(texts) / min(seconds(), seconds()), sealed.nbytes / len(sealed)
    opener = Opener(stream.ring, stream.directory, memory=NoMemory())
    gate = Gate(stream.directory, memory=NoMemory())
    return [
        row("sealing events", stream.events, plain),
        row("checking signatures", gate.admit, sealed),
        row("opening events", opener.open, sealed),
        Row(
            len(plain),
            f"sealing subscriptions, {scheme}",
            rate,
            "subscriptions/s",
            len(texts),
            "subscriptions",
        ),
        Row(len(plain), f"a sealed event, {scheme}", size, "bytes", len(sealed), "events"),
    ]


def measured(measure: Measure, setup: Setup, size: int) -> Measured:
    tell(f"{size:,} subscriptions: {measure.__name__.removeprefix('measure_')}")
    return apart(measure, setup, Place("", float(size), 0))


def apart(function: Callable[..., T], *given: object) -> T:
    """The function's result, from a fresh process with one thread."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, given)


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def environment() -> dict[str, str | int | None]:
    packages = {name: version(name) for name in ("numpy", "numba", "pyarrow", "cryptography")}
    return {"python": platform.python_version(), "cores": os.cpu_count(), **packages}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="1 k and 10 k subscriptions")
    parser.add_argument("--sizes", help="how many subscriptions, such as 10000,100000")
    parser.add_argument(
        "--matching-sizes", help="the same where they are really sealed; default: as --sizes"
    )
    parser.add_argument("--events", type=int, default=300, help="on which tests are counted")
    parser.add_argument("--seconds", type=float, default=1.0, help="about how long a clock runs")
    parser.add_argument("--rate", type=float, default=0.001, help="false positives of filters")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def numbers(text: str) -> list[int]:
    return [int(size) for size in text.split(",")]


def main() -> None:
    given = arguments()
    os.environ.update(ONE_THREAD)
    sizes = numbers(given.sizes or ("1000,10000" if given.quick else "10000,100000"))
    conditions = Conditions(events=given.events, rate=given.rate, seed=given.seed)
    setup = Setup(conditions, given.seconds, clock=time.process_time)
    sealed_sizes = numbers(given.matching_sizes) if given.matching_sizes else sizes
    makers: list[Callable[[], Table]] = [
        lambda: tests_table(setup, sizes),
        lambda: prefiltering_table(setup, sizes),
        lambda: matching_table(setup, sealed_sizes),
        lambda: party_table(setup),
    ]
    console, report = Console(width=None if sys.stdout.isatty() else 120), []
    for make in makers:
        table = make()
        print_table(console, table.title, table.rows, [table.baseline], size=table.size)
        report += records(table.rows, [table.baseline])
    if given.json:
        found = {"environment": environment(), "rows": report}
        given.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
