"""Where the time goes between Parquet files and matches on Spark, part by part.

    python bench/spark_way.py [--subscriptions 100000] [--events 400000] [--rounds 5] [--json FILE]

Each part is a Spark job over the same files; what one job takes more than another is what it does
more. All are run in turn, several times, and the best run of each counts, by wall clock and in CPU
time of the driver, the JVM and the workers together. In the same turns one core reads the files
with pyarrow and matches them. All that match must find equally many matches. Linux only.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.pool import Pool
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console

import caddis
from caddis import Matcher
from caddis.lab.figures import Row, print_table, records
from caddis.lab.workloads import ZIPF_SCHEMA, zipf_events, zipf_subscriptions

SUBSCRIPTION_SEED, EVENT_SEED = 1, 2
FILES, CORES, BATCH = 8, 2, 65_536
IDENTITY, ONE_CORE = "identity mapInArrow", "2 × pyarrow and Matcher on one core"
TICKS = os.sysconf("SC_CLK_TCK")
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Took:
    """How long one run took."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Inputs:
    """The folders of the events, the subscriptions and the results."""

    events: Path
    store: Path
    matcher: Path
    out: Path

    @staticmethod
    def make(folder: Path, subscriptions: int, events: int) -> "Inputs":
        made = Inputs(*(folder / name for name in ("events", "store", "matcher", "out")))
        table, wheres = (
            zipf_events(events, EVENT_SEED),
            zipf_subscriptions(subscriptions, SUBSCRIPTION_SEED),
        )
        made.events.mkdir()
        for at, (begin, end) in enumerate(pairwise(np.linspace(0, events, FILES + 1).astype(int))):
            pq.write_table(table.slice(begin, end - begin), made.events / f"{at}.parquet")
        caddis.SubscriptionStore.create(made.store, ZIPF_SCHEMA).upsert(wheres)
        Matcher.compile(wheres, ZIPF_SCHEMA).save(made.matcher)
        return made


# ------------------------------------------------------------------------------ the parts on Spark


def nothing(batches: Batches) -> Batches:
    for _ in batches:
        pass
    yield from ()


def keys(batches: Batches) -> Batches:
    for batch in batches:
        yield batch.select(["event_id"])


def identity(batches: Batches) -> Batches:
    yield from batches


def parts(spark: SparkSession, inputs: Inputs) -> dict[str, Callable[[], None]]:
    """The jobs, by name."""
    events = spark.read.parquet(str(inputs.events))
    store = caddis.SubscriptionStore.open(inputs.store)

    def matched(*, grouped: bool = False) -> DataFrame:
        return caddis.match(events, store, grouped=grouped)

    def from_files(*, grouped: bool = False) -> DataFrame:
        return caddis.match_files(spark, inputs.events, store, grouped=grouped)

    exploded = [F.col("event_id"), F.explode("subscription_ids")]
    return {
        "scan in the JVM": lambda: dropped(events),
        "scan, to Python, nothing back": lambda: dropped(
            events.mapInArrow(nothing, "event_id LONG")
        ),
        "scan, to Python, keys back": lambda: dropped(events.mapInArrow(keys, "event_id LONG")),
        IDENTITY: lambda: dropped(events.mapInArrow(identity, events.schema)),
        "match": lambda: dropped(matched()),
        "match, grouped": lambda: dropped(matched(grouped=True)),
        "match, grouped, exploded by Spark": lambda: dropped(
            matched(grouped=True).select(exploded)
        ),
        "match, into Parquet": lambda: written(matched(), inputs.out),
        "match_files": lambda: dropped(from_files()),
        "match_files, grouped": lambda: dropped(from_files(grouped=True)),
        "match_files, into Parquet": lambda: written(from_files(), inputs.out),
    }


