"""Where the tasks of a match report what they did, and where the driver reads it.

    ReportFolder      a folder that all see: each task adds to the same files, under a lock
    RowReports        nothing is shared: a task's report leaves as one more row of its result;
    ObservedReports   on the driver, Spark gathers those rows on their way past

A task reports when it ends. Rows are gathered by Spark's own observation: so a task that is run
again counts once, but of a batch only the first job counts. A stream's micro-batches all count, as
long as the process that called `match` lives.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakValueDictionary

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.types import StringType, StructField, StructType

from caddis.files import locked
from caddis.models import Tally
from caddis.spark.base import (
    SPARK_ERRORS,
    append_lines,
    arrow_schema,
    is_remote,
    lines_of,
    replace_json,
    session_timezone,
)

TALLIES, PROBLEMS = "tallies.json", "problems.jsonl"
COUNTS, REFUSED = "counts.json", "refused.jsonl"
KEPT = 10_000
"""Problems and refused events are listed up to this number; more would flood a disk."""
KEPT_IN_A_ROW = 100
"""How many of them one task's row carries, since the driver holds all rows in memory."""


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


class TaskReports(Protocol):
    """What a worker adds to when a task ends."""

    def add_tallies(self, tallies: Mapping[str, Tally], problems: Sequence[KeyedProblem]) -> None:
        """Add what the models did in one task."""

    def add_counts(self, counts: Mapping[str, int], refused: Sequence[RefusedEvent]) -> None:
        """Add what happened to one task's sealed events."""


class Reports(Protocol):
    """What the tasks that have ended reported, added up."""

    def tallies(self) -> dict[str, Tally]:
        """What each model did on each column."""

    def problems(self) -> list[KeyedProblem]:
        """The first events that models could not read or failed on."""

    def counts(self) -> dict[str, int]:
        """How many events, tests and so on there were, and how many errors of each kind."""

    def refused(self) -> list[RefusedEvent]:
        """The first events that were refused."""


class ReportFolder:
    """A folder that the driver creates, and that workers add to.

    tallies.json        what each model did
    problems.jsonl      the first events that a model could not read or failed on
    counts.json         sealed events: how many arrived, what matching took, what was refused
    refused.jsonl       the first of the refused events
    """

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


def _read_json(path: Path) -> dict[str, Any]:
    # The file is replaced as a whole, so whoever only reads it needs no lock.
    return json.loads(path.read_text()) if path.exists() else {}


# ------------------------------------------------------------------- a report from each task


class GatheredReports:
    """Reports that arrive one by one, each a text of JSON, and are added up as they arrive.

    Those of a stream arrive in a thread of Spark's, while others read what they add up to.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tallies: dict[str, Tally] = {}
        self._counts: Counter[str] = Counter()
        self._problems: list[KeyedProblem] = []
        self._refused: list[RefusedEvent] = []

    def take(self, texts: Iterable[str]) -> None:
        """Add reports that have arrived."""
        with self._lock:
            for text in texts:
                self._add(json.loads(text))

    def tallies(self) -> dict[str, Tally]:
        """What each model did on each column."""
        with self._lock:
            return dict(self._tallies)

    def problems(self) -> list[KeyedProblem]:
        """The first events that models could not read or failed on."""
        with self._lock:
            return list(self._problems)

    def counts(self) -> dict[str, int]:
        """How many events, tests and so on there were, and how many errors of each kind."""
        with self._lock:
            return dict(self._counts)

    def refused(self) -> list[RefusedEvent]:
        """The first events that were refused."""
        with self._lock:
            return list(self._refused)

    def _add(self, report: dict[str, Any]) -> None:
        for name, plain in report.get("tallies", {}).items():
            self._tallies[name] = self._tallies.get(name, Tally()) + Tally.from_json(plain)
        self._counts.update(report.get("counts", {}))
        problems = report.get("problems", ())[: KEPT - len(self._problems)]
        self._problems += [KeyedProblem(**one) for one in problems]
        refused = report.get("refused", ())[: KEPT - len(self._refused)]
        self._refused += [RefusedEvent(**one) for one in refused]


def tallies_text(tallies: Mapping[str, Tally], problems: Iterable[KeyedProblem]) -> str:
    """The report of a task that ran models, as `GatheredReports` reads it."""
    plain = {name: tally.to_json() for name, tally in tallies.items()}
    return json.dumps({"tallies": plain, "problems": list(map(asdict, problems))}, default=str)


def counts_text(counts: Mapping[str, int], refused: Iterable[RefusedEvent]) -> str:
    """The report of a task of sealed events, as `GatheredReports` reads it."""
    return json.dumps({"counts": dict(counts), "refused": list(map(asdict, refused))}, default=str)


# ----------------------------------------------------------------- reports as rows of a result

ROWS = "rows:"
"""How the address of reports that leave as rows begins; what follows tells matches apart."""
REPORT = "caddis_report"
"""The column that reports leave in."""
_GATHERED = "reports"
"""What Spark calls the list of them."""

_leaving: dict[str, list[str]] = {}
"""The reports of this process's task, by their address. Spark gives a worker one task at a time."""


