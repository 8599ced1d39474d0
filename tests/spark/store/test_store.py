"""A store against a plain dict: whatever was added, replaced and removed, the same must match.

The oracle is a Matcher compiled afresh from what the dict holds. Writers that die, writers that
meet and readers that are overtaken come after that.
"""

import json
import math
import multiprocessing
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import caddis
from caddis import Matcher, SubscriptionStore
from caddis.errors import IndexFolderError, InvalidSubscriptions, SubscriptionTableError
from caddis.spark.base import folders
from caddis.spark.base.folders import KEPT_VERSIONS
from caddis.spark.store.segments import StoreReader
from caddis.spark.store.store import MERGE_RATIO
from tests.runs import times
from tests.sealed import homes
from tests.sealed.homes import EVENTS, SCHEMA

SPAWN = multiprocessing.get_context("spawn")
WHERES = [
    *homes.WHERES,
    "city RLIKE 'o.k'",
    "price BETWEEN 15 AND 35 AND city <> 'Sligo'",
    "NOT (city = 'Cork')",
]
BAD_WHERES = ["city =", "pricee < 3", "city < 3", "beach(city)"]

Wheres = Mapping[Any, str]
Pairs = set[tuple[int, object]]


def table(wheres: Wheres) -> pa.Table:
    ids = pa.array(list(wheres)) if wheres else pa.array([], pa.string())
    return pa.table({"subscription_id": ids, "where": pa.array(list(wheres.values()), pa.string())})


def as_dict(subscriptions: pa.Table) -> dict[Any, str]:
    rows = subscriptions.to_pylist()
    assert len({row["subscription_id"] for row in rows}) == len(rows), "an id came out twice"
    return {row["subscription_id"]: row["where"] for row in rows}


def pairs_of(reader: StoreReader) -> Pairs:
    found = [
        pair
        for turn in reader.match(EVENTS)
        for rows, ids in turn
        for pair in zip(rows.tolist(), ids.to_pylist(), strict=True)
    ]
    assert len(found) == len(set(found)), "a match came out twice"
    return set(found)


def current_pairs(store: SubscriptionStore) -> Pairs:
    reader = StoreReader(store.path)
    reader.use(None)
    return pairs_of(reader)


def compiled_pairs(wheres: Wheres) -> Pairs:
    matcher = Matcher.compile(table(wheres), SCHEMA)
    matches = matcher.match(EVENTS)
    ids = matcher.subscription_ids.take(pa.array(matches.links)).to_pylist()
    return set(zip(matches.rows.tolist(), ids, strict=True))


def segments(store: SubscriptionStore) -> int:
    return len(store._versions.current().segments)


def most_segments(subscriptions: int) -> float:
    """Each segment was born less than 1/MERGE_RATIO as large as the one before it."""
    return 2 + math.log(max(subscriptions, 1), MERGE_RATIO)


@pytest.fixture
def store(tmp_path: Path) -> SubscriptionStore:
    return SubscriptionStore.create(tmp_path / "store", SCHEMA)


# ------------------------------------------------------------------------ against a plain dict

IDS = st.integers(0, 40).map("s{}".format)
GOOD = st.dictionaries(IDS, st.sampled_from(WHERES), min_size=1, max_size=8)
BAD = st.dictionaries(IDS, st.sampled_from(BAD_WHERES), min_size=1, max_size=2)


