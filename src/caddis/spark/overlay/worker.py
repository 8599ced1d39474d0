"""What runs in Spark's Python workers for a broker: records in, files for its links out.

A task writes a file for each link that something goes through into the micro-batch's staging
folder, and reports which. Only files that a task reported when it succeeded will count, so a task
that fails or runs twice does no harm.

The routing graphs lie on disk, version by version, for the workers to map into memory:

    graphs/
      CURRENT, versions/       as in `VersionFolder`
      segments/00000007/       the compiled matcher of a version
        links.json             its neighbours and subscribers, and where each entry leads
        advertised/            what events that are published here must satisfy, unless all may be

A version is published when a micro-batch needs it, so none is removed while a task reads it.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from caddis.arrays import Int32s
from caddis.errors import IndexFolderError
from caddis.matching import Matcher
from caddis.models import AnswerCache, Asker, Reading, Tally
from caddis.ordering import EventProblem
from caddis.overlay import (
    BATCH_FORWARDINGS,
    HERE,
    BatchRouter,
    Decider,
    KnownAnswers,
    ModelContext,
    Neighbour,
    Subscriber,
)
from caddis.overlay.routing import PublicationRoutingGraph
from caddis.spark.base import VersionFolder
from caddis.spark.matching import KeyCheck, ModelFolder, OnError, joined
from caddis.spark.overlay.batches import Kind

LINKS, ADVERTISED = "links.json", "advertised"


@dataclass(frozen=True, slots=True)
class LoadedGraph:
    """One version of a broker's routing graph."""

    graph: PublicationRoutingGraph
    advertised: Matcher | None
    """Events that are published here must satisfy its one link; None if all may be published."""


class GraphFolder:
    """The versions of a graph: one broker's driver writes them, its workers read them."""

    def __init__(self, path: Path) -> None:
        self._versions = VersionFolder(path)

    def publish(self, graph: PublicationRoutingGraph, advertised: Matcher | None) -> str:
        """Write a version and return its name."""
        name = self._versions.new_segment()
        folder = self._versions.segment(name)
        graph.matcher.save(folder)
        if advertised is not None:
            advertised.save(folder / ADVERTISED)
        links = {
            "neighbours": [link.name for link in graph.neighbours],
            "subscribers": [link.subscription_id for link in graph.subscribers],
            "link_of": graph.link_of.tolist(),
        }
        (folder / LINKS).write_text(json.dumps(links))
        return self._versions.publish((name,), {}).name

    def load(self, version: str) -> LoadedGraph:
        """Map a version into memory."""
        [segment] = self._versions.version(version).segments
        folder = self._versions.segment(segment)
        try:
            links = json.loads((folder / LINKS).read_text())
        except FileNotFoundError:
            raise IndexFolderError(f"{folder} is gone, or this machine does not see it") from None
        graph = PublicationRoutingGraph(
            Matcher.load(folder),
            tuple(map(Neighbour, links["neighbours"])),
            tuple(map(Subscriber, links["subscribers"])),
            np.array(links["link_of"], np.int32),
        )
        advertised = folder / ADVERTISED
        return LoadedGraph(graph, Matcher.load(advertised) if advertised.exists() else None)


@dataclass(frozen=True, slots=True)
class RouteSettings:
    """How a broker routes. A worker keeps a router for each broker."""

    broker: str
    graphs: str
    models: str
    policy: str
    on_error: OnError
    event_key: str


_routers: OrderedDict[str, tuple[RouteSettings, WorkerRouter]] = OrderedDict()
"""This process's routers by their folders of graphs, the last used one at the end."""
MOST_ROUTERS = 32
"""More brokers than that in one session load their graphs and models again and again, but a worker
that lives on after its overlays does not hold on to all of them."""


@dataclass(frozen=True, slots=True)
class RouteOperator:
    """The function that `mapInArrow` calls once in every task."""

    settings: RouteSettings
    version: str
    staging: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Route a task's records; yield a report of the files that were written.

        Keys are checked where events are published, as only there someone can mend the file.
        """
        router = _router(self.settings)
        router.begin(self.version)
        keys = KeyCheck(self.settings.event_key)
        with _Files(Path(self.staging)) as files:
            for batch in joined(batches):
                for source in pc.unique(batch.column("source")).to_pylist():
                    some = batch.filter(pc.equal(batch.column("source"), source))
                    if source == HERE:
                        keys.see(some.column("event").field(self.settings.event_key))
                    router.route(some, source, files)
            keys.finish()
        router.finish()
        yield files.report()


def _router(settings: RouteSettings) -> WorkerRouter:
    """This process's router for a broker."""
    kept = _routers.get(settings.graphs)
    if kept is None or kept[0] != settings:
        kept = _routers[settings.graphs] = (settings, WorkerRouter(settings))
    _routers.move_to_end(settings.graphs)
    if len(_routers) > MOST_ROUTERS:
        _routers.popitem(last=False)
    return kept[1]


