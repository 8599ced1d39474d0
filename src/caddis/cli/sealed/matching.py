"""`caddis sealed match`: a broker matches files of sealed events and subscriptions on Spark.

It needs no key, only the directory that the authority signed. Matches are written into a hidden
folder that takes its name when everything is there; `_refused.jsonl` and `_invalid.jsonl` beside
them list the events and subscriptions that could not be used.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from caddis.cli.sealed.command import MatchOptions
from caddis.cli.sealed.files import check_id_types, refusal_rows, sealed_event_files
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
    write_lines,
)
from caddis.sealed.keys import Directory

if TYPE_CHECKING:
    from caddis.spark import Report
    from caddis.spark.base import DataFrame, SparkSession

REFUSED = "_refused.jsonl"

REPEATED = "its subscription_id occurs more than once; the first one is used"
NO_ID = "its subscription_id is null"


@dataclass(frozen=True, slots=True)
class SealedMatchSummary:
    """What a broker matched, and what that took."""

    authority: str
    events: int
    refused: dict[str, int]
    """How many events were refused, by the name of the error."""
    subscriptions: int
    invalid: int
    matches: int
    inspected: int
    """Pairs of event and clause whose Bloom filters were compared."""
    tests: int
    """Pairs that passed, each of which took an encrypted test."""
    products: int
    """Scalar products that the tests took."""
    out: Path
    format: FileFormat
    matching_seconds: float
    seconds: float

    @property
    def pairs(self) -> int:
        """Pairs of an admitted event and a usable subscription."""
        return (self.events - sum(self.refused.values())) * (self.subscriptions - self.invalid)

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            **asdict(self),
            "pairs": self.pairs,
            "tests_per_event": round(self.tests / max(1, self.events), 3),
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
            *refusal_rows(self.refused),
            ("subscriptions", f"{self.subscriptions:,}", invalid),
            ("matches", f"{self.matches:,}", files),
            ("encrypted tests", short(self.tests / max(1, self.events)), tests),
            ("events/s", rate(self.events, self.matching_seconds), speed),
        ]
        show_rows(console, rows)


def match_files(options: MatchOptions, job: Job) -> SealedMatchSummary:
    """Match all sealed events of a file or folder."""
    began = time.monotonic()
    check_free(options.out, overwrite=options.overwrite)
    check_id_types(sealed_event_files(options.events))
    existing(options.subscriptions, SubscriptionTableError)
    directory = Directory.read(options.directory, options.trusted)
    require_java()
    with job.screen.step("Reading the sealed subscriptions") as step:
        subscriptions = read_subscriptions(options.subscriptions)
        step.done = f"{count(len(subscriptions), 'sealed subscription')} read"
    staging = job.resources.enter_context(staging_folder(options.out))
    outcome = _match(options, directory, subscriptions, staging, job)
    publish(staging, options.out)
    report = outcome.report
    return SealedMatchSummary(
        authority=directory.fingerprint,
        events=report.events,
        refused=dict(sorted(report.refusals.items())),
        subscriptions=len(subscriptions),
        invalid=outcome.invalid,
        matches=outcome.matches,
        inspected=report.inspected,
        tests=report.tests,
        products=report.products,
        out=options.out,
        format=_format(options),
        matching_seconds=outcome.seconds,
        seconds=time.monotonic() - began,
    )


def _format(options: MatchOptions) -> FileFormat:
    return options.out_format or named_format(options.out) or "parquet"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What lies in the staging folder, and how it came there."""

    matches: int
    invalid: int
    seconds: float
    report: Report


def _match(
    options: MatchOptions, directory: Directory, subscriptions: pa.Table, staging: Path, job: Job
) -> _Outcome:
    """Match into the staging folder, and list there what could not be used."""
    from caddis.sealed.matcher import NEEDED

    spark = start_spark(options.master, "UTC", job, [NEEDED])
    from caddis.spark import Report
    from caddis.spark.base import RowCount, spark_failures, watching_tasks, write_matches

    counted, report = RowCount(), Report()
    with spark_failures():
        matches, invalid = _compiled(options, directory, subscriptions, spark, report, job)
        with (
            job.screen.step("Matching what is sealed") as step,
            watching_tasks(spark, step.show_tasks),
        ):
            write_matches(counted.of(matches), staging, _format(options))
            step.done = f"{report.events:,} sealed events matched"
            seconds = step.seconds
    if invalid:
        write_invalid(staging, invalid)
    if report.refusals:
        write_lines(staging / REFUSED, report.refused.to_pylist())
    return _Outcome(counted.rows, len(invalid), seconds, report)


def _compiled(
    options: MatchOptions,
    directory: Directory,
    subscriptions: pa.Table,
    spark: SparkSession,
    report: Report,
    job: Job,
) -> tuple[DataFrame, list[tuple[object, str]]]:
    """The matches to be computed, and subscriptions that cannot be used."""
    from caddis.spark import match_sealed
    from caddis.spark.base import read_events

    skipping = options.on_invalid == "skip"
    usable, invalid = each_id_once(subscriptions) if skipping else (subscriptions, [])
    with job.screen.step("Compiling the sealed subscriptions") as step:
        matches = match_sealed(
            read_events(spark, options.events, "parquet"),
            usable,
            publishers=directory,
            on_invalid=options.on_invalid,
            index_dir=options.index_dir,
            report=report,
        )
        invalid += [(row["subscription_id"], row["error"]) for row in report.invalid.to_pylist()]
        skipped = f", {len(invalid):,} of them invalid" if invalid else ""
        step.done = f"Sealed subscriptions compiled{skipped}"
    return matches, invalid


def each_id_once(subscriptions: pa.Table) -> tuple[pa.Table, list[tuple[object, str]]]:
    """The first subscription of each id; and the ids of the others, with the reason.

    Subscribers choose their ids by themselves, so one who repeats another's id or has none must
    not stop all others.
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