class StoreAgainstDict(RuleBasedStateMachine):
    @initialize()
    def create(self) -> None:
        self.folder = Path(mkdtemp())
        self.store = SubscriptionStore.create(self.folder / "store", SCHEMA)
        self.follower = StoreReader(self.store.path)
        self.expected: dict[str, str] = {}
        self.most = 1

    @rule(wheres=GOOD)
    def add(self, wheres: dict[str, str]) -> None:
        assert self.store.upsert(table(wheres)).num_rows == 0
        self.expected |= wheres

    @rule(good=GOOD, bad=BAD)
    def add_with_bad_ones_and_raise(self, good: dict[str, str], bad: dict[str, str]) -> None:
        before = self.store.version
        with pytest.raises(InvalidSubscriptions) as raised:
            self.store.upsert(table(good | bad))
        assert {error.subscription_id for error in raised.value.errors} == set(bad)
        assert self.store.version == before

    @rule(good=GOOD, bad=BAD)
    def add_with_bad_ones_and_skip(self, good: dict[str, str], bad: dict[str, str]) -> None:
        invalid = self.store.upsert(table(good | bad), on_invalid="skip")
        assert set(invalid["subscription_id"].to_pylist()) == set(bad)
        self.expected |= {name: where for name, where in good.items() if name not in bad}

    @rule(names=st.lists(IDS, max_size=20))
    def remove(self, names: list[str]) -> None:
        gone = set(names) & set(self.expected)
        assert self.store.remove(names) == len(gone)
        for name in gone:
            del self.expected[name]

    @rule()
    def remove_all(self) -> None:
        assert self.store.remove(list(self.expected)) == len(self.expected)
        self.expected.clear()

    @rule()
    def open_again(self) -> None:
        self.store = SubscriptionStore.open(self.store.path)

    @invariant()
    def the_same_matches(self) -> None:
        expected = compiled_pairs(self.expected)
        self.follower.use(None)
        assert pairs_of(self.follower) == expected
        assert current_pairs(self.store) == expected

    @invariant()
    def it_holds_the_same(self) -> None:
        assert as_dict(self.store.subscriptions()) == self.expected
        assert len(self.store) == len(self.expected)

    @invariant()
    def it_has_few_segments(self) -> None:
        self.most = max(self.most, len(self.expected) + 8)
        assert segments(self.store) <= most_segments(self.most)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


TestStoreAgainstDict = StoreAgainstDict.TestCase
TestStoreAgainstDict.settings = settings(max_examples=12, stateful_step_count=20)


def test_a_store_that_grows_one_by_one_has_logarithmically_many_segments(store: SubscriptionStore):
    most = 0
    for number in range(1, 76):
        store.upsert(table({number: WHERES[number % len(WHERES)]}))
        most = max(most, segments(store))
        assert segments(store) <= most_segments(number)
    assert most > 1, "every change compiled everything anew"
    assert len(store) == 75


# ----------------------------------------------------------------------- adding and removing


def test_ids_may_be_whole_numbers(store: SubscriptionStore):
    store.upsert(table({7: "price = 10", 8: "price = 20"}))
    store.upsert(table({7: "price = 40"}))
    store.remove([8])
    assert current_pairs(store) == {(4, 7)}
    assert store.id_type == pa.int64()


def test_ids_of_another_type_are_refused(store: SubscriptionStore):
    store.upsert(table({"ann": "price = 10"}))
    before = store.version
    with pytest.raises(
        SubscriptionTableError, match="subscription_ids are string, these are int64"
    ):
        store.upsert(table({7: "price = 10"}))
    assert store.version == before


def test_removing_by_an_id_of_another_type_is_a_clear_error(store: SubscriptionStore):
    store.upsert(table({7: "price = 10"}))
    with pytest.raises(SubscriptionTableError, match="int64"):
        store.remove(["ann"])
    assert len(store) == 1


def test_a_single_text_is_not_taken_for_a_list_of_ids(store: SubscriptionStore):
    store.upsert(table({"ann": "city = 'Cork'", "a": "city = 'Sligo'"}))
    with pytest.raises(SubscriptionTableError, match="must be a list of ids, not 'ann'"):
        store.remove("ann")
    assert len(store) == 2


def test_subscriptions_that_are_no_table_are_refused(store: SubscriptionStore):
    with pytest.raises(SubscriptionTableError, match="DataFrame or an Arrow table, not list"):
        store.upsert([("ann", "city = 'Cork'")])
    pandas = table({"ann": "city = 'Cork'"}).to_pandas()
    with pytest.raises(SubscriptionTableError, match=r"Arrow table, not pandas\.DataFrame"):
        store.upsert(pandas)


def test_a_store_shows_where_it_is(store: SubscriptionStore):
    assert repr(store) == f"SubscriptionStore('{store.path}')"


def test_removing_what_is_not_there_publishes_nothing(store: SubscriptionStore):
    store.upsert(table({"ann": "price = 10"}))
    before = store.version
    assert store.remove(["bo"]) == 0
    assert store.remove([]) == 0
    assert store.version == before


