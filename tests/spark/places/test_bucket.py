"""Stores at a URI: published by creating an object, followed by listing, downloaded once."""

import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from caddis import SubscriptionStore
from caddis.errors import EnvironmentProblem, IndexFolderError
from caddis.models import Catalogue
from caddis.spark.base import Overtaken
from caddis.spark.matching import MatchOperator
from caddis.spark.places import Objects, local_folder, place_for, versions_at
from caddis.spark.places import bucket as bucket_module
from caddis.spark.places.bucket import VersionBucket
from caddis.spark.places.cache import this_machines_cache
from caddis.spark.store import StoreReader, open_store
from tests.spark.program import coastal

SPAWN = multiprocessing.get_context("spawn")
SCHEMA = pa.schema([("event_id", pa.int64()), ("city", pa.string()), ("price", pa.int32())])
EVENTS = pa.record_batch([[1, 2, 3], ["Galway", "Cork", None], [10, 20, 30]], SCHEMA)


def table(**wheres: str) -> pa.Table:
    return pa.table({"subscription_id": list(wheres), "where": list(wheres.values())})


def pairs(reader: StoreReader) -> set[tuple[int, str]]:
    return {
        (row, one.as_py())
        for turn in reader.match(EVENTS)
        for rows, ids in turn
        for row, one in zip(rows.tolist(), ids, strict=True)
    }


@pytest.fixture
def store(bucket: str) -> SubscriptionStore:
    return SubscriptionStore.create(bucket, SCHEMA)


@pytest.fixture
def looks_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "POLL_SECONDS", 0.0)


def test_a_store_at_a_uri_grows_shrinks_and_is_followed(
    store: SubscriptionStore, looks_every_time: None
):
    follower = StoreReader(store.address)
    store.upsert(table(ann="city = 'Galway'", bo="price > 15"))
    follower.use(None)
    assert pairs(follower) == {(0, "ann"), (1, "bo"), (2, "bo")}
    store.upsert(table(bo="price > 25", cy="TRUE"))
    assert store.remove(["ann", "nobody"]) == 1
    follower.use(None)
    assert pairs(follower) == {(2, "bo"), (0, "cy"), (1, "cy"), (2, "cy")}
    again = SubscriptionStore.open(store.address)
    assert (len(again), again.schema) == (2, SCHEMA)
    assert sorted(again.subscriptions()["where"].to_pylist()) == ["TRUE", "price > 25"]


def test_a_follower_looks_no_more_often_than_it_should(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bucket_module, "POLL_SECONDS", 3600.0)
    follower = StoreReader(store.address)
    follower.use(None)
    store.upsert(table(ann="TRUE"))
    follower.use(None)
    assert pairs(follower) == set()
    follower.use(store.version)
    assert len(pairs(follower)) == 3


def test_a_worker_matches_with_a_store_at_a_uri(store: SubscriptionStore):
    store.upsert(table(ann="city = 'Galway'"))
    operator = MatchOperator(store.address, "event_id", tuple(SCHEMA.names), store.version)
    (found,) = operator(iter([EVENTS]))
    assert found.to_pylist() == [{"event_id": 1, "subscription_id": "ann"}]


def test_an_archive_that_one_reader_has_downloaded_is_not_downloaded_again(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch
):
    store.upsert(table(ann="TRUE"))
    downloaded = []
    download = Objects.download

    def counted(self: Objects, name: str, file: Path) -> None:
        downloaded.append(name)
        download(self, name, file)

    monkeypatch.setattr(Objects, "download", counted)
    for _ in range(3):
        reader = StoreReader(store.address)
        reader.use(None)
        assert len(pairs(reader)) == 3
    assert len(downloaded) == 1, "readers need no texts, and each matcher once"


def test_a_segment_that_was_changed_is_refused_by_name(store: SubscriptionStore):
    store.upsert(table(ann="TRUE"))
    objects = Objects(store.address)
    (name,) = objects.names("segments")
    objects.write(f"segments/{name}", b"something else")
    reader = StoreReader(store.address)
    with pytest.raises(IndexFolderError, match=rf"segments/{name} is damaged: its SHA-256 is"):
        reader.use(None)
    assert not [one for one in this_machines_cache().root.iterdir() if one.is_dir()]


def test_a_manifest_that_was_changed_is_refused(store: SubscriptionStore):
    Objects(store.address).write("versions/00000001.json", b"{}")
    with pytest.raises(IndexFolderError, match="version 00000001 is damaged"):
        SubscriptionStore.open(store.address)


