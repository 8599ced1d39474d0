"""Subscriptions and events that are as skewed as can be, beside uniform ones: time and memory.

    python bench/adversarial.py [--quick] [--subscriptions 100000] [--json FILE]

Each case is compiled in one process and matched in another, on one core. Times are CPU time, the
best of three passes, encoding included; memory is what matching adds to the peak of a process that
has loaded the index. It fails if a match takes more than 20 times as long as a uniform one, or if
memory is not bounded by the size of a slice. README.md beside this file says what each case is.
"""

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from caddis import Matcher

SCHEMA = pa.schema(
    [("account", pa.string()), ("price", pa.int32()), ("size", pa.int32()), ("day", pa.int32())]
)
BATCH, PASSES = 20_000, 3
WORST_RATIO = 20
MOST_MEMORY = 256 << 20
"""Bytes that matching may add to what the index takes, however many matches there are."""
DAYS, TOP = 400, 10_000


@dataclass(frozen=True, slots=True)
class Case:
    """Subscriptions and events; both are made from the number of subscriptions."""

    name: str
    wheres: Callable[[int], Iterator[str]]
    events: Callable[[int], pa.RecordBatch]
    share: float = 1.0
    """How many subscriptions the case has, as a share of those of the run."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a case took."""

    case: str
    subscriptions: int
    events: int
    matches: int
    candidates: int
    seconds: float
    added_bytes: int
    index_bytes: int

    @property
    def per_match(self) -> float:
        return 1e9 * self.seconds / max(1, self.matches)

    @property
    def per_candidate(self) -> float:
        return 1e9 * self.seconds / max(1, self.candidates)


# -------------------------------------------------------------------------------------- the cases