def test_removing_from_an_empty_store_is_no_error(store: SubscriptionStore):
    assert store.remove(["ann"]) == 0
    assert len(store) == 0
    assert current_pairs(store) == set()


def test_an_empty_table_changes_nothing(store: SubscriptionStore):
    store.upsert(table({}))
    store.upsert(table({"ann": "price = 10"}))
    store.upsert(table({}))
    assert current_pairs(store) == {(0, "ann")}


@pytest.mark.parametrize(
    ("subscriptions", "message"),
    [
        ({"subscription_id": ["a"]}, "need a column 'where'; they have subscription_id"),
        ({"where": ["TRUE"]}, "need a column 'subscription_id'; they have where"),
        ({"subscription_id": ["a", None], "where": ["TRUE"] * 2}, "1 subscriptions have a null"),
        ({"subscription_id": ["a", "a"], "where": ["TRUE"] * 2}, "'a' occurs more than once"),
    ],
)
def test_a_table_without_columns_or_with_wrong_ids_is_refused(
    store: SubscriptionStore, subscriptions: dict[str, list[str]], message: str
):
    before = store.version
    with pytest.raises(SubscriptionTableError, match=message):
        store.upsert(pa.table(subscriptions), on_invalid="skip")
    assert store.version == before


def test_a_null_where_is_a_bad_subscription_like_any_other(store: SubscriptionStore):
    wheres = pa.table({"subscription_id": ["a", "b"], "where": ["TRUE", None]})
    invalid = store.upsert(wheres, on_invalid="skip")
    assert invalid["subscription_id"].to_pylist() == ["b"]
    assert as_dict(store.subscriptions()) == {"a": "TRUE"}


def test_a_bad_replacement_leaves_the_good_one_in_force(store: SubscriptionStore):
    store.upsert(table({"ann": "price = 10"}))
    changed = table({"ann": "pricee = 20", "bo": "price = 20"})
    (invalid,) = store.upsert(changed, on_invalid="skip").to_pylist()
    assert (invalid["subscription_id"], invalid["start"], invalid["end"]) == ("ann", 0, 6)
    assert "unknown column 'pricee'; did you mean 'price'?" in invalid["error"]
    assert current_pairs(store) == {(0, "ann"), (1, "bo")}


def test_other_columns_of_the_table_do_not_matter(store: SubscriptionStore):
    wheres = table({"ann": "price = 10"}).append_column("owner", [["somebody"]])
    store.upsert(wheres)
    store.upsert(table({"bo": "price = 20"}))
    assert current_pairs(store) == {(0, "ann"), (1, "bo")}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (pa.string(), pa.string()),
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.int32(), pa.int32()),
        (pa.int64(), pa.int64()),
        (pa.uint32(), pa.int64()),
    ],
    ids=str,
)
def test_ids_are_kept_in_a_type_that_spark_has(
    store: SubscriptionStore, given: pa.DataType, kept: pa.DataType
):
    ids = pa.array(["1", "2"], pa.string()).cast(given)
    store.upsert(pa.table({"subscription_id": ids, "where": ["price = 10", "price = 20"]}))
    assert store.remove(ids[:1].to_pylist()) == 1
    assert store.id_type == kept
    assert current_pairs(store) == {(1, ids[1].as_py())}


def test_the_zone_of_the_store_is_that_of_its_literals(tmp_path: Path):
    schema = pa.schema([("at", pa.timestamp("us", "Europe/Dublin"))])
    store = SubscriptionStore.create(tmp_path / "store", schema, timezone="Europe/Dublin")
    store.upsert(table({"ann": "at = TIMESTAMP '2024-07-01 12:00:00'"}))
    reader = StoreReader(SubscriptionStore.open(store.path).path)
    reader.use(None)
    moments = pa.array([1719831600_000000, 1719835200_000000], schema.field("at").type)
    (((rows, _),),) = reader.match(pa.record_batch([moments], schema))
    assert rows.tolist() == [0], "noon in Dublin's summer is 11:00 UTC"


# ------------------------------------------------------------------------------------ opening


