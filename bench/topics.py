"""How long it takes to put topics into channels on Spark, and what that saves.

    python bench/topics.py [--channels 20 50] [--scratch] [--quick] [--json FILE]

Interests are made up: topics lie in groups and have Zipf popularity, a subscriber has two groups
and wants mostly topics of these; rates have a Zipf law of their own. They are written as Parquet to
a temporary folder, in random order. For each number of channels:

    random          each topic's channel is drawn
    K-Means         the leader's K-Means of all interests in one memory, one topic after the other
    waves alone     on Spark, from a random map
    Spark           `caddis.topics_to_channels` as it is by default: a sample in memory, then waves
    warm            the same from its own result, after 1 % of the subscribers changed interests
    cold            the same without that result

A cost is the summed rate of what reaches subscribers unwanted; times are wall time, on `local[2]`.
"""

import argparse
import json
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import caddis
from caddis.arrays import Int32s, Int64s
from caddis.spark.base import local_session
from caddis.topics.clustering import Interests, count, integer_rates, kmeans, total_cost

SUBSCRIBERS, TOPICS, INTERESTS, GROUPS = 1_000_000, 10_000, 20_000_000, 60
EXPONENT, STRAY, CHANGED = 0.8, 0.2, 0.01
FILES = 16


@dataclass
class Run:
    """One way to find channels, and what it cost."""

    channels: int
    what: str
    cost: float
    saved: float
    seconds: float
    waves: int = 0
    phases: dict[str, float] = field(default_factory=dict)
    each_wave: list[float] = field(default_factory=list)


def made_up(
    subscribers: int, topics: int, interests: int, rng: np.random.Generator
) -> tuple[Int64s, Int64s, Int64s]:
    """Subscribers and topics of about that many interests, and the topics' rates."""
    popularity = np.arange(1, topics + 1) ** -EXPONENT
    group = rng.integers(GROUPS, size=topics)
    by_group = np.argsort(group, kind="stable")
    begins = np.searchsorted(group[by_group], np.arange(GROUPS + 1))
    summed = np.append(0, np.cumsum(popularity[by_group]))
    sizes = rng.geometric(subscribers / (1.25 * interests), subscribers)
    owner = np.repeat(np.arange(subscribers), sizes)
    favourite = rng.integers(GROUPS, size=(subscribers, 2))[owner, rng.integers(2, size=len(owner))]
    low, high = summed[begins[favourite]], summed[begins[favourite + 1]]
    astray = rng.random(len(owner)) < STRAY
    low[astray], high[astray] = 0, summed[-1]
    at = np.searchsorted(summed, low + (high - low) * rng.random(len(owner)), side="right") - 1
    pairs = np.unique(owner * topics + by_group[np.minimum(at, topics - 1)])
    some = rng.permutation(pairs)[:interests]
    rates = np.maximum(1, rng.permutation(1000 * popularity)).astype(np.int64)
    return some // topics, some % topics, rates


def write(folder: Path, subscribers: Int64s, topics: Int64s, rates: Int64s) -> None:
    (folder / "interests").mkdir(parents=True)
    for number, some in enumerate(np.array_split(np.arange(len(topics)), FILES)):
        rows = pa.table({"subscriber": subscribers[some], "topic": topics[some]})
        pq.write_table(rows, folder / "interests" / f"part-{number}.parquet")
    rated = pa.table({"topic": np.arange(len(rates)), "rate": rates.astype(np.float64)})
    pq.write_table(rated, folder / "rates.parquet")


def changed(folder: Path, rng: np.random.Generator) -> str:
    """Write the interests after some subscribers exchanged theirs; returns the new folder."""
    later = folder / "later"
    if later.exists():
        return later.name
    later.mkdir()
    rows = ds.dataset(folder / "interests").to_table()
    people, topics = rows["subscriber"].to_numpy(), rows["topic"].to_numpy().copy()
    fickle = np.flatnonzero((people * 7919) % 10_000 < CHANGED * 10_000)
    topics[fickle] = rng.permutation(topics[fickle])
    rows = pa.table({"subscriber": people, "topic": topics})
    pq.write_table(rows, later / "part-0.parquet", row_group_size=1 << 20)
    return later.name


