"""Interests packed once on Spark's workers, and the jobs that every wave asks of them.

Rows are gathered by subscriber, and each partition becomes one row of arrays or two, kept in
memory or on disk until the work is over. A wave is then one small job: the map goes out with it,
and tallies, which add up, come back. Nothing here needs a SparkContext, so it runs through Spark
Connect as it does on a laptop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError
from caddis.spark.base import spark_failures
from caddis.spark.topics.reports import ClusteringReport
from caddis.spark.topics.tables import Topics, interest_columns
from caddis.spark.topics.workers import (
    FILTERING,
    PACKED,
    TALLIES,
    CountFiltering,
    CountTallies,
    Pack,
    add_rows,
    add_up,
    tallies_of,
    unpacked,
)
from caddis.topics.clustering import Interests, Tallies, integer_rates, offsets_of

A_PARTITION = 2_000_000
"""Interests of a partition, unless the user says how many partitions there are to be."""
TO_DRIVER = 256 << 20
"""Bytes of tallies that a wave may bring to the driver; workers add up what would be more."""
_OF_A_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class PackedInterests:
    """All interests, packed on the workers; topics are numbers here."""

    rows: DataFrame
    partitions: int
    topics: Topics
    rates: Int64s
    """Of every topic, in whole units; those that somebody wants come first."""
    unit: float
    """The rate of one unit."""

    @property
    def wanted_names(self) -> pa.Array:
        """The topics that somebody wants, by number."""
        return self.topics.names.slice(0, self.topics.wanted)

    @property
    def wanted_rates(self) -> Int64s:
        """Of the topics that somebody wants."""
        return self.rates[: self.topics.wanted]

    def count(self, channels: Int32s, k: int) -> Tallies:
        """The tallies of all subscribers, under a map of the wanted topics; one job."""
        rows = self.rows.mapInArrow(CountTallies(channels, k), TALLIES)
        at_once = max(1, TO_DRIVER // (8 * len(channels) * k))
        if self.partitions > at_once:
            rows = rows.repartition(at_once).mapInArrow(add_rows, TALLIES)
        with spark_failures():
            total = add_up(tallies_of(rows.toArrow().to_batches()))
        if total is None:
            raise TopicError("interests changed while they were read: now there are none")
        return total

    def sample(self) -> Interests:
        """The interests of the subscribers that were chosen, here."""
        chosen = self.rows.where("sampled").select("offsets", "topics")
        with spark_failures():
            parts = list(unpacked(chosen.toArrow().to_batches(), self.wanted_rates))
        sizes = [np.diff(part.offsets) for part in parts] or [np.zeros(0, np.int64)]
        topics = [part.topics for part in parts] or [np.zeros(0, np.int32)]
        return Interests(
            offsets_of(np.concatenate(sizes)), np.concatenate(topics), self.wanted_rates
        )

    def shares(self, channels: Int32s, carried: Int64s) -> Int64s:
        """How many subscribers do not want 0, up to 1, ..., up to 100 % of what they receive."""
        operator = CountFiltering(channels, self.wanted_rates, carried)
        with spark_failures():
            table = self.rows.mapInArrow(operator, FILTERING).toArrow()
        bins = [np.frombuffer(value.as_buffer(), np.int64) for value in table["shares"]]
        total: Int64s = np.sum(bins, axis=0)
        return total


@contextmanager
def packed(
    interests: DataFrame,
    topics: Topics,
    *,
    sample: int,
    seed: int,
    partitions: int | None,
    report: ClusteringReport,
) -> Iterator[PackedInterests]:
    """The interests on the workers, until the block ends, however it does.

    sample: about how many interests `PackedInterests.sample` is to give.
    """
    rates, unit = integer_rates(topics.rates)
    wanted = topics.names.slice(0, topics.wanted)
    number = partitions or -(-topics.interests // A_PARTITION)
    chosen = _is_chosen(min(1.0, sample / topics.interests), seed)
    gathered = (
        interest_columns(interests).withColumn("sampled", chosen).repartition(number, "subscriber")
    )
    rows = gathered.mapInArrow(Pack(_own(wanted)), PACKED).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        with report.phase("pack"), spark_failures():
            rows.count()
        yield PackedInterests(rows, number, topics, rates, unit)
    finally:
        rows.unpersist()


def _is_chosen(share: float, seed: int) -> Column:
    """By a hash of the subscriber: the same ones, wherever they are kept."""
    hashed = F.pmod(F.xxhash64(F.col("subscriber"), F.lit(seed)), F.lit(_OF_A_MILLION))
    return hashed < F.lit(round(share * _OF_A_MILLION))


def _own(names: pa.Array) -> pa.Array:
    """A copy that does not drag along what the slice is of."""
    return pa.concat_arrays([names])