def test_a_store_is_not_created_over_another(store: SubscriptionStore):
    with pytest.raises(IndexFolderError, match="is a subscription store already; open it instead"):
        SubscriptionStore.create(store.path, SCHEMA)


def test_what_is_no_store_says_so(tmp_path: Path):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(IndexFolderError, match=f"{path} is not a subscription store"):
            SubscriptionStore.open(path)


def test_a_store_of_another_format_says_which(store: SubscriptionStore):
    (store.path / "store.json").write_text(json.dumps({"format": 99, "timezone": "UTC"}))
    with pytest.raises(IndexFolderError, match="has format 99, this version reads 1"):
        SubscriptionStore.open(store.path)


@pytest.mark.parametrize("text", ["", '{"format"', "{}", "[]"])
def test_a_damaged_settings_file_is_a_clear_error(store: SubscriptionStore, text: str):
    (store.path / "store.json").write_text(text)
    with pytest.raises(IndexFolderError, match=str(store.path)):
        SubscriptionStore.open(store.path)


def test_a_damaged_schema_is_a_clear_error(store: SubscriptionStore):
    (store.path / "events.schema").write_bytes(b"\0" * 10)
    with pytest.raises(IndexFolderError, match=str(store.path)):
        SubscriptionStore.open(store.path)


def test_a_lost_segment_is_a_clear_error(store: SubscriptionStore):
    store.upsert(table({"ann": "price = 10"}))
    shutil.rmtree(next((store.path / "segments").iterdir()))
    with pytest.raises(IndexFolderError, match="segments"):
        current_pairs(store)


# ----------------------------------------------------------------------- readers and versions


def test_a_reader_loads_a_segment_once(store: SubscriptionStore):
    store.upsert(table({f"s{n}": WHERES[n % len(WHERES)] for n in range(50)}))
    reader = StoreReader(store.path)
    reader.use(None)
    (large,) = reader._segments.values()
    for n in range(3):
        store.upsert(table({f"t{n}": "TRUE"}))
        reader.use(None)
        assert next(iter(reader._segments.values())) is large
        assert pairs_of(reader) == current_pairs(store)


def test_a_reader_may_stay_with_a_version(store: SubscriptionStore):
    store.upsert(table({"ann": "price = 10"}))
    pinned = store.version
    store.upsert(table({"ann": "price = 20", "bo": "price = 40"}))
    reader = StoreReader(store.path)
    reader.use(pinned)
    assert pairs_of(reader) == {(0, "ann")}
    reader.use(None)
    assert pairs_of(reader) == {(1, "ann"), (4, "bo")}
    reader.use(pinned)
    assert pairs_of(reader) == {(0, "ann")}


def test_a_reader_goes_on_when_what_it_has_mapped_is_deleted(store: SubscriptionStore):
    wheres = {f"s{n}": f"price >= {n} AND city = 'Galway'" for n in range(200)}
    store.upsert(table(wheres))
    reader = StoreReader(store.path)
    reader.use(None)
    (mapped,) = reader._segments
    store.remove(wheres)
    for n in range(KEPT_VERSIONS):
        store.upsert(table({"s": f"price = {n}"}))
    assert not (store.path / "segments" / mapped).exists()
    assert pairs_of(reader) == compiled_pairs(wheres)
    reader.use(None)
    assert pairs_of(reader) == compiled_pairs({"s": f"price = {KEPT_VERSIONS - 1}"})


def test_old_versions_and_segments_are_deleted(store: SubscriptionStore):
    for n in range(2 * KEPT_VERSIONS):
        store.upsert(table({"s": f"price = {n}"}))
    assert len(list((store.path / "versions").iterdir())) == KEPT_VERSIONS
    assert len(list((store.path / "segments").iterdir())) <= 2 * KEPT_VERSIONS
    assert current_pairs(store) == compiled_pairs({"s": f"price = {2 * KEPT_VERSIONS - 1}"})


def test_a_reader_that_is_overtaken_while_it_loads_turns_to_the_next_version(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch
):
    store.upsert(table({"ann": "price = 10"}))
    load = Matcher.load

    def slowly(folder: Path) -> Matcher:
        monkeypatch.setattr(Matcher, "load", load)
        for n in range(KEPT_VERSIONS + 1):
            store.upsert(table({"ann": f"price = {n}"}))
        return load(folder)

    monkeypatch.setattr(Matcher, "load", slowly)
    assert current_pairs(store) == compiled_pairs({"ann": f"price = {KEPT_VERSIONS}"})


