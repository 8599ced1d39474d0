"""What a match did, added up over its tasks: `Report`, and the folder that workers write it to.

    tallies.json        what each model did
    problems.jsonl      the first events that a model could not read or failed on
    counts.json         sealed events: how many arrived, what matching them took, what was refused
    refused.jsonl       the first of the refused events

A worker adds what its task did when the task ends, under a lock. No file holds a secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from caddis.files import locked
from caddis.models import Tally
from caddis.spark.base import append_lines, lines_of, replace_json
from caddis.spark.store import invalid_table

TALLIES, PROBLEMS = "tallies.json", "problems.jsonl"
COUNTS, REFUSED = "counts.json", "refused.jsonl"
KEPT = 10_000
"""Problems and refused events are listed up to this number; more would flood a disk."""

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


@dataclass(frozen=True, slots=True)
class KeyedProblem:
    """Why an event has no answer from a model."""

    event: object
    column: str
    model: str
    reason: str
    failed: bool


@dataclass(frozen=True, slots=True)
class RefusedEvent:
    """A sealed event that was not matched or opened, and why."""

    event_id: object
    publisher: str | None
    error: str
    """The kind: a name of `caddis.errors`, such as TamperedEvent."""
    message: str


class ReportFolder:
    """A folder that the driver creates, and that workers add to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add_tallies(self, tallies: Mapping[str, Tally], problems: Sequence[KeyedProblem]) -> None:
        """Add what the models did in one task."""
        with locked(self.path / TALLIES):
            plain = _read_json(self.path / TALLIES)
            for name, tally in tallies.items():
                before = Tally.from_json(plain[name]) if name in plain else Tally()
                plain[name] = (before + tally).to_json()
            replace_json(self.path / TALLIES, plain)
            append_lines(self.path / PROBLEMS, map(asdict, problems), KEPT)

    def add_counts(self, counts: Mapping[str, int], refused: Sequence[RefusedEvent]) -> None:
        """Add what happened to one task's sealed events."""
        with locked(self.path / COUNTS):
            plain = _read_json(self.path / COUNTS)
            for name, count in counts.items():
                plain[name] = plain.get(name, 0) + count
            replace_json(self.path / COUNTS, plain)
            append_lines(self.path / REFUSED, map(asdict, refused), KEPT)

    def tallies(self) -> dict[str, Tally]:
        """What each model did on each column, in all tasks that have ended."""
        plain = _read_json(self.path / TALLIES)
        return {name: Tally.from_json(one) for name, one in plain.items()}

    def problems(self) -> list[KeyedProblem]:
        """The first events that models could not read or failed on."""
        with locked(self.path / TALLIES):
            return [KeyedProblem(**json.loads(line)) for line in lines_of(self.path / PROBLEMS)]

    def counts(self) -> dict[str, int]:
        """How many events, tests and so on there were, and how many errors of each kind."""
        return _read_json(self.path / COUNTS)

    def refused(self) -> list[RefusedEvent]:
        """The first events that were refused."""
        with locked(self.path / COUNTS):
            return [RefusedEvent(**json.loads(line)) for line in lines_of(self.path / REFUSED)]


class Report:
    """Pass one to `match`, `match_sealed` or `open_events` as `report`, and read it later.

    `invalid` is known when the call returns. All else adds up over all jobs and micro-batches of
    that call, and counts a task when it ends.
    """

    def __init__(self) -> None:
        self._folder: ReportFolder | None = None
        self._invalid = invalid_table(())

    def begin(self, folder: Path | None, invalid: pa.Table | None = None) -> None:
        """Report on a new call.

        folder: where its workers add what they did; None if they do nothing that is reported.
        invalid: its subscriptions that cannot be used.
        """
        self._folder = None if folder is None else ReportFolder(folder)
        self._invalid = invalid_table(()) if invalid is None else invalid

    @property
    def invalid(self) -> pa.Table:
        """The subscriptions that were skipped and why, as `caddis.check` lists them."""
        return self._invalid

    @property
    def models(self) -> tuple[ModelUse, ...]:
        """What each model did on each column, in the order of their names."""
        tallies = {} if self._folder is None else self._folder.tallies()
        return tuple(ModelUse.of(name, tally) for name, tally in sorted(tallies.items()))

    @property
    def problems(self) -> pa.Table:
        """Events that a model could not read (or, if `failed`, raised on), and why.

        The first 10,000 are kept; `models` counts all.
        """
        found = [] if self._folder is None else self._folder.problems()
        texts = {
            name: pa.array([getattr(one, name) for one in found], pa.string())
            for name in ("column", "model", "reason")
        }
        failed = pa.array([one.failed for one in found], pa.bool_())
        return pa.table({"event": [one.event for one in found], **texts, "failed": failed})

    @property
    def events(self) -> int:
        """Sealed events that arrived; `open_events` counts those of its stream."""
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


def _read_json(path: Path) -> dict[str, Any]:
    # The file is replaced as a whole, so whoever only reads it needs no lock.
    return json.loads(path.read_text()) if path.exists() else {}
