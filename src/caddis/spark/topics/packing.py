"""Interests packed once on Spark's workers, and the jobs that every wave asks of them.

    a packed row   offsets BINARY (int64), topics BINARY (int32), sampled BOOLEAN
    a tally's row  wants BINARY, receivers BINARY, shared BINARY (int64 each)

Rows are gathered by subscriber. Each partition becomes one or two rows of arrays, which are kept in
memory or on disk until the work is over. A partition holds all interests of each of its
subscribers, so tallies of partitions add up. A wave is then one small job: the map goes out with
it, and tallies come back. The operators are values that travel with the job. Nothing here needs a
SparkContext, so it runs through Spark Connect as it does on a laptop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from caddis.arrays import Int32s, Int64s, offsets_of
from caddis.errors import TopicError
from caddis.spark.base import spark_failures
from caddis.spark.topics.reports import ClusteringReport
from caddis.spark.topics.tables import Topics, interest_columns
from caddis.topics.clustering import Interests, Tallies, count, integer_rates

PACKED = "offsets BINARY, topics BINARY, sampled BOOLEAN"
TALLIES = "wants BINARY, receivers BINARY, shared BINARY"
FILTERING = "shares BINARY"

A_PARTITION = 2_000_000
"""How many interests a partition has, unless the user sets the number of partitions."""
TO_DRIVER = 256 << 20
"""How many bytes of tallies a wave may bring to the driver; workers add up what would be more."""
_A_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class PackedInterests:
    """All interests, packed on the workers; topics are numbers here.

    rates: the rate of every topic, in whole units; topics that somebody wants come first.
    unit: the rate of one unit.
    """

    rows: DataFrame
    partitions: int
    topics: Topics
    rates: Int64s
    unit: float

    @property
    def wanted_names(self) -> pa.Array:
        """The names of the topics that somebody wants, by number."""
        return self.topics.names.slice(0, self.topics.wanted)

    @property
    def wanted_rates(self) -> Int64s:
        """The rates of the topics that somebody wants."""
        return self.rates[: self.topics.wanted]

    def count(self, channels: Int32s, k: int) -> Tallies:
        """The tallies of all subscribers under a map of the wanted topics; one job."""
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
        """The interests of the sampled subscribers, in this process."""
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
        total: Int64s = np.sum([_int64s(value) for value in table["shares"]], axis=0)
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
    """Keep the interests on the workers until the block ends, however it ends.

    sample: about how many interests `PackedInterests.sample` should give.
    """
    rates, unit = integer_rates(topics.rates)
    # A copy: a slice would drag along all the names that it is of.
    wanted = pa.concat_arrays([topics.names.slice(0, topics.wanted)])
    number = partitions or -(-topics.interests // A_PARTITION)
    chosen = _is_chosen(min(1.0, sample / topics.interests), seed)
    gathered = (
        interest_columns(interests).withColumn("sampled", chosen).repartition(number, "subscriber")
    )
    rows = gathered.mapInArrow(Pack(wanted), PACKED).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        with report.phase("pack"), spark_failures():
            rows.count()
        yield PackedInterests(rows, number, topics, rates, unit)
    finally:
        rows.unpersist()


def _is_chosen(share: float, seed: int) -> Column:
    """Whether a subscriber is sampled, by a hash of it: so the partitions do not matter."""
    hashed = F.pmod(F.xxhash64(F.col("subscriber"), F.lit(seed)), F.lit(_A_MILLION))
    return hashed < F.lit(round(share * _A_MILLION))


@dataclass(frozen=True, slots=True)
class Pack:
    """Turns the rows (subscriber, topic, sampled) of a partition into one or two packed rows.

    names: the topics' names, by number.
    """

    names: pa.Array

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [self._encoded(batch) for batch in batches if batch.num_rows]
        if not rows:
            return
        table = pa.Table.from_batches(rows)
        subscribers = _numbers(table["subscriber"])
        topics = table["topic"].to_numpy()
        sampled = table["sampled"].to_numpy()
        for chosen in (True, False):
            some = sampled == chosen
            if some.any():
                yield self._packed(subscribers[some], topics[some], chosen)

    def _encoded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        subscriber, topic, sampled = batch.columns
        numbers = pc.index_in(topic.cast(self.names.type), self.names)
        if numbers.null_count:
            raise TopicError("interests changed while they were read: a topic was not there before")
        return pa.record_batch({"subscriber": subscriber, "topic": numbers, "sampled": sampled})

    def _packed(self, subscribers: Int64s, topics: Int32s, chosen: bool) -> pa.RecordBatch:
        rates = np.ones(len(self.names), np.int64)
        interests = Interests.from_pairs(subscribers, topics, rates)
        return pa.record_batch(
            {
                "offsets": _binary(interests.offsets),
                "topics": _binary(interests.topics),
                "sampled": pa.array([chosen]),
            }
        )


@dataclass(frozen=True, slots=True)
class CountTallies:
    """Turns packed rows into the tallies of all of them, in one row."""

    channels: Int32s
    k: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rates = np.ones(len(self.channels), np.int64)
        yield from _row_of(count(part, self.channels, self.k) for part in unpacked(batches, rates))


def add_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn rows of tallies into their sum, in one row."""
    yield from _row_of(tallies_of(batches))


