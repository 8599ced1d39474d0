"""One broker on Spark: a control plane, and a streaming query that routes events in micro-batches.

    published ─┐                    ┌─▶ links to neighbours, with what is known
               ├─▶ micro-batches ───┼─▶ notifications
    links in  ─┘                    └─▶ refused events, and what models had problems with

Exactly once, from the source to every link: a micro-batch is staged, committed by one rename, then
sent under fixed names (see `batches`). A broker that was killed continues from its checkpoint:
Spark gives it the same micro-batch again, which is sent again if it was committed, and computed if
it was not.

`caddis.overlay.EventBroker` decides one event at a time instead; the routing tables and the
policies are the same.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from caddis.errors import OverlayError
from caddis.files import FileFormat
from caddis.language import Clause, parse_all
from caddis.matching import Matcher
from caddis.models import Catalogue, Model, Tally
from caddis.overlay import BATCH_FORWARDINGS, Read
from caddis.spark.base import read_event_stream
from caddis.spark.matching import ModelFolder, OnError
from caddis.spark.overlay.batches import WRITTEN, BatchFolder, Committed, Kind, Totals, Written
from caddis.spark.overlay.control import ControlLogs, ControlPlane, declare
from caddis.spark.overlay.folder import OverlayFolder
from caddis.spark.overlay.logs import FolderLog
from caddis.spark.overlay.transport import OutStream, Transport, as_records
from caddis.spark.overlay.worker import GraphFolder, RouteOperator, RouteSettings

logger = logging.getLogger(__name__)

POLL = "200 milliseconds"
"""How often a query looks for events: near the least time that a micro-batch takes anyway."""
EVERYTHING = "TRUE"


@dataclass(frozen=True, slots=True)
class EventSettings:
    """What all brokers of an overlay agree on."""

    schema: pa.Schema
    models: Sequence[Model] = ()
    event_key: str = "event_id"
    timezone: str = "UTC"
    policy: str | None = None
    """One of BATCH_FORWARDINGS; None for its default."""
    on_error: OnError = "unknown"
    tasks: int = 2
    """Into how many tasks a micro-batch is split at most."""

    def reader(self) -> Read:
        """A function that gives the clauses of a WHERE text, or raises SubscriptionError."""
        concepts = Catalogue(self.models).vocabulary_for(self.schema)

        @cache
        def clauses(where: str) -> tuple[Clause, ...]:
            table = parse_all([where], self.schema, timezone=self.timezone, concepts=concepts)
            for error in table.errors.values():
                raise error
            return tuple(table.clause(number) for number in range(len(table.owner)))

        return clauses


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """What the overlay file states about one broker."""

    name: str
    neighbours: tuple[str, ...] = ()
    subscriptions: Mapping[str, str] = field(default_factory=dict)
    """WHERE texts by id."""
    publishes: Path | None = None
    """A folder of events that are published here."""
    format: FileFormat = "parquet"
    advertises: str = EVERYTHING


def control_logs(
    name: str, neighbours: Sequence[str], folder: OverlayFolder, transport: Transport
) -> ControlLogs:
    """The logs of one broker's control plane."""
    return ControlLogs(
        FolderLog(folder.broker(name) / "journal"),
        folder.clients(name),
        {other: transport.control(other, name) for other in neighbours},
        {other: transport.control(name, other) for other in neighbours},
    )


