"""Matches a worker's sealed events against a store; the worker has no key.

If there is a directory, a gate admits each event first. Every task has a gate of its own, so that
a task that runs again refuses nothing that it admitted before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.errors import TruncatedEvent
from caddis.sealed.events import Admission, Gate, Refusal
from caddis.sealed.keys import Directory
from caddis.sealed.matcher import SealedMatcher, SealedMatchReport
from caddis.spark.matching.sealed_folder import Sealed
from caddis.spark.matching.sealed_ledger import Ledger
from caddis.spark.matching.sealed_reports import INSPECTED, PRODUCTS, TESTS
from caddis.spark.store import StoreReader, alive_pairs


class SealedReader:
    """One task: `begin`, `match` its batches, `finish`."""

    def __init__(self, store: StoreReader, sealed: Sealed) -> None:
        self._store, self._sealed = store, sealed
        self._gate: Gate | None = None
        self._ledger = Ledger(sealed.folder)

    def begin(self, version: str | None) -> None:
        """Turn to a version, or to the current one, and to the directory as it is now."""
        self._store.use(version)
        if self._sealed.directory is not None:
            path = Path(self._sealed.directory)
            self._gate = Gate(Directory.read(path, self._sealed.authority))

    def match(self, batch: pa.RecordBatch, keys: pa.Array) -> Iterator[tuple[Int32s, pa.Array]]:
        """Rows and the ids of the subscriptions they may match, segment by segment, each in slices:
        where clauses leave much to their subscribers, there are too many to hold at once.
        """
        admission = self._admitted(batch, keys)
        refused = {one.row: one for one in admission.refused}
        for matcher, alive in self._store.parts:
            for matches in cast(SealedMatcher, matcher).match_in_slices(batch, admission):
                for one in matches.refused:
                    refused.setdefault(one.row, one)
                self._count(matches.report)
                rows, ids = alive_pairs(matcher, alive, matches)
                if len(rows):
                    yield rows, ids
        self._ledger.tell(batch, refused.values())

    def finish(self) -> None:
        """Tell what was done and refused."""
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
