"""What `caddis topics cluster` does: pack interests, find channels, write the map and draw it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from caddis.arrays import Int32s, Int64s
from caddis.cli.shell import Job, count, start_spark
from caddis.cli.topics.order import CURVE, CURVE_PLOT, FILTERING_PLOT, MAP, VERSIONED, ClusterOrder
from caddis.cli.topics.summary import ClusterSummary
from caddis.errors import TopicError
from caddis.files import format_of, publish, staging_folder
from caddis.lab.figures import CurvePoint, draw_curve, draw_filtering
from caddis.topics.channels import ChannelMap

if TYPE_CHECKING:
    from caddis.spark.base import DataFrame, SparkSession
    from caddis.spark.topics import Clusterer, ClusteringReport, PreviousMap, WaveReport


@dataclass(frozen=True, slots=True)
class Tables:
    """What the files hold, not yet read."""

    interests: DataFrame
    rates: DataFrame | None
    previous: DataFrame | None


@dataclass(frozen=True, slots=True)
class Found:
    """A map and what it costs; the same for other numbers of channels."""

    map: pa.Table
    report: ClusteringReport
    shares: Int64s
    curve: list[CurvePoint]


def cluster_files(order: ClusterOrder, job: Job) -> ClusterSummary:
    """Cluster the topics of the files, and write what was found into a new folder."""
    began = time.monotonic()
    order.check()
    if order.previous_version is None and order.previous is not None:
        job.screen.say(f"No {VERSIONED} beside {order.previous}: the new map will be version 1.")
    spark = start_spark(order.master, "UTC", job)
    staging = job.resources.enter_context(staging_folder(order.out))
    found = _found(order, _tables(order, spark), job)
    with job.screen.step("Writing") as step:
        staging.mkdir()
        files = _written(order, found, staging)
        publish(staging, order.out)
        step.done = f"{count(len(files), 'file')} written to {order.out}"
    seconds = time.monotonic() - began
    return ClusterSummary(order, found.report, found.shares, found.curve, tuple(files), seconds)


def _tables(order: ClusterOrder, spark: SparkSession) -> Tables:
    from caddis.spark.base import spark_failures
    from caddis.spark.topics import CHANNELS, RATES, Numbers, like_interests, read_table

    with spark_failures():
        interests = read_table(spark, order.interests, order.interests_format)

        def read(path: Path | None, what: str, numbers: Numbers) -> DataFrame | None:
            if path is None:
                return None
            table = read_table(spark, path, format_of(path, TopicError))
            return like_interests(table, what, interests, numbers)

        rates = read(order.rates, "rates", RATES)
        return Tables(interests, rates, read(order.previous_map, "previous", CHANNELS))


def _found(order: ClusterOrder, tables: Tables, job: Job) -> Found:
    from caddis.spark.base import watching_tasks
    from caddis.spark.topics import ClusteringReport, Effort, clustering, map_before

    spark, report = tables.interests.sparkSession, ClusteringReport()
    effort = Effort(order.sample, order.tries, order.improvement, order.waves)
    with (
        job.screen.step("Reading and packing the interests") as step,
        watching_tasks(spark, step.show_tasks),
    ):
        before = map_before(tables.previous, tables.interests)
        held = clustering(tables.interests, tables.rates, effort, seed=order.seed, report=report)
        clusterer = job.resources.enter_context(held)
        topics = clusterer.packed.topics
        step.done = f"{topics.interests:,} interests in {len(topics.names):,} topics packed"
    channels = _clustered(clusterer, order.channels, before, report, job)
    curve = [CurvePoint(order.channels, report.cost, report.random_cost)]
    for k in order.also:
        other = ClusteringReport()
        _clustered(clusterer, k, None, other, job)
        curve.append(CurvePoint(k, other.cost, other.random_cost))
    shares = clusterer.shares(channels, order.channels)
    return Found(clusterer.table(channels), report, shares, sorted(curve))


def _clustered(
    clusterer: Clusterer, k: int, before: PreviousMap | None, report: ClusteringReport, job: Job
) -> Int32s:
    """Cluster into k channels, and tell of every wave."""
    with job.screen.step(f"Clustering into {count(k, 'channel')}") as step:

        def tell(wave: WaveReport) -> None:
            step.update(
                f"wave {wave.number}, cost {wave.cost:,.4g}, {report.saved_by(wave.cost):.1%} saved"
            )

        channels = clusterer.cluster(k, before, report, tell)
        step.done = (
            f"{count(k, 'channel')}: {report.saved:.1%} of the cost saved, "
            f"{count(len(report.waves), 'wave')}"
        )
    return channels


def _written(order: ClusterOrder, found: Found, folder: Path) -> list[str]:
    """Write all files; their names."""
    name = f"{MAP}.{order.out_format}"
    if order.out_format == "csv":
        csv.write_csv(found.map, folder / name)
    else:
        pq.write_table(found.map, folder / name)
    (folder / VERSIONED).write_text(_versioned(order, found).to_json() + "\n", encoding="utf-8")
    names = [name, VERSIONED]
    if order.plots:
        draw_filtering(found.shares, folder / FILTERING_PLOT)
        names.append(FILTERING_PLOT)
    if order.also:
        rows = pa.Table.from_pylist([point._asdict() for point in found.curve])
        csv.write_csv(rows, folder / CURVE)
        names.append(CURVE)
    if order.also and order.plots:
        draw_curve(found.curve, folder / CURVE_PLOT)
        names.append(CURVE_PLOT)
    return names


def _versioned(order: ClusterOrder, found: Found) -> ChannelMap:
    """The map for publishers and receivers."""
    topics = [str(topic) for topic in found.map["topic"].to_pylist()]
    return ChannelMap.from_arrays(topics, found.map["channel"].to_numpy(), order.version)
