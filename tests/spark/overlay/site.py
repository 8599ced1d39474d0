"""A site of four brokers, its events, and what one match of everything finds in them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import caddis
from caddis.matching import Matcher
from caddis.models import Asker, Catalogue, Model, Statistics
from caddis.ordering import Executor
from caddis.spark.base.failures import spark_failures
from caddis.spark.overlay.batch_broker import BrokerSettings, EventSettings
from caddis.spark.overlay.folder import OverlayFolder
from caddis.spark.overlay.running import RunningOverlay

# Names that mean something to Spark, or to the records on a link.
SCHEMA = pa.schema(
    [
        ("event_id", pa.int64()),
        ("city", pa.string()),
        ("title", pa.string()),
        ("source", pa.decimal128(10, 2)),
        ("known.at", pa.timestamp("us", "UTC")),
        ("tags", pa.list_(pa.string())),
    ]
)
CITIES = ("Galway", "Cork", "Sligo")
TITLES = ("red boat", "blue boat", "red car", "", None)
SUBSCRIPTIONS = {
    "galway": {"ann": "boat(title) AND city = 'Galway'", "bo": "city = 'Sligo'"},
    "dublin": {"cy": "red(title) AND boat(title)", "dee": "source < 3 OR NOT red(title)"},
    "cork": {"eve": "red(title)", "fay": "array_contains(tags, 'x') AND boat(title)"},
    "kerry": {"guy": "NOT boat(title) AND `known.at` > '2026-01-01 00:30:00'"},
}

Pairs = set[tuple[int, str]]
Event = dict[str, Any]


def models() -> list[Model]:
    """Made in a function, so that they travel to the workers by value."""

    @caddis.concept(reads="title", cost=2.0)
    def boat(title):
        return "boat" in title

    @caddis.concept(reads="title", cost=3.0)
    def red(title):
        return "red" in title

    return [boat, red]


MODELS = models()


def event(number: int) -> Event:
    return {
        "event_id": number,
        "city": CITIES[number % 3],
        "title": TITLES[number % 5],
        "source": Decimal(number % 7),
        "known.at": datetime(2026, 1, 1, number % 24, tzinfo=UTC),
        "tags": ["x", "y"] if number % 2 else None,
    }


def central(events: Sequence[Event], wheres: Mapping[str, str]) -> Pairs:
    """What one match of everything finds."""
    table = pa.table({"subscription_id": list(wheres), "where": list(wheres.values())})
    catalogue = Catalogue(MODELS)
    matcher = Matcher.compile(table, SCHEMA, concepts=catalogue.vocabulary)
    asker = Asker(cache=None, clock=time.perf_counter)
    executor = Executor([matcher], catalogue, statistics=Statistics(), asker=asker)
    found = executor.match(pa.RecordBatch.from_pylist(list(events), SCHEMA))
    ids = list(wheres)
    return {
        (int(events[row]["event_id"]), ids[link])
        for row, link in zip(found.rows.tolist(), found.links.tolist(), strict=True)
    }


def notified(folder: Path) -> Pairs:
    """The notifications that subscribers find; none may be there twice."""
    rows = [
        (row["event_id"], row["subscription_id"])
        for broker in (folder / "notifications").glob("*")
        for row in ds.dataset(broker).to_table().to_pylist()
    ]
    assert len(rows) == len(set(rows)), "someone was notified twice"
    return set(rows)


class Site:
    """An overlay of four brokers; events are published at both ends of its tree.

    names: may be set to those of fewer brokers, which are quicker.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names = tuple(SUBSCRIPTIONS)
        self.folder = OverlayFolder(root / "run")
        self.published: list[Event] = []
        for name in ("galway", "kerry"):
            (root / name).mkdir()

    def brokers(self) -> list[BrokerSettings]:
        """Those of `names`, each linked with its neighbours among them."""
        return [
            replace(one, neighbours=tuple(name for name in one.neighbours if name in self.names))
            for one in self._all()
            if one.name in self.names
        ]

    @property
    def wheres(self) -> dict[str, str]:
        """The WHERE texts at all brokers, by id."""
        return {one: where for name in self.names for one, where in SUBSCRIPTIONS[name].items()}

    def _all(self) -> list[BrokerSettings]:
        return [
            BrokerSettings("galway", ("dublin",), SUBSCRIPTIONS["galway"], self.root / "galway"),
            BrokerSettings("dublin", ("galway", "cork", "kerry"), SUBSCRIPTIONS["dublin"]),
            BrokerSettings("cork", ("dublin",), SUBSCRIPTIONS["cork"]),
            BrokerSettings(
                "kerry",
                ("dublin",),
                SUBSCRIPTIONS["kerry"],
                self.root / "kerry",
                "parquet",
                "city <> 'Cork'",
            ),
        ]

    def publish(self, at: str, numbers: range) -> None:
        """Let a file of events appear whole, as every publisher should."""
        events = [event(number) for number in numbers]
        self.published += [one for one in events if at == "galway" or one["city"] != "Cork"]
        file = self.root / at / f".{numbers.start}.parquet"
        pq.write_table(pa.Table.from_pylist(events, SCHEMA), file)
        file.rename(file.with_name(file.name[1:]))

    @contextmanager
    def running(self, **settings: Any) -> Iterator[RunningOverlay]:
        events = EventSettings(SCHEMA, MODELS, **settings)
        with RunningOverlay(self.brokers(), events, self.folder) as overlay:
            assert overlay.settle()
            yield overlay

    def run(self, spark: SparkSession, **settings: Any) -> None:
        with self.running(**settings) as overlay, spark_failures():
            for _ in overlay.until_quiet(spark):
                pass
