"""What a worker does with sealed events, task by task, and stores of sealed subscriptions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from caddis import SubscriptionStore
from caddis.errors import EventError, ModelError, SubscriptionTableError
from caddis.models import concept
from caddis.sealed.clauses.subscriptions import as_text
from caddis.sealed.design import StreamDesign
from caddis.spark.base.folders import VersionFolder
from caddis.spark.matching.reporting import ReportFolder
from caddis.spark.matching.reports import Report
from caddis.spark.matching.worker import MatchOperator
from caddis.spark.sealed.reader import Sealed
from tests.sealed.homes import (
    EVENTS,
    SCHEMA,
    WHERES,
    Homes,
    Pairs,
    changed,
    homes,
    plainly,
    sealed_events,
    sealed_wheres,
)
from tests.sealed.sealed_workloads import Parties, subscriptions


@pytest.fixture
def store(tmp_path: Path) -> SubscriptionStore:
    return SubscriptionStore.create(tmp_path / "store", sealed=True)


def operator(store: SubscriptionStore, *, checked: bool, reported: bool = True) -> MatchOperator:
    """The operator that `match_sealed` ships."""
    folder = store.path / "report"
    folder.mkdir(exist_ok=True)
    homes().directory.write(folder / "publishers.json")
    publishers = str(folder / "publishers.json") if checked else None
    sealed = Sealed(str(folder) if reported else None, publishers, homes().directory.fingerprint)
    columns = tuple(sealed_events().schema.names)
    return MatchOperator(str(store.path), "event_id", columns, None, sealed)


def ran(task: MatchOperator, *batches: pa.RecordBatch) -> Pairs:
    found = pa.Table.from_batches(
        task(iter(batches)),
        pa.schema([("event_id", pa.int64()), ("subscription_id", pa.int64())]),
    )
    return set(zip(*found.to_pydict().values(), strict=True))


def refusals(store: SubscriptionStore) -> dict[str, int]:
    report = Report()
    report.begin(ReportFolder(store.path / "report"))
    return report.refusals


# ---------------------------------------------------------------------------------------- tasks


def test_a_task_that_runs_again_refuses_nothing(store: SubscriptionStore):
    store.upsert(homes().seal(["TRUE"]))
    task = operator(store, checked=True)
    everything = {(row, 0) for row in range(len(EVENTS))}
    assert ran(task, sealed_events()) == ran(task, sealed_events()) == everything
    assert refusals(store) == {}


def test_an_event_that_comes_twice_in_a_task_is_refused_once(store: SubscriptionStore):
    store.upsert(homes().seal(["TRUE"]))
    twice = sealed_events(), sealed_events().slice(0, 1)
    assert len(ran(operator(store, checked=True), *twice)) == len(EVENTS)
    assert refusals(store) == {"ReplayedEvent": 1}


def test_a_refused_event_is_counted_once_however_many_segments_there_are(store: SubscriptionStore):
    for where in ("TRUE", "city = 'Cork'"):
        store.upsert(homes().seal([where] * 9).slice(0, 9))
    store.upsert(homes().seal(["TRUE"]))
    bad = changed(sealed_events(), 1, "tokens", b"1")
    found = ran(operator(store, checked=False), bad)
    assert {row for row, _ in found} == set(range(len(EVENTS))) - {1}
    assert refusals(store) == {"TruncatedEvent": 1}


def test_an_event_without_an_id_is_refused_and_stops_nobody(store: SubscriptionStore):
    store.upsert(homes().seal(["TRUE"]))
    nameless = changed(sealed_events(), 3, "event_id", None)
    found = ran(operator(store, checked=False), nameless)
    assert {row for row, _ in found} == {0, 1, 2, 4, 5}
    assert refusals(store) == {"TruncatedEvent": 1}


def test_without_a_report_a_worker_warns(store: SubscriptionStore):
    store.upsert(homes().seal(["TRUE"]))
    task = operator(store, checked=False, reported=False)
    with pytest.warns(UserWarning, match="were refused, such as 1 .TruncatedEvent: its point has"):
        ran(task, changed(sealed_events(), 1, "point", b""))


def test_a_report_that_no_match_was_given_is_empty():
    report = Report()
    assert (report.events, report.tests, report.refusals) == (0, 0, {})
    assert report.refused.schema.names == ["event_id", "publisher", "error", "message"]


# --------------------------------------------------------------------------------------- stores


def parts(table: pa.Table) -> Iterator[pa.Table]:
    for number in range(len(table)):
        yield table.slice(number, 1)


def test_a_store_of_sealed_subscriptions_grows_and_shrinks(store: SubscriptionStore):
    for part in parts(sealed_wheres()):
        store.upsert(part)
    store.remove([6])
    reopened = SubscriptionStore.open(store.path)
    assert reopened.sealed
    left = reopened.subscriptions()["subscription_id"].to_pylist()
    assert sorted(left) == [0, 1, 2, 3, 4, 5, 7, 8]
    found = ran(operator(reopened, checked=True), sealed_events())
    wanted = {(row, link) for row, link in plainly(WHERES) if link != 6}
    assert wanted <= found
    assert not [pair for pair in found if pair[1] in (6, 7)]


def of_other_sizes(number: int) -> pa.Table:
    """A subscription of a design that somebody made up."""
    design = StreamDesign.of("homes", SCHEMA, scheme="tokens", padding=4)
    table = Homes("homes", Parties.on([design], Random(9))).seal(["TRUE"])
    return table.set_column(0, "subscription_id", pa.array([number]))


def test_a_subscription_of_made_up_sizes_does_not_stop_those_that_come_later(
    store: SubscriptionStore,
):
    store.upsert(of_other_sizes(99))
    for part in parts(sealed_wheres()):
        store.upsert(part)
    assert len(store) == len(WHERES) + 1
    assert len(VersionFolder(store.path).current().segments) < 5, "the others are merged"
    assert plainly(WHERES) <= ran(operator(store, checked=True), sealed_events())
    assert refusals(store) == {}


def test_a_registry_of_publishers_refuses_what_has_other_sizes(
    store: SubscriptionStore, tmp_path: Path
):
    both = pa.concat_tables([of_other_sizes(99), homes().seal(["TRUE"])])
    invalid = store.upsert(both, on_invalid="skip", publishers=homes().directory)
    assert invalid["subscription_id"].to_pylist() == [99]
    assert store.subscriptions()["subscription_id"].to_pylist() == [0]
    plain = SubscriptionStore.create(tmp_path / "plain", SCHEMA)
    with pytest.raises(SubscriptionTableError, match="only sealed subscriptions are checked"):
        plain.upsert(subscriptions(WHERES), publishers=homes().directory)


def test_texts_are_kept_as_bytes(store: SubscriptionStore):
    wheres = sealed_wheres()["where"].to_pylist()
    texts = pa.table({"subscription_id": [0, 1], "where": [as_text(one) for one in wheres[:2]]})
    store.upsert(texts)
    store.upsert(sealed_wheres().slice(2))
    assert store.subscriptions().sort_by("subscription_id")["where"].to_pylist() == wheres


def test_bad_ones_change_nothing(store: SubscriptionStore):
    wheres = [sealed_wheres()["where"][0].as_py(), b"no", None]
    table = pa.table({"subscription_id": [0, 1, 2], "where": pa.array(wheres, pa.binary())})
    invalid = store.upsert(table, on_invalid="skip")
    assert invalid["subscription_id"].to_pylist() == [1, 2]
    assert len(store) == 1


def test_a_store_has_one_kind_of_subscriptions(store: SubscriptionStore, tmp_path: Path):
    with pytest.raises(SubscriptionTableError, match="are not sealed: seal them first"):
        store.upsert(subscriptions(WHERES))
    plain = SubscriptionStore.create(tmp_path / "plain", SCHEMA)
    with pytest.raises(SubscriptionTableError, match="are sealed: match them with match_sealed"):
        plain.upsert(sealed_wheres())


def test_sealed_events_are_not_for_models(store: SubscriptionStore, tmp_path: Path):
    @concept(reads="stream")
    def known(_: str) -> bool:
        return True

    with pytest.raises(ModelError, match="models cannot read sealed events"):
        SubscriptionStore.create(tmp_path / "other", sealed=True, models=[known])
    with pytest.raises(ModelError, match="models cannot read sealed events"):
        store.allow([known])


def test_a_plain_store_needs_the_events_schema(tmp_path: Path):
    with pytest.raises(EventError, match="a store needs the events' schema"):
        SubscriptionStore.create(tmp_path / "plain")
