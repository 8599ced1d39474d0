"""What Spark's workers do with interests: pack them once, then count them in every wave.

    a packed row:   offsets BINARY (int64), topics BINARY (int32), sampled BOOLEAN
    a tally's row:  wants BINARY, receivers BINARY, shared BINARY (int64 each)

A partition of packed rows holds all interests of each of its subscribers, so tallies of partitions
add up. The operators are values that travel with the job: what changes from wave to wave is only
the map of topics to channels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.clustering import Interests, Tallies, count

PACKED = "offsets BINARY, topics BINARY, sampled BOOLEAN"
TALLIES = "wants BINARY, receivers BINARY, shared BINARY"
FILTERING = "shares BINARY, subscribers BIGINT"


@dataclass(frozen=True, slots=True)
class Pack:
    """Rows (subscriber, topic, sampled) of one partition → one or two packed rows."""

    names: pa.Array
    """Of the topics, by number."""

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
    """Packed rows → the tallies of all of them, in one row."""

    channels: Int32s
    k: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rates = np.ones(len(self.channels), np.int64)
        yield from _row_of(count(part, self.channels, self.k) for part in unpacked(batches, rates))


def add_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of tallies → their sum, in one row."""
    yield from _row_of(tallies_of(batches))


@dataclass(frozen=True, slots=True)
class CountFiltering:
    """Packed rows → how many subscribers filter which share out of what they receive.

    shares: in percent, rounded up, so that 0 is nothing at all; 101 counts.
    """

    channels: Int32s
    rates: Int64s
    carried: Int64s
    """By channel, the rate of all its topics, of those too that nobody wants."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bins = np.zeros(101, np.int64)
        for part in unpacked(batches, self.rates):
            percents = unwanted_percents(part, self.channels, self.carried)
            bins += np.bincount(percents, minlength=101)
        yield pa.record_batch({"shares": _binary(bins), "subscribers": pa.array([bins.sum()])})


def unwanted_percents(interests: Interests, channels: Int32s, carried: Int64s) -> Int64s:
    """By subscriber: what part of the rate that it receives is unwanted, in percent, rounded up."""
    k, wants = len(carried), np.diff(interests.offsets)
    owner = np.repeat(np.arange(interests.subscribers), wants)
    wanted = _sums(owner, interests.rates[interests.topics], interests.subscribers)
    pairs = np.unique(owner * k + channels[interests.topics])
    received = _sums(pairs // k, carried[pairs % k], interests.subscribers)
    percents: Int64s = -(-100 * (received - wanted) // np.maximum(received, 1))
    return percents


def _sums(owners: Int64s, values: Int64s, size: int) -> Int64s:
    """By owner; rates come to less than 2^53, so the sums are exact."""
    return np.bincount(owners, values, size).astype(np.int64)


def unpacked(batches: Iterable[pa.RecordBatch], rates: Int64s) -> Iterator[Interests]:
    """The interests of each packed row."""
    for batch in batches:
        for offsets, topics in zip(batch["offsets"], batch["topics"], strict=True):
            yield Interests(_int64s(offsets), _int32s(topics), rates)


def tallies_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Tallies]:
    """The tallies of each row."""
    for batch in batches:
        for row in zip(batch["wants"], batch["receivers"], batch["shared"], strict=True):
            wants, receivers, shared = (_int64s(value) for value in row)
            yield Tallies(wants, receivers, shared.reshape(len(wants), len(receivers)))


def add_up(tallies: Iterable[Tallies]) -> Tallies | None:
    """The tallies of all subscribers; None if there are none."""
    total: Tallies | None = None
    for one in tallies:
        if total is None:
            total = Tallies(*(part.copy() for part in one))
            continue
        for sums, part in zip(total, one, strict=True):
            np.add(sums, part, out=sums)
    return total


def warm_up() -> None:
    """Compile here what the workers will load: they would all compile it at once."""
    names = pa.array([0, 1])
    row = pa.record_batch({"subscriber": [1], "topic": [0], "sampled": [True]})
    packed = list(Pack(names)(iter([row])))
    for _ in CountTallies(np.zeros(2, np.int32), 1)(iter(packed)):
        pass


def _row_of(tallies: Iterable[Tallies]) -> Iterator[pa.RecordBatch]:
    total = add_up(tallies)
    if total is not None:
        fields = total._asdict().items()
        yield pa.record_batch({name: _binary(part) for name, part in fields})


def _numbers(subscribers: pa.ChunkedArray) -> Int64s:
    """A number for each subscriber; those that are numbers already stay what they are."""
    numbers = subscribers
    if not pa.types.is_integer(subscribers.type):
        numbers = subscribers.dictionary_encode().unify_dictionaries()
        numbers = pa.chunked_array([chunk.indices for chunk in numbers.chunks])
    found: Int64s = numbers.to_numpy().astype(np.int64)
    return found


def _binary(array: Int64s | Int32s) -> pa.Array:
    return pa.array([np.ascontiguousarray(array).tobytes()], pa.binary())


def _int64s(value: pa.Scalar) -> Int64s:
    return np.frombuffer(value.as_buffer(), np.int64)


def _int32s(value: pa.Scalar) -> Int32s:
    return np.frombuffer(value.as_buffer(), np.int32)
