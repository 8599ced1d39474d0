"""The progress of a running job or stream.

Spark knows how many tasks of a job are done; a session over Spark Connect does not offer that, and
then nothing is shown. Each finished micro-batch of a stream shows how many events and matches it
had.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

from caddis.spark.base.failures import SPARK_ERRORS


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What a finished micro-batch of a stream did."""

    number: int
    events: int
    matches: int
    seconds: float


class RowCount:
    """Counts rows on their way through the first job that reads them, without a second pass."""

    def __init__(self) -> None:
        self._observation = Observation()

    def of(self, rows: DataFrame) -> DataFrame:
        """The same rows, counted."""
        return rows.observe(self._observation, F.count(F.lit(1)).alias("rows"))

    @property
    def rows(self) -> int:
        """The number of rows, once the job is done."""
        return int(self._observation.get["rows"])


@contextmanager
def watching_tasks(
    session: SparkSession, seen: Callable[[int, int], None], *, every: float = 0.25
) -> Iterator[None]:
    """Regularly call `seen(done, all)` with the running job's tasks, from another thread.

    every: seconds between two calls.
    """
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(session, seen, over, every), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()


def follow(query: StreamingQuery, *, every: int = 1) -> Iterator[MicroBatch]:
    """Yield each micro-batch when it is finished, until the query ends; raise what ended it.

    every: seconds between two looks at the query.
    """
    last = -1
    ended = False
    while not ended:
        ended = bool(query.awaitTermination(every))
        for progress in query.recentProgress:
            if progress.batchId > last and progress.numInputRows > 0:
                last = progress.batchId
                yield _micro_batch(progress)


def _watch(
    session: SparkSession, seen: Callable[[int, int], None], over: threading.Event, every: float
) -> None:
    """Watch until `over` is set, or the session is stopped, or has no SparkContext to ask."""
    with suppress(*SPARK_ERRORS):
        tracker = session.sparkContext.statusTracker()
        while not over.wait(every):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            known = [stage for stage in stages if stage is not None]
            if known:
                seen(sum(s.numCompletedTasks for s in known), sum(s.numTasks for s in known))


def _micro_batch(progress: Any) -> MicroBatch:
    observed = progress.observedMetrics
    rows = {name: int(row["rows"]) for name, row in observed.items()}
    return MicroBatch(
        number=progress.batchId,
        events=rows.get("events", int(progress.numInputRows)),
        matches=rows.get("matches", 0),
        seconds=int(progress.batchDuration) / 1000,
    )
