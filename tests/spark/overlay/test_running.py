"""Brokers as streaming queries: what one match finds, each notification once, whatever happens.

Brokers that share the tests' session are broken off at precise moments; brokers in processes of
their own are killed with -9 while they work, and started again.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

import caddis
from caddis.cli.app import app
from caddis.errors import EventError, OverlayError
from caddis.matching import Matcher
from caddis.models import Asker, Catalogue, Model, Statistics
from caddis.ordering import Executor
from caddis.overlay.messages import Subscribe, Unsubscribe
from caddis.spark.base.failures import spark_failures
from caddis.spark.overlay.batch_broker import BrokerSettings, EventSettings
from caddis.spark.overlay.batches import BatchFolder
from caddis.spark.overlay.control import to_record
from caddis.spark.overlay.folder import OverlayFolder
from caddis.spark.overlay.running import RunningOverlay
from caddis.spark.overlay.transport import FolderStream
from tests.spark.program import quickly

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
WISHES = {
    "galway": {"ann": "boat(title) AND city = 'Galway'", "bo": "city = 'Sligo'"},
    "dublin": {"cy": "red(title) AND boat(title)", "dee": "source < 3 OR NOT red(title)"},
    "cork": {"eve": "red(title)", "fay": "array_contains(tags, 'x') AND boat(title)"},
    "kerry": {"guy": "NOT boat(title) AND `known.at` > '2026-01-01 00:30:00'"},
}

PAGE = Path(__file__).parents[3] / "docs" / "overlay.md"

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
    """One match of everything."""
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


def all_wishes() -> dict[str, str]:
    return {one: where for some in WISHES.values() for one, where in some.items()}


def notified(folder: Path) -> Pairs:
    """What subscribers find, each once."""
    rows = [
        (row["event_id"], row["subscription_id"])
        for broker in (folder / "notifications").glob("*")
        for row in ds.dataset(broker).to_table().to_pylist()
    ]
    assert len(rows) == len(set(rows)), "someone was notified twice"
    return set(rows)


class Site:
    """An overlay of four brokers; events are published at both ends of its tree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = OverlayFolder(root / "run")
        self.published: list[Event] = []
        for name in ("galway", "kerry"):
            (root / name).mkdir()

    def brokers(self) -> list[BrokerSettings]:
        return [
            BrokerSettings("galway", ("dublin",), WISHES["galway"], self.root / "galway"),
            BrokerSettings("dublin", ("galway", "cork", "kerry"), WISHES["dublin"]),
            BrokerSettings("cork", ("dublin",), WISHES["cork"]),
            BrokerSettings(
                "kerry",
                ("dublin",),
                WISHES["kerry"],
                self.root / "kerry",
                "parquet",
                "city <> 'Cork'",
            ),
        ]

    def publish(self, at: str, numbers: range) -> None:
        """A file appears whole, as everyone should let it."""
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


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_notifications_are_those_of_one_match_while_wishes_come_and_go(
    spark: SparkSession, site: Site
):
    site.publish("galway", range(30))
    site.publish("kerry", range(30, 60))
    with site.running() as overlay:
        reports = list(overlay.until_quiet(spark))[-1]
        first = central(site.published, all_wishes())
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
        now = {**all_wishes(), "new": "city = 'Cork'"}
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
        (BatchFolder, "commit", True, [0, 2]),  # committed, and nothing sent
        (FolderStream, "publish", True, [1]),  # some of it sent
    ],
)
def test_brokers_broken_off_go_on_as_if_nothing_had_been(
    spark: SparkSession, site: Site, owner: type, method: str, after: bool, calls: list[int]
):
    for begin, call in zip((0, 40), calls, strict=False):
        site.publish("galway", range(begin, begin + 20))
        site.publish("kerry", range(begin + 20, begin + 40))
        with (
            pytest.raises(BrokenOff),
            broken(owner, method, lambda nth, call=call: nth >= call, after),  # type: ignore[misc]
        ):
            site.run(spark)
        site.run(spark)
        assert notified(site.folder.root) == central(site.published, all_wishes())
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
    whole = site.brokers()
    quiet = [replace(one, publishes=None) if one.name == "kerry" else one for one in whole]
    for number, brokers in enumerate((quiet, whole, quiet, whole)):
        monkeypatch.setattr(site, "brokers", lambda brokers=brokers: brokers)
        site.publish("galway", range(number * 20, number * 20 + 10))
        if brokers is whole:
            site.publish("kerry", range(number * 20 + 10, number * 20 + 20))
        site.run(spark)
        assert notified(site.folder.root) == central(site.published, all_wishes())


