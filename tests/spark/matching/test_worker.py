"""What runs in Spark's Python workers, called as Spark calls it but without Spark.

An operator is shipped with every task, so it must be small; an index is not, so it must be
loaded once a process and shared between processes.
"""

import multiprocessing
import pickle
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle

from caddis import Matcher, SubscriptionStore
from caddis.errors import EventError
from caddis.lab.workloads import ZIPF_SCHEMA, zipf_events, zipf_subscriptions
from caddis.spark.matching import worker
from caddis.spark.matching.worker import BYTES_AT_A_TIME, ROWS_AT_A_TIME, MatchOperator, joined

SPAWN = multiprocessing.get_context("spawn")
SCHEMA = pa.schema([("event_id", pa.int64()), ("price", pa.int32())])


@pytest.fixture
def store(tmp_path: Path) -> SubscriptionStore:
    store = SubscriptionStore.create(tmp_path / "store", SCHEMA)
    wheres = ["price < 3", "price >= 2"]
    store.upsert(pa.table({"subscription_id": ["low", "high"], "where": wheres}))
    return store


def events(keys: list[int | None], prices: list[int] | None = None) -> pa.RecordBatch:
    return pa.record_batch([keys, prices or list(range(len(keys)))], SCHEMA)


def run(operator: MatchOperator, *batches: pa.RecordBatch) -> set[tuple[int, str]]:
    rows = [row for found in operator(iter(batches)) for row in found.to_pylist()]
    pairs = [(row["event_id"], row["subscription_id"]) for row in rows]
    assert len(pairs) == len(set(pairs)), "a match came out twice"
    return set(pairs)


def follow(store: SubscriptionStore) -> MatchOperator:
    return MatchOperator(str(store.path), "event_id", ("event_id", "price"), None)


def pinned(store: SubscriptionStore) -> MatchOperator:
    return replace(follow(store), version=store.version)


# ------------------------------------------------------------------------------- the operator


def test_matches_carry_the_key_and_the_id(store: SubscriptionStore):
    found = run(follow(store), events([10, 11, 12, 13]))
    assert found == {(10, "low"), (11, "low"), (12, "low"), (12, "high"), (13, "high")}


def test_columns_are_known_by_their_place_whatever_spark_calls_them(store: SubscriptionStore):
    batch = events([10, 11], [0, 9]).rename_columns(["c0", "c1"])
    assert run(follow(store), batch) == {(10, "low"), (11, "high")}


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_matches_do_not_depend_on_the_batches(store: SubscriptionStore, size: int):
    whole = events(list(range(100)), [n % 5 for n in range(100)])
    batches = [whole.slice(start, size) for start in range(0, 100, size)]
    assert run(follow(store), *batches) == run(follow(store), whole)


def test_no_events_no_matches(store: SubscriptionStore):
    assert run(follow(store)) == set()
    assert run(follow(store), events([])) == set()


def test_a_null_key_is_refused(store: SubscriptionStore):
    with pytest.raises(EventError, match="'event_id' is null in 2 of the events"):
        run(follow(store), events([1, None, 2, None]))


def test_a_key_that_occurs_twice_is_refused_even_in_batches_apart(store: SubscriptionStore):
    batches = [events([1, 2]), events([3, 2]), events([1])]
    with pytest.raises(EventError, match=r"occur more than once, such as 1 \(2 in"):
        run(follow(store), *batches)


def test_a_key_that_occurs_twice_is_refused_though_no_subscription_matches(tmp_path: Path):
    store = SubscriptionStore.create(tmp_path / "empty", SCHEMA)
    with pytest.raises(EventError, match="occur more than once"):
        run(follow(store), events([1, 1]))


