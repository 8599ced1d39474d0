"""What a match did, added up over its tasks: `Report`. It holds no secret."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from caddis.models import Tally
from caddis.spark.matching.reporting import Reports
from caddis.spark.store import invalid_table

EVENTS, INSPECTED, TESTS, PRODUCTS = "events", "inspected", "tests", "products"
OTHER_STREAMS = "events of other streams"
COUNTED = {EVENTS, INSPECTED, TESTS, PRODUCTS, OTHER_STREAMS}
"""What is counted beside kinds of errors."""


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What one model did, on one column."""

    name: str
    """The model and its column, as in `efficientnet_lite0(photo)`."""
    runs: int
    """Values that it ran on."""
    saved: int
    """Events that it did not run on, though their candidate clauses name it."""
    hits: int
    """Answers that came from the cache, or from an equal value of the batch."""
    unreadable: int
    failed: int
    milliseconds: float
    """The time that all its runs took."""

    @classmethod
    def of(cls, name: str, tally: Tally) -> ModelUse:
        """What one tally has counted for a model, under the model's name."""
        return cls(
            name,
            tally.runs,
            tally.saved,
            tally.hits,
            tally.unreadable,
            tally.failed,
            tally.milliseconds,
        )


class Report:
    """Pass one to `match`, `match_sealed` or `open_events` as `report`, and read it later.

    `invalid` is known when the call returns. All else adds up over all jobs and micro-batches of
    that call, and counts a task when it ends.
    """

    def __init__(self) -> None:
        self._reports: Reports | None = None
        self._invalid = invalid_table(())

    def begin(self, reports: Reports | None, invalid: pa.Table | None = None) -> None:
        """Report on a new call.

        reports: what its workers report; None if they do nothing that is reported.
        invalid: its subscriptions that cannot be used.
        """
        self._reports = reports
        self._invalid = invalid_table(()) if invalid is None else invalid

    @property
    def invalid(self) -> pa.Table:
        """The subscriptions that were skipped and why, as `caddis.check` lists them."""
        return self._invalid

    @property
    def models(self) -> tuple[ModelUse, ...]:
        """What each model did on each column, in the order of their names."""
        tallies = {} if self._reports is None else self._reports.tallies()
        return tuple(ModelUse.of(name, tally) for name, tally in sorted(tallies.items()))

    @property
    def problems(self) -> pa.Table:
        """Events that a model could not read (or, if `failed`, raised on), and why.

        The first 10,000 are kept; `models` counts all.
        """
        found = [] if self._reports is None else self._reports.problems()
        texts = {
            name: pa.array([getattr(one, name) for one in found], pa.string())
            for name in ("column", "model", "reason")
        }
        failed = pa.array([one.failed for one in found], pa.bool_())
        return pa.table({"event": [one.event for one in found], **texts, "failed": failed})

    @property
    def events(self) -> int:
        """Events that arrived, if they were sealed or in files; `open_events` counts those of its
        stream.
        """
        return self._counts.get(EVENTS, 0)

    @property
    def other_streams(self) -> int:
        """Events that `open_events` left alone because they claim to be of another stream."""
        return self._counts.get(OTHER_STREAMS, 0)

    @property
    def inspected(self) -> int:
        """Pairs of sealed event and clause whose Bloom filters were compared."""
        return self._counts.get(INSPECTED, 0)

    @property
    def tests(self) -> int:
        """Pairs that were left, each of which took an encrypted test."""
        return self._counts.get(TESTS, 0)

    @property
    def products(self) -> int:
        """Scalar products that the encrypted tests took."""
        return self._counts.get(PRODUCTS, 0)

    @property
    def refusals(self) -> dict[str, int]:
        """How many sealed events were refused, by kind of error, such as TamperedEvent."""
        return {name: count for name, count in self._counts.items() if name not in COUNTED}

    @property
    def refused(self) -> pa.Table:
        """Refused sealed events: their id, publisher, kind of error and what was wrong.

        Ids are strings here. The first 10,000 are kept; `refusals` counts all.
        """
        found = [] if self._reports is None else self._reports.refused()
        columns = {
            "event_id": [None if one.event_id is None else str(one.event_id) for one in found],
            "publisher": [one.publisher for one in found],
            "error": [one.error for one in found],
            "message": [one.message for one in found],
        }
        return pa.table({name: pa.array(some, pa.string()) for name, some in columns.items()})

    @property
    def _counts(self) -> dict[str, int]:
        return {} if self._reports is None else self._reports.counts()
