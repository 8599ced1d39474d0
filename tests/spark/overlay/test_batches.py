"""Micro-batches between staging and their readers: all of one, once, whatever happens."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from caddis.errors import OverlayError
from caddis.spark.overlay.batches import BatchFolder, Committed, Totals, Written
from caddis.spark.overlay.folder import OverlayFolder
from caddis.spark.overlay.transport import FolderStream

SCHEMA = pa.schema([("event_id", pa.int64())])


def commit(batches: BatchFolder, number: int) -> Committed:
    staging = batches.stage(number)
    for name in ("one", "two", "of a task that failed"):
        (staging / name).write_text(f"{number} {name}")
    written = [
        Written("taken", "", "", 5),
        Written("taken", "cork", "", 2),
        Written("forwarded", "cork", "two", 3),
        Written("forwarded", "cork", "one", 4),
    ]
    return batches.commit(number, staging, written)


def test_only_files_that_were_told_of_count(tmp_path: Path):
    batches = BatchFolder(tmp_path / "out")
    assert (batches.last(), batches.committed(0)) == (None, None)
    done = commit(batches, 0)
    assert batches.committed(0) == batches.last() == done
    assert list(done.files()) == [("forwarded", "cork", [done.folder / "one", done.folder / "two"])]
    assert {file.name for file in done.folder.iterdir()} == {"one", "two", "manifest.json"}
    assert done.totals == Totals(batches=1, published=5, received=2, forwarded=7)


def test_totals_add_up_and_old_batches_go(tmp_path: Path):
    batches = BatchFolder(tmp_path / "out")
    for number in range(4):
        commit(batches, number)
    assert batches.committed(1) is None
    assert batches.committed(2) is not None
    last = batches.last()
    assert last is not None
    assert (last.number, last.totals.batches, last.totals.forwarded) == (3, 4, 28)


def test_what_a_crash_left_in_staging_is_removed(tmp_path: Path):
    batches = BatchFolder(tmp_path)
    left = batches.stage(0)
    (left / "half").write_text("")
    assert batches.stage(0) != left
    assert not left.exists()
    assert batches.last() is None


def test_a_damaged_batch_is_an_error(tmp_path: Path):
    batches = BatchFolder(tmp_path)
    (commit(batches, 0).folder / "manifest.json").write_text("{")
    with pytest.raises(OverlayError, match="damaged"):
        batches.committed(0)


def test_publishing_twice_is_publishing_once(tmp_path: Path):
    files = [tmp_path / name for name in ("a", "b")]
    for file in files:
        file.write_text(file.name)
    stream = FolderStream(tmp_path / "to", "galway")
    stream.publish(3, files[:1])
    stream.publish(3, files)
    stream.publish(3, files)
    found = {file.name: file.read_text() for file in (tmp_path / "to").iterdir()}
    assert found == {"galway-00000003-0.parquet": "a", "galway-00000003-1.parquet": "b"}


def test_where_files_cannot_be_linked_they_are_copied(tmp_path: Path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    (tmp_path / "a").write_text("a")
    monkeypatch.setattr(os, "link", refuse)
    FolderStream(tmp_path / "to", "x").publish(0, [tmp_path / "a"])
    assert [one.name for one in (tmp_path / "to").iterdir()] == ["x-00000000-0.parquet"]


def test_a_folder_stays_with_its_events(tmp_path: Path):
    folder = OverlayFolder(tmp_path / "run")
    folder.prepare(SCHEMA, "event_id", "UTC")
    folder.prepare(SCHEMA, "event_id", "UTC")
    with pytest.raises(OverlayError, match="made with the time zone 'UTC', and now it is 'Asia"):
        folder.prepare(SCHEMA, "event_id", "Asia/Tokyo")
    with pytest.raises(OverlayError, match="made with the schema"):
        folder.prepare(SCHEMA.append(pa.field("x", pa.int32())), "event_id", "UTC")


def test_a_folder_covers_as_the_policy_that_it_was_made_with(tmp_path: Path):
    covering = []
    for first, later in (("air", "emec"), ("emec", "air")):
        folder = OverlayFolder(tmp_path / first)
        for policy in (first, later):
            folder.prepare(SCHEMA, "event_id", "UTC", policy)
            covering.append(folder.covering)
        assert [file.name for file in folder.root.glob("[!.]*")] == ["overlay.json"]
    assert covering == [False, False, True, True]


def test_a_broker_runs_once_at_a_time(tmp_path: Path):
    folder = OverlayFolder(tmp_path)
    with (
        folder.running("galway"),
        folder.running("cork"),
        pytest.raises(OverlayError, match="'galway' is running already"),
        folder.running("galway"),
    ):
        raise AssertionError
    with folder.running("galway"):
        pass
