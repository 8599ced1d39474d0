"""How long a micro-batch takes over a million subscriptions, and how soon a new one is seen.

    python bench/streaming.py [--subscriptions 1000000] [--batches 60] [--conf NAME=VALUE]

Small files of events arrive one by one; each is a micro-batch, Parquet in and Parquet out. Before
each, one subscription is added to the store that the match follows. In turn with it runs the same
stream through a Python operator that only passes the keys on: what Spark itself takes, on the same
machine at the same time. Durations are Spark's own (`triggerExecution`). The first micro-batches,
in which workers start and kernels load, are listed apart.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

import caddis
from caddis.lab.figures import Row, print_table, records
from caddis.lab.workloads import ZIPF_SCHEMA, zipf_events, zipf_subscriptions

SUBSCRIPTION_SEED, EVENT_SEED = 1, 2
WARM_UP = 10
WINDOW = 5
"""An added subscription matches every event of the next so many files."""
PATIENCE = 300.0
STEPS = ("latestOffset", "queryPlanning", "walCommit", "addBatch", "commitOffsets")
BASELINE = "keys passed on"
BASELINES = [f"{BASELINE}, p50", f"{BASELINE}, p99"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: `batches` files that count, after WARM_UP that do not."""

    subscriptions: int
    batches: int
    events: int
    settings: dict[str, str]
    folder: Path

    @property
    def files(self) -> int:
        return WARM_UP + self.batches

    def file(self, number: int, everything: pa.Table) -> pa.Table:
        return everything.slice(number * self.events, self.events)

    def newcomer(self, number: int) -> pa.Table:
        """The subscription that is added before a file: it matches all of that and the next."""
        first, end = number * self.events, (number + WINDOW) * self.events
        where = f"event_id >= {first} AND event_id < {end}"
        return pa.table({"subscription_id": [self.subscriptions + number], "where": [where]})


@dataclass(frozen=True, slots=True)
class Stream:
    """A running query, the folder that feeds it and the folder that it fills."""

    query: StreamingQuery
    folder: Path

    def take(self, number: int, events: pa.Table) -> None:
        """Let a file arrive, whole, and wait until its micro-batch is done."""
        hidden = self.folder / f"{number:05}.parquet"
        pq.write_table(events, hidden)
        hidden.rename(self.folder / "in" / hidden.name)
        end = time.monotonic() + PATIENCE
        while len(self.taken()) <= number:
            problem = self.query.exception()
            if problem is not None:
                raise problem
            assert time.monotonic() < end, f"file {number} was not taken"
            time.sleep(0.02)

    def taken(self) -> list[dict[str, Any]]:
        """Spark's report of each micro-batch that had events."""
        return [progress for progress in self.query.recentProgress if progress["numInputRows"]]

    def milliseconds(self, step: str) -> list[float]:
        """How long a step of each micro-batch took, in the order of the files."""
        return [float(progress["durationMs"].get(step, 0)) for progress in self.taken()]


# -------------------------------------------------------------------------------- the two streams


def spark_session(plan: Plan) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.numRecentProgressUpdates": str(4 * plan.files),
        # The stream whose turn it is not looks for files five times a second, not a hundred.
        "spark.sql.streaming.pollingDelay": "200ms",
        "spark.sql.streaming.noDataProgressEventInterval": "600000",
        **plan.settings,
    }
    builder = SparkSession.builder.master("local[2]").appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def arriving(spark: SparkSession, folder: Path) -> DataFrame:
    """The events that arrive in a folder, a file a micro-batch."""
    (folder / "in").mkdir(parents=True)
    source = spark.readStream.schema(from_arrow_schema(ZIPF_SCHEMA))
    return source.option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))


def passed_on(events: DataFrame) -> DataFrame:
    """The same columns through a Python operator that does nothing but pass the keys on."""

    def keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            key = batch.column("event_id")
            yield pa.record_batch({"event_id": key, "subscription_id": key})

    return events.mapInArrow(keys, "event_id long, subscription_id long")


def started(found: DataFrame, folder: Path) -> Stream:
    writer = found.writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    return Stream(writer.start(str(folder / "out")), folder)


# ------------------------------------------------------------------------------------ what is seen