def test_old_versions_and_their_segments_are_deleted(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bucket_module, "KEPT_VERSIONS", 3)
    first = store.version
    for number in range(6):
        store.upsert(table(ann=f"price > {number}"))
    objects = Objects(store.address)
    assert len(objects.names("versions")) == 3
    assert len(objects.names("segments")) == len(objects.names("texts")) <= 3
    with pytest.raises(IndexFolderError, match=f"version {first} is gone"):
        store.reader(first)
    assert len(pairs(store.reader())) == 3


def test_segments_stay_while_it_cannot_be_read_who_uses_them(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(bucket_module, "KEPT_VERSIONS", 2)
    monkeypatch.setattr(bucket_module, "ABANDONED", timedelta(0))
    store.upsert(table(ann="TRUE"))
    store.upsert(table(bo="TRUE"))
    writer = SubscriptionStore.open(store.address)
    create, read = VersionBucket._create, Objects.read

    def busy(self: Objects, name: str) -> bytes:
        raise IndexFolderError("slow down")

    def create_and_be_busy(self: VersionBucket, *given: object) -> None:
        create(self, *given)  # type: ignore[arg-type]
        monkeypatch.setattr(Objects, "read", busy)

    monkeypatch.setattr(VersionBucket, "_create", create_and_be_busy)
    writer.remove(["bo"])
    monkeypatch.setattr(Objects, "read", read)
    assert "will be deleted later: slow down" in caplog.text
    assert len(pairs(store.reader())) == 3


def test_what_is_remembered_of_old_versions_is_bounded(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bucket_module, "KEPT_VERSIONS", 2)
    monkeypatch.setattr(bucket_module, "REMEMBERED", 4)
    for number in range(8):
        store.upsert(table(ann=f"price > {number}"))
    versions = cast("VersionBucket", store._versions)
    assert len(versions._digests) <= 4
    assert len(versions._segments_of) == 2
    assert len(store) == 1


def test_settings_change_with_a_version_of_their_own(store: SubscriptionStore):
    before = store.version
    store.allow([coastal])
    store.upsert(table(ann="coastal(city)"))
    assert store.version > before
    assert SubscriptionStore.open(store.address).vocabulary == Catalogue([coastal]).vocabulary_for(
        SCHEMA
    )


def test_a_store_is_not_created_over_another(store: SubscriptionStore):
    with pytest.raises(IndexFolderError, match="is a subscription store already"):
        SubscriptionStore.create(store.address, SCHEMA)
    with pytest.raises(IndexFolderError, match="is a subscription store already"):
        VersionBucket(store.address).found({})


def test_a_place_without_a_store_is_not_opened(bucket: str):
    with pytest.raises(IndexFolderError, match="is not a subscription store"):
        SubscriptionStore.open(bucket)


def test_a_store_shows_where_it_is_and_no_query(store: SubscriptionStore):
    assert repr(store).startswith("SubscriptionStore('s3://caddis-")
    assert "endpoint" not in repr(store)
    assert open_store(store.address) is not None
    with pytest.raises(IndexFolderError, match="is not in a folder"):
        _ = store.path


def test_a_file_uri_is_a_folder(tmp_path: Path):
    store = SubscriptionStore.create(f"file://{tmp_path}/a%20store", SCHEMA)
    assert store.path == tmp_path / "a store"
    assert versions_at(store.address).exists


# ------------------------------------------------------------------------------------ writers


def add_some(address: str, first: int) -> None:
    store = SubscriptionStore.open(address)
    for number in range(first, first + 5):
        store.upsert(table(**{f"s{number}": f"price > {number}"}))


def test_writers_in_two_processes_lose_nothing(store: SubscriptionStore):
    with ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
        list(pool.map(add_some, [store.address] * 2, [0, 100]))
    wanted = {f"s{number}" for number in (*range(5), *range(100, 105))}
    assert set(store.subscriptions()["subscription_id"].to_pylist()) == wanted


def overtaking(store: SubscriptionStore, change: Callable[[], object]) -> Callable[..., object]:
    """`publish` as it is when another writer is just quicker."""
    publish, done = VersionBucket.publish, list[bool]()

    def publish_late(self: VersionBucket, *given: object) -> object:
        if not done:
            done.append(True)
            change()
        return publish(self, *given)  # type: ignore[arg-type]

    return publish_late


def test_a_writer_that_is_overtaken_starts_again(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch
):
    other = SubscriptionStore.open(store.address)
    late = overtaking(store, lambda: other.upsert(table(bo="TRUE")))
    monkeypatch.setattr(VersionBucket, "publish", late)
    store.upsert(table(ann="TRUE"))
    assert set(store.subscriptions()["subscription_id"].to_pylist()) == {"ann", "bo"}
    assert len(Objects(store.address).names("segments")) == 2, "what was overtaken is deleted"


def test_a_writer_that_slept_while_its_number_came_and_went_is_overtaken(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bucket_module, "KEPT_VERSIONS", 2)
    slow = VersionBucket(store.address)
    base = slow.current()
    for number in range(4):
        store.upsert(table(ann=f"price > {number}"))
    with pytest.raises(Overtaken):
        slow.publish((), {}, base)
    with pytest.raises(Overtaken):  # it slept when it had read its base
        slow._create(int(base.name) + 1, bucket_module._Manifest({}, {}, {}))
    assert len(store) == 1
    assert len(Objects(store.address).names("versions")) == 2


def test_a_writer_whose_answer_got_lost_is_not_overtaken_by_itself(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch
):
    create = Objects.create

    def sent_twice(self: Objects, name: str, content: bytes) -> None:
        create(self, name, content)
        create(self, name, content)

    monkeypatch.setattr(Objects, "create", sent_twice)
    store.upsert(table(ann="TRUE"))
    assert store.remove(["ann"]) == 1
    assert (len(store), store.version) == (0, "00000003")


def test_a_reader_moves_on_when_its_segment_is_deleted_meanwhile(
    store: SubscriptionStore, looks_every_time: None, monkeypatch: pytest.MonkeyPatch
):
    store.upsert(table(ann="TRUE"))
    reader, download, late = StoreReader(store.address), Objects.download, [True]
    objects = Objects(store.address)

    def deleted_just_before(self: Objects, name: str, file: Path) -> None:
        if late.pop() if late else False:
            other = SubscriptionStore.open(store.address)
            other.upsert(table(ann="price > 15"))
            objects.delete(name)
        download(self, name, file)

    monkeypatch.setattr(Objects, "download", deleted_just_before)
    reader.use(None)
    assert pairs(reader) == {(1, "ann"), (2, "ann")}


def test_without_obstore_a_store_can_be_read_and_not_changed(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    assert len(SubscriptionStore.open(store.address)) == 0
    with pytest.raises(EnvironmentProblem, match=r"install caddis\[objects\]"):
        store.upsert(table(ann="TRUE"))


def test_stores_without_conditional_writes_are_refused(
    bucket: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Objects, "create", Objects.write)
    with pytest.raises(IndexFolderError, match="ignores conditions on writing"):
        SubscriptionStore.create(bucket, SCHEMA)
    assert Objects(bucket).names("versions") == {}


def test_errors_of_a_store_are_passed_on_with_its_place(bucket: str):
    nowhere = Objects(bucket.replace("s3://caddis-", "s3://nobody-"))
    with pytest.raises(IndexFolderError, match=r"^s3://nobody-\w+: .+"):
        nowhere.write("object", b"content")
    with pytest.raises(IndexFolderError, match=r"^s3://nobody-\w+: .+"):
        nowhere.create("object", b"content")
    with pytest.raises(IndexFolderError, match=r"^s3://nobody-\w+ is not a subscription store"):
        SubscriptionStore.open(nowhere.uri)


def test_schemes_without_conditional_writes_are_refused(
    bucket: str, monkeypatch: pytest.MonkeyPatch
):
    objects = Objects(bucket)
    objects.uri = "hdfs://host/store"
    with pytest.raises(IndexFolderError, match="two writers cannot be kept apart at hdfs://"):
        objects.check_conditional()
    objects.uri = "gs://bucket/store"
    objects.check_conditional()


def test_an_archive_is_handed_over_at_a_uri(bucket: str, tmp_path: Path):
    place = place_for(cast("SparkSession", None), bucket, keep=True)
    folder = place.new_folder()
    (folder / "file").write_text("something")
    here = local_folder(place.hand_over(folder))
    assert here != folder
    assert (here / "file").read_text() == "something"


def test_a_scheme_that_nobody_knows_is_refused_without_what_its_query_says():
    with pytest.raises(IndexFolderError, match="ftp://host/store cannot be used") as refused:
        SubscriptionStore.open("ftp://user:secret@host/store?password=secret")
    assert "secret" not in str(refused.value)