class BatchBroker:
    """Runs one broker. `folder.running(name)` must be held meanwhile.

    transport: how it reaches its neighbours.
    """

    def __init__(
        self,
        broker: BrokerSettings,
        events: EventSettings,
        folder: OverlayFolder,
        transport: Transport,
    ) -> None:
        self.name = broker.name
        self._broker, self._events, self._folder = broker, events, folder
        self._transport = transport
        self._home = folder.broker(broker.name)
        self._batches = BatchFolder(self._home / "out")
        self._graphs = GraphFolder(self._home / "graphs")
        self._models = self._model_folder()
        self._advertised = self._advertised_matcher()
        self._published: tuple[int, str] | None = None
        """The version of the tables whose graph was written last, and the graph's name."""
        self._lock = threading.Lock()
        logs = control_logs(broker.name, broker.neighbours, folder, transport)
        self.control = ControlPlane(broker.name, events.reader(), logs, folder.covering)
        advertises = broker.advertises if broker.publishes is not None else None
        declare(folder.clients(broker.name), broker.name, broker.subscriptions, advertises)
        last = self._batches.last()
        self.totals = last.totals if last else Totals()
        self.routed = self.problems = 0
        self.failure: Exception | None = None
        self._check_checkpoint(last)

    def start(self, session: SparkSession) -> StreamingQuery:
        """Begin to route events where the broker stopped before."""
        records = as_records(self._source(session)).unionByName(
            self._transport.incoming(session, self.name, self._events.schema)
        )
        writer = records.writeStream.foreachBatch(self._route).queryName(f"broker {self.name}")
        writer = writer.option("checkpointLocation", str(self._checkpoint))
        query = writer.trigger(processingTime=POLL).start()
        logger.info("broker %s starts after %d micro-batches", self.name, self.totals.batches)
        return query

    def _source(self, session: SparkSession) -> DataFrame:
        """The stream of events that are published here.

        Where nothing is published, a folder that stays empty takes its place: a checkpoint insists
        on the number of sources that its query had, and the overlay file may change until the next
        start.
        """
        folder = self._broker.publishes
        if folder is None:
            folder = self._home / "nothing"
            folder.mkdir(exist_ok=True)
        return read_event_stream(session, folder, self._broker.format, self._events.schema)

    def tallies(self) -> dict[str, Tally]:
        """What the models did since this start, by model and column."""
        return self._models.tallies()

    @property
    def _checkpoint(self) -> Path:
        return self._home / "checkpoint"

    def _route(self, records: DataFrame, number: int) -> None:
        """Route a micro-batch; Spark may give the same one twice."""
        try:
            self._send(records, number)
        except Exception as error:
            # Spark would report it only as text within a Java exception.
            self.failure = error
            logger.warning("broker %s stops at micro-batch %d: %s", self.name, number, error)
            raise

    def _send(self, records: DataFrame, number: int) -> None:
        committed = self._batches.committed(number)
        if committed is None:
            committed = self._computed(records, number)
        else:
            logger.warning("broker %s sends micro-batch %d again", self.name, number)
        for kind, target, files in committed.files():
            self._stream(kind, target).publish(number, files)
        logger.debug("broker %s sent micro-batch %d: %s", self.name, number, committed.written)
        self.totals = committed.totals
        self.problems += committed.rows("problem")
        self.routed += 1

    def _computed(self, records: DataFrame, number: int) -> Committed:
        staging = self._batches.stage(number)
        settings = RouteSettings(
            self.name,
            str(self._home / "graphs"),
            str(self._models.path),
            BATCH_FORWARDINGS.named(self._events.policy).name,
            self._events.on_error,
            self._events.event_key,
        )
        operator = RouteOperator(settings, self._version(), str(staging))
        rows = records.coalesce(self._events.tasks).mapInArrow(operator, WRITTEN).collect()
        written = [Written(**row.asDict()) for row in rows]
        committed = self._batches.commit(number, staging, written)
        logger.info("broker %s committed micro-batch %d", self.name, number)
        return committed

    def _stream(self, kind: Kind, target: str) -> OutStream:
        if kind == "forwarded":
            return self._transport.outgoing(self.name, target)
        return self._folder.local_stream(kind, self.name)

    def _version(self) -> str:
        """The name of the current routing graph; a changed one is compiled and written first."""
        with self._lock:
            if self._published is None or self._published[0] != self.control.version:
                version, graph = self.control.graph()
                self._published = version, self._graphs.publish(graph, self._advertised)
                logger.info("broker %s routes by version %d of its tables", self.name, version)
            return self._published[1]

    def _model_folder(self) -> ModelFolder:
        """The models as they are now, with what earlier starts learnt about their costs."""
        folder = self._home / "models"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        statistics = self._home / "statistics.json"
        return ModelFolder.create(folder / uuid4().hex, self._events.models, statistics)

    def _advertised_matcher(self) -> Matcher | None:
        if self._broker.publishes is None or self._broker.advertises == EVERYTHING:
            return None
        events = self._events
        table = pa.table({"subscription_id": ["advertised"], "where": [self._broker.advertises]})
        concepts = Catalogue(events.models).vocabulary_for(events.schema)
        return Matcher.compile(table, events.schema, timezone=events.timezone, concepts=concepts)

    def _check_checkpoint(self, last: Committed | None) -> None:
        if last is not None and not self._checkpoint.is_dir():
            raise OverlayError(
                f"broker {self.name!r} has sent micro-batches, but its checkpoint "
                f"{self._checkpoint} is gone: it would send events twice; begin with a new folder "
                "(--dir)"
            )