def lags(plan: Plan, out: Path) -> list[int]:
    """Which micro-batch after its addition saw each added subscription first.

    1 is the very next. It matches every event, so the file of its first match tells.
    """
    found = pq.read_table(out)
    added = found["subscription_id"].to_numpy() - plan.subscriptions
    files = found["event_id"].to_numpy() // plan.events
    first = np.full(plan.files, np.iinfo(np.int64).max)
    np.minimum.at(first, added[added >= 0], files[added >= 0])
    assert first.max() < len(first), "an added subscription was never seen"
    return [int(lag) for lag in first - np.arange(len(first)) + 1]


def duration_rows(plan: Plan, name: str, stream: Stream) -> list[Row]:
    """Percentiles of a micro-batch; the mean of each of its steps."""
    whole = stream.milliseconds("triggerExecution")
    warm = whole[WARM_UP:]
    rows = [
        figure(plan, f"{name}, p50", float(np.percentile(warm, 50)), len(warm)),
        figure(plan, f"{name}, p99", float(np.percentile(warm, 99)), len(warm)),
        figure(plan, f"{name}, the first of all", whole[0], 1),
    ]
    for step in STEPS:
        mean = float(np.mean(stream.milliseconds(step)[WARM_UP:]))
        rows.append(figure(plan, f"{name}, mean of {step}", mean, len(warm)))
    return rows


def figure(plan: Plan, what: str, value: float, measured_on: int, unit: str = "ms") -> Row:
    return Row(plan.subscriptions, what, value, unit, measured_on, "micro-batches")


def run(plan: Plan) -> list[Row]:
    everything = zipf_events(plan.files * plan.events, EVENT_SEED)
    tell(f"making a store of {plan.subscriptions:,} subscriptions")
    store = caddis.SubscriptionStore.create(plan.folder / "store", ZIPF_SCHEMA)
    sample = everything.combine_chunks().to_batches()[0]
    store.upsert(zipf_subscriptions(plan.subscriptions, SUBSCRIPTION_SEED), sample=sample)
    spark = spark_session(plan)
    matching, passing = plan.folder / "matching", plan.folder / "passing"
    match = started(caddis.match(arriving(spark, matching), store), matching)
    baseline = started(passed_on(arriving(spark, passing)), passing)
    adding = []
    tell(f"{WARM_UP} + {plan.batches} micro-batches of {plan.events:,} events")
    for number in range(plan.files):
        begin = time.perf_counter()
        store.upsert(plan.newcomer(number))
        adding.append(1e3 * (time.perf_counter() - begin))
        match.take(number, plan.file(number, everything))
        baseline.take(number, plan.file(number, everything))
    rows = duration_rows(plan, "caddis.match", match) + duration_rows(plan, BASELINE, baseline)
    match.query.stop()
    baseline.query.stop()
    spark.stop()
    worst = max(lags(plan, matching / "out"))
    files = plan.files
    return [
        *rows,
        figure(plan, "adding a subscription, p50", float(np.percentile(adding, 50)), files),
        figure(plan, "adding a subscription, p99", float(np.percentile(adding, 99)), files),
        figure(plan, "an added one is seen, at worst, in", worst, files, "(1: the next)"),
    ]


# --------------------------------------------------------------------------------------- the table


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--subscriptions", type=int, default=1_000_000)
    parser.add_argument("--batches", type=int, default=60, help="micro-batches that count")
    parser.add_argument("--events", type=int, default=200, help="events in each")
    parser.add_argument(
        "--conf", action="append", default=[], help="a setting of Spark, NAME=VALUE"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    with tempfile.TemporaryDirectory(prefix="caddis-bench-") as folder:
        settings = dict(setting.split("=", 1) for setting in given.conf)
        plan = Plan(given.subscriptions, given.batches, given.events, settings, Path(folder))
        rows = run(plan)
    load = os.getloadavg()[0]
    title = f"Streaming; {given.events} events a micro-batch; load of the machine {load:.1f}"
    print_table(Console(width=None if sys.stdout.isatty() else 150), title, rows, BASELINES)
    if given.json:
        given.json.write_text(json.dumps(records(rows, BASELINES), indent=2) + "\n")


if __name__ == "__main__":
    main()