def accounts(count: int) -> int:
    """So many that a uniform event shares its account with ten subscriptions."""
    return max(1, count // 10)


def uniform_wheres(count: int) -> Iterator[str]:
    rng = np.random.default_rng(1)
    for price, size, account in zip(
        rng.integers(TOP, size=count),
        rng.integers(TOP, size=count),
        rng.integers(accounts(count), size=count),
        strict=True,
    ):
        yield f"account = 'a{account}' AND price < {price} AND size >= {size}"


def hot_wheres(count: int) -> Iterator[str]:
    """Nine in ten ask for one account, and for three ranges of which each is one in ten."""
    rng = np.random.default_rng(1)
    for price, size, day, account in zip(
        rng.integers(TOP, size=count),
        rng.integers(TOP, size=count),
        rng.integers(DAYS, size=count),
        rng.integers(10 * accounts(count), size=count),
        strict=True,
    ):
        name = f"a{account}" if account < accounts(count) else "hot"
        yield (
            f"account = '{name}' AND price BETWEEN {price} AND {price + TOP // 10} "
            f"AND size BETWEEN {size} AND {size + TOP // 10} "
            f"AND day BETWEEN {day} AND {day + DAYS // 10}"
        )


def one_day_wheres(count: int) -> Iterator[str]:
    """Only the day is selective, and all ask for the same one."""
    rng = np.random.default_rng(1)
    for price, size in rng.integers(TOP, size=(count, 2)).tolist():
        yield f"day = 7 AND price < {price} AND size >= {size}"


def disjunction_wheres(count: int) -> Iterator[str]:
    """The uniform ones, and one that lists as many accounts as there are subscriptions."""
    yield from uniform_wheres(count - 1)
    yield f"account IN ({', '.join(repr(f'a{i}') for i in range(count))}) AND price >= 0"


def clauses_wheres(count: int) -> Iterator[str]:
    """512 clauses each."""
    clauses = uniform_wheres(512 * count)
    for _ in range(count):
        yield " OR ".join(f"({next(clauses)})" for _ in range(512))


def everything_wheres(count: int) -> Iterator[str]:
    for number in range(count):
        yield f"price >= {-number} AND size >= 0"


def events(count: int, account: pa.Array, **constants: int) -> pa.RecordBatch:
    rng = np.random.default_rng(2)
    columns = {
        "account": account,
        "price": rng.integers(TOP, size=count, dtype=np.int32),
        "size": rng.integers(TOP, size=count, dtype=np.int32),
        "day": rng.integers(DAYS, size=count, dtype=np.int32),
    }
    columns |= {name: np.full(count, value, np.int32) for name, value in constants.items()}
    return pa.record_batch(columns, SCHEMA)


def uniform_events(subscriptions: int) -> pa.RecordBatch:
    numbers = np.random.default_rng(3).integers(accounts(subscriptions), size=BATCH)
    return events(BATCH, pa.array([f"a{number}" for number in numbers]))


def hot_events(subscriptions: int) -> pa.RecordBatch:
    numbers = np.random.default_rng(3).integers(10 * accounts(subscriptions), size=BATCH)
    names = [f"a{one}" if one < accounts(subscriptions) else "hot" for one in numbers]
    return events(BATCH, pa.array(names))


CASES = [
    Case("uniform", uniform_wheres, uniform_events),
    Case("a hot account", hot_wheres, hot_events),
    Case(
        "a hot day, and nothing else",
        one_day_wheres,
        lambda _: events(1_000, pa.nulls(1_000, pa.string()), day=7),
    ),
    Case("one huge disjunction", disjunction_wheres, uniform_events),
    Case("512 clauses each", clauses_wheres, lambda n: uniform_events(512 * n), 1 / 512),
    Case(
        "100 events that match all",
        everything_wheres,
        lambda _: events(100, pa.nulls(100, pa.string())),
        10,
    ),
]


# ------------------------------------------------------------------------------- measuring a case


def compiled(case: Case, count: int, folder: Path) -> int:
    """Compile a case's subscriptions into a folder; gives the bytes of the index."""
    wheres = list(case.wheres(count))
    table = pa.table({"subscription_id": np.arange(len(wheres)), "where": wheres})
    matcher = Matcher.compile(table, SCHEMA, sample=case.events(count))
    matcher.save(folder)
    return matcher.nbytes


def measured(case: Case, count: int, folder: Path, index_bytes: int) -> Figures:
    """Load a case, and match its events slice by slice, holding one slice at a time."""
    batch, matcher = case.events(count), Matcher.load(folder)
    # So that kernels are loaded before, and pages of the index are read.
    matcher.match(batch.slice(0, 1))
    before, best = peak_bytes(), float("inf")
    for _ in range(PASSES):
        started, matches, candidates = time.process_time(), 0, 0
        for one in matcher.match_in_slices(batch):
            matches += len(one.rows)
            candidates += one.report.candidates
        best = min(best, time.process_time() - started)
    added = peak_bytes() - before
    return Figures(case.name, count, batch.num_rows, matches, candidates, best, added, index_bytes)


def peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_a_process(number: int, count: int, folder: Path, index_bytes: int | None) -> int | Figures:
    """Compile the case of a number, or measure it once that is done."""
    case = CASES[number]
    if index_bytes is None:
        return compiled(case, count, folder)
    return measured(case, count, folder, index_bytes)


def apart(number: int, count: int, folder: Path, index_bytes: int | None) -> int | Figures:
    """The same in a fresh process: nobody measures in another's memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(in_a_process, (number, count, folder, index_bytes))


def run_case(number: int, subscriptions: int) -> Figures:
    case = CASES[number]
    count = max(1, int(case.share * subscriptions))
    tell(f"{case.name}: {count:,} subscriptions")
    with tempfile.TemporaryDirectory(prefix="caddis-bench-") as folder:
        index_bytes = apart(number, count, Path(folder), None)
        assert isinstance(index_bytes, int)
        figures = apart(number, count, Path(folder), index_bytes)
    assert isinstance(figures, Figures)
    return figures


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# ---------------------------------------------------------------------------------- what came out


def print_cases(found: list[Figures]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table(title="Skew; CPU time of one core", title_justify="left")
    table.add_column("case", no_wrap=True)
    for name in (
        "subscriptions",
        "events",
        "matches",
        "ns/match",
        "÷ uniform",
        "ns/candidate",
        "÷ uniform",
        "index, MiB",
        "matching adds, MiB",
    ):
        table.add_column(name, justify="right")
    for one in found:
        table.add_row(
            one.case,
            f"{one.subscriptions:,}",
            f"{one.events:,}",
            f"{one.matches:,}",
            f"{one.per_match:,.1f}",
            f"{one.per_match / found[0].per_match:.2f}",
            f"{one.per_candidate:,.1f}",
            f"{one.per_candidate / found[0].per_candidate:.2f}",
            f"{one.index_bytes / 2**20:,.1f}",
            f"{one.added_bytes / 2**20:,.1f}",
        )
    console.print(table)


def failures(found: list[Figures]) -> list[str]:
    """What is worse than it may be."""
    slow = [
        f"{one.case}: a match takes {one.per_match / found[0].per_match:.1f} times as long"
        for one in found
        if one.per_match > WORST_RATIO * found[0].per_match
    ]
    large = [
        f"{one.case}: matching adds {one.added_bytes / 2**20:,.0f} MiB"
        for one in found
        if one.added_bytes > one.index_bytes + MOST_MEMORY
    ]
    return slow + large


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="10,000 subscriptions")
    parser.add_argument("--subscriptions", type=int, help="how many, 100,000 by default")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    subscriptions = given.subscriptions or (10_000 if given.quick else 100_000)
    found = [run_case(number, subscriptions) for number in range(len(CASES))]
    print_cases(found)
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in found], indent=2) + "\n")
    if problems := failures(found):
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