# ---------------------------------------------------------------- processes that are killed

OVERLAY = """
schema: "event_id BIGINT, city STRING, title STRING"
models: ["models.py"]
brokers:
  galway: {subscriptions: galway.csv, publishes: galway}
  dublin: {joins: galway, subscriptions: dublin.csv, publishes: dublin}
"""
FARTHER = """
  cork: {joins: dublin, subscriptions: cork.csv}
"""
SLOW_MODELS = """
import time
import caddis

@caddis.concept(reads="title", cost=2.0)
def boat(title):
    time.sleep(0.01)
    return "boat" in title

@caddis.concept(reads="title", cost=3.0)
def red(title):
    time.sleep(0.01)
    return "red" in title
"""
PLAIN_WISHES = {
    "galway": {"ann": "boat(title) AND city = 'Galway'", "bo": "city = 'Sligo'"},
    "dublin": {"cy": "red(title) AND boat(title)", "dee": "NOT red(title)"},
    "cork": {"eve": "red(title)", "fay": "city = 'Cork' AND boat(title)"},
}
STARTING = [sys.executable, "-c", "from caddis.cli import main; main()"]


class Processes:
    """Brokers, each in a process of its own, that are killed and started again."""

    def __init__(self, root: Path, names: Sequence[str]) -> None:
        self.root = root
        self.wishes = {name: PLAIN_WISHES[name] for name in names}
        self.run = root / "overlay.run"
        self.number = 0
        self.kills: list[str] = []
        self.alive: dict[str, subprocess.Popen[bytes]] = {}
        (root / "overlay.yaml").write_text(OVERLAY + (FARTHER if "cork" in names else ""))
        (root / "models.py").write_text(SLOW_MODELS)
        for name, wishes in self.wishes.items():
            rows = [f'{one},"{where}"' for one, where in wishes.items()]
            (root / f"{name}.csv").write_text("\n".join(["subscription_id,where", *rows]))
        for name in ("galway", "dublin"):
            (root / name).mkdir()

    def start(self, name: str) -> None:
        words = ["overlay", "broker", name, "overlay.yaml", "--master", "local[1]"]
        words += ["--format", "jsonl"]
        log = (self.root / f"{name}.log").open("ab")
        self.alive[name] = subprocess.Popen(
            [*STARTING, *words], cwd=self.root, env=quickly(), stdout=log, stderr=log
        )
        log.close()

    def publish(self, files: int = 1) -> None:
        """Some more events at both publishers."""
        for _ in range(files):
            at = ("galway", "dublin")[self.number % 2]
            lines = []
            for key in range(self.number * 10, self.number * 10 + 10):
                one = event(key)
                lines.append(json.dumps({n: one[n] for n in ("event_id", "city", "title")}))
            file = self.root / at / f".{self.number}.jsonl"
            file.write_text("\n".join(lines))
            file.rename(file.with_name(file.name[1:]))
            self.number += 1

    def expected(self) -> Pairs:
        wheres = {one: where for some in self.wishes.values() for one, where in some.items()}
        return central([event(key) for key in range(self.number * 10)], wheres)

    def kill(self, name: str) -> None:
        self.alive[name].kill()
        self.alive[name].wait()
        self.kills.append(f"{name} {self.state(name)}")
        self.start(name)

    def state(self, name: str) -> str:
        """Where a broker was cut off, as its folder tells."""
        home = self.run / "brokers" / name
        if list((home / "out").glob(".staging-*")):
            return "staged"
        batches = sorted(one.name for one in (home / "out").glob("0*"))
        done = sorted(int(one.name) for one in (home / "checkpoint" / "commits").glob("[0-9]*"))
        if batches and (not done or int(batches[-1]) > done[-1]):
            return "committed"
        begun = sorted(int(one.name) for one in (home / "checkpoint" / "offsets").glob("[0-9]*"))
        return "begun" if begun[-1:] != done[-1:] else "idle"

    def wait_until(
        self, there: Callable[[], bool], seconds: float = 180, every: float = 0.01
    ) -> None:
        end = time.monotonic() + seconds
        while not there():
            assert time.monotonic() < end, self.story()
            for name, process in self.alive.items():
                assert process.poll() is None, (name, self.story())
            time.sleep(every)

    def wait_for_all(self) -> None:
        """Until everybody is notified; then a while longer, in case someone is told again."""
        wanted = self.expected()
        self.wait_until(lambda: notified(self.run) >= wanted, every=0.2)
        time.sleep(1.0)
        assert notified(self.run) == wanted

    def story(self) -> str:
        logs = [(self.root / f"{name}.log").read_text()[-2000:] for name in self.alive]
        return "\n".join([str(self.kills), *logs])

    def end(self) -> None:
        for process in self.alive.values():
            process.send_signal(signal.SIGTERM)
        assert [process.wait(60) for process in self.alive.values()] == [143] * len(self.alive)


