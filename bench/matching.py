"""Caddis against what one would write without it: one table, every ratio from the same run.

    python bench/matching.py [--quick] [--sizes 10000,100000,1000000] [--json FILE]

Four contenders match the same events against the same subscriptions: Caddis' Matcher on one
core, Caddis on Spark, a Spark join written by hand, and a numpy counting matcher. They must find
the same pairs before any figure is printed. Single-core figures are per CPU second, Spark's by
wall clock, Parquet in and Parquet out. README.md beside this file says what each row means.
"""

import argparse
import json
import multiprocessing
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console

import caddis
from caddis import Matcher
from caddis.lab.figures import Row, print_table, records
from caddis.lab.workloads import (
    CATEGORICAL,
    FRACTIONAL,
    MARKETPLACE_SCHEMA,
    SHAPES,
    WHOLE,
    ZIPF_SCHEMA,
    Operator,
    marketplace_subscriptions,
    zipf_event_codes,
    zipf_events,
    zipf_predicates,
    zipf_subscriptions,
)
from caddis.lab.yardsticks import CountingMatcher, join_table
from caddis.language import parse_all

Pairs = npt.NDArray[np.int64]
"""Rows of (event, subscription), sorted."""

T = TypeVar("T")

SUBSCRIPTION_SEED, EVENT_SEED = 1, 2
BATCH = 20_000
CHECKED = 2_000
FILES = 8

JOIN, COUNTING = "hand-written Spark join, 2 cores", "numpy counting, 1 core"


