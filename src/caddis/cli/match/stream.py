"""`caddis match --stream`: the files that are there, and each that comes.

A stream is stopped by Ctrl-C and started again with the same command; it goes on after the last
micro-batch that was written whole.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from caddis.cli.match.order import Order, Prepared, compiled, look_at_events, prepare
from caddis.cli.shell import Job, ModelSummary, ProblemList, count, rate, show_rows, start_spark
from caddis.errors import EventError
from caddis.files import (
    CHECKPOINT,
    INVALID,
    check_free,
    forget_checkpoint,
    naming_bad_lines,
    write_invalid,
)

if TYPE_CHECKING:
    from caddis.spark import Report
    from caddis.spark.base import MicroBatch, StreamingQuery


@dataclass(slots=True)
class StreamSummary:
    """What a stream has done since it was started."""

    out: Path
    format: str
    subscriptions: int
    invalid: int
    began: float
    batches: int = 0
    events: int = 0
    matches: int = 0
    working_seconds: float = 0.0
    models: ModelSummary = field(default_factory=ModelSummary)

    @property
    def invalid_path(self) -> Path | None:
        """Where the invalid subscriptions are listed, if there are any."""
        return self.out / INVALID if self.invalid else None

    def add(self, batch: MicroBatch) -> None:
        """Count a micro-batch in."""
        self.batches += 1
        self.events += batch.events
        self.matches += batch.matches
        self.working_seconds += batch.seconds

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            "events": self.events,
            "matches": self.matches,
            "batches": self.batches,
            "subscriptions": self.subscriptions,
            "invalid": self.invalid,
            "invalid_path": self.invalid_path,
            "out": self.out,
            "format": self.format,
            "seconds": round(time.monotonic() - self.began, 3),
            "working_seconds": round(self.working_seconds, 3),
            **self.models.as_json(self.out),
        }

    def show(self, console: Console) -> None:
        """The closing summary."""
        invalid = f"{self.invalid:,} invalid, listed in {self.invalid_path}" if self.invalid else ""
        batches = count(self.batches, "micro-batch", "micro-batches")
        working = f"{batches}, {self.working_seconds:.1f} s of work"
        rows = [
            ("events", f"{self.events:,}", ""),
            ("matches", f"{self.matches:,}", f"{self.format} in {self.out}"),
            ("subscriptions", f"{self.subscriptions:,}", invalid),
            *self.models.rows(self.out),
            ("events/s", rate(self.events, self.working_seconds), working),
        ]
        show_rows(console, rows)
        self.models.show(console)


def match_stream(order: Order, job: Job) -> StreamSummary:
    """Match what is there and what comes, until it is stopped."""
    began = time.monotonic()
    checkpoint = order.checkpoint or order.out / CHECKPOINT
    if not order.events.is_dir() and order.events.exists():
        raise EventError(f"{order.events} is a file; a stream watches a folder")
    goes_on = checkpoint.exists() and not order.overwrite
    if not goes_on:
        check_free(order.out, overwrite=order.overwrite)
    prepared = prepare(order, job)
    if order.overwrite:
        forget_checkpoint(checkpoint)
        shutil.rmtree(order.out, ignore_errors=True)
    summary = StreamSummary(order.out, order.matches_format, prepared.count, 0, began)
    if goes_on:
        job.screen.say("Going on after the last micro-batch that was written.")
    _run(order, prepared, checkpoint, summary, job)
    return summary


def _run(
    order: Order, prepared: Prepared, checkpoint: Path, summary: StreamSummary, job: Job
) -> None:
    spark = start_spark(order.master, order.timezone, job)
    from caddis.spark.base import counted, read_event_stream, spark_failures, stream_matches

    with naming_bad_lines(order.events, prepared.format), spark_failures():
        events = look_at_events(order, prepared, spark, read_event_stream, job)
        ready = compiled(order, prepared, counted(events, "events"), job)
        summary.invalid = len(ready.invalid)
        if ready.invalid:
            write_invalid(order.out, ready.invalid)
        told = counted(ready.matches, "matches")
        query = stream_matches(told, order.out, order.matches_format, checkpoint, once=order.once)
        job.resources.callback(query.stop)
        job.so_far = lambda: summary
        if not order.once:
            job.screen.say("Ctrl-C ends it.")
        _follow(query, f"Watching {order.events}", summary, ready.report, job)


def _follow(
    query: StreamingQuery, doing: str, summary: StreamSummary, report: Report, job: Job
) -> None:
    from caddis.spark.base import follow

    problems = ProblemList(summary.out)
    with job.screen.step(doing) as step:
        for batch in follow(query):
            summary.add(batch)
            summary.models = problems.update(report)
            step.update(f"{summary.events:,} events, {summary.matches:,} matches")
        step.done = f"{summary.events:,} events matched"