@contextmanager
def processes(root: Path, names: Sequence[str]) -> Iterator[Processes]:
    brokers = Processes(root, names)
    try:
        for name in names:
            brokers.start(name)
        yield brokers
        brokers.end()
    finally:
        for process in brokers.alive.values():
            process.kill()


@pytest.mark.spark
def test_brokers_killed_while_they_work_lose_and_double_nothing(tmp_path: Path):
    with processes(tmp_path, ["galway", "dublin"]) as brokers:
        brokers.publish(4)
        for name in ("galway", "dublin"):
            brokers.wait_until(lambda name=name: brokers.state(name) == "staged")  # type: ignore[misc]
            brokers.kill(name)
        brokers.publish(4)
        brokers.wait_for_all()
        assert [kill.split()[1] for kill in brokers.kills] == ["staged", "staged"]


# ---------------------------------------------------------------- as a user runs it


@pytest.fixture
def command(spark: SparkSession) -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(app, list(words))


def test_the_commands_of_the_page_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    for name, text in re.findall(
        r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```", page, re.MULTILINE | re.DOTALL
    ):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    said = []
    for block in re.findall(r"^```bash\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line)[1:]
            endless = words[1] in ("run", "broker") and "--once" not in words
            result = command(*words, *(["--once"] if endless else []))
            assert result.exit_code == 0, (line, result.output)
            said.append(result.stdout)
    assert re.search(r"Models ran [\d,]+ times.*are spared", said[0], re.DOTALL)
    assert "└── 4 ms ── dublin  2 subscriptions" in said[1]
    assert re.search(r"galway +3 +0 +2 +1 +1 +1", said[2])
    assert notified(Path("overlay.run")) == {(1, "ann"), (1, "cy"), (3, "bo"), (3, "cy")}


def test_a_mistake_in_the_events_is_one_sentence(command, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bad.jsonl").write_text('{"event_id": 1}\n{"event_id":')
    schema = 'schema: "event_id BIGINT"\nbrokers:\n  one: {publishes: in}\n'
    (tmp_path / "o.yaml").write_text(schema)
    result = command("overlay", "run", str(tmp_path / "o.yaml"), "--once", "--json")
    assert result.exit_code == 1
    assert "bad.jsonl, line 2 is not JSON" in json.loads(result.stdout)["error"]["message"]
    (tmp_path / "in" / "bad.jsonl").write_text('{"event_id": null}\n')
    result = command("overlay", "run", str(tmp_path / "o.yaml"), "--once")
    assert "'event_id' is null in 1 of the events" in result.stderr
    (tmp_path / "in" / "bad.jsonl").write_text('{"event_id": 7}\n')
    result = command("overlay", "run", str(tmp_path / "o.yaml"), "--once", "--json")
    assert json.loads(result.stdout)["published"] == 1
