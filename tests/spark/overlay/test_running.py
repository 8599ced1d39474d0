"""Brokers as streaming queries: what one match finds, each notification once, whatever happens.

The brokers share the tests' session and are broken off at precise moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import caddis
from caddis.errors import EventError, OverlayError
from caddis.overlay.messages import Subscribe, Unsubscribe
from caddis.spark.overlay.batch_broker import BrokerSettings, EventSettings
from caddis.spark.overlay.batches import BatchFolder
from caddis.spark.overlay.control import to_record
from caddis.spark.overlay.running import RunningOverlay
from caddis.spark.overlay.transport import FolderStream
from tests.runs import times
from tests.spark.overlay.site import MODELS, SCHEMA, Site, central, event, notified


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_notifications_are_those_of_one_match_while_subscriptions_come_and_go(
    spark: SparkSession, site: Site
):
    site.publish("galway", range(30))
    site.publish("kerry", range(30, 60))
    with site.running() as overlay:
        reports = list(overlay.until_quiet(spark))[-1]
        first = central(site.published, site.wheres)
        assert notified(site.folder.root) == first
        counts = {report.name: report.totals for report in reports}
        assert (counts["kerry"].published, counts["kerry"].refused) == (30, 10)
        assert sum(one.notified for one in counts.values()) == len(first)
        assert sum(one.forwarded for one in counts.values()) == sum(
            one.received for one in counts.values()
        )
        refused = pq.read_table(site.folder.root / "refused" / "kerry")
        assert set(refused["city"].to_pylist()) == {"Cork"}

        site.folder.clients("cork").append(
            [to_record(Subscribe("new", "city = 'Cork'")), to_record(Unsubscribe("eve"))]
        )
        overlay.settle()
        before = len(site.published)
        site.publish("galway", range(60, 80))
        list(overlay.until_quiet(spark))
        now = {**site.wheres, "new": "city = 'Cork'"}
        del now["eve"]
        second = central(site.published[before:], now)
        assert notified(site.folder.root) == first | second
    with site.running(policy="air") as overlay:
        site.publish("kerry", range(80, 95))
        list(overlay.until_quiet(spark))
    assert notified(site.folder.root) == first | central(site.published[before:], now)
    links = list((site.folder.root / "links").rglob("*.parquet"))
    assert len(links) < 12, "what was taken in is deleted"


class BrokenOff(Exception):
    """Stands for the end of a process."""


@contextmanager
def broken(owner: type, method: str, when: Callable[[int], bool], after: bool) -> Iterator[None]:
    """A method that ends everything at one of its calls, before or after its work."""
    whole = getattr(owner, method)
    calls = iter(range(1_000_000))

    def breaking(self: object, *given: object) -> object:
        if not when(next(calls)):
            return whole(self, *given)
        if after:
            whole(self, *given)
        raise BrokenOff

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, method, breaking)
        yield


@pytest.mark.parametrize(
    ("owner", "method", "after", "calls"),
    [
        (BatchFolder, "commit", False, [1]),  # staged, and not committed
        (BatchFolder, "commit", True, [0, 2][: times(1, 2)]),  # committed, and nothing sent
        (FolderStream, "publish", True, [1]),  # some of it sent
    ],
)
def test_brokers_broken_off_go_on_as_if_nothing_had_been(
    spark: SparkSession, site: Site, owner: type, method: str, after: bool, calls: list[int]
):
    site.names = ("galway", "dublin")
    for number, call in enumerate(calls):
        site.publish("galway", range(20 * number, 20 * number + 20))
        with (
            pytest.raises(BrokenOff),
            broken(owner, method, lambda nth, call=call: nth >= call, after),  # type: ignore[misc]
        ):
            site.run(spark)
        site.run(spark)
        assert notified(site.folder.root) == central(site.published, site.wheres)
    assert not list(site.root.rglob(".staging-*"))


def test_events_that_cannot_be_used_stop_their_broker_and_are_named(
    spark: SparkSession, site: Site
):
    twice = pa.Table.from_pylist([event(1), event(1)], SCHEMA)
    pq.write_table(twice, site.root / "galway" / "bad.parquet")
    with pytest.raises(EventError, match="'event_id' has values that occur more than once"):
        site.run(spark)
    (site.root / "galway" / "bad.parquet").unlink()


def test_a_broker_without_its_checkpoint_is_refused(spark: SparkSession, site: Site):
    site.publish("galway", range(3))
    with RunningOverlay(
        [replace(site.brokers()[0], neighbours=())], EventSettings(SCHEMA, MODELS), site.folder
    ) as overlay:
        list(overlay.until_quiet(spark))
    checkpoint = site.folder.broker("galway") / "checkpoint"
    checkpoint.rename(checkpoint.with_name("moved"))
    with pytest.raises(OverlayError, match=r"checkpoint .* is gone"), site.running():
        pass


@pytest.mark.parametrize("after", [False, True])
def test_what_models_fail_on_is_listed_once(spark: SparkSession, site: Site, after: bool):
    @caddis.concept(reads="title", version="1")
    def puzzling(title):
        raise LookupError("nobody knows")

    def run() -> int:
        alone = BrokerSettings("galway", (), {"ann": "puzzling(title)"}, site.root / "galway")
        with RunningOverlay([alone], EventSettings(SCHEMA, [puzzling]), site.folder) as overlay:
            return list(overlay.until_quiet(spark))[-1][0].problems

    site.publish("galway", range(10))
    with pytest.raises(BrokenOff), broken(BatchFolder, "commit", lambda _: True, after):
        run()
    failed = [one["event_id"] for one in site.published if one["title"] is not None]
    assert run() == len(failed)
    listed = ds.dataset(site.folder.root / "problems" / "galway").to_table()
    assert sorted(listed["event"].to_pylist()) == failed


def test_a_broker_may_begin_and_cease_to_publish(spark: SparkSession, site: Site, monkeypatch):
    site.names = ("galway", "dublin")
    galway, quiet = site.brokers()
    publishing = replace(quiet, publishes=site.root / "kerry", advertises="city <> 'Cork'")
    for number, dublin in enumerate((quiet, publishing, quiet)):
        monkeypatch.setattr(site, "brokers", lambda dublin=dublin: [galway, dublin])
        site.publish("galway", range(number * 20, number * 20 + 10))
        if dublin is publishing:
            site.publish("kerry", range(number * 20 + 10, number * 20 + 20))
        site.run(spark)
        assert notified(site.folder.root) == central(site.published, site.wheres)