class RowReports:
    """Keeps a task's reports until the task's last row."""

    def __init__(self, address: str) -> None:
        self._address = address

    def add_tallies(self, tallies: Mapping[str, Tally], problems: Sequence[KeyedProblem]) -> None:
        """Add what the models did in one task."""
        self._add(tallies_text(tallies, problems[:KEPT_IN_A_ROW]))

    def add_counts(self, counts: Mapping[str, int], refused: Sequence[RefusedEvent]) -> None:
        """Add what happened to one task's sealed events."""
        self._add(counts_text(counts, refused[:KEPT_IN_A_ROW]))

    def _add(self, text: str) -> None:
        _leaving.setdefault(self._address, []).append(text)


class Operator(Protocol):
    """What `mapInArrow` calls once for each task."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows that a task gives."""


@dataclass(frozen=True, slots=True)
class WithReports:
    """An operator whose tasks add their reports to its rows, in a column of their own.

    operator: an operator that reports to `RowReports`.
    address: where it reports.
    schema: the columns that it gives.
    """

    operator: Operator
    address: str
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The operator's rows without a report, and then the reports."""
        _leaving.pop(self.address, None)  # what a task that failed may have left
        types = self.schema.types
        for batch in self.operator(batches):
            types = batch.schema.types
            yield self._batch(batch.columns, pa.nulls(batch.num_rows, pa.string()))
        texts = _leaving.pop(self.address, [])
        if texts:
            nothing = [pa.nulls(len(texts), type_) for type_ in types]
            yield self._batch(nothing, pa.array(texts, pa.string()))

    def _batch(self, columns: list[pa.Array], reports: pa.Array) -> pa.RecordBatch:
        named = dict(zip(self.schema.names, columns, strict=True))
        return pa.record_batch({**named, REPORT: reports})