def test_a_change_opens_each_segment_once_and_never_the_one_that_it_writes(
    store: SubscriptionStore, monkeypatch: pytest.MonkeyPatch
):
    store.upsert(table({f"s{n}": WHERES[n % len(WHERES)] for n in range(50)}))
    (old,) = (store.path / "segments").iterdir()
    opened: list[str] = []
    memory_map = pa.memory_map

    def noted(path: str) -> pa.MemoryMappedFile:
        opened.append(Path(path).parent.name)
        return memory_map(path)

    monkeypatch.setattr(pa, "memory_map", noted)
    store.upsert(table({"ann": "price = 10"}))
    assert opened == [old.name]


def test_a_change_that_is_merged_at_once_writes_one_segment(store: SubscriptionStore):
    store.upsert(table({"ann": "price = 10"}))
    store.upsert(table({"bo": "price = 20"}))
    assert sorted(one.name for one in (store.path / "segments").iterdir()) == [
        "00000001",
        "00000002",
    ]
    assert segments(store) == 1
    assert current_pairs(store) == {(0, "ann"), (1, "bo")}


def test_ids_to_remove_may_be_a_table(store: SubscriptionStore):
    store.upsert(table({"ann": "price = 10", "bo": "price = 20"}))
    assert store.remove(table({"ann": "whatever", "nobody": ""})) == 1
    assert as_dict(store.subscriptions()) == {"bo": "price = 20"}


def test_an_unknown_way_with_invalid_ones_is_refused(store: SubscriptionStore):
    how: Any = "report"
    with pytest.raises(SubscriptionTableError, match="on_invalid is 'raise' or 'skip'"):
        store.upsert(table({"ann": "price = 10"}), on_invalid=how)


