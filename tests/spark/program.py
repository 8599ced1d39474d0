"""One small match, batch and streaming, sealed too, and topics into channels, in any session.

    python -m tests.spark.program (--master URL | --remote URL) FOLDER

As a program it runs on a cluster, or through Spark Connect, in a process of its own; tests import
`answers` to run the very same in theirs. It prints one line of JSON.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

import caddis
from caddis import SubscriptionStore
from tests.sealed.homes import EVENTS as HOMES
from tests.sealed.homes import homes, sealed_wheres

ROOT = Path(__file__).parents[2]
EVENTS = 60
WHERES = {
    "ann": "city = 'Galway' AND price < 40.5",
    "bo": "at >= '2024-07-01 00:30:00' AND place.n IN (1, 2)",
    "cy": "array_contains(tags, 'sea') OR city IS NULL",
    "di": "price > 10 AND NOT coastal(city)",
    "bad": "citty = 'Galway'",
}
QUICK_TO_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java options for programs that end before a thorough compiler would have paid off."""
Answers = dict[str, list[list[Any]]]


@caddis.concept(reads="city")
def coastal(city: str) -> bool:
    return city == "Galway"


def events_of(spark: SparkSession) -> DataFrame:
    return spark.range(EVENTS).selectExpr(
        "id AS event_id",
        "element_at(array('Galway', 'Cork', NULL), CAST(id % 3 + 1 AS INT)) AS city",
        "CAST(id * 1.5 AS DECIMAL(10, 2)) AS price",
        "timestamp_seconds(1719788400 + 60 * id) AS at",
        "struct(CAST(id % 5 AS INT) AS n) AS place",
        "IF(id % 7 = 0, array('sea'), array()) AS tags",
    )


def answers(spark: SparkSession, folder: Path) -> Answers:
    """A batch with a bad subscription, and a stream of several files over a store."""
    folder.mkdir()
    spark.conf.set("spark.sql.session.timeZone", "Europe/Dublin")
    table = pa.table({"subscription_id": list(WHERES), "where": list(WHERES.values())})
    events_of(spark).repartition(2).write.parquet(str(folder / "events"))
    events = spark.read.parquet(str(folder / "events"))
    report = caddis.Report()
    matches = caddis.match(
        events, table, [coastal], on_invalid="skip", index_dir=folder / "index", report=report
    )
    store = SubscriptionStore.create(folder / "store", events, models=[coastal])
    store.upsert(table, on_invalid="skip")
    return {
        "batch": rows(matches),
        "invalid": [list(row.values()) for row in report.invalid.to_pylist()],
        "stream": rows(streamed(events, store, folder)),
        "channels": rows(caddis.topics_to_channels(interests_of(spark), channels=3, sample=40)),
        "sealed": rows(sealed_matches(spark, folder)),
    }


def sealed_matches(spark: SparkSession, folder: Path) -> DataFrame:
    """The matches of events that are sealed there, too."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    plain = spark.createDataFrame(pa.Table.from_batches([HOMES]).add_column(0, *numbers_of(HOMES)))
    sealed = caddis.seal_events(plain, homes().parties.pat.publisher_keys("homes"))
    return caddis.match_sealed(
        sealed,
        sealed_wheres(),
        publishers=homes().directory,
        index_dir=folder / "index",
    )


def numbers_of(batch: pa.RecordBatch) -> tuple[str, pa.Array]:
    return "event_id", pa.array(range(batch.num_rows))


def interests_of(spark: SparkSession) -> DataFrame:
    return spark.range(100).selectExpr("id % 29 AS subscriber", "concat('t', id % 7) AS topic")


def streamed(events: DataFrame, store: SubscriptionStore, folder: Path) -> DataFrame:
    """The matches of a stream over two files, as a sink of files holds them."""
    spark = events.sparkSession
    source = spark.readStream.schema(events.schema).option("maxFilesPerTrigger", 1)
    matches = caddis.match(source.parquet(str(folder / "events")), store, models=[coastal])
    query = (
        matches.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "matches"))
    )
    query.awaitTermination()
    return spark.read.parquet(str(folder / "matches"))


def rows(frame: DataFrame) -> list[list[Any]]:
    return sorted(list(row) for row in frame.collect())


# ------------------------------------------------------------------- in a process of its own


def environment() -> dict[str, str]:
    """Where Spark finds this Python, this Caddis and this machine; nothing of the test session."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPARK_", "PYSPARK_", "COVERAGE_"))
    }
    source = str(Path(caddis.__file__).parents[1])
    return kept | {
        "PYTHONPATH": os.pathsep.join([source, str(ROOT)]),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_TOOL_OPTIONS": QUICK_TO_START,
    }


def quickly() -> dict[str, str]:
    """The environment of a command in a process of its own, which prints nothing of its options."""
    return {**os.environ, "SPARK_SUBMIT_OPTS": QUICK_TO_START}


def run_program(kind: str, url: str, folder: Path) -> Answers:
    """What the program answers."""
    found: Answers = run_module("tests.spark.program", kind, url, str(folder))
    return found


def run_module(module: str, *arguments: str, seconds: float = 240, **settings: str) -> Any:
    """What a program prints in its last line, as JSON; its messages are shown if it fails.

    settings: more of its environment.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environment() | settings,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def background(command: list[str], log: Path, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server that runs while the tests need it, and is stopped by its own process id.

    settings: more of its environment.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=log.parent,
            env=environment() | settings,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def wait_until(ready: Callable[[], bool], log: Path, seconds: float = 90) -> None:
    """Returns when the server is ready; if it never is, its log says why."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, log.read_text()[-4_000:]
        time.sleep(0.1)


def session_of(kind: str, url: str) -> SparkSession:
    """A session on a master, or the client of a server."""
    builder = SparkSession.builder.appName("caddis-tests")
    if kind == "--remote":
        return builder.remote(url).getOrCreate()
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.executor.cores": "1",
    }.items():
        builder = builder.config(name, value)
    return builder.master(url).getOrCreate()


def main(kind: str, url: str, folder: str) -> None:
    spark = session_of(kind, url)
    found = answers(spark, Path(folder))
    assert (SparkContext._gateway is None) == (kind == "--remote"), "a Connect client has no JVM"
    print(json.dumps(found))  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