class ObservedReports:
    """The driver's side of `RowReports`: reads reports as they pass, and takes them out.

    learn: called with the reports of each micro-batch, or of the first job.
    """

    patience = 5.0
    """Seconds to wait for a report: Spark hands it over a moment after the job has ended."""

    def __init__(
        self, address: str, learn: Callable[[GatheredReports], None] | None = None
    ) -> None:
        self.name = address.replace(":", "_")
        self._address = address
        self._gathered = GatheredReports()
        self._learn = learn
        self._observation: Observation | None = None
        self._remote = self._has_come = False
        self._waiting: threading.Thread | None = None

    @property
    def learns(self) -> bool:
        """Whether reports matter even if nobody reads them."""
        return self._learn is not None

    def watch(self, rows: DataFrame, operator: Operator, schema: StructType) -> DataFrame:
        """What an operator gives for some rows, without the reports, which are noted as they pass.

        schema: the columns that the operator gives.
        """
        fields = [StructField(one.name, one.dataType) for one in schema.fields]
        reporting = WithReports(
            operator, self._address, arrow_schema(schema, session_timezone(rows))
        )
        found = rows.mapInArrow(reporting, StructType([*fields, StructField(REPORT, StringType())]))
        gathered = F.collect_list(REPORT).alias(_GATHERED)
        if rows.isStreaming:
            _listener_of(rows.sparkSession).expect(self)
            observed = found.observe(self.name, gathered)
        else:
            self._remote = is_remote(rows.sparkSession)
            self._observation = Observation(self.name)
            observed = found.observe(self._observation, gathered)
            if self.learns and not self._remote:
                self._wait()
        return observed.where(F.col(REPORT).isNull()).drop(REPORT)

    def take(self, texts: Sequence[str]) -> None:
        """Add reports that have arrived, and learn from them."""
        self._gathered.take(texts)
        if texts and self._learn is not None:
            few = GatheredReports()
            few.take(texts)
            self._learn(few)

    def tallies(self) -> dict[str, Tally]:
        """What each model did on each column."""
        return self._arrived().tallies()

    def problems(self) -> list[KeyedProblem]:
        """The first events that models could not read or failed on."""
        return self._arrived().problems()

    def counts(self) -> dict[str, int]:
        """How many events, tests and so on there were, and how many errors of each kind."""
        return self._arrived().counts()

    def refused(self) -> list[RefusedEvent]:
        """The first events that were refused."""
        return self._arrived().refused()

    def _arrived(self) -> GatheredReports:
        if self._observation is not None and not self._has_come:
            if self._remote:
                self._look()
            else:
                self._wait().join(self.patience)
        return self._gathered

    def _wait(self) -> threading.Thread:
        """A thread that waits for the first job, which may never begin."""
        if self._waiting is None:
            self._waiting = threading.Thread(target=self._look, daemon=True)
            self._waiting.start()
        return self._waiting

    def _look(self) -> None:
        """Take the reports of the first job.

        A classic session waits for that job here; a Connect client knows the reports as soon as the
        job has ended.
        """
        assert self._observation is not None
        with suppress(*SPARK_ERRORS):
            texts = self._observation.get.get(_GATHERED)
            if texts is not None:
                self.take(texts)
                self._has_come = True


class _Progress(StreamingQueryListener):
    """Hands the reports of each micro-batch to those who still want them.

    A stream can be started again after it has ended, so a listener of its own could never be
    removed. Therefore a session has one, which forgets reports that nobody can read any more.
    """

    def __init__(self) -> None:
        self._wanted: WeakValueDictionary[str, ObservedReports] = WeakValueDictionary()
        self._learning: list[ObservedReports] = []

    def expect(self, reports: ObservedReports) -> None:
        """Hand over what arrives for these reports, for as long as they matter."""
        self._wanted[reports.name] = reports
        if reports.learns:
            self._learning.append(reports)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Nothing is known yet."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing new is known."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """All is known."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Take the reports of a micro-batch."""
        for name, observed in event.progress.observedMetrics.items():
            reports = self._wanted.get(name)
            if reports is not None:
                reports.take(observed[_GATHERED] or ())


_listeners: WeakKeyDictionary[SparkSession, _Progress] = WeakKeyDictionary()
_listeners_lock = threading.Lock()


def _listener_of(session: SparkSession) -> _Progress:
    with _listeners_lock:
        if session not in _listeners:
            listener = _Progress()
            session.streams.addListener(listener)
            _listeners[session] = listener
        return _listeners[session]


def results_of(
    rows: DataFrame, operator: Operator, schema: StructType, reports: Reports | None
) -> DataFrame:
    """What an operator gives for some rows, not yet computed.

    reports: what its tasks report; None if they do not.
    """
    if isinstance(reports, ObservedReports):
        return reports.watch(rows, operator, schema)
    return rows.mapInArrow(operator, schema)


def task_reports(address: str) -> TaskReports:
    """Where a worker reports."""
    return RowReports(address) if address.startswith(ROWS) else ReportFolder(Path(address))
