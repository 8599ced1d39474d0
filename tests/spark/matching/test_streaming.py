"""`caddis.match` on streams: file by file what a batch would answer, with what is subscribed now.

Every file is a micro-batch (maxFilesPerTrigger=1, in order of modification time). foreachBatch
records each one's matches and lets a test change the store between one and the next.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import caddis
from caddis import SubscriptionStore

SCHEMA = pa.schema([("event_id", pa.int64()), ("city", pa.string()), ("price", pa.int32())])
COLUMNS = "event_id long, city string, price int"
CITIES = ("Galway", "Cork", "Sligo")
PER_FILE = 6
WHERES = {"ann": "city = 'Galway' AND price < 9", "bo": "price >= 4", "cy": "city LIKE 'S%'"}

Pairs = set[tuple[int, str]]


def table(wheres: dict[str, str]) -> pa.Table:
    return pa.table({"subscription_id": list(wheres), "where": list(wheres.values())})


def pairs(matches: DataFrame) -> Pairs:
    rows = [(row[0], row[1]) for row in matches.collect()]
    assert len(rows) == len(set(rows)), "a match came out twice"
    return set(rows)


def write_files(folder: Path, numbers: range) -> None:
    """One file of events a number; the source takes the oldest file first."""
    folder.mkdir(exist_ok=True)
    for number in numbers:
        ids = list(range(number * PER_FILE, (number + 1) * PER_FILE))
        columns = [ids, [CITIES[n % 3] for n in ids], [n % 10 for n in ids]]
        file = folder / f"{number}.parquet"
        pq.write_table(pa.table(columns, schema=SCHEMA), file)
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    source = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    return source.parquet(str(folder))


def run(
    matches: DataFrame, checkpoint: Path, after: Callable[[int], Any] = lambda batch: None
) -> dict[int, Pairs]:
    """Everything that is available, micro-batch by micro-batch; `after` is called after each."""
    seen: dict[int, Pairs] = {}

    def record(found: DataFrame, batch: int) -> None:
        seen[batch] = pairs(found)
        after(batch)

    writer = matches.writeStream.foreachBatch(record).trigger(availableNow=True)
    writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()
    return seen


def of_file(number: int, found: Pairs) -> Pairs:
    return {(event, name) for event, name in found if event // PER_FILE == number}


def test_a_stream_finds_what_a_batch_finds(spark: SparkSession, tmp_path: Path):
    write_files(tmp_path / "events", range(4))
    everything = spark.read.schema(COLUMNS).parquet(str(tmp_path / "events"))
    expected = pairs(caddis.match(everything, table(WHERES)))
    matches = caddis.match(stream(spark, tmp_path / "events"), table(WHERES))
    assert matches.isStreaming
    seen = run(matches, tmp_path / "checkpoint")
    assert seen == {number: of_file(number, expected) for number in range(4)}
    assert all(seen.values())


def test_a_stream_follows_a_store_with_the_next_micro_batch(spark: SparkSession, tmp_path: Path):
    write_files(tmp_path / "events", range(5))
    store = SubscriptionStore.create(tmp_path / "store", SCHEMA)
    store.upsert(table({"ann": "TRUE"}))
    changes: dict[int, Callable[[], object]] = {
        0: lambda: store.upsert(table({"bo": "city = 'Cork'"})),
        1: lambda: store.upsert(table({"bo": "city = 'Sligo'"})),
        2: lambda: store.remove(["bo"]),
        3: lambda: store.upsert(table({"bo": "price < 0", "cy": "TRUE"})),
    }
    matches = caddis.match(stream(spark, tmp_path / "events"), store)
    seen = run(matches, tmp_path / "checkpoint", lambda batch: changes.get(batch, bool)())
    events = {number: range(number * PER_FILE, (number + 1) * PER_FILE) for number in range(5)}
    expected = {number: {(n, "ann") for n in ids} for number, ids in events.items()}
    expected[1] |= {(n, "bo") for n in events[1] if n % 3 == 1}
    expected[2] |= {(n, "bo") for n in events[2] if n % 3 == 2}
    expected[4] |= {(n, "cy") for n in events[4]}
    assert seen == expected


def test_a_stream_may_start_with_an_empty_store(spark: SparkSession, tmp_path: Path):
    write_files(tmp_path / "events", range(2))
    store = SubscriptionStore.create(tmp_path / "store", SCHEMA)
    matches = caddis.match(stream(spark, tmp_path / "events"), store)
    late = table({"ann": "price >= 0"})
    seen = run(matches, tmp_path / "checkpoint", lambda batch: store.upsert(late))
    assert seen == {0: set(), 1: {(n, "ann") for n in range(PER_FILE, 2 * PER_FILE)}}


def test_a_new_subscription_may_ask_for_a_column_that_none_asked_for(
    spark: SparkSession, tmp_path: Path
):
    write_files(tmp_path / "events", range(2))
    store = SubscriptionStore.create(tmp_path / "store", SCHEMA)
    store.upsert(table({"ann": "city = 'nowhere'"}))
    matches = caddis.match(stream(spark, tmp_path / "events"), store)
    late = table({"bo": "price = 7"})
    seen = run(matches, tmp_path / "checkpoint", lambda batch: store.upsert(late))
    assert seen == {0: set(), 1: {(7, "bo")}}


def test_a_stream_over_a_table_stays_as_it_was(spark: SparkSession, tmp_path: Path):
    write_files(tmp_path / "events", range(3))
    rows = spark.createDataFrame([("ann", "price = 1")], "subscription_id string, where string")
    rows.write.parquet(str(tmp_path / "subscriptions"))
    subscriptions = spark.read.parquet(str(tmp_path / "subscriptions"))
    matches = caddis.match(stream(spark, tmp_path / "events"), subscriptions)

    def grow(batch: int) -> None:
        more = spark.createDataFrame([(f"new{batch}", "TRUE")], rows.schema)
        more.write.mode("append").parquet(str(tmp_path / "subscriptions"))

    seen = run(matches, tmp_path / "checkpoint", grow)
    assert seen == {0: {(1, "ann")}, 1: {(11, "ann")}, 2: set()}


def test_a_stream_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path):
    store = SubscriptionStore.create(tmp_path / "store", SCHEMA)
    store.upsert(table(WHERES))
    write_files(tmp_path / "events", range(2))
    first = run(caddis.match(stream(spark, tmp_path / "events"), store), tmp_path / "checkpoint")
    store.upsert(table({"new": "TRUE"}))
    write_files(tmp_path / "events", range(2, 4))
    second = run(caddis.match(stream(spark, tmp_path / "events"), store), tmp_path / "checkpoint")
    assert (set(first), set(second)) == ({0, 1}, {2, 3})
    everything = spark.read.schema(COLUMNS).parquet(str(tmp_path / "events"))
    expected = pairs(caddis.match(everything, store))
    for number in range(2):
        assert first[number] == {pair for pair in of_file(number, expected) if pair[1] != "new"}
    for number in range(2, 4):
        assert second[number] == of_file(number, expected)


def test_a_static_match_goes_on_from_its_checkpoint_with_another_table(
    spark: SparkSession, tmp_path: Path
):
    write_files(tmp_path / "events", range(1))
    events = stream(spark, tmp_path / "events")
    first = run(caddis.match(events, table({"ann": "price = 1"})), tmp_path / "checkpoint")
    write_files(tmp_path / "events", range(1, 2))
    second = run(caddis.match(events, table({"bo": "price = 7"})), tmp_path / "checkpoint")
    assert (first, second) == ({0: {(1, "ann")}}, {1: {(7, "bo")}})


def test_a_stream_reports_bad_subscriptions_at_once(spark: SparkSession, tmp_path: Path):
    write_files(tmp_path / "events", range(1))
    mixed = table({"ann": "price = 1", "bad": "pricee = 1"})
    events, report = stream(spark, tmp_path / "events"), caddis.Report()
    matches = caddis.match(events, mixed, on_invalid="skip", report=report)
    assert report.invalid["subscription_id"].to_pylist() == ["bad"]
    assert run(matches, tmp_path / "checkpoint") == {0: {(1, "ann")}}


def test_a_null_key_in_a_stream_is_a_clear_error(spark: SparkSession, tmp_path: Path):
    (tmp_path / "events").mkdir()
    nobody = pa.table([[1, None], ["Cork", "Cork"], [1, 1]], schema=SCHEMA)
    pq.write_table(nobody, tmp_path / "events" / "0.parquet")
    matches = caddis.match(stream(spark, tmp_path / "events"), table(WHERES))
    with pytest.raises(StreamingQueryException) as raised:
        run(matches, tmp_path / "checkpoint")
    assert "EventError: null keys: 'event_id' is null in 1 of the events" in str(raised.value)