def dropped(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def written(rows: DataFrame, folder: Path) -> None:
    rows.write.mode("overwrite").parquet(str(folder))


def timed(job: Callable[[], None]) -> Took:
    cpu, began = cpu_of_all(), time.perf_counter()
    job()
    return Took(time.perf_counter() - began, cpu_of_all() - cpu)


def cpu_of_all() -> float:
    """Seconds of CPU time that this process and all below it have taken."""
    below: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            below.setdefault(int(fields[1]), []).append(int(entry.name))
            ticks[int(entry.name)] = sum(map(int, fields[11:13]))
    waiting, total = [os.getpid()], 0
    while waiting:
        process = waiting.pop()
        waiting += below.get(process, [])
        total += ticks.get(process, 0)
    return total / TICKS


# ---------------------------------------------------------------------------------- on one core


def on_one_core(inputs: Inputs) -> tuple[Took, int]:
    """Read the files and match them; also how many matches there are."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    matcher, found = Matcher.load(inputs.matcher), 0
    cpu, began = time.process_time(), time.perf_counter()
    for file in sorted(inputs.events.iterdir()):
        for batch in pq.ParquetFile(file).iter_batches(BATCH, use_threads=False):
            found += len(matcher.match(batch).rows)
    return Took(time.perf_counter() - began, time.process_time() - cpu), found


# ------------------------------------------------------------------------------------ the table


def measure(
    inputs: Inputs, rounds: int, spark: SparkSession, pool: Pool
) -> tuple[dict[str, Took], int]:
    """The best of all runs of each part, and the number of matches."""
    jobs, found = parts(spark, inputs), 0
    runs: dict[str, list[Took]] = {}
    for number in range(rounds + 1):
        tell("warming up" if number == 0 else f"round {number} of {rounds}")
        for name, job in jobs.items():
            runs.setdefault(name, []).append(timed(job))
        took, found = pool.apply(on_one_core, (inputs,))
        runs.setdefault(ONE_CORE, []).append(took)
    return {name: best(some[1:]) for name, some in runs.items()}, found


def best(runs: Iterable[Took]) -> Took:
    some = list(runs)
    return Took(min(one.wall for one in some), min(one.cpu for one in some))


def check(spark: SparkSession, inputs: Inputs, found: int) -> None:
    """All ways find the same number of matches."""
    store = caddis.SubscriptionStore.open(inputs.store)
    events = spark.read.parquet(str(inputs.events))
    groups = caddis.match_files(spark, inputs.events, store, grouped=True)
    counts = [
        caddis.match(events, store).count(),
        caddis.match_files(spark, inputs.events, store).count(),
        groups.agg(F.sum(F.size("subscription_ids"))).collect()[0][0],
    ]
    assert counts == [found] * 3, f"on one core there were {found:,} matches, on Spark {counts}"


def rows_by_unit(runs: dict[str, Took], subscriptions: int, events: int) -> list[list[Row]]:
    """The rates by wall clock, and by CPU time."""
    rates: list[list[Row]] = [[], []]
    for name, took in runs.items():
        by_wall = (CORES if name == ONE_CORE else 1) * events / took.wall
        by_cpu = events / took.cpu
        rates[0].append(Row(subscriptions, name, by_wall, "events/s", events, "events"))
        rates[1].append(Row(subscriptions, name, by_cpu, "events/CPU s", events, "events"))
    return rates


def spark_session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("bench")
    settings = {
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="caddis-bench-") as folder:
        inputs = Inputs.make(Path(folder), given.subscriptions, given.events)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            spark = spark_session()
            runs, found = measure(inputs, given.rounds, spark, pool)
            check(spark, inputs, found)
            spark.stop()
    console = Console(width=None if sys.stdout.isatty() else 150)
    by_clock, baselines = (
        rows_by_unit(runs, given.subscriptions, given.events),
        [IDENTITY, ONE_CORE],
    )
    for clock, rows in zip(("by wall clock", "by CPU time"), by_clock, strict=True):
        print_table(console, f"The way through Spark {clock}, {found:,} matches", rows, baselines)
    if given.json:
        report = [record for rows in by_clock for record in records(rows, baselines)]
        given.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