@dataclass(frozen=True, slots=True)
class CountFiltering:
    """Turns packed rows into counts of subscribers, by the share that they do not want.

    Shares are in percent of what a subscriber receives, rounded up, so that 0 means nothing at all:
    101 counts.

    carried: the rate of each channel's topics, including those that nobody wants.
    """

    channels: Int32s
    rates: Int64s
    carried: Int64s

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bins = np.zeros(101, np.int64)
        for part in unpacked(batches, self.rates):
            percents = unwanted_percents(part, self.channels, self.carried)
            bins += np.bincount(percents, minlength=101)
        yield pa.record_batch({"shares": _binary(bins)})


def unwanted_percents(interests: Interests, channels: Int32s, carried: Int64s) -> Int64s:
    """The unwanted part of the rate that each subscriber receives, in percent, rounded up."""
    k, wants = len(carried), np.diff(interests.offsets)
    owner = np.repeat(np.arange(interests.subscribers), wants)
    wanted = _sums(owner, interests.rates[interests.topics], interests.subscribers)
    pairs = np.unique(owner * k + channels[interests.topics])
    received = _sums(pairs // k, carried[pairs % k], interests.subscribers)
    percents: Int64s = -(-100 * (received - wanted) // np.maximum(received, 1))
    return percents


def _sums(owners: Int64s, values: Int64s, size: int) -> Int64s:
    """Sum up by owner; all rates are less than 2^53 together, so the floats are exact."""
    return np.bincount(owners, values, size).astype(np.int64)


def unpacked(batches: Iterable[pa.RecordBatch], rates: Int64s) -> Iterator[Interests]:
    """The interests of each packed row."""
    for batch in batches:
        for offsets, topics in zip(batch["offsets"], batch["topics"], strict=True):
            yield Interests(_int64s(offsets), np.frombuffer(topics.as_buffer(), np.int32), rates)


def tallies_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Tallies]:
    """The tallies of each row."""
    for batch in batches:
        for row in zip(batch["wants"], batch["receivers"], batch["shared"], strict=True):
            wants, receivers, shared = (_int64s(value) for value in row)
            yield Tallies(wants, receivers, shared.reshape(len(wants), len(receivers)))


def add_up(tallies: Iterable[Tallies]) -> Tallies | None:
    """The sum of all tallies; None if there are none."""
    total: Tallies | None = None
    for one in tallies:
        if total is None:
            total = Tallies(*(part.copy() for part in one))
            continue
        for sums, part in zip(total, one, strict=True):
            np.add(sums, part, out=sums)
    return total


def warm_up() -> None:
    """Compile here what the workers will load: otherwise they would all compile it at once."""
    row = pa.record_batch({"subscriber": [1], "topic": [0], "sampled": [True]})
    packed_rows = list(Pack(pa.array([0, 1]))(iter([row])))
    for _ in CountTallies(np.zeros(2, np.int32), 1)(iter(packed_rows)):
        pass


def _row_of(tallies: Iterable[Tallies]) -> Iterator[pa.RecordBatch]:
    total = add_up(tallies)
    if total is not None:
        fields = total._asdict().items()
        yield pa.record_batch({name: _binary(part) for name, part in fields})


def _numbers(subscribers: pa.ChunkedArray) -> Int64s:
    """A number for each subscriber; those that are numbers already stay as they are."""
    numbers = subscribers
    if not pa.types.is_integer(subscribers.type):
        numbers = subscribers.dictionary_encode().unify_dictionaries()
        numbers = pa.chunked_array([chunk.indices for chunk in numbers.chunks])
    encoded: Int64s = numbers.to_numpy().astype(np.int64)
    return encoded


def _binary(array: Int64s | Int32s) -> pa.Array:
    return pa.array([np.ascontiguousarray(array).tobytes()], pa.binary())


def _int64s(value: pa.Scalar) -> Int64s:
    return np.frombuffer(value.as_buffer(), np.int64)
