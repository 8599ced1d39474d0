"""What `caddis topics cluster` does: pack interests, find channels, write the map and draw it.

Everything that is wrong with the options or the files' names is found before Spark starts. The
output is written into a staging folder and published when it is complete.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from caddis.arrays import Int32s
from caddis.cli.shell import Job, count, require_java, require_matplotlib, start_spark
from caddis.cli.topics.command import ClusterOptions
from caddis.cli.topics.summary import ClusterSummary, CurvePoint, draw_curve, draw_filtering
from caddis.errors import TopicError
from caddis.files import FileFormat, check_free, existing, format_of, publish, staging_folder
from caddis.topics import ChannelMap

if TYPE_CHECKING:
    from caddis.spark.base import DataFrame, SparkSession
    from caddis.spark.topics import Clusterer, ClusteringReport, PreviousMap, WaveReport

MAP, VERSIONED = "channels", "channels.json"
CURVE, CURVE_PLOT, FILTERING_PLOT = "curve.csv", "cost.png", "filtering.png"
FILES = frozenset((f"{MAP}.csv", f"{MAP}.parquet", VERSIONED, CURVE, CURVE_PLOT, FILTERING_PLOT))


@dataclass(frozen=True, slots=True)
class Plan:
    """What the options ask for, as far as that can be told before Spark starts.

    format: the interests' format.
    previous: the file of the previous map.
    previous_version: the version of that map; None if no file beside it says so.
    also: the other numbers of channels of the curve.
    """

    format: FileFormat
    previous: Path | None
    previous_version: int | None
    also: list[int]

    @property
    def version(self) -> int:
        """The version of the new map."""
        return (self.previous_version or 0) + 1


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables in the files, not yet read."""

    interests: DataFrame
    rates: DataFrame | None
    previous: DataFrame | None


def planned(options: ClusterOptions) -> Plan:
    """Check the options; raises on what is wrong, before anything long begins."""
    check_free(options.out, overwrite=options.overwrite, ours=FILES)
    previous = _previous_map(options.previous)
    for path in (options.interests, options.rates, previous):
        if path is not None:
            existing(path, TopicError)
    for path in (options.rates, previous):
        if path is not None:
            format_of(path, TopicError)
    format_ = options.format or format_of(options.interests, TopicError)
    also = sorted(_numbers(options.curve) - {options.channels})
    plan = Plan(format_, previous, _version_of(options.previous), also)
    if options.plots:
        require_matplotlib()
    require_java()
    return plan


def _numbers(curve: str | None) -> set[int]:
    if curve is None:
        return set()
    try:
        numbers = {int(number) for number in curve.split(",")}
    except ValueError:
        numbers = {0}
    if min(numbers) < 1:
        raise TopicError(
            f"--curve {curve!r} is not a list of numbers of channels; write it as 5,10,20,40"
        )
    return numbers


def _previous_map(previous: Path | None) -> Path | None:
    """The file of the previous map; a folder may be an earlier --out."""
    if previous is None or not previous.is_dir():
        return previous
    candidates = (previous / f"{MAP}.{suffix}" for suffix in ("csv", "parquet"))
    return next((path for path in candidates if path.exists()), previous)


def _version_of(previous: Path | None) -> int | None:
    if previous is None:
        return None
    path = (previous if previous.is_dir() else previous.parent) / VERSIONED
    if not path.is_file():
        return None
    try:
        return ChannelMap.from_json(path.read_text(encoding="utf-8")).version
    except (TopicError, UnicodeDecodeError) as error:
        raise TopicError(f"{path}: {error}") from error


def cluster_files(options: ClusterOptions, job: Job) -> ClusterSummary:
    """Cluster the topics of the files, and write the result into a new folder."""
    began = time.monotonic()
    plan = planned(options)
    if plan.previous is not None and plan.previous_version is None:
        job.screen.say(f"No {VERSIONED} beside {options.previous}: the new map will be version 1.")
    spark = start_spark(options.master, "UTC", job)
    staging = job.resources.enter_context(staging_folder(options.out))
    map_, summary = _clustered(options, plan, _tables(options, plan, spark), job)
    with job.screen.step("Writing") as step:
        staging.mkdir()
        _write_map(options, plan, map_, staging)
        _write_curve(options, summary, staging)
        summary.files = tuple(sorted(path.name for path in staging.iterdir()))
        publish(staging, options.out)
        step.done = f"{count(len(summary.files), 'file')} written to {options.out}"
    summary.seconds = time.monotonic() - began
    return summary


