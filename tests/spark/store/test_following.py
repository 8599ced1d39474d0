"""A store as Spark's workers see it: loaded once a process and version, followed, found or not."""

import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import caddis
from caddis import SubscriptionStore
from caddis.spark.base.folders import KEPT_VERSIONS

SCHEMA = pa.schema([("event_id", pa.int64()), ("price", pa.int64())])


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.range(0, 100, 1, 4).selectExpr("id AS event_id", "id % 10 AS price")


@pytest.fixture
def store(tmp_path: Path) -> SubscriptionStore:
    store = SubscriptionStore.create(tmp_path / "store", SCHEMA)
    wheres = [f"price = {n}" for n in range(10)]
    store.upsert(pa.table({"subscription_id": list(range(10)), "where": wheres}))
    return store


def looks(events: DataFrame, store: SubscriptionStore) -> list[tuple[int, str, int]]:
    """Each task's process, the segments that it holds, and how often each was looked at.

    A segment that is loaded again is a new object, whose count begins at one.
    """
    path = str(store.path)

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from caddis.spark.matching.worker import _stores

        for _ in batches:
            pass
        reader = _stores._kept.get(path)
        for name, matcher in (reader._segments if reader else {}).items():
            marked: Any = matcher
            marked.looks = getattr(marked, "looks", 0) + 1
            yield pa.record_batch({"pid": [os.getpid()], "name": [name], "looks": [marked.looks]})

    rows = events.mapInArrow(look, "pid long, name string, looks long").collect()
    return [(row.pid, row.name, row.looks) for row in rows]


def test_a_worker_loads_a_version_once_for_many_jobs(events: DataFrame, store: SubscriptionStore):
    seen = defaultdict(list)
    for _ in range(3):
        assert caddis.match(events, store).count() == 100
        for pid, name, count in looks(events, store):
            seen[pid, name].append(count)
    assert sum(map(len, seen.values())) >= 6, "too few tasks met a loaded segment"
    for counts in seen.values():
        assert sorted(counts) == list(range(1, len(counts) + 1)), "loaded again"
    assert len(seen) <= 4, "workers were not reused"


def test_a_new_version_loads_only_what_is_new(events: DataFrame, store: SubscriptionStore):
    assert caddis.match(events, store).count() == 100
    before = {(pid, name) for pid, name, _ in looks(events, store)}
    store.upsert(pa.table({"subscription_id": [99], "where": ["price = 5"]}))
    assert caddis.match(events, store).count() == 110
    after = looks(events, store)
    assert {count for pid, name, count in after if (pid, name) in before} - {1}, "all loaded again"
    assert len({name for _, name, _ in after}) == 2


def test_workers_of_two_stores_keep_them_apart(
    events: DataFrame, store: SubscriptionStore, tmp_path: Path
):
    other = SubscriptionStore.create(tmp_path / "other", SCHEMA)
    other.upsert(pa.table({"subscription_id": ["all"], "where": ["TRUE"]}))
    both = caddis.match(events, store).join(caddis.match(events, other), "event_id")
    assert both.count() == 100


def test_a_store_that_a_worker_cannot_see_is_a_clear_error(
    events: DataFrame, store: SubscriptionStore
):
    matches = caddis.match(events, store)
    shutil.rmtree(store.path)
    with pytest.raises(PySparkException) as raised:
        matches.collect()
    assert "the driver and every worker must be able to read it" in str(raised.value)


def test_a_batch_that_runs_long_after_it_was_made_says_that_its_version_is_gone(
    events: DataFrame, store: SubscriptionStore
):
    matches = caddis.match(events, store)
    for n in range(KEPT_VERSIONS + 1):
        store.upsert(pa.table({"subscription_id": [99], "where": [f"price = {n}"]}))
    with pytest.raises(PySparkException) as raised:
        matches.collect()
    assert "is gone; only the last 32 are kept" in str(raised.value)


def test_a_store_takes_dataframes(spark: SparkSession, tmp_path: Path):
    store = SubscriptionStore.create(tmp_path / "frames", SCHEMA)
    rows = [(1, "price = 5"), (2, "price = 6"), (3, "pricee = 7")]
    frame = spark.createDataFrame(rows, "subscription_id long, where string")
    assert store.upsert(frame, on_invalid="skip")["subscription_id"].to_pylist() == [3]
    assert store.remove(frame.where("subscription_id <> 1")) == 1
    assert store.subscriptions().to_pylist() == [{"subscription_id": 1, "where": "price = 5"}]