@pytest.mark.parametrize(
    "keys",
    [
        pa.array(["a", "b", "c"]),
        pa.array([1, 2, 3], pa.date32()),
        pa.array([1, 2, 3], pa.timestamp("us", "UTC")),
        pa.array(["1.5", "2.5", "3.5"]).cast(pa.decimal128(5, 2)),
        pa.array([b"a", b"b", b"c"]),
    ],
    ids=lambda keys: str(keys.type),
)
def test_keys_may_be_of_any_scalar_type(store: SubscriptionStore, keys: pa.Array):
    batch = pa.record_batch({"event_id": keys, "price": pa.array([0, 1, 5], pa.int32())})
    found = pa.Table.from_batches(list(follow(store)(iter([batch]))))
    assert found["event_id"].type == keys.type
    assert sorted(map(str, found["event_id"].to_pylist())) == sorted(map(str, keys.to_pylist()))
    repeated = pa.concat_batches([batch, batch.slice(1, 1)])
    with pytest.raises(EventError, match="'event_id' has values that occur more than once"):
        list(follow(store)(iter([repeated])))


# ----------------------------------------------------------------------------------- versions


def test_an_operator_without_a_version_follows_the_store_task_by_task(store: SubscriptionStore):
    operator = follow(store)
    assert run(operator, events([1], [9])) == {(1, "high")}
    store.upsert(pa.table({"subscription_id": ["nine"], "where": ["price = 9"]}))
    assert run(operator, events([1], [9])) == {(1, "high"), (1, "nine")}
    store.remove(["high"])
    assert run(operator, events([1], [9])) == {(1, "nine")}


def test_an_operator_with_a_version_stays_with_it(store: SubscriptionStore):
    operator = pinned(store)
    store.remove(["high"])
    store.upsert(pa.table({"subscription_id": ["nine"], "where": ["price = 9"]}))
    assert run(operator, events([1], [9])) == {(1, "high")}
    assert run(follow(store), events([1], [9])) == {(1, "nine")}
    assert run(operator, events([1], [9])) == {(1, "high")}


def test_one_task_sees_one_version(store: SubscriptionStore):
    def batches() -> Iterator[pa.RecordBatch]:
        yield events(list(range(ROWS_AT_A_TIME)), [9] * ROWS_AT_A_TIME)
        store.remove(["high"])
        yield events([-1], [9])

    found = [batch.num_rows for batch in follow(store)(batches())]
    assert sum(found) == ROWS_AT_A_TIME + 1


def test_a_process_loads_a_version_once(store: SubscriptionStore):
    run(follow(store), events([1]))
    loaded = dict(worker.store_reader(str(store.path))._segments)
    for key in range(5):
        run(pickle.loads(pickle.dumps(follow(store))), events([key]))
    again = worker.store_reader(str(store.path))._segments
    assert len(loaded) == 1
    assert all(again[name] is matcher for name, matcher in loaded.items())


def mapped_paths() -> str:
    return Path("/proc/self/maps").read_text()


def test_a_process_lets_go_of_a_store_that_was_deleted(store: SubscriptionStore, tmp_path: Path):
    run(follow(store), events([1]))
    assert str(store.path / "segments") in mapped_paths()
    other = SubscriptionStore.create(tmp_path / "other", SCHEMA)
    shutil.rmtree(store.path)
    run(follow(other), events([1]))
    assert str(store.path / "segments") not in mapped_paths()


def test_a_process_keeps_only_the_stores_that_it_read_last(tmp_path: Path):
    stores = [
        SubscriptionStore.create(tmp_path / f"store-{number}", SCHEMA)
        for number in range(worker.KEPT_STORES + 3)
    ]
    for store in stores:
        run(follow(stores[0]), events([1]))
        run(follow(store), events([1]))
    kept = set(worker._stores)
    assert len(kept) == worker.KEPT_STORES
    assert {str(stores[0].path), str(stores[-1].path)} <= kept
    assert str(stores[1].path) not in kept


# ------------------------------------------------------------------------------ joined batches


@dataclass
class MeasuredBatch:
    """A batch that counts how often it is asked for its size."""

    num_rows: int
    asked: int = 0

    @property
    def nbytes(self) -> int:
        self.asked += 1
        return 8 * self.num_rows


