"""Some or all brokers of an overlay in one Spark session, from their first message to their end.

Events flow at a broker once it is settled: when it has heard of everyone who wants what it
publishes. Until then, and afterwards as well, control messages are handled by whoever watches.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from caddis.compiling import prepare
from caddis.matching import NEEDED as MATCHING
from caddis.models import Catalogue
from caddis.ordering import needed
from caddis.overlay import BATCH_FORWARDINGS
from caddis.spark.overlay.batch_broker import BatchBroker, BrokerSettings, EventSettings
from caddis.spark.overlay.batches import Totals
from caddis.spark.overlay.control import Refusal
from caddis.spark.overlay.folder import OverlayFolder
from caddis.spark.overlay.transport import FolderTransport, Transport

logger = logging.getLogger(__name__)

EVERY = 0.2
"""Seconds between two looks at what has happened: often enough for a person who watches."""


@dataclass(frozen=True, slots=True)
class BrokerReport:
    """What one broker has done."""

    name: str
    totals: Totals
    """Since the folder was made."""
    models: int
    """How often models ran since this start."""
    problems: int
    """Events that a model could not read or failed on, since this start."""
    waits_for: tuple[str, ...]
    """The neighbours behind whom some broker has not been heard of; no events flow before."""
    refusals: tuple[Refusal, ...]
    """The control messages that it could not use."""


class RunningOverlay:
    """A context in which brokers of an overlay run.

    Control messages are handled whenever `watch`, `until_quiet` or `settle` looks for them.

    transport: how brokers reach each other; by default through the overlay's folder.
    """

    def __init__(
        self,
        brokers: Sequence[BrokerSettings],
        events: EventSettings,
        folder: OverlayFolder,
        transport: Transport | None = None,
    ) -> None:
        self._settings, self._events, self._folder = brokers, events, folder
        self._transport = FolderTransport(folder.root) if transport is None else transport
        self._brokers: list[BatchBroker] = []
        self._queries: dict[str, StreamingQuery] = {}
        self._resources = ExitStack()
        self._lock = threading.Lock()
        self._ended = False

    def __enter__(self) -> RunningOverlay:
        with ExitStack() as resources:
            self._prepare()
            for broker in self._settings:
                resources.enter_context(self._folder.running(broker.name))
            self._brokers = [
                BatchBroker(broker, self._events, self._folder, self._transport)
                for broker in self._settings
            ]
            self._resources = resources.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._resources.close()

    def stop(self) -> None:
        """Stop all queries; an unfinished micro-batch is done again at the next start."""
        with self._lock:
            self._ended = True
            for name, query in self._queries.items():
                query.stop()
                logger.info("broker %s stopped", name)
            self._queries = {}

    def settle(self) -> bool:
        """Handle control messages until no more come; return whether all brokers are settled."""
        while any(broker.control.step() for broker in self._brokers):
            pass
        return all(broker.control.settled for broker in self._brokers)

    def start(self, session: SparkSession) -> None:
        """Start the queries of the brokers that are settled and do not run yet."""
        with self._lock:
            for broker in self._brokers:
                if broker.control.settled and broker.name not in self._queries and not self._ended:
                    self._queries[broker.name] = broker.start(session)

    def watch(self, session: SparkSession) -> Iterator[tuple[BrokerReport, ...]]:
        """Report how far all brokers are until they are stopped; raise what made a query fail."""
        while not self._ended:
            self.settle()
            self.start(session)
            self._check()
            yield self.reports()
            time.sleep(EVERY)

    def until_quiet(self, session: SparkSession) -> Iterator[tuple[BrokerReport, ...]]:
        """Report like `watch`, until every event that is there has been routed.

        All queries are asked at once to process what is available. If none routed anything
        meanwhile, none sent anything either, and each found its sources empty.
        """
        while not self._ended:
            self.settle()
            self.start(session)
            before = self._routed()
            with ThreadPoolExecutor(max(1, len(self._queries))) as pool:
                asked = [pool.submit(one.processAllAvailable) for one in self._queries.values()]
                while wait(asked, EVERY).not_done:
                    self._check()
                    self.settle()
                    yield self.reports()
            self._check()
            yield self.reports()
            if before == self._routed() and len(self._queries) == len(self._brokers):
                return
            if not asked:
                time.sleep(EVERY)

    def reports(self) -> tuple[BrokerReport, ...]:
        """Report what each broker has done."""
        return tuple(
            BrokerReport(
                broker.name,
                broker.totals,
                sum(tally.runs for tally in broker.tallies().values()),
                broker.problems,
                broker.control.awaited,
                tuple(broker.control.refusals),
            )
            for broker in self._brokers
        )

    def _prepare(self) -> None:
        """Check what all brokers share, and compile the kernels before workers start."""
        events = self._events
        policy = BATCH_FORWARDINGS.named(events.policy).name
        Catalogue(events.models).check(events.schema)
        self._folder.prepare(events.schema, events.event_key, events.timezone, policy)
        prepare(MATCHING, needed())

    def _routed(self) -> list[int]:
        return [broker.routed for broker in self._brokers]

    def _check(self) -> None:
        """Raise the error of a micro-batch that failed, or that of its query."""
        for broker in self._brokers:
            if broker.failure is not None:
                raise broker.failure
        for query in list(self._queries.values()):
            problem = query.exception()
            if problem is not None:
                raise problem
