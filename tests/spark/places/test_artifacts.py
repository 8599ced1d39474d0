"""Matching where nothing is shared: Spark brings the index and the models, and rows bring reports.

The workers of a local session could see the driver's folders. `tests/spark/test_clusters.py` shows
that they need not.
"""

import gc
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import caddis
from caddis.errors import IndexFolderError
from caddis.spark.matching.reporting import ObservedReports, _listener_of
from caddis.spark.places import Artifacts, local_folder, place, place_for
from caddis.spark.places.artifacts import add_artifact
from tests.spark.apart import WHERES, moody
from tests.spark.program import coastal, events_of, rows


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the master is, take it for one whose workers are elsewhere."""
    monkeypatch.setattr(place, "runs_here", lambda session: False)


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return events_of(spark).repartition(3)


def test_a_local_master_needs_no_artifacts(spark: SparkSession, tmp_path: Path):
    folder = place_for(spark, None, keep=False).new_folder()
    assert local_folder(place_for(spark, None, keep=False).hand_over(folder)) == folder
    assert place_for(spark, tmp_path, keep=True).new_folder().parent == tmp_path


def test_an_artifact_is_added_once(spark: SparkSession, tmp_path: Path):
    (tmp_path / "file").write_text("something")
    first = Artifacts(spark).hand_over(tmp_path)
    assert Artifacts(spark).hand_over(tmp_path) == first
    (tmp_path / "file").write_text("something else")
    assert Artifacts(spark).hand_over(tmp_path) != first


def test_what_was_added_already_is_not_kept_twice(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "file").write_text("added again and again")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for _ in range(3):
        add_artifact(spark, tmp_path / "content", without=())
    assert len(list((tmp_path / "temporary").glob("caddis-*"))) == 1


def test_an_artifact_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path):
    address = add_artifact(spark, tmp_path, without=())

    def look(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            local_folder(address.replace("caddis-", "other-"))
        except IndexFolderError as error:
            yield pa.record_batch({"said": [str(error)]})

    (said,) = spark.range(1).repartition(1).mapInArrow(look, "said STRING").distinct().collect()
    assert "did not bring other-" in said[0]


def test_models_and_reports_come_and_go_with_spark(apart: None, events: DataFrame, tmp_path: Path):
    report, seen = caddis.Report(), tmp_path / "seen.json"
    models = [coastal, moody]
    found = caddis.match(events, WHERES, models, report=report, statistics=seen)
    shared = caddis.match(events, WHERES, models, index_dir=tmp_path / "index")
    assert found.columns == shared.columns
    assert rows(found) == rows(shared)
    used = {one.name: one for one in report.models}
    assert used.keys() == {"coastal(city)", "moody(city)"}
    assert used["moody(city)"].failed == len(report.problems) > 0
    assert set(report.problems["reason"].to_pylist()) == {"RuntimeError: not today"}
    assert all(name in seen.read_text() for name in ("coastal", "moody"))


def test_a_report_counts_the_first_job_on_a_batch(apart: None, events: DataFrame):
    report = caddis.Report()
    found = caddis.match(events, WHERES, [coastal, moody], report=report)
    found.collect()
    once = [(one.name, one.runs, one.failed) for one in report.models]
    found.collect()
    assert [(one.name, one.runs, one.failed) for one in report.models] == once != []


def test_all_micro_batches_of_a_stream_are_reported(apart: None, events: DataFrame, tmp_path: Path):
    spark, report = events.sparkSession, caddis.Report()
    events.write.parquet(str(tmp_path / "events"))
    source = spark.readStream.schema(events.schema).option("maxFilesPerTrigger", 1)
    stream = source.parquet(str(tmp_path / "events"))
    found = caddis.match(stream, WHERES, [coastal, moody], report=report)
    query = found.writeStream.format("memory").queryName("apart").trigger(availableNow=True).start()
    query.awaitTermination()
    batches = [one for one in query.recentProgress if one["numInputRows"]]
    assert len(batches) > 1
    assert rows(spark.table("apart")) == rows(caddis.match(events, WHERES, [coastal, moody]))
    end = time.monotonic() + 30
    while sum(one.failed for one in report.models) < len(batches):
        assert time.monotonic() < end, "not every micro-batch was reported"
        time.sleep(0.1)
    spark.catalog.dropTempView("apart")


def test_a_session_has_one_listener_which_forgets_what_nobody_reads(
    apart: None, events: DataFrame, tmp_path: Path
):
    spark = events.sparkSession
    events.write.parquet(str(tmp_path / "events"))
    stream = spark.readStream.schema(events.schema).parquet(str(tmp_path / "events"))
    report = caddis.Report()
    caddis.match(stream, WHERES, [coastal, moody], report=report)
    listener = _listener_of(spark)
    wanted = set(listener._wanted)
    caddis.match(stream, WHERES, [coastal, moody])
    gc.collect()
    assert _listener_of(spark) is listener
    assert set(listener._wanted) == wanted


def test_nobody_waits_for_a_match_whose_report_is_not_read(apart: None, events: DataFrame):
    waiting = threading.active_count()
    for _ in range(3):
        caddis.match(events, WHERES, [coastal, moody], report=caddis.Report())
    assert threading.active_count() == waiting


def test_a_report_of_a_match_that_has_not_run_is_empty(
    apart: None, events: DataFrame, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ObservedReports, "patience", 0.1)
    report = caddis.Report()
    caddis.match(events, WHERES, [coastal, moody], report=report)
    assert report.models == ()
    assert report.problems.num_rows == 0
