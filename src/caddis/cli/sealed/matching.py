"""`caddis sealed match`: a broker's work on files of sealed events and subscriptions, on Spark."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from caddis.cli.sealed.files import check_id_types, reason, sealed_event_files
from caddis.cli.shell import Job, count, rate, require_java, short, show_rows, start_spark
from caddis.errors import SubscriptionTableError
from caddis.files import (
    INVALID,
    FileFormat,
    check_free,
    existing,
    file_count,
    named_format,
    publish,
    read_subscriptions,
    staging_folder,
    write_invalid,
)
from caddis.sealed.keys import Directory

if TYPE_CHECKING:
    from caddis.spark import Report
    from caddis.spark.base import DataFrame, SparkSession

REFUSED = "_refused.jsonl"

REPEATED = "its subscription_id occurs more than once; the first one is used"
NO_ID = "its subscription_id is null"


@dataclass(frozen=True, slots=True)
class MatchOrder:
    """The options as they were given."""

    events: Path
    subscriptions: Path
    out: Path
    directory: Path = Path("directory.json")
    out_format: FileFormat | None = None
    on_invalid: Literal["raise", "report"] = "raise"
    overwrite: bool = False
    master: str = "local[*]"
    index_dir: Path | None = None
    authority: str | None = None

    @property
    def matches_format(self) -> FileFormat:
        """As asked for, else as the name tells, else Parquet."""
        return self.out_format or named_format(self.out) or "parquet"


@dataclass(frozen=True, slots=True)
class SealedMatchSummary:
    """What a broker found, and what that took."""

    events: int
    refused: dict[str, int]
    subscriptions: int
    invalid: int
    matches: int
    inspected: int
    tests: int
    products: int
    out: Path
    format: FileFormat
    matching_seconds: float
    seconds: float
    authority: str

    @property
    def pairs(self) -> int:
        """Of admitted events and usable subscriptions."""
        return (self.events - sum(self.refused.values())) * (self.subscriptions - self.invalid)

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            "authority": self.authority,
            "events": self.events,
            "refused": self.refused,
            "subscriptions": self.subscriptions,
            "invalid": self.invalid,
            "matches": self.matches,
            "pairs": self.pairs,
            "inspected": self.inspected,
            "tests": self.tests,
            "products": self.products,
            "tests_per_event": round(self.tests / max(1, self.events), 3),
            "out": self.out,
            "format": self.format,
            "files": file_count(self.out),
            "matching_seconds": round(self.matching_seconds, 3),
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """The closing summary."""
        refused = sum(self.refused.values())
        files = f"{count(file_count(self.out), 'file')} of {self.format} in {self.out}"
        tests = f"an event, of {count(self.subscriptions - self.invalid, 'subscription')}"
        speed = f"matching took {self.matching_seconds:.1f} s of {self.seconds:.1f} s in all"
        invalid = (
            f"{self.invalid:,} invalid, listed in {self.out / INVALID}" if self.invalid else ""
        )
        rows = [
            ("sealed events", f"{self.events:,}", f"by authority {self.authority}"),
            ("refused", f"{refused:,}", f"listed in {self.out / REFUSED}" if refused else ""),
            *((f"  {reason(kind)}", f"{some:,}", "") for kind, some in self.refused.items()),
            ("subscriptions", f"{self.subscriptions:,}", invalid),
            ("matches", f"{self.matches:,}", files),
            ("encrypted tests", short(self.tests / max(1, self.events)), tests),
            ("events/s", rate(self.events, self.matching_seconds), speed),
        ]
        show_rows(console, rows)


def match_sealed(order: MatchOrder, job: Job) -> SealedMatchSummary:
    """Match all sealed events that are there."""
    began = time.monotonic()
    check_free(order.out, overwrite=order.overwrite)
    check_id_types(sealed_event_files(order.events))
    existing(order.subscriptions, SubscriptionTableError)
    directory = Directory.read(order.directory, order.authority)
    require_java()
    with job.screen.step("Reading the sealed subscriptions") as step:
        subscriptions = read_subscriptions(order.subscriptions)
        step.done = f"{count(len(subscriptions), 'sealed subscription')} read"
    staging = job.resources.enter_context(staging_folder(order.out))
    found = _matched(order, directory, subscriptions, staging, job)
    publish(staging, order.out)
    report = found.report
    return SealedMatchSummary(
        events=report.events,
        refused=dict(sorted(report.refusals.items())),
        subscriptions=len(subscriptions),
        invalid=found.invalid,
        matches=found.matches,
        inspected=report.inspected,
        tests=report.tests,
        products=report.products,
        out=order.out,
        format=order.matches_format,
        matching_seconds=found.seconds,
        seconds=time.monotonic() - began,
        authority=directory.fingerprint,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What lies in the staging folder, and how it came there."""

    matches: int
    invalid: int
    seconds: float
    report: Report


