"""Tables of interests, rates and channels from files, for the command line.

A CSV file does not say whether 017 is a number: its names are strings. Where the tables' files are
of different kinds, names in rates and maps are read as those in the interests.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import IntegralType, LongType, StringType

from caddis.errors import TopicError
from caddis.spark.base import FileFormat, literally, read_events


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
