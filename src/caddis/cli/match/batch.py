"""`caddis match` over the files that are there: all matches into one new folder."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from caddis.cli.match.order import Order, Prepared, compiled, look_at_events, prepare
from caddis.cli.shell import Job, ModelSummary, ProblemList, count, rate, show_rows, start_spark
from caddis.files import (
    INVALID,
    check_free,
    file_count,
    naming_bad_lines,
    publish,
    staging_folder,
    write_invalid,
)


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """What a batch gave, and how long it took."""

    events: int
    matches: int
    subscriptions: int
    invalid: int
    out: Path
    format: str
    matching_seconds: float
    seconds: float
    models: ModelSummary

    @property
    def invalid_path(self) -> Path | None:
        """Where the invalid subscriptions are listed, if there are any."""
        return self.out / INVALID if self.invalid else None

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            "events": self.events,
            "matches": self.matches,
            "subscriptions": self.subscriptions,
            "invalid": self.invalid,
            "invalid_path": self.invalid_path,
            "out": self.out,
            "format": self.format,
            "files": file_count(self.out),
            "seconds": round(self.seconds, 3),
            "matching_seconds": round(self.matching_seconds, 3),
            "events_per_second": round(self.events / self.matching_seconds, 1),
            **self.models.as_json(self.out),
        }

    def show(self, console: Console) -> None:
        """The closing summary."""
        invalid = f"{self.invalid:,} invalid, listed in {self.invalid_path}" if self.invalid else ""
        speed = f"matching took {self.matching_seconds:.1f} s of {self.seconds:.1f} s in all"
        files = count(file_count(self.out), "file")
        rows = [
            ("events", f"{self.events:,}", ""),
            ("matches", f"{self.matches:,}", f"{files} of {self.format} in {self.out}"),
            ("subscriptions", f"{self.subscriptions:,}", invalid),
            *self.models.rows(self.out),
            ("events/s", rate(self.events, self.matching_seconds), speed),
        ]
        show_rows(console, rows)
        self.models.show(console)


@dataclass(frozen=True, slots=True)
class _Matched:
    """What lies in the staging folder, and how it came there."""

    events: int
    matches: int
    seconds: float
    invalid: int
    models: ModelSummary


def match_once(order: Order, job: Job) -> BatchSummary:
    """Match all events that are there."""
    began = time.monotonic()
    check_free(order.out, overwrite=order.overwrite)
    prepared = prepare(order, job)
    staging = job.resources.enter_context(staging_folder(order.out))
    matched = _match(order, prepared, staging, job)
    publish(staging, order.out)
    return BatchSummary(
        events=matched.events,
        matches=matched.matches,
        subscriptions=prepared.count,
        invalid=matched.invalid,
        out=order.out,
        format=order.matches_format,
        matching_seconds=matched.seconds,
        seconds=time.monotonic() - began,
        models=matched.models,
    )


def _match(order: Order, prepared: Prepared, staging: Path, job: Job) -> _Matched:
    """Match into the staging folder, and list beside the matches what went wrong."""
    spark = start_spark(order.master, order.timezone, job)
    from caddis.spark.base import (
        RowCount,
        read_events,
        spark_failures,
        watching_tasks,
        write_matches,
    )

    events_seen, matches_seen = RowCount(), RowCount()
    with naming_bad_lines(order.events, prepared.format), spark_failures():
        events = look_at_events(order, prepared, spark, read_events, job)
        ready = compiled(order, prepared, events_seen.of(events), job)
        with (
            job.screen.step("Matching") as step,
            watching_tasks(spark, step.show_tasks),
        ):
            write_matches(matches_seen.of(ready.matches), staging, order.matches_format)
            step.done = f"{events_seen.rows:,} events matched"
            seconds = step.seconds
    if ready.invalid:
        write_invalid(staging, ready.invalid)
    models = ProblemList(staging).update(ready.report)
    return _Matched(events_seen.rows, matches_seen.rows, seconds, len(ready.invalid), models)
