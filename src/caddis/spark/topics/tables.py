"""The tables that `topics_to_channels` is given, checked before anything long is done.

Rates and a previous map are small, so they are read whole. Of the interests one aggregate is taken,
by topic: it finds what is null, how much there is, and the topics themselves. A topic's number is
its place among the wanted topics in their order, whatever the order or the partitions of the rows.

Tables of interests, rates and channels from files, for the command line.

A CSV file does not say whether 017 is a number: its names are strings. Where the tables' files are
of different kinds, names in rates and maps are read as those in the interests.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ByteType,
    DataType,
    IntegerType,
    IntegralType,
    LongType,
    NumericType,
    ShortType,
    StringType,
)

from caddis.arrays import Floats, Int32s
from caddis.errors import TopicError
from caddis.files import FileFormat
from caddis.spark.base import literally, read_events

NEW = -1
"""In place of a channel: the topic has none yet."""
SHOWN = 3

_WHOLE = (ByteType, ShortType, IntegerType, LongType)


@dataclass(frozen=True, slots=True)
class Topics:
    """Every topic there is: first those that somebody wants, by number; then the others."""

    names: pa.Array
    rates: Floats
    wanted: int
    interests: int
    """Rows of the table of interests, pairs that come twice included."""


@dataclass(frozen=True, slots=True)
class PreviousMap:
    """Topics and their channels of an earlier map."""

    names: pa.Array
    channels: Int32s

    def of(self, names: pa.Array, k: int) -> Int32s:
        """By topic its channel; NEW if it has none there, or none of the first k."""
        at = pc.index_in(names, self.names).fill_null(NEW).to_numpy(zero_copy_only=False)
        found = np.append(self.channels, NEW)[at]
        return np.where(found < k, found, NEW).astype(np.int32)


def interest_columns(interests: DataFrame) -> DataFrame:
    """Subscriber and topic, as plain strings or as BIGINT."""
    _check_batch(interests, "interests")
    return interests.select(
        _plain(interests, "interests", "subscriber"), _plain(interests, "interests", "topic")
    )


def find_topics(interests: DataFrame, rates: DataFrame | None) -> Topics:
    """All topics with their rates; raises on what is null, unknown or no rate."""
    columns = interest_columns(interests)
    known = None if rates is None else read_rates(rates, interests)
    found = columns.groupBy("topic").agg(
        F.count(F.lit(1)).alias("interests"),
        F.count_if(F.col("subscriber").isNull()).alias("nobody"),
    )
    table = found.toArrow()
    _check_no_nulls(table)
    wanted = _plain_array(table["topic"]).sort()
    total = pc.sum(table["interests"]).as_py() or 0
    if not total:
        raise TopicError("there are no interests: the table is empty")
    if known is None:
        return Topics(wanted, np.ones(len(wanted)), len(wanted), total)
    names, values = known
    at = pc.index_in(wanted, names)
    _refuse(wanted.filter(pc.is_null(at)), "rates: there is no rate of", "; each topic needs one")
    others = names.filter(pc.invert(pc.is_in(names, wanted))).sort()
    every = pa.concat_arrays([wanted, others])
    by_number = values[pc.index_in(every, names).to_numpy()]
    return Topics(every, by_number, len(wanted), total)


def read_rates(rates: DataFrame, interests: DataFrame) -> tuple[pa.Array, Floats]:
    """Topics and their rates."""
    _check_batch(rates, "rates")
    topic = _same_kind(rates, "rates", interests)
    kind = _field(rates, "rates", "rate")
    if not isinstance(kind, NumericType):
        raise TopicError(f"rates: 'rate' is {_sql(kind)}; it must be a number")
    table = rates.select(topic, F.col("rate").cast("double").alias("rate")).toArrow()
    names = _plain_array(table["topic"])
    _check_keys(names, "rates")
    values = table["rate"].combine_chunks()
    _refuse(names.filter(pc.is_null(values)), "rates: the rate is null of", "")
    numbers: Floats = values.to_numpy(zero_copy_only=False)
    wrong = ~np.isfinite(numbers) | (numbers < 0)
    if wrong.any():
        problem = f"rates: the rate is {numbers[wrong][0]:g} of"
        _refuse(names.filter(pa.array(wrong)), problem, "; rates are numbers from 0 upwards")
    return names, numbers


def read_previous(previous: DataFrame, interests: DataFrame) -> PreviousMap:
    """An earlier map."""
    _check_batch(interests, "interests")
    _check_batch(previous, "previous")
    topic = _same_kind(previous, "previous", interests)
    kind = _field(previous, "previous", "channel")
    if not isinstance(kind, _WHOLE):
        raise TopicError(f"previous: 'channel' is {_sql(kind)}; it must be a whole number")
    table = previous.select(topic, F.col("channel").cast("long").alias("channel")).toArrow()
    names = _plain_array(table["topic"])
    _check_keys(names, "previous")
    channels = table["channel"].combine_chunks()
    _refuse(names.filter(pc.is_null(channels)), "previous: the channel is null of", "")
    _refuse(names.filter(pc.less(channels, 0)), "previous: the channel is negative of", "")
    few = np.minimum(channels.to_numpy(zero_copy_only=False), np.iinfo(np.int32).max)
    return PreviousMap(names, few.astype(np.int32))


def _field(table: DataFrame, what: str, name: str) -> DataType:
    if name not in table.columns:
        names = ", ".join(map(repr, table.columns)) or "none"
        raise TopicError(f"{what}: there is no column {name!r}; there are {names}")
    return table.schema[name].dataType


def _plain(table: DataFrame, what: str, name: str) -> Column:
    """A column as plain strings or as BIGINT: what is equal then has equal bytes."""
    kind = _field(table, what, name)
    if isinstance(kind, _WHOLE):
        return F.col(name).cast("long").alias(name)
    if isinstance(kind, StringType):
        return F.col(name).cast(StringType()).alias(name)
    raise TopicError(f"{what}: {name!r} is {_sql(kind)}; it must be STRING or a whole number")


def _same_kind(table: DataFrame, what: str, interests: DataFrame) -> Column:
    column = _plain(table, what, "topic")
    ours, theirs = interests.schema["topic"].dataType, table.schema["topic"].dataType
    if isinstance(ours, StringType) != isinstance(theirs, StringType):
        raise TopicError(
            f"{what}: 'topic' is {_sql(theirs)}, but {_sql(ours)} in interests; cast one of them"
        )
    return column


def _check_batch(table: object, what: str) -> None:
    if not isinstance(table, DataFrame):
        raise TopicError(f"{what}: this is a {type(table).__name__}; it must be Spark's DataFrame")
    if table.isStreaming:
        raise TopicError(f"{what}: this is a stream; channels are found for a table as it stands")


def _check_no_nulls(table: pa.Table) -> None:
    nameless = pc.sum(table.filter(pc.is_null(table["topic"]))["interests"]).as_py()
    if nameless:
        raise TopicError(f"interests: the topic is null in {nameless:,} rows")
    nobody = table.filter(pc.greater(table["nobody"], 0))
    if nobody.num_rows:
        rows, topic = pc.sum(nobody["nobody"]).as_py(), nobody["topic"][0].as_py()
        raise TopicError(
            f"interests: the subscriber is null in {rows:,} rows, one of them of topic {topic!r}"
        )


def _check_keys(names: pa.Array, what: str) -> None:
    if names.null_count:
        raise TopicError(f"{what}: the topic is null in {names.null_count:,} rows")
    counts = pc.value_counts(names)
    twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    _refuse(twice, f"{what}: there are several rows of", "; each topic comes once")


def _refuse(names: pa.Array, problem: str, right: str) -> None:
    """Raise if there are topics of which this is true."""
    if not len(names):
        return
    some = ", ".join(repr(name) for name in names.slice(0, SHOWN).to_pylist())
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    raise TopicError(f"{problem} topic {some}{more}{right}")


def _plain_array(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    return array.cast(pa.string() if not pa.types.is_integer(array.type) else pa.int64())


def _sql(kind: DataType) -> str:
    return kind.simpleString().upper()


def read_table(session: SparkSession, path: Path, format_: FileFormat) -> DataFrame:
    """A file, or all files of a folder."""
    if format_ != "csv":
        return read_events(session, path, format_)
    reader = session.read.options(header="true", mode="FAILFAST")
    return reader.csv(literally(path))


class Numbers(NamedTuple):
    """The column that holds numbers, their type, and how a user would call it."""

    column: str
    type: str
    words: str


RATES = Numbers("rate", "double", "a number")
CHANNELS = Numbers("channel", "bigint", "a whole number")


def like_interests(
    table: DataFrame, what: str, interests: DataFrame, numbers: Numbers
) -> DataFrame:
    """The table with topics as they are in the interests, and numbers where texts stand for them.

    what: the table, as errors call it.
    """
    made = table
    if "topic" in table.columns and "topic" in interests.columns:
        kind = interests.schema["topic"].dataType
        if isinstance(kind, IntegralType) and _is_text(table, "topic"):
            _check_cast(table, what, Numbers("topic", "bigint", "a whole number, as in interests"))
            kind = LongType()
        made = made.withColumn("topic", F.col("topic").cast(kind))
    if numbers.column in table.columns and _is_text(table, numbers.column):
        _check_cast(table, what, numbers)
        made = made.withColumn(numbers.column, F.col(numbers.column).cast(numbers.type))
    return made


def _is_text(table: DataFrame, column: str) -> bool:
    return isinstance(table.schema[column].dataType, StringType)


def _check_cast(table: DataFrame, what: str, numbers: Numbers) -> None:
    """Raise if a text stands for no number: Spark would say so by many traces."""
    column, type_, words = numbers
    text = F.col(column)
    wrong = table.where(text.isNotNull() & text.try_cast(type_).isNull()).head()
    if wrong is None:
        return
    named = "topic" in table.columns and column != "topic"
    of = f"the {column} of topic {wrong['topic']!r}" if named else f"a {column}"
    raise TopicError(f"{what}: {of} is {wrong[column]!r}; it must be {words}")