def _matched(
    order: MatchOrder, directory: Directory, subscriptions: pa.Table, staging: Path, job: Job
) -> _Found:
    """Match into the staging folder, and list beside the matches what was refused."""
    spark = start_spark(order.master, "UTC", job)
    from caddis.spark import Report
    from caddis.spark.base import RowCount, spark_failures, watching_tasks, write_matches

    counted, report = RowCount(), Report()
    with spark_failures():
        matches, invalid = _compiled(order, directory, subscriptions, spark, report, job)
        with (
            job.screen.step("Matching what is sealed") as step,
            watching_tasks(spark, step.show_tasks),
        ):
            write_matches(counted.of(matches), staging, order.matches_format)
            step.done = f"{report.events:,} sealed events matched"
            seconds = step.seconds
    if invalid:
        write_invalid(staging, invalid)
    if report.refusals:
        lines = map(json.dumps, report.refused.to_pylist())
        (staging / REFUSED).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return _Found(counted.rows, len(invalid), seconds, report)


def _compiled(
    order: MatchOrder,
    directory: Directory,
    subscriptions: pa.Table,
    spark: SparkSession,
    report: Report,
    job: Job,
) -> tuple[DataFrame, list[tuple[object, str]]]:
    """The matches to be computed, and subscriptions that cannot be used."""
    from caddis.spark import match_sealed
    from caddis.spark.base import read_events

    events = read_events(spark, order.events, "parquet")
    settings: dict[str, Any] = {
        "publishers": directory,
        "report": report,
        "index_dir": order.index_dir,
    }
    with job.screen.step("Compiling the sealed subscriptions") as step:
        step.done = "Sealed subscriptions compiled"
        if order.on_invalid == "raise":
            return match_sealed(events, subscriptions, **settings), []
        usable, invalid = each_id_once(subscriptions)
        found = match_sealed(events, usable, on_invalid="skip", **settings)
        rows = report.invalid.to_pylist()
        invalid += [(row["subscription_id"], row["error"]) for row in rows]
        step.done = f"Sealed subscriptions compiled, {len(invalid):,} of them invalid"
    return found, invalid


def each_id_once(subscriptions: pa.Table) -> tuple[pa.Table, list[tuple[object, str]]]:
    """The first subscription of each id; the others, and those without an id, and why not.

    Subscribers choose their ids by themselves, so one of them must not stop those of all others.
    """
    ids = subscriptions["subscription_id"].combine_chunks()
    rows = pa.table({"id": ids, "row": np.arange(len(ids))})
    first = rows.group_by("id").aggregate([("row", "min")])["row_min"]
    usable = pc.and_(pc.is_valid(ids), pc.is_in(rows["row"].combine_chunks(), first))
    invalid = [
        (one, REPEATED if one is not None else NO_ID)
        for one in ids.filter(pc.invert(usable)).to_pylist()
    ]
    return subscriptions.filter(usable), invalid