@dataclass(frozen=True, slots=True)
class Run:
    """A contender's rate, and the pairs that it found among its first events."""

    what: str
    events: int
    seconds: float
    pairs: Pairs

    def row(self, subscriptions: int) -> Row:
        rate = self.events / self.seconds
        return Row(subscriptions, self.what, rate, "events/s", self.events, "events")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. Baselines get about `seconds` each; no run uses more than `events`."""

    sizes: tuple[int, ...]
    seconds: float
    events: int
    shapes: int | None
    folder: Path

    def table(self, count: int) -> pa.Table:
        """The first `count` of the events."""
        return feather.read_table(str(self.folder / "events.arrow"), memory_map=True).slice(
            0, count
        )

    def sample(self) -> pa.RecordBatch:
        """The first batch: the statistics by which rare tokens are chosen."""
        return self.table(BATCH).combine_chunks().to_batches()[0]

    def codes(self, count: int) -> npt.NDArray[np.int64]:
        stored: npt.NDArray[np.int64] = np.load(self.folder / "codes.npy", mmap_mode="r")
        return np.ascontiguousarray(stored[:, :count])

    def make_events(self) -> None:
        events = zipf_events(self.events, EVENT_SEED)
        feather.write_feather(events, str(self.folder / "events.arrow"), "uncompressed")
        np.save(self.folder / "codes.npy", zipf_event_codes(self.events, EVENT_SEED))

    def parquet(self, name: str, table: pa.Table) -> str:
        """The table as a folder of Parquet files, so that every core has some to read."""
        folder = self.folder / f"{name}-{table.num_rows}"
        folder.mkdir(exist_ok=True)
        edges = np.linspace(0, table.num_rows, FILES + 1).astype(int)
        for i, (start, stop) in enumerate(pairwise(edges)):
            pq.write_table(table.slice(start, stop - start), folder / f"{i}.parquet")
        return str(folder)


# ------------------------------------------------------------------- the Matcher, on one core


def matcher_rows(plan: Plan, size: int) -> tuple[list[Row], list[Run]]:
    """Everything about the Matcher itself; runs in a process of its own."""
    matcher, compiled = compiled_matcher(plan, size, plan.shapes)
    rows = [
        compiled,
        Row(size, "index from parsed clauses", index_seconds(plan, size), "s", size, "clauses"),
        Row(size, "index", matcher.nbytes / size, "bytes/subscription", size, "clauses"),
    ]
    matcher.save(plan.folder / f"matcher-{size}")
    return rows, matcher_runs(plan, matcher)


def matcher_runs(plan: Plan, matcher: Matcher) -> list[Run]:
    """Encoding and matching, batch by batch, each on its own clock."""
    table = plan.table(plan.events)
    batches = table.combine_chunks().to_batches(max_chunksize=BATCH)
    matcher.match_encoded(matcher.encode(batches[0].slice(0, 100)))
    encoding = matching = 0.0
    events, found = 0, []
    for batch in batches:
        started = time.process_time()
        encoded = matcher.encode(batch)
        between = time.process_time()
        matches = matcher.match_encoded(encoded)
        matching += time.process_time() - between
        encoding += between - started
        found.append(np.stack([matches.rows + events, matches.links], axis=1).astype(np.int64))
        events += batch.num_rows
        if encoding + matching > plan.seconds / 2:
            break
    pairs = checked(np.concatenate(found), events)
    return [
        Run("Matcher, encoded batches, 1 core", events, matching, pairs),
        Run("encoding, 1 core", events, encoding, pairs),
        Run("encoding and Matcher, 1 core", events, encoding + matching, pairs),
    ]


def compiled_matcher(plan: Plan, size: int, shapes: int | None) -> tuple[Matcher, Row]:
    """The Matcher, and how fast it was compiled."""
    subscriptions = zipf_subscriptions(size, SUBSCRIPTION_SEED, shapes)
    return compiled_from(subscriptions, ZIPF_SCHEMA, plan.sample())


def compiled_from(
    subscriptions: pa.Table, schema: pa.Schema, sample: pa.RecordBatch | None = None
) -> tuple[Matcher, Row]:
    """A Matcher, and how fast it was compiled, in CPU time and with warm kernels."""
    size = len(subscriptions)
    Matcher.compile(subscriptions.slice(0, 100), schema, sample=sample)
    started = time.process_time()
    matcher = Matcher.compile(subscriptions, schema, sample=sample)
    rate = size / (time.process_time() - started)
    return matcher, Row(size, "parse and compile", rate, "clauses/s", size, "clauses")


def index_seconds(plan: Plan, size: int) -> float:
    """How much CPU time the index takes from parsed clauses."""
    subscriptions = zipf_subscriptions(size, SUBSCRIPTION_SEED, plan.shapes)
    clauses = parse_all(subscriptions["where"], ZIPF_SCHEMA)
    ids, sample = subscriptions["subscription_id"].combine_chunks(), plan.sample()
    started = time.process_time()
    Matcher.from_clauses(clauses, ids, sample=sample)
    return time.process_time() - started


def free_rows(plan: Plan, size: int) -> list[Row]:
    """The same with free columns: hardly two subscriptions of the same shape."""
    matcher, compiled = compiled_matcher(plan, size, None)
    matched = matcher_runs(plan, matcher)[0].row(size)
    return [replace(row, what=f"{row.what}, free shapes") for row in (matched, compiled)]


def written_row(_: Plan, size: int) -> Row:
    """How fast subscriptions are compiled that are written as people write them."""
    subscriptions = marketplace_subscriptions(size, SUBSCRIPTION_SEED)
    compiled = compiled_from(subscriptions, MARKETPLACE_SCHEMA)[1]
    return replace(compiled, what=f"{compiled.what}, as people write")


def resident_row(plan: Plan, size: int) -> Row:
    """What an index adds to a process that has matched before: loaded, and a batch matched."""
    batch, few = plan.sample(), zipf_subscriptions(100, SUBSCRIPTION_SEED)
    Matcher.compile(few, ZIPF_SCHEMA).match(batch)
    before = resident_bytes()
    matcher = Matcher.load(plan.folder / f"matcher-{size}")
    matcher.match(batch)
    added = (resident_bytes() - before) / 2**20
    return Row(size, "resident memory of a loaded index", added, "MiB", BATCH, "events")


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


# ------------------------------------------------------------------------------- the baselines


def counting_run(plan: Plan, size: int) -> Run:
    matcher = CountingMatcher(zipf_predicates(size, SUBSCRIPTION_SEED, plan.shapes))
    codes = plan.codes(plan.events)
    events, found, started = 0, [], time.process_time()
    while events < plan.events and time.process_time() - started < plan.seconds:
        rows, links = matcher.match(codes[:, events : events + 100])
        found.append(np.stack([rows + events, links], axis=1))
        events = min(events + 100, plan.events)
    elapsed = time.process_time() - started
    return Run(COUNTING, events, elapsed, checked(np.concatenate(found), events))


def hand_written_join(events: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Tokens of the events meet the subscriptions' rarest tokens; then the rest is verified."""
    numeric = WHOLE + FRACTIONAL
    values = [F.concat(F.lit(f"{name}="), F.col(name)) for name in CATEGORICAL]
    names = [F.when(F.col(c).isNotNull(), F.lit(c)) for c in CATEGORICAL + numeric]
    exploded = events.select(
        "event_id",
        F.array(*CATEGORICAL).alias("strings"),
        F.array(*(F.col(name).cast("double") for name in numeric)).alias("numbers"),
        F.explode(F.array_compact(F.array(*values, *names))).alias("token"),
    )
    candidates = exploded.join(subscriptions, "token")
    return candidates.where(F.forall("predicates", holds)).select("event_id", "subscription_id")