def test_a_store_logs_its_versions_and_what_it_skips(
    store: SubscriptionStore, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level("INFO", logger="caddis"):
        store.upsert(table({"ann": "price = 10", "bo": "pricee = 1"}), on_invalid="skip")
        store.reader()
    logged = [(record.levelname, record.message) for record in caplog.records]
    assert logged == [
        ("INFO", f"{store.path}: version 00000002 published"),
        ("WARNING", f"{store.path}: 1 invalid subscriptions skipped"),
        ("INFO", f"{store.path}: version 00000002 loaded"),
    ]


# -------------------------------------------------------------------------- writers that meet

ROUNDS = times(40, 200)
NUMBERED = pa.record_batch({"price": pa.array(range(ROUNDS + 1), pa.int32())})


def follow(path: Path, last: int) -> list[list[int]]:
    """What a tight loop of readers matched, until the last one: the events of each look."""
    looks: list[list[int]] = []
    while not looks or looks[-1] != [last]:
        reader = StoreReader(path)
        reader.use(None)
        rows = [
            row for turn in reader.match(NUMBERED) for found, _ in turn for row in found.tolist()
        ]
        if not looks or rows != looks[-1]:
            looks.append(rows)
    return looks


def test_a_reader_in_another_process_sees_every_change_whole(store: SubscriptionStore):
    store.upsert(table({"ann": "price = 0"}))
    with ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
        pool.submit(follow, store.path, 0).result()
        following = pool.submit(follow, store.path, ROUNDS)
        for n in range(1, ROUNDS + 1):
            store.upsert(table({"ann": f"price = {n}"}))
        looks = following.result(timeout=60)
    assert [len(look) for look in looks] == [1] * len(looks), "none, or the old and the new one"
    assert looks == sorted(looks), "a reader went back"
    assert len(looks) > 5, "reader and writer did not run at the same time"


CHANGES = times(12, 60)


def write(path: Path, name: str) -> None:
    """Additions, each with a replacement; every third is removed again."""
    store = SubscriptionStore.open(path)
    for n in range(CHANGES):
        store.upsert(table({f"{name}{n}": "price = 10", f"{name}-last": f"price = {n}"}))
        if n % 3 == 0:
            assert store.remove([f"{name}{n}"]) == 1


def test_writers_in_two_processes_lose_nothing(store: SubscriptionStore):
    with ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
        list(pool.map(write, [store.path] * 2, ["a", "b"]))
    kept = {f"{name}{n}": "price = 10" for name in "ab" for n in range(CHANGES) if n % 3}
    expected = kept | {f"{name}-last": f"price = {CHANGES - 1}" for name in "ab"}
    assert as_dict(store.subscriptions()) == expected
    assert current_pairs(store) == compiled_pairs(expected)


# --------------------------------------------------------------------------- writers that die


class Killed(BaseException):
    """Ends a writer at a step, as a signal would."""


@contextmanager
def killed_at(step: int) -> Iterator[list[str]]:
    """The file system's steps are counted; instead of the one with this number, the end."""
    steps: list[str] = []

    def counted(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def one_step(*args: Any, **kwargs: Any) -> Any:
            steps.append(name)
            if len(steps) == step:
                raise Killed
            return act(*args, **kwargs)

        return one_step

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in (
            *((Path, name) for name in ("mkdir", "write_text", "write_bytes", "rename", "replace")),
            *((np, "save"), (pa.ipc, "new_file"), (shutil, "rmtree")),
        ):
            patch.setattr(owner, name, counted(name, getattr(owner, name)))
        yield steps


OLD = {f"s{n}": WHERES[n % len(WHERES)] for n in range(10)}
CHANGE = {"s3": "price = 40", "new": "price = 10"}


FEW_VERSIONS = 4


def full_store(path: Path) -> SubscriptionStore:
    """Eleven subscriptions in several segments, with as many versions as are kept."""
    store = SubscriptionStore.create(path, SCHEMA)
    store.upsert(table(OLD))
    for n in range(FEW_VERSIONS):
        store.upsert(table({"s": f"price = {n}"}))
    return store


def test_a_writer_that_is_killed_at_any_step_leaves_a_sound_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(folders, "KEPT_VERSIONS", FEW_VERSIONS)  # or most of the time is copying
    full_store(tmp_path / "full")
    before = OLD | {"s": f"price = {FEW_VERSIONS - 1}"}
    with killed_at(0) as steps:
        shutil.copytree(tmp_path / "full", tmp_path / "untouched")
        steps.clear()
        SubscriptionStore.open(tmp_path / "untouched").upsert(table(CHANGE))
    assert len(steps) > 10, "too few steps to say anything"
    failures = {}
    for step in range(1, len(steps) + 1):
        path = shutil.copytree(tmp_path / "full", tmp_path / f"killed-{step}")
        with killed_at(step) as done, pytest.raises(Killed):
            SubscriptionStore.open(path).upsert(table(CHANGE))
        try:
            store = SubscriptionStore.open(path)
            content = as_dict(store.subscriptions())
            assert content in (before, before | CHANGE)
            assert current_pairs(store) == compiled_pairs(content)
            store.upsert(table({"next": "price = 20"}))
            assert as_dict(store.subscriptions()) == content | {"next": "price = 20"}
        except (caddis.errors.CaddisError, OSError, ValueError, AssertionError) as problem:
            failures[f"{step}: {done[-1]}"] = repr(problem)
    assert failures == {}


def test_a_reader_notices_a_new_store_in_the_place_of_one_that_was_deleted(tmp_path: Path):
    place = tmp_path / "store"
    SubscriptionStore.create(place, SCHEMA).upsert(table({"ann": "TRUE"}))
    reader = SubscriptionStore.open(place).reader()
    shutil.rmtree(place)
    SubscriptionStore.create(place, SCHEMA).upsert(table({"bo": "TRUE"}))
    reader.use(SubscriptionStore.open(place).version)
    assert {name for _, name in pairs_of(reader)} == {"bo"}


def test_a_reader_goes_on_while_there_is_no_store_in_its_place(tmp_path: Path):
    place = tmp_path / "store"
    SubscriptionStore.create(place, SCHEMA).upsert(table({"ann": "TRUE"}))
    reader = SubscriptionStore.open(place).reader()
    shutil.rmtree(place)
    reader.use(reader.version)
    assert {name for _, name in pairs_of(reader)} == {"ann"}
