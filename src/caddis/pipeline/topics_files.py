"""Tables of interests, rates and channels from files, for the command line.

A CSV file does not say whether 017 is a number: its names are strings. Where the tables' files are
of different kinds, names in rates and maps are read as those in the interests.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from caddis.pipeline.files import FileFormat, literally, read_events


def read_table(session: SparkSession, path: Path, format_: FileFormat) -> DataFrame:
    """A file, or all files of a folder."""
    if format_ != "csv":
        return read_events(session, path, format_)
    reader = session.read.options(header="true", mode="FAILFAST")
    return reader.csv(literally(path))


def like_interests(table: DataFrame, interests: DataFrame, numbers: tuple[str, ...]) -> DataFrame:
    """The table with topics of the interests' type, and numbers where texts stand for them.

    numbers: the column that holds them, and the type that they are of.
    """
    column, type_ = numbers
    made = table
    if "topic" in table.columns and "topic" in interests.columns:
        made = made.withColumn("topic", F.col("topic").cast(interests.schema["topic"].dataType))
    if column in table.columns and isinstance(table.schema[column].dataType, StringType):
        made = made.withColumn(column, F.col(column).cast(type_))
    return made