class WorkerRouter:
    """Serves one task after the other: `begin`, then `route` for its batches, then `finish`."""

    def __init__(self, settings: RouteSettings) -> None:
        self._settings = settings
        self._graphs = GraphFolder(Path(settings.graphs))
        self._models = ModelFolder(Path(settings.models))
        # A cache of its own, so brokers that share a session run what each would run alone.
        self._asker = Asker(
            cache=AnswerCache(), clock=time.perf_counter, on_error=settings.on_error
        )
        self._version = ""
        self._tallies: dict[Reading, Tally] = {}

    def begin(self, version: str) -> None:
        """Turn to a version of the graph, and to what other tasks have learnt about models."""
        statistics = self._models.statistics()
        if version != self._version:
            loaded = self._graphs.load(version)
            models = ModelContext(self._models.catalogue, statistics, self._asker)
            self._router = BatchRouter(
                loaded.graph, models, BATCH_FORWARDINGS.named(self._settings.policy)
            )
            self._advertised = (
                None
                if loaded.advertised is None
                else Decider(loaded.advertised, models, "unit-price")
            )
            ids = [link.subscription_id for link in loaded.graph.subscribers]
            self._subscribers = pa.array(ids, pa.string())
            self._version = version
        self._router.use(statistics)
        self._tallies = {}

    def route(self, records: pa.RecordBatch, source: str, files: _Files) -> None:
        """Write the records of one source into files for the links that they go through."""
        files.count("taken", source, records.num_rows)
        known = KnownAnswers.from_arrow(records.column("known"))
        event = records.column("event")
        if source == HERE and self._advertised is not None:
            event, known = self._admitted(event, known, files)
        batch = pa.RecordBatch.from_struct_array(event)
        keys = batch.column(self._settings.event_key)
        routed = self._router.route(batch, known, source, keys)
        self._note(routed.readings, routed.tallies)
        _list_problems(routed.problems, keys, files)
        graph = self._router.graph
        for number, neighbour in enumerate(graph.neighbours):
            rows = routed.rows[routed.links == number]
            if len(rows):
                sent = _records(self._settings.broker, event, routed.known, rows)
                files.write("forwarded", neighbour.name, sent)
        local = routed.links >= len(graph.neighbours)
        if local.any():
            subscribers = routed.links[local] - len(graph.neighbours)
            notifications = {
                self._settings.event_key: keys.take(pa.array(routed.rows[local])),
                "subscription_id": self._subscribers.take(pa.array(subscribers)),
            }
            files.write("notified", "", pa.record_batch(notifications))

    def finish(self) -> None:
        """Report what the models did."""
        if any(tally.needed for tally in self._tallies.values()):
            self._models.add(list(self._tallies), list(self._tallies.values()), ())

    def _admitted(
        self, event: pa.StructArray, known: KnownAnswers, files: _Files
    ) -> tuple[pa.StructArray, KnownAnswers]:
        """Return the events that satisfy what is advertised, and put the others aside."""
        assert self._advertised is not None
        batch = pa.RecordBatch.from_struct_array(event)
        keys = batch.column(self._settings.event_key)
        outcome, known = self._advertised.match(batch, known, keys)
        readings = self._advertised.executor.readings
        self._note(readings, outcome.tallies)
        _list_problems(outcome.problems, keys, files)
        admitted = np.zeros(len(event), bool)
        admitted[outcome.rows] = True
        if not admitted.all():
            files.write("refused", "", batch.filter(pa.array(~admitted)))
        return event.filter(pa.array(admitted)), known.take(
            np.flatnonzero(admitted).astype(np.int32)
        )

    def _note(self, readings: tuple[Reading, ...], tallies: tuple[Tally, ...]) -> None:
        for reading, tally in zip(readings, tallies, strict=True):
            self._tallies[reading] = self._tallies.get(reading, Tally()) + tally


def _list_problems(problems: Sequence[EventProblem], keys: pa.Array, files: _Files) -> None:
    """List the events that models could not read or failed on, and why."""
    if not problems:
        return
    rows = {
        "event": keys.take(pa.array([one.row for one in problems])),
        "column": pa.array([one.reading.column.name for one in problems]),
        "model": pa.array([one.reading.model.name for one in problems]),
        "reason": pa.array([one.reason for one in problems]),
        "failed": pa.array([one.failed for one in problems]),
    }
    files.write("problem", "", pa.record_batch(rows))


class _Files:
    """The files of one task; each is opened when something goes into it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = ExitStack()
        self._writers: dict[tuple[Kind, str], tuple[str, pq.ParquetWriter]] = {}
        self._rows: dict[tuple[Kind, str], int] = {}

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def count(self, kind: Kind, target: str, rows: int) -> None:
        self._rows[kind, target] = self._rows.get((kind, target), 0) + rows

    def write(self, kind: Kind, target: str, rows: pa.RecordBatch) -> None:
        if (kind, target) not in self._writers:
            name = f"{kind}-{target}-{uuid4().hex}.parquet"
            writer = pq.ParquetWriter(self._folder / name, rows.schema)
            self._writers[kind, target] = name, self._open.enter_context(writer)
        self._writers[kind, target][1].write_batch(rows)
        self.count(kind, target, rows.num_rows)

    def report(self) -> pa.RecordBatch:
        """A row for each file, and one for each source that something came from."""
        rows = [
            {
                "kind": kind,
                "target": target,
                "file": self._writers[kind, target][0] if (kind, target) in self._writers else "",
                "rows": count,
            }
            for (kind, target), count in self._rows.items()
        ]
        names = ("kind", "target", "file")
        schema = pa.schema([*((name, pa.string()) for name in names), ("rows", pa.int64())])
        return pa.RecordBatch.from_pylist(rows, schema)


def _records(
    broker: str, event: pa.StructArray, known: KnownAnswers, rows: Int32s
) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "source": pa.repeat(pa.scalar(broker), len(rows)),
            "known": known.take(rows).to_arrow(),
            "event": event.take(pa.array(rows)),
        }
    )