def _tables(options: ClusterOptions, plan: Plan, spark: SparkSession) -> Tables:
    from caddis.spark.base import spark_failures
    from caddis.spark.topics import CHANNELS, RATES, Numbers, like_interests, read_table

    with spark_failures():
        interests = read_table(spark, options.interests, plan.format)

        def read(path: Path | None, what: str, numbers: Numbers) -> DataFrame | None:
            if path is None:
                return None
            table = read_table(spark, path, format_of(path, TopicError))
            return like_interests(table, what, interests, numbers)

        rates = read(options.rates, "rates", RATES)
        return Tables(interests, rates, read(plan.previous, "previous", CHANNELS))


def _clustered(
    options: ClusterOptions, plan: Plan, tables: Tables, job: Job
) -> tuple[pa.Table, ClusterSummary]:
    """The map as a table, and the summary without what comes after it."""
    from caddis.spark.base import watching_tasks
    from caddis.spark.topics import ClusteringReport, Effort, clusterer_of, map_before

    spark, report = tables.interests.sparkSession, ClusteringReport()
    effort = Effort(options.sample, options.tries, options.improvement, options.waves)
    with (
        job.screen.step("Reading and packing the interests") as step,
        watching_tasks(spark, step.show_tasks),
    ):
        before = map_before(tables.previous, tables.interests)
        held = clusterer_of(
            tables.interests, tables.rates, effort, seed=options.seed, report=report
        )
        clusterer = job.resources.enter_context(held)
        topics = clusterer.packed.topics
        step.done = f"{topics.interests:,} interests in {len(topics.names):,} topics packed"
    channels = _cluster_into(clusterer, options.channels, before, report, job)
    curve = [CurvePoint(options.channels, report.cost, report.random_cost)]
    for k in plan.also:
        other = ClusteringReport()
        _cluster_into(clusterer, k, None, other, job)
        curve.append(CurvePoint(k, other.cost, other.random_cost))
    shares = clusterer.shares(channels, options.channels)
    summary = ClusterSummary(options.channels, options.out, report, shares, sorted(curve))
    return clusterer.table(channels), summary


def _cluster_into(
    clusterer: Clusterer, k: int, before: PreviousMap | None, report: ClusteringReport, job: Job
) -> Int32s:
    """Cluster into k channels, and show every wave."""
    with job.screen.step(f"Clustering into {count(k, 'channel')}") as step:

        def show(wave: WaveReport) -> None:
            step.update(
                f"wave {wave.number}, cost {wave.cost:,.4g}, {report.saved_by(wave.cost):.1%} saved"
            )

        channels = clusterer.cluster(k, before, report, show)
        step.done = (
            f"{count(k, 'channel')}: {report.saved:.1%} of the cost saved, "
            f"{count(len(report.waves), 'wave')}"
        )
    return channels


def _write_map(options: ClusterOptions, plan: Plan, map_: pa.Table, folder: Path) -> None:
    """Write the map as a table, and with its version for publishers and receivers."""
    path = folder / f"{MAP}.{options.out_format}"
    if options.out_format == "csv":
        csv.write_csv(map_, path)
    else:
        pq.write_table(map_, path)
    topics = [str(topic) for topic in map_["topic"].to_pylist()]
    versioned = ChannelMap.from_arrays(topics, map_["channel"].to_numpy(), plan.version)
    (folder / VERSIONED).write_text(versioned.to_json() + "\n", encoding="utf-8")


def _write_curve(options: ClusterOptions, summary: ClusterSummary, folder: Path) -> None:
    """Draw who filters how much; write and draw the curve, if there is more than a point of it."""
    if options.plots:
        draw_filtering(summary.shares, folder / FILTERING_PLOT)
    if len(summary.curve) == 1:
        return
    rows = pa.Table.from_pylist([point._asdict() for point in summary.curve])
    csv.write_csv(rows, folder / CURVE)
    if options.plots:
        draw_curve(summary.curve, folder / CURVE_PLOT)