def holds(predicate: Column) -> Column:
    operator, words = predicate["operator"], predicate["words"]
    string = F.get("strings", predicate["place"])
    number = F.get("numbers", predicate["place"])
    ranged = number.between(predicate["low"], predicate["high"])
    prefixed = string.startswith(F.get(words, F.lit(0)))
    listed = F.array_contains(words, string)
    by_operator = F.when(operator == Operator.BETWEEN.value, ranged)
    return by_operator.when(operator == Operator.PREFIX.value, prefixed).otherwise(listed)


def join_run(plan: Plan, size: int, spark: SparkSession) -> Run:
    predicates = zipf_predicates(size, SUBSCRIPTION_SEED, plan.shapes)
    tokens = plan.parquet(f"tokens-{size}", join_table(predicates, plan.codes(BATCH)))

    def join(events: DataFrame) -> DataFrame:
        return hand_written_join(events, spark.read.parquet(tokens))

    return spark_run(plan, JOIN, join, spark)


# -------------------------------------------------------------------------------- through Spark


def caddis_run(plan: Plan, size: int, spark: SparkSession) -> Run:
    store = caddis.SubscriptionStore.create(plan.folder / f"store-{size}", ZIPF_SCHEMA)
    store.upsert(zipf_subscriptions(size, SUBSCRIPTION_SEED, plan.shapes))
    return spark_run(
        plan, "Caddis on Spark, 2 cores", lambda events: caddis.match(events, store), spark
    )


def spark_run(
    plan: Plan, what: str, match: Callable[[DataFrame], DataFrame], spark: SparkSession
) -> Run:
    """Parquet in, Parquet out, by wall clock, after a run that warms everything up.

    The number of events grows until a run takes five times as long as one of next to nothing, so
    that planning a query and starting its tasks weigh little in the rate.
    """
    out = str(plan.folder / "out.parquet")

    def timed(count: int) -> float:
        source = plan.parquet("events", plan.table(count))
        started = time.perf_counter()
        match(spark.read.parquet(source)).write.mode("overwrite").parquet(out)
        return time.perf_counter() - started

    events = min(200, plan.events)
    timed(events)
    seconds = timed(events)
    goal = max(plan.seconds / 2, 5 * seconds)
    while seconds < goal and events < plan.events:
        events = min(int(events * min(1.3 * goal / seconds, 10.0)), plan.events)
        seconds = timed(events)
    found = pq.read_table(out)
    pairs = [found[name].to_numpy() for name in ("event_id", "subscription_id")]
    return Run(what, events, seconds, checked(np.stack(pairs, axis=1), events))


