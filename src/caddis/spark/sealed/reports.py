"""What became of sealed events: how many were matched, what that took, which were refused."""

from __future__ import annotations

import pyarrow as pa

from caddis.spark.matching.sealed_folder import SealedFolder

EVENTS, INSPECTED, TESTS, PRODUCTS = "events", "inspected", "tests", "products"
OTHER_STREAMS = "events of other streams"
COUNTED = {EVENTS, INSPECTED, TESTS, PRODUCTS, OTHER_STREAMS}
"""What is counted beside kinds of errors."""


class SealedReport:
    """Pass one to `match` or `open_events` as `report`, and read it when a job has run.

    It adds up over all jobs and micro-batches of that match, and counts a task when it ends.
    """

    def __init__(self) -> None:
        self._folder: SealedFolder | None = None

    def attach(self, folder: SealedFolder) -> None:
        """From now on, tell of this match."""
        self._folder = folder

    @property
    def events(self) -> int:
        """Sealed events that arrived; of those that `open_events` reads, its stream's."""
        return self._counts.get(EVENTS, 0)

    @property
    def other_streams(self) -> int:
        """Events that `open_events` left alone since they say they are of another stream."""
        return self._counts.get(OTHER_STREAMS, 0)

    @property
    def inspected(self) -> int:
        """Pairs of event and clause whose Bloom filters were compared."""
        return self._counts.get(INSPECTED, 0)

    @property
    def tests(self) -> int:
        """Pairs that were left, each of which took an encrypted test."""
        return self._counts.get(TESTS, 0)

    @property
    def products(self) -> int:
        """Scalar products that the tests took."""
        return self._counts.get(PRODUCTS, 0)

    @property
    def refusals(self) -> dict[str, int]:
        """By kind of error, such as TamperedEvent: how many events were refused for it."""
        return {name: count for name, count in self._counts.items() if name not in COUNTED}

    @property
    def refused(self) -> pa.Table:
        """Refused events: their id, publisher, kind of error and what was wrong.

        Ids are texts here. The first 10,000 are kept; `refusals` counts all.
        """
        found = [] if self._folder is None else self._folder.refused()
        columns = {
            "event_id": [None if one.event_id is None else str(one.event_id) for one in found],
            "publisher": [one.publisher for one in found],
            "error": [one.error for one in found],
            "message": [one.message for one in found],
        }
        return pa.table({name: pa.array(some, pa.string()) for name, some in columns.items()})

    @property
    def _counts(self) -> dict[str, int]:
        return {} if self._folder is None else self._folder.counts()
