"""What one task does with sealed events, written down until it ends."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from caddis.sealed.events import Refusal
from caddis.spark.matching.sealed_folder import KEPT_REFUSED, RefusedEvent, SealedFolder
from caddis.spark.matching.sealed_reports import EVENTS


class Ledger:
    """Counts, and the first refused events.

    folder: where they are told; if nobody wants to know, None, and `finish` warns of refused
        events. A worker need not see any folder then.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = None if folder is None else SealedFolder(Path(folder))
        self._counts: Counter[str] = Counter()
        self._refused: list[RefusedEvent] = []

    def count(self, what: str, number: int) -> None:
        """So many more of something."""
        self._counts[what] += number

    def tell(self, batch: pa.RecordBatch, refused: Iterable[Refusal]) -> None:
        """A batch of events that came, and which of them were refused."""
        self.count(EVENTS, batch.num_rows)
        publishers = batch.column("publisher").cast(pa.large_binary())
        for one in refused:
            kind = type(one.error).__name__
            self.count(kind, 1)
            if len(self._refused) < KEPT_REFUSED:
                name = publishers[one.row].as_py()
                publisher = None if name is None else name.decode(errors="replace")
                self._refused.append(RefusedEvent(one.event_id, publisher, kind, str(one.error)))

    def finish(self) -> None:
        """Add all to the folder, or warn."""
        if self._folder is not None:
            self._folder.add(self._counts, self._refused)
        elif self._refused:
            first = self._refused[0]
            warnings.warn(
                f"sealed events were refused, such as {first.event_id!r} ({first.error}: "
                f"{first.message}); report=caddis.SealedReport() tells which",
                stacklevel=2,
            )