def test_joined_batches_hold_the_same_rows_in_the_same_order():
    sizes = [1, 0, 5, ROWS_AT_A_TIME - 6, 2 * ROWS_AT_A_TIME, 3, ROWS_AT_A_TIME // 2]
    ends = np.cumsum([0, *sizes])
    batches = [events(list(range(a, b))) for a, b in pairwise(ends)]
    out = list(joined(iter(batches)))
    assert pa.Table.from_batches(out).equals(pa.Table.from_batches(batches))
    assert [batch.num_rows for batch in out][:2] == [ROWS_AT_A_TIME, 2 * ROWS_AT_A_TIME]


def test_wide_rows_are_joined_up_to_a_number_of_bytes():
    wide = pa.record_batch({"text": ["x" * (BYTES_AT_A_TIME // 4)]})
    assert [batch.num_rows for batch in joined(iter([wide] * 6))] == [4, 2]


def test_joining_measures_a_batch_once_however_small_batches_are():
    batches = [MeasuredBatch(1) for _ in range(50)]
    full = MeasuredBatch(ROWS_AT_A_TIME)
    with pytest.raises(TypeError):  # the batches are none, so joining them fails in the end
        next(joined(cast("Iterator[pa.RecordBatch]", iter([*batches, full]))))
    assert max(batch.asked for batch in batches) == 1


# ----------------------------------------------------------- nothing large travels or is copied


@pytest.fixture(scope="module")
def large_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved matcher of 50,000 subscriptions."""
    folder = tmp_path_factory.mktemp("large")
    Matcher.compile(zipf_subscriptions(50_000, seed=1), ZIPF_SCHEMA).save(folder)
    return folder


def test_the_operator_is_small_however_many_subscriptions_there_are(tmp_path: Path):
    store = SubscriptionStore.create(tmp_path / "store", ZIPF_SCHEMA)
    store.upsert(zipf_subscriptions(5_000, seed=1))
    operator = replace(pinned(store), columns=tuple(ZIPF_SCHEMA.names))
    batch = zipf_events(100, seed=2).combine_chunks().to_batches()[0]
    assert run(operator, batch), "it must have an index to hold"
    assert len(cloudpickle.dumps(operator)) < 2_000


@dataclass(frozen=True)
class Mapped:
    """Bytes of the files below a folder that a process has mapped and touched."""

    resident: int
    shared_fairly: int
    private: int


def mapped_files(folder: Path) -> Mapped:
    """Sums Rss, Pss and the private parts over the process's maps of the folder's files."""
    sums, ours = dict.fromkeys(("Rss", "Pss", "Private_Clean", "Private_Dirty"), 0), False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        value = re.match(r"(\w+): +(\d+) kB", line)
        if value is None:
            ours = str(folder) in line if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line) else ours
        elif ours and value[1] in sums:
            sums[value[1]] += 1024 * int(value[2])
    private = sums["Private_Clean"] + sums["Private_Dirty"]
    return Mapped(sums["Rss"], sums["Pss"], private)


meeting: dict[str, Barrier] = {}


def meet_at(barrier: Barrier) -> None:
    meeting["both"] = barrier


def load_and_match(folder: Path) -> tuple[int, Mapped]:
    """Matches found, and what is mapped when both processes have touched it."""
    matcher = Matcher.load(folder)
    batch = zipf_events(10_000, seed=2).combine_chunks().to_batches()[0]
    found = len(matcher.match(batch).rows)
    meeting["both"].wait(timeout=120)
    mapped = mapped_files(folder)
    meeting["both"].wait(timeout=120)
    return found, mapped


def test_two_processes_share_one_copy_of_the_index(large_index: Path):
    on_disk = sum(file.stat().st_size for file in large_index.glob("*.npy"))
    barrier = SPAWN.Barrier(2)
    with ProcessPoolExecutor(2, mp_context=SPAWN, initializer=meet_at, initargs=(barrier,)) as pool:
        answers = list(pool.map(load_and_match, [large_index] * 2))
    assert answers[0][0] == answers[1][0] > 25_000
    for _, mapped in answers:
        assert mapped.resident > 0.7 * on_disk, "the index was copied, not mapped"
        # The system maps some neighbours of a page that is read, not the same ones in each process.
        assert mapped.private < 0.1 * mapped.resident
        assert mapped.shared_fairly < 0.6 * mapped.resident, "each process should bear half"