def in_memory(folder: Path, k: int) -> list[Run]:
    """Random channels, and K-Means over everything."""
    rows = ds.dataset(folder / "interests").to_table()
    rates, _ = integer_rates(pq.read_table(folder / "rates.parquet")["rate"].to_numpy())
    began = time.monotonic()
    topics = rows["topic"].to_numpy().astype(np.int32)
    interests = Interests.from_pairs(rows["subscriber"].to_numpy(), topics, rates)
    packed = time.monotonic() - began
    rng = np.random.default_rng(0)

    def cost_of(channels: Int32s) -> int:
        return total_cost(count(interests, channels, k), channels, rates)

    random = cost_of(rng.integers(k, size=len(rates), dtype=np.int32))
    began = time.monotonic()
    found = kmeans(interests, k, rng, improvement=0.001)
    seconds = time.monotonic() - began
    phases = {"pack": packed, "passes": found.passes}
    return [
        Run(k, "random", random, 0.0, 0.0),
        Run(k, "K-Means", found.cost, 1 - found.cost / random, packed + seconds, 0, phases),
    ]


def on_spark(
    spark: SparkSession, folder: Path, name: str, k: int, what: str, **options: object
) -> tuple[Run, DataFrame]:
    report = caddis.ClusteringReport()
    interests = spark.read.parquet(str(folder / name))
    rates = spark.read.parquet(str(folder / "rates.parquet"))
    began = time.monotonic()
    found = caddis.topics_to_channels(interests, rates, k, report=report, **options)  # type: ignore[arg-type]
    seconds = time.monotonic() - began
    waves = [wave.seconds for wave in report.waves]
    run = Run(k, what, report.cost, report.saved, seconds, len(waves), report.seconds, waves)
    return run, found


def runs_of(spark: SparkSession, folder: Path, k: int, scratch: bool) -> list[Run]:
    runs = in_memory(folder, k)
    if scratch:
        runs.append(on_spark(spark, folder, "interests", k, "waves alone", sample=1)[0])
    ours, found = on_spark(spark, folder, "interests", k, "Spark")
    later = changed(folder, np.random.default_rng(1))
    warm, _ = on_spark(spark, folder, later, k, "warm", previous=found)
    cold, _ = on_spark(spark, folder, later, k, "cold")
    return [*runs, ours, warm, cold]


def show(console: Console, runs: list[Run]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("channels", "", "cost", "saved", "s", "waves", "s a wave", "by phase"):
        table.add_column(name, justify="left" if name in ("", "by phase") else "right")
    for run in runs:
        phases = ", ".join(f"{name} {value:.1f}" for name, value in run.phases.items())
        wave = f"{np.median(run.each_wave):.2f}" if run.each_wave else ""
        numbers = f"{run.cost:,.4g}", f"{run.saved:.2%}", f"{run.seconds:.1f}", f"{run.waves}"
        table.add_row(f"{run.channels}", run.what, *numbers, wave, phases)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--channels", nargs="+", type=int, default=[20, 50], metavar="K")
    parser.add_argument("--scratch", action="store_true", help="also waves alone: some minutes")
    parser.add_argument("--quick", action="store_true", help="a hundredth of everything")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    arguments = parser.parse_args()
    console, rng = Console(width=160), np.random.default_rng(1)
    small = 100 if arguments.quick else 1
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as temporary, local_session("local[2]") as spark:
        folder = Path(temporary)
        sizes = SUBSCRIBERS // small, TOPICS // (small // 10 or 1), INTERESTS // small
        subscribers, topics, rates = made_up(*sizes, rng)
        write(folder, subscribers, topics, rates)
        console.print(f"{sizes[0]:,} subscribers, {sizes[1]:,} topics, {len(topics):,} interests")
        del subscribers, topics
        for k in arguments.channels:
            runs += runs_of(spark, folder, k, arguments.scratch)
            show(console, [run for run in runs if run.channels == k])
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(run) for run in runs], indent=2) + "\n")


if __name__ == "__main__":
    main()
