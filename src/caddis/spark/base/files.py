"""Events and matches as files: Parquet, JSON lines and CSV, once or as a stream.

Nothing is dropped in silence: a line that does not fit its columns is an error. A CSV file's first
line names its columns. Types are Spark's guess, unless a schema is given.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

__all__ = [
    "DataFrame",
    "FileFormat",
    "SparkSession",
    "counted",
    "literally",
    "read_event_stream",
    "read_events",
    "stream_matches",
    "write_matches",
]

FileFormat = Literal["parquet", "jsonl", "csv"]
AnyPath = str | PathLike[str]

POLL = "500 milliseconds"
"""How often a stream looks for new files."""

_SPARK_NAMES = {"parquet": "parquet", "jsonl": "json", "csv": "csv"}
_FOR_GOOD = {"maxFileAge": "36500d"}
"""A file that is moved into a stream's folder counts, however old it is."""
_STRICT = {"mode": "FAILFAST"}
_READING: dict[str, dict[str, str]] = {
    "parquet": {},
    "jsonl": _STRICT,
    "csv": {**_STRICT, "header": "true", "enforceSchema": "false"},
}
_WRITING: dict[str, dict[str, str]] = {"parquet": {}, "jsonl": {}, "csv": {"header": "true"}}


def read_events(
    session: SparkSession, path: AnyPath, format_: FileFormat, schema: pa.Schema | None = None
) -> DataFrame:
    """A file, or all files of a folder."""
    reader = session.read.format(_SPARK_NAMES[format_]).options(**_READING[format_])
    if schema is not None:
        reader = reader.schema(from_arrow_schema(schema))
    elif format_ == "csv":
        reader = reader.option("inferSchema", "true")
    return reader.load(literally(path))


def read_event_stream(
    session: SparkSession, folder: AnyPath, format_: FileFormat, schema: pa.Schema | None = None
) -> DataFrame:
    """The files of a folder and those that are moved into it later.

    Without a schema it is guessed from the files that are there.
    """
    spark_schema = read_events(session, folder, format_, schema).schema
    reader = session.readStream.format(_SPARK_NAMES[format_]).options(**_READING[format_])
    reader = reader.options(**_FOR_GOOD)
    return reader.schema(spark_schema).load(literally(folder))


def write_matches(matches: DataFrame, folder: AnyPath, format_: FileFormat) -> None:
    """Write matches into a new folder."""
    writer = matches.write.format(_SPARK_NAMES[format_]).options(**_WRITING[format_])
    writer.mode("errorifexists").save(_absolute(folder))


def stream_matches(
    matches: DataFrame,
    folder: AnyPath,
    format_: FileFormat,
    checkpoint: AnyPath,
    *,
    once: bool = False,
) -> StreamingQuery:
    """Keep writing matches into a folder.

    Exactly once for readers that honour the folder's `_spark_metadata`, as Spark does.
    once: end when the files that are there now are done.
    """
    writer = matches.writeStream.format(_SPARK_NAMES[format_]).options(**_WRITING[format_])
    writer = writer.option("checkpointLocation", _absolute(checkpoint)).option(
        "path", _absolute(folder)
    )
    trigger = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=POLL)
    return trigger.start()


def counted(rows: DataFrame, name: str) -> DataFrame:
    """The same rows; a stream's progress then tells how many there were under this name."""
    return rows.observe(name, F.count(F.lit(1)).alias("rows"))


def _absolute(path: AnyPath) -> str:
    """Java has a current folder of its own."""
    return str(Path(path).absolute())


def literally(path: AnyPath) -> str:
    r"""A path to read, in which Spark would take brackets and stars for patterns.

    >>> print(literally("/a[1]/{b}*"))
    /a\[1\]/\{b\}\*
    """
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", _absolute(path))