def spark_session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[2]").appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


# ------------------------------------------------------------------------- equality, and the table


def checked(pairs: Pairs, events: int) -> Pairs:
    """The pairs of the first events, in order: those on which the contenders are compared."""
    kept = pairs[pairs[:, 0] < min(events, CHECKED)]
    return kept[np.lexsort((kept[:, 1], kept[:, 0]))]


def assert_equal(runs: list[Run], size: int) -> int:
    """Every contender found the same pairs among the events that all of them saw."""
    common = min(CHECKED, *(run.events for run in runs))
    first, *others = [run.pairs[run.pairs[:, 0] < common] for run in runs]
    assert len(first), f"no pair matched among {common} events and {size} subscriptions"
    for run, pairs in zip(runs[1:], others, strict=True):
        assert np.array_equal(first, pairs), (
            f"at {size:,} subscriptions {runs[0].what} found {len(first):,} pairs and "
            f"{run.what} {len(pairs):,} among the first {common:,} events"
        )
    return common


def bench_size(plan: Plan, size: int, spark: SparkSession) -> list[Row]:
    tell(f"{size:,} subscriptions: Matcher")
    rows, runs = apart(matcher_rows, plan, size)
    extra = [*rows, apart(resident_row, plan, size)]
    if plan.shapes is not None:
        tell(f"{size:,} subscriptions: Matcher, free shapes")
        extra += apart(free_rows, plan, size)
    extra.append(apart(written_row, plan, size))
    tell(f"{size:,} subscriptions: {COUNTING}")
    runs.append(apart(counting_run, plan, size))
    tell(f"{size:,} subscriptions: Caddis on Spark")
    runs.append(caddis_run(plan, size, spark))
    tell(f"{size:,} subscriptions: {JOIN}")
    runs.append(join_run(plan, size, spark))
    common = assert_equal(runs, size)
    tell(f"{size:,} subscriptions: all found the same pairs among {common:,} events")
    return [run.row(size) for run in runs] + extra


def apart(function: Callable[[Plan, int], T], plan: Plan, size: int) -> T:
    """The function's result, from a fresh process: nobody measures in another's memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, (plan, size))


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def environment() -> dict[str, str | int | None]:
    packages = {name: version(name) for name in ("numpy", "pyarrow", "pyspark")}
    return {"python": platform.python_version(), "cores": os.cpu_count(), **packages}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, short baselines")
    parser.add_argument("--sizes", help="how many subscriptions, such as 10000,100000")
    parser.add_argument("--seconds", type=float, help="about how long a baseline may run")
    parser.add_argument("--shapes", default=str(SHAPES), help="how many shapes, or 'free'")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    sizes = given.sizes or ("1000,10000" if given.quick else "10000,100000,1000000")
    with tempfile.TemporaryDirectory(prefix="caddis-bench-") as folder:
        plan = Plan(
            sizes=tuple(int(size) for size in sizes.split(",")),
            seconds=given.seconds or (4.0 if given.quick else 25.0),
            events=200_000 if given.quick else 1_000_000,
            shapes=None if given.shapes == "free" else int(given.shapes),
            folder=Path(folder),
        )
        tell(f"making {plan.events:,} events")
        plan.make_events()
        spark = spark_session()
        rows = [row for size in plan.sizes for row in bench_size(plan, size, spark)]
        spark.stop()
    title = f"Matching; subscriptions of {given.shapes} shapes"
    print_table(Console(width=None if sys.stdout.isatty() else 150), title, rows, [JOIN, COUNTING])
    if given.json:
        report = {"environment": environment(), "rows": records(rows, [JOIN, COUNTING])}
        given.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
