"""Real photos, three real models, 300 subscriptions: Caddis against what a Spark user would write.

    python bench/ordering_photos.py --photos FOLDER [--events 500] [--cities 10]

Two tables. The first is what each policy pays relative to the clairvoyant's certificate of the same
photos: every model looks once at every photo, and policies are then charged for replaying those
answers at the cost that was measured. The second is wall time on Spark, all contenders on the same
session and the same files; they must find the same pairs before any figure is printed.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import pandas_udf
from rich.console import Console

import caddis
from caddis.arrays import Bools
from caddis.compiling import prepare
from caddis.lab.figures import Row, print_table
from caddis.matching import NEEDED as MATCHING
from caddis.models import Asker, Catalogue, Model, OnnxImages, Statistics, efficientnet_lite
from caddis.models import concept as concept_of
from caddis.ordering import POLICIES, Executor, needed
from caddis.ordering.certificate import event_certificates

SCHEMA = pa.schema(
    [
        ("event_id", pa.int64()),
        ("city", pa.string()),
        ("hour", pa.int32()),
        ("photo", pa.string()),
    ]
)
CONCEPTS = {
    0: ["dog", "cat", "bird", "insect", "reptile", "fish", "monkey", "big_cat"],
    1: ["vehicle", "boat", "furniture", "clothing", "musical_instrument", "tool", "computer"],
    2: ["food", "building", "flower", "beach", "mountain", "sport", "shop", "bottle"],
}
"""The concepts that each EfficientNet-Lite is asked for."""
ALL = [concept for concepts in CONCEPTS.values() for concept in concepts]
Pairs = set[tuple[int, int]]
Udf = Callable[..., Column]


@dataclass(frozen=True, slots=True)
class Setting:
    """The events, the subscriptions and the models."""

    events: pa.Table
    subscriptions: pa.Table
    models: list[OnnxImages]


def setting(folder: Path, events: int, subscriptions: int, cities: int, seed: int = 1) -> Setting:
    """The more cities there are, the fewer subscriptions are candidates of an event."""
    rng = np.random.default_rng(seed)
    named = [f"city{number}" for number in range(cities)]
    photos = sorted(
        str(path) for path in folder.iterdir() if path.suffix.lower() in (".jpg", ".jpeg", ".png")
    )
    if not photos:
        sys.exit(f"{folder} holds no photos")
    chosen = [photos[at % len(photos)] for at in range(events)]
    table = pa.table(
        {
            "event_id": np.arange(len(chosen)),
            "city": rng.choice(named, len(chosen)),
            "hour": rng.integers(0, 24, len(chosen)).astype(np.int32),
            "photo": chosen,
        },
        SCHEMA,
    )
    wheres = [drawn_where(named, rng) for _ in range(subscriptions)]
    wanted = pa.table({"subscription_id": np.arange(subscriptions), "where": wheres})
    models = [efficientnet_lite(number, concepts=concepts) for number, concepts in CONCEPTS.items()]
    return Setting(table, wanted, models)


def drawn_where(cities: list[str], rng: np.random.Generator) -> str:
    """A city, half the time some hours, and one to three concepts, a fifth of them negated."""
    cheap = f"city = '{rng.choice(cities)}'"
    if rng.random() < 0.5:
        first = int(rng.integers(0, 18))
        cheap += f" AND hour BETWEEN {first} AND {first + 6}"
    names = rng.choice(ALL, int(rng.integers(1, 4)), replace=False)
    asked = [f"{'NOT ' if rng.random() < 0.2 else ''}{name}(photo)" for name in names]
    if len(asked) == 2 and rng.random() < 0.3:
        return f"{cheap} AND ({' OR '.join(asked)})"
    return f"{cheap} AND {' AND '.join(asked)}"


# ----------------------------------------------------------------- relative to the certificate


def replayed(model: OnnxImages, photos: pa.Array, clock: dict[str, float]) -> tuple[Model, float]:
    """A model that gives answers which were found once, and what finding them cost."""
    model.load()
    began = time.perf_counter()
    answers: Bools = model.predict(photos).yes
    cost = 1000 * (time.perf_counter() - began) / len(photos)
    place = {path: at for at, path in enumerate(photos.to_pylist())}

    def look_up(values: pa.Array) -> Bools:
        clock["now"] += len(values) * cost / 1000
        found: Bools = answers[[place[path] for path in values.to_pylist()]]
        return found

    look_up.__name__ = model.name
    again = concept_of(answers=model.concepts, batch=True, cost=model.cost, version="replay")
    return again(look_up), cost


def policy_rows(one: Setting) -> list[Row]:
    clock = {"now": 0.0}
    tell("every model looks at every photo once")
    photos = one.events["photo"].combine_chunks().unique()
    pairs = [replayed(model, photos, clock) for model in one.models]
    models, costs = [model for model, _ in pairs], {model.name: cost for model, cost in pairs}
    tell("  " + ", ".join(f"{name} {cost:.1f} ms" for name, cost in costs.items()))
    batch = one.events.to_batches()[0]
    asker = Asker(cache=None, clock=lambda: clock["now"])
    size = len(one.subscriptions)
    rows: list[Row] = []
    for policy in POLICIES:
        executor = an_executor(one, models, asker, policy)
        paid = paid_by(executor, batch, costs)
        if not rows:
            by_reading = np.array([costs[reading.model.name] for reading in executor.readings])
            least = event_certificates(executor, batch, asker, by_reading).milliseconds.sum()
            rows.append(an_event(size, "certificate", least, batch))
        rows.append(an_event(size, policy, paid, batch))
    return rows


def an_event(size: int, what: str, milliseconds: float, batch: pa.RecordBatch) -> Row:
    return Row(size, what, milliseconds / len(batch), "ms/event", len(batch), "events")


def an_executor(one: Setting, models: list[Model], asker: Asker, policy: str) -> Executor:
    catalogue = Catalogue(models)
    matcher = caddis.Matcher.compile(one.subscriptions, SCHEMA, concepts=catalogue.vocabulary)
    return Executor([matcher], catalogue, statistics=Statistics(), asker=asker, policy=policy)


def paid_by(executor: Executor, batch: pa.RecordBatch, costs: dict[str, float]) -> float:
    """What a policy pays, learning as it goes; equal photos of a batch are paid for once each."""
    outcome = executor.match(batch)
    return sum(
        (tally.runs + tally.hits) * costs[reading.model.name]
        for reading, tally in zip(executor.readings, outcome.tallies, strict=True)
    )


# ------------------------------------------------------------------------- wall time on Spark


def by_caddis(events: DataFrame, one: Setting) -> DataFrame:
    return caddis.match(events, one.subscriptions, models=one.models)


def by_filter_chain(events: DataFrame, one: Setting) -> DataFrame:
    """A UDF for each concept; each subscription filters the events with those that it names."""
    for model in one.models:
        for concept in model.concepts:
            events.sparkSession.udf.register(concept, concept_udf(model, concept))
    found = [
        events.where(where).selectExpr("event_id", f"{number}L AS subscription_id")
        for number, where in enumerate(one.subscriptions["where"].to_pylist())
    ]
    return reduce(DataFrame.unionAll, found)


def concept_udf(model: OnnxImages, concept: str) -> Udf:
    place = model.concepts.index(concept)

    def answer(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for paths in batches:
            yield pd.Series(model.predict(pa.array(paths)).yes[:, place])

    hints = {"batches": Iterator[pd.Series], "return": Iterator[pd.Series]}
    answer.__annotations__ = hints
    return pandas_udf(answer, "boolean")  # type: ignore[call-overload, no-any-return]


def by_running_all(events: DataFrame, one: Setting) -> DataFrame:
    """Every model on every event, once, and then plain SQL for all subscriptions."""
    seen = events
    for model in one.models:
        seen = seen.withColumn(model.name, all_udf(model)("photo"))
    for model in one.models:
        for at, concept in enumerate(model.concepts):
            seen = seen.withColumn(f"{concept}_", F.col(model.name)[at])
    wheres = one.subscriptions["where"].to_pylist()
    plain = [where.replace("(photo)", "_") for where in wheres]
    arms = [F.expr(f"IF({where}, {number}L, NULL)") for number, where in enumerate(plain)]
    listed = F.explode(F.filter(F.array(*arms), lambda number: number.isNotNull()))
    return seen.select("event_id", listed.alias("subscription_id"))


def all_udf(model: OnnxImages) -> Udf:
    def answer(paths: pd.Series) -> pd.Series:
        return pd.Series(list(model.predict(pa.array(paths)).yes))

    answer.__annotations__ = {"paths": pd.Series, "return": pd.Series}
    return pandas_udf(answer, "array<boolean>")  # type: ignore[call-overload, no-any-return]


CONTENDERS = {
    "UDF filter chain": by_filter_chain,
    "every model, then SQL": by_running_all,
    "Caddis": by_caddis,
}


def wall_rows(one: Setting, contenders: list[str], cores: int) -> list[Row]:
    size, rows = len(one.subscriptions), []
    results: dict[str, Pairs] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_files(one.events, Path(folder), cores)
        for name in contenders:
            tell(f"on Spark: {name}")
            spark = spark_session(cores)
            warm(spark, one)
            events = spark.read.parquet(folder)
            began = time.perf_counter()
            rows_found = CONTENDERS[name](events, one).collect()
            seconds = time.perf_counter() - began
            results[name] = {(row["event_id"], row["subscription_id"]) for row in rows_found}
            tell(f"  {seconds:.1f} s, {len(results[name]):,} matches")
            rows.append(Row(size, name, seconds, "s", len(one.events), "events"))
            spark.stop()
    if any(found != results[contenders[0]] for found in results.values()):
        counts = {name: len(found) for name, found in results.items()}
        sys.exit(f"the contenders found different pairs: {counts}")
    return rows


def write_files(events: pa.Table, folder: Path, parts: int) -> None:
    rows = -(-len(events) // parts)
    for part in range(parts):
        pq.write_table(events.slice(part * rows, rows), folder / f"part-{part:02}.parquet")


def warm(spark: SparkSession, one: Setting) -> None:
    """Start the workers and let each open the networks, off the clock."""

    def open_all(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for model in one.models:
            model.load()
        yield from batches

    spark.range(0, 1000, 1, 8).mapInPandas(open_all, "id BIGINT").count()


def spark_session(cores: int) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.files.maxPartitionBytes", "16k")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--photos", type=Path, required=True, help="a folder of photos")
    parser.add_argument("--events", type=int, default=500)
    parser.add_argument("--subscriptions", type=int, default=300)
    parser.add_argument(
        "--cities", type=int, default=10, help="how many cities events and subscriptions name"
    )
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 2)
    parser.add_argument(
        "--without", action="append", default=[], choices=CONTENDERS, help="leave a contender out"
    )
    return parser.parse_args()


def main() -> None:
    given = arguments()
    prepare(MATCHING, needed())
    one = setting(given.photos, given.events, given.subscriptions, given.cities)
    console = Console()
    print_table(console, "What photos cost", policy_rows(one), ["certificate"])
    contenders = [name for name in CONTENDERS if name not in given.without]
    rows = wall_rows(one, contenders, given.cores)
    print_table(console, "Wall time on Spark", rows, ["Caddis"])


if __name__ == "__main__":
    main()
