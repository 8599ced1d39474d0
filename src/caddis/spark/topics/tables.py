"""The tables that `topics_to_channels` is given, checked before anything long is done.

Rates and a previous map are small, so they are read whole. The interests are aggregated once, by
topic, which finds nulls, how many interests there are, and the topics themselves. A topic's number
is its place among the wanted topics in their order, whatever the order or the partitions of rows.

The command line reads these tables from files. A CSV file does not say whether 017 is a number, so
its names are strings. Where the files are of different formats, the names in rates and maps are
read as those in the interests.
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
"""Stands for the channel of a topic that has none yet."""
SHOWN = 3
"""How many topics an error names."""

_WHOLE = (ByteType, ShortType, IntegerType, LongType)


class Numbers(NamedTuple):
    """A column that holds numbers: its name, its type, and what a user would call them.

    kinds: the types that can be cast to it without a loss.
    """

    column: str
    sql: str
    words: str
    kinds: tuple[type[DataType], ...] = ()


RATES = Numbers("rate", "double", "a number", (NumericType,))
CHANNELS = Numbers("channel", "bigint", "a whole number", _WHOLE)


@dataclass(frozen=True, slots=True)
class Topics:
    """Every topic: first those that somebody wants, by number, then the others.

    wanted: how many topics somebody wants.
    interests: how many rows the table of interests has, including pairs that come twice.
    """

    names: pa.Array
    rates: Floats
    wanted: int
    interests: int


@dataclass(frozen=True, slots=True)
class PreviousMap:
    """The topics of an earlier map, and their channels."""

    names: pa.Array
    channels: Int32s

    def of(self, names: pa.Array, k: int) -> Int32s:
        """The channel of each topic; NEW if it has none here, or none of the first k."""
        at = pc.index_in(names, self.names).fill_null(NEW).to_numpy(zero_copy_only=False)
        found = np.append(self.channels, NEW)[at]
        return np.where(found < k, found, NEW).astype(np.int32)


def interest_columns(interests: DataFrame) -> DataFrame:
    """The columns subscriber and topic, as plain strings or as BIGINT."""
    _check_batch(interests, "interests")
    return interests.select(
        _plain(interests, "interests", "subscriber"), _plain(interests, "interests", "topic")
    )


def find_topics(interests: DataFrame, rates: DataFrame | None) -> Topics:
    """All topics with their rates; raises on nulls, and on topics without a rate."""
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
    _refuse(wanted.filter(pc.is_null(at)), "rates: there is no rate for {}; each topic needs one")
    others = names.filter(pc.invert(pc.is_in(names, wanted))).sort()
    every = pa.concat_arrays([wanted, others])
    by_number = values[pc.index_in(every, names).to_numpy()]
    return Topics(every, by_number, len(wanted), total)


def read_rates(rates: DataFrame, interests: DataFrame) -> tuple[pa.Array, Floats]:
    """Topics and their rates."""
    names, values = _topics_and_numbers(rates, "rates", RATES, interests)
    numbers: Floats = values.to_numpy(zero_copy_only=False)
    wrong = ~np.isfinite(numbers) | (numbers < 0)
    if wrong.any():
        problem = f"rates: the rate of {{}} is {numbers[wrong][0]:g}; rates are numbers from 0 up"
        _refuse(names.filter(pa.array(wrong)), problem)
    return names, numbers


def read_previous(previous: DataFrame, interests: DataFrame) -> PreviousMap:
    """An earlier map."""
    names, channels = _topics_and_numbers(previous, "previous", CHANNELS, interests)
    _refuse(names.filter(pc.less(channels, 0)), "previous: the channel of {} is negative")
    bounded = np.minimum(channels.to_numpy(zero_copy_only=False), np.iinfo(np.int32).max)
    return PreviousMap(names, bounded.astype(np.int32))


def _topics_and_numbers(
    table: DataFrame, what: str, numbers: Numbers, interests: DataFrame
) -> tuple[pa.Array, pa.Array]:
    """The columns of a table in which each topic comes once, with a number."""
    _check_batch(interests, "interests")
    _check_batch(table, what)
    topic, column = _same_kind(table, what, interests), numbers.column
    kind = _field(table, what, column)
    if not isinstance(kind, numbers.kinds):
        raise TopicError(f"{what}: {column!r} is {_sql(kind)}; it must be {numbers.words}")
    rows = table.select(topic, F.col(column).cast(numbers.sql).alias(column)).toArrow()
    names = _plain_array(rows["topic"])
    _check_keys(names, what)
    values = rows[column].combine_chunks()
    _refuse(names.filter(pc.is_null(values)), f"{what}: the {column} of {{}} is null")
    return names, values


def _field(table: DataFrame, what: str, name: str) -> DataType:
    if name not in table.columns:
        names = ", ".join(map(repr, table.columns)) or "none"
        raise TopicError(f"{what}: there is no column {name!r}; there are {names}")
    return table.schema[name].dataType


def _plain(table: DataFrame, what: str, name: str) -> Column:
    """A column as plain strings or as BIGINT, so that equal values have equal bytes."""
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
        raise TopicError(f"{what}: this is a stream; topics are clustered for a table as it is")


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
    _refuse(twice, f"{what}: there are several rows for {{}}; each topic comes once")


def _refuse(names: pa.Array, problem: str) -> None:
    """Raise if there are topics with this problem; `{}` in it stands for them."""
    if not len(names):
        return
    some = ", ".join(repr(name) for name in names.slice(0, SHOWN).to_pylist())
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    raise TopicError(problem.format(f"topic {some}{more}"))


def _plain_array(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    return array.cast(pa.string() if not pa.types.is_integer(array.type) else pa.int64())


def _sql(kind: DataType) -> str:
    return kind.simpleString().upper()


def read_table(session: SparkSession, path: Path, format_: FileFormat) -> DataFrame:
    """Read a file, or all files of a folder."""
    if format_ != "csv":
        return read_events(session, path, format_)
    reader = session.read.options(header="true", mode="FAILFAST")
    return reader.csv(literally(path))


def like_interests(
    table: DataFrame, what: str, interests: DataFrame, numbers: Numbers
) -> DataFrame:
    """The table with topics of the same type as in the interests, and texts cast to numbers.

    what: what errors call the table.
    numbers: the column that holds numbers.
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
        made = made.withColumn(numbers.column, F.col(numbers.column).cast(numbers.sql))
    return made


def _is_text(table: DataFrame, column: str) -> bool:
    return isinstance(table.schema[column].dataType, StringType)


def _check_cast(table: DataFrame, what: str, numbers: Numbers) -> None:
    """Raise if a text is not a number: Spark would say so in a long trace."""
    column, sql, words, _ = numbers
    text = F.col(column)
    wrong = table.where(text.isNotNull() & text.try_cast(sql).isNull()).head()
    if wrong is None:
        return
    named = "topic" in table.columns and column != "topic"
    of = f"the {column} of topic {wrong['topic']!r}" if named else f"a {column}"
    raise TopicError(f"{what}: {of} is {wrong[column]!r}; it must be {words}")
