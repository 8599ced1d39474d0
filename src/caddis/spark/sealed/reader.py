"""Matches a worker's sealed events against a store; the worker has no key.

If there is a registry of publishers, a gate admits each event first. Every task has a gate of its
own, so that a task that runs again refuses nothing that it admitted before.
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.errors import TruncatedEvent
from caddis.sealed.events import Admission, Gate, Refusal
from caddis.sealed.keys import Directory
from caddis.sealed.matcher import SealedMatcher, SealedMatchReport
from caddis.spark.matching import (
    EVENTS,
    INSPECTED,
    KEPT,
    PRODUCTS,
    TESTS,
    RefusedEvent,
    task_reports,
)
from caddis.spark.places import local_folder
from caddis.spark.store import StoreReader, alive_pairs

logger = logging.getLogger(__name__)

PUBLISHERS = "publishers.json"
"""The registry's file in a folder that the driver handed over."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """Opens readers for sealed events.

    reports: where workers report; None if nobody reads it: then they warn of refused events.
    publishers: the address of the folder with the publishers' registry, or the path of its file,
        which is read anew by each task; None to check nothing but sizes.
    authority: the fingerprint of who must have signed the registry.
    """

    reports: str | None
    publishers: str | None
    authority: str | None

    unique_keys = False
    """A publisher with a bad key must not stop the others."""

    def reader(self, store: StoreReader) -> SealedReader:
        """A reader of one task."""
        return SealedReader(store, self)


class SealedReader:
    """One task: `begin`, `match` its batches, `finish`."""

    def __init__(self, store: StoreReader, sealed: Sealed) -> None:
        self._store, self._sealed = store, sealed
        self._gate: Gate | None = None
        self._ledger = Ledger(sealed.reports)

    def begin(self, version: str | None) -> None:
        """Turn to a version, or to the current one, and to the registry as it is now."""
        self._store.use(version)
        if self._sealed.publishers is not None:
            path = local_folder(self._sealed.publishers)
            file = path / PUBLISHERS if path.is_dir() else path
            self._gate = Gate(Directory.read(file, self._sealed.authority))

    def match(
        self, batch: pa.RecordBatch, keys: pa.Array
    ) -> Iterator[Iterator[tuple[Int32s, pa.Array]]]:
        """Match a batch in one turn."""
        yield self._found(batch, keys)

    def _found(self, batch: pa.RecordBatch, keys: pa.Array) -> Iterator[tuple[Int32s, pa.Array]]:
        """Rows and the ids of the subscriptions they may match, segment by segment, in slices.

        Where clauses leave much to their subscribers, there are too many pairs to hold at once.
        """
        admission = self._admitted(batch, keys)
        refused = {one.row: one for one in admission.refused}
        for matcher, alive in self._store.parts:
            for matches in cast(SealedMatcher, matcher).match_in_slices(batch, admission):
                for one in matches.refused:
                    refused.setdefault(one.row, one)
                self._count(matches.report)
                rows, ids = alive_pairs(matcher, alive, matches.rows, matches.links)
                if len(rows):
                    yield rows, ids
        self._ledger.see(batch, refused.values())

    def finish(self) -> None:
        """Report what was done and refused."""
        self._ledger.finish()

    def _admitted(self, batch: pa.RecordBatch, keys: pa.Array) -> Admission:
        if self._gate is not None:
            return self._gate.admit(batch)
        missing = keys.is_null().to_numpy(zero_copy_only=False)
        refused = [
            Refusal(row, None, TruncatedEvent("its event_id is missing"))
            for row in np.flatnonzero(missing).tolist()
        ]
        return Admission(np.flatnonzero(~missing).astype(np.int32), tuple(refused))

    def _count(self, report: SealedMatchReport) -> None:
        self._ledger.count(INSPECTED, report.inspected)
        self._ledger.count(TESTS, report.tests)
        self._ledger.count(PRODUCTS, report.products)


class Ledger:
    """What one task does with sealed events: counts, and the first refused events.

    reports: where they are reported; None if nobody wants to know: then `finish` warns of refused
        events, and a worker need not see any folder.
    """

    def __init__(self, reports: str | None) -> None:
        self._reports = None if reports is None else task_reports(reports)
        self._counts: Counter[str] = Counter()
        self._refused: list[RefusedEvent] = []

    def count(self, what: str, number: int) -> None:
        """Add to the count of something."""
        self._counts[what] += number

    def see(self, batch: pa.RecordBatch, refused: Iterable[Refusal]) -> None:
        """Count a batch of events that arrived, and which of them were refused."""
        self.count(EVENTS, batch.num_rows)
        publishers = batch.column("publisher").cast(pa.large_binary())
        for one in refused:
            kind = type(one.error).__name__
            self.count(kind, 1)
            if len(self._refused) < KEPT:
                name = publishers[one.row].as_py()
                publisher = None if name is None else name.decode(errors="replace")
                self._refused.append(RefusedEvent(one.event_id, publisher, kind, str(one.error)))

    def finish(self) -> None:
        """Report everything, or warn."""
        if self._refused:
            logger.warning("sealed events were refused, such as %r", self._refused[0].event_id)
        if self._reports is not None:
            self._reports.add_counts(self._counts, self._refused)
        elif self._refused:
            first = self._refused[0]
            warnings.warn(
                f"sealed events were refused, such as {first.event_id!r} ({first.error}: "
                f"{first.message}); report=caddis.Report() lists them",
                stacklevel=2,
            )
