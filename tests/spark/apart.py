"""One small match on a cluster whose workers share nothing with the driver.

    python -m tests.spark.apart (--master URL | --remote URL) [INDEX_DIR]

It prints one line of JSON: matches, what models did, what they failed on, and refused events.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import caddis
from caddis.spark.places import Objects, is_uri
from tests.sealed.homes import EVENTS as HOMES
from tests.sealed.homes import homes, sealed_wheres
from tests.spark.program import coastal, events_of, numbers_of, rows, session_of

WHERES = pa.table(
    {
        "subscription_id": ["ann", "bo", "cy", "di"],
        "where": [
            "city = 'Galway' AND price < 40.5",
            "array_contains(tags, 'sea') OR city IS NULL",
            "price > 10 AND NOT coastal(city)",
            "price < 30 AND moody(city)",
        ],
    }
)


@caddis.concept(reads="city")
def moody(city: str) -> bool:
    if city == "Cork":
        raise RuntimeError("not today")
    return True


def answers(spark: SparkSession, index_dir: str | None) -> dict[str, Any]:
    """What two matches find and report, plain and sealed, and a stream's matches."""
    events = events_of(spark).repartition(2)
    plain = WHERES.slice(0, 2)
    without = caddis.match(events, plain, index_dir=index_dir)
    report = caddis.Report()
    statistics = Path(tempfile.mkdtemp()) / "statistics.json"
    models = [coastal, moody]
    found = caddis.match(
        events, WHERES, models, index_dir=index_dir, statistics=statistics, report=report
    )
    matches = rows(found)
    return {
        "plain": rows(without),
        "models": matches,
        "used": [[one.name, one.runs + one.hits > 0, one.failed > 0] for one in report.models],
        "problems": sorted({str(one["reason"]) for one in report.problems.to_pylist()}),
        "learnt": sorted(one["model"] for one in json.loads(statistics.read_text())["readings"]),
        "columns": found.columns,
        "files": from_files(events, index_dir),
        **sealed(spark, index_dir),
        "followed": None if index_dir is None else followed(events, index_dir),
    }


def from_files(events: DataFrame, index_dir: str | None) -> list[Any]:
    """The matches of files that workers read themselves, and how many events were in them."""
    folder, report = tempfile.mkdtemp(), caddis.Report()
    events.write.mode("overwrite").parquet(folder)
    found = caddis.match_files(
        events.sparkSession, folder, WHERES, [coastal, moody], index_dir=index_dir, report=report
    )
    return [rows(found), report.events, sorted(one.name for one in report.models)]


def followed(events: DataFrame, index_dir: str) -> list[list[Any]]:
    """The matches of a stream with a store that lives in the same place."""
    spark, folder = events.sparkSession, Path(tempfile.mkdtemp())
    place = Objects(index_dir).named("store") if is_uri(index_dir) else f"{index_dir}/store"
    store = caddis.SubscriptionStore.create(place, events, models=[coastal, moody])
    store.upsert(WHERES)
    events.write.parquet(str(folder / "events"))
    stream = spark.readStream.schema(events.schema).parquet(str(folder / "events"))
    query = (
        caddis.match(stream, store, [coastal, moody])
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "matches"))
    )
    query.awaitTermination()
    return rows(spark.read.parquet(str(folder / "matches")))


def sealed(spark: SparkSession, index_dir: str | None) -> dict[str, Any]:
    plain = spark.createDataFrame(pa.Table.from_batches([HOMES]).add_column(0, *numbers_of(HOMES)))
    events = caddis.seal_events(plain, homes().parties.pat.publisher_keys("homes"))
    report = caddis.Report()
    publishers = homes().directory
    subscriptions = sealed_wheres()
    found = caddis.match_sealed(
        events, subscriptions, publishers=publishers, index_dir=index_dir, report=report
    )
    matches = rows(found)
    return {"sealed": matches, "sealed_events": report.events, "refused": report.refusals}


def main(kind: str, url: str, index_dir: str | None = None) -> None:
    spark = session_of(kind, url)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    print(json.dumps(answers(spark, index_dir)))  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
