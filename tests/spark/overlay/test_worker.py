"""The operator of a broker's micro-batches, called as Spark calls it."""

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import caddis
from caddis.errors import EventError
from caddis.language import Clause, parse_all
from caddis.matching import Matcher
from caddis.models import Catalogue
from caddis.overlay.messages import Advertise, Join, Neighbour, Subscribe, Subscriber
from caddis.overlay.routing.publication_graph import PublicationRoutingGraph
from caddis.overlay.routing.routing import Routing
from caddis.spark.matching.model_folder import ModelFolder
from caddis.spark.overlay import worker
from caddis.spark.overlay.transport import link_schema
from caddis.spark.overlay.worker import GraphFolder, RouteOperator, RouteSettings

SCHEMA = pa.schema([("event_id", pa.int64()), ("city", pa.string()), ("title", pa.string())])


@caddis.concept(reads="title", version="1")
def boat(title):
    if title == "?":
        raise LookupError("nobody knows")
    return "boat" in title


CATALOGUE = Catalogue([boat])


def read(where: str) -> tuple[Clause, ...]:
    table = parse_all([where], SCHEMA, concepts=CATALOGUE.vocabulary)
    return tuple(table.clause(number) for number in range(len(table.owner)))


class Task:
    """A broker with a neighbour and a subscriber, and what one task of it writes."""

    def __init__(self, root: Path, advertised: str | None = None) -> None:
        self.root = root
        routing = Routing("here", read)
        routing.handle(Neighbour("there"), Join())
        routing.handle(Neighbour("there"), Advertise("there", home="there"))
        message = Subscribe("far", "city = 'Cork' AND boat(title)", home="there")
        routing.handle(Neighbour("there"), message)
        routing.handle(Subscriber("near"), Subscribe("near", "NOT boat(title)"))
        matcher = None
        if advertised is not None:
            table = pa.table({"subscription_id": ["a"], "where": [advertised]})
            matcher = Matcher.compile(table, SCHEMA, concepts=CATALOGUE.vocabulary)
        graph = PublicationRoutingGraph.compile(routing.table)
        self.version = GraphFolder(root / "graphs").publish(graph, matcher)
        self.models = ModelFolder.create(root / "models", [boat], None)
        (root / "staging").mkdir()

    def run(self, *batches: list[dict[str, Any]]) -> dict[tuple[str, str], Any]:
        """What the task reports: for each kind and target, the rows of a file or their count."""
        settings = RouteSettings(
            "here",
            str(self.root / "graphs"),
            str(self.root / "models"),
            "emec",
            "unknown",
            "event_id",
        )
        operator = RouteOperator(settings, self.version, str(self.root / "staging"))
        schema = link_schema(SCHEMA)
        [written] = operator(pa.RecordBatch.from_pylist(batch, schema) for batch in batches)
        found: dict[tuple[str, str], Any] = {}
        for row in written.to_pylist():
            rows = row["rows"]
            if row["file"]:
                rows = pq.read_table(self.root / "staging" / row["file"]).to_pylist()
                assert len(rows) == row["rows"]
            found[row["kind"], row["target"]] = rows
        return found


def record(key: int | None, city: str, title: str | None, source: str = "", **known: int) -> Any:
    answers = [(f"{name}(title)", mark) for name, mark in known.items()]
    event = {"event_id": key, "city": city, "title": title}
    return {"source": source, "known": answers, "event": event}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(tmp_path)


def test_events_go_where_they_are_wanted_with_what_is_known(task: Task):
    written = task.run([record(1, "Cork", "a boat"), record(2, "Cork", "a car")])
    assert written["taken", ""] == 2
    [sent] = written["forwarded", "there"]
    assert sent == record(1, "Cork", "a boat", source="here", boat=1)
    assert written["notified", ""] == [{"event_id": 2, "subscription_id": "near"}]
    assert task.models.tallies()["boat(title)"].runs == 2


def test_events_do_not_go_back_and_known_answers_are_not_asked_for(task: Task):
    written = task.run(
        [record(1, "Cork", "a boat", "there", boat=1)], [record(2, "Cork", "a boat")]
    )
    assert (written["taken", "there"], written["taken", ""]) == (1, 1)
    assert [one["event"]["event_id"] for one in written["forwarded", "there"]] == [2]
    assert ("notified", "") not in written
    assert task.models.tallies()["boat(title)"].runs == 1


def test_events_against_the_advertisement_are_put_aside(tmp_path: Path):
    task = Task(tmp_path, "city = 'Cork' OR boat(title)")
    written = task.run(
        [
            record(1, "Cork", "a car"),
            record(2, "Sligo", "a car"),
            record(3, "Sligo", "a boat"),
            record(4, "Sligo", "a car", "there"),
        ]
    )
    assert [one["event_id"] for one in written["refused", ""]] == [2]
    assert [one["event_id"] for one in written["notified", ""]] == [1, 4]
    assert written["taken", ""] == 3


def test_a_model_that_fails_is_reported(task: Task):
    written = task.run([record(1, "Cork", "?"), record(2, "Cork", None)])
    [problem] = written.pop(("problem", ""))
    assert written == {("taken", ""): 2}
    assert (problem["event"], problem["model"], problem["failed"]) == (1, "boat", True)
    assert "nobody knows" in problem["reason"]


def test_all_problems_are_listed_however_many(task: Task):
    many = range(10_050)
    written = task.run([record(key, "Cork", "?", "there" if key % 2 else "") for key in many])
    assert sorted(one["event"] for one in written["problem", ""]) == list(many)


def test_a_task_without_events_tells_nothing(task: Task):
    assert task.run() == {}


@pytest.mark.parametrize(
    ("keys", "complaint"), [((1, None), "null keys"), ((1, 1), "more than once, such as 1")]
)
def test_keys_are_checked(task: Task, keys: tuple[int | None, ...], complaint: str):
    with pytest.raises(EventError, match=complaint):
        task.run([record(key, "Cork", "a car") for key in keys])


def test_keys_that_came_through_links_stop_nobody(task: Task):
    written = task.run([record(1, "Cork", "a car", source) for source in ("", "there", "there")])
    assert [one["event_id"] for one in written["notified", ""]] == [1, 1, 1]


def test_a_worker_keeps_the_routers_of_few_brokers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker, "_routers", OrderedDict())
    monkeypatch.setattr(worker, "MOST_ROUTERS", 2)
    tasks = []
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        tasks.append(Task(tmp_path / name))
    for one in (*tasks, tasks[0]):
        assert one.run([record(1, "Cork", "a car")])["taken", ""] == 1
    assert list(worker._routers) == [str(one.root / "graphs") for one in (tasks[2], tasks[0])]
