"""DataFrames of events and matches: their schemas in Arrow, and the files that Spark reads itself.

Nothing is dropped silently: a line that does not fit its columns is an error. A CSV file's first
line names its columns. Types are Spark's guess, unless a schema is given.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_type
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from caddis.files import FileFormat
from caddis.language import COLLATION_METADATA, UTF8_BINARY
from caddis.spark.base.session import is_remote

AnyPath = str | PathLike[str]

POLL = "500 milliseconds"
"""How often a stream looks for new files."""

_SPARK_NAMES = {"parquet": "parquet", "jsonl": "json", "csv": "csv"}
_FOR_GOOD = {"maxFileAge": "36500d"}
"""A file that is moved into a stream's folder counts, however old it is."""
_STRICT = {"mode": "FAILFAST"}
_WHOLE_LINES = {"columnPruning": "false"}
"""Spark parses only the columns that are used, by default. It would then read a CSV line that is
too short as one whose last columns are null.
"""
_READING: dict[str, dict[str, str]] = {
    "parquet": {},
    "jsonl": _STRICT,
    "csv": {**_STRICT, **_WHOLE_LINES, "header": "true", "enforceSchema": "false"},
}
_WRITING: dict[str, dict[str, str]] = {"parquet": {}, "jsonl": {}, "csv": {"header": "true"}}


# ---------------------------------------------------------------------------- DataFrames


def arrow_schema(schema: StructType, timezone: str) -> pa.Schema:
    """The columns that Arrow can carry; string columns keep their collation."""
    fields = [_field(field, timezone) for field in schema.fields]
    return pa.schema([field for field in fields if field is not None])


def session_timezone(events: DataFrame) -> str:
    """The time zone in which the events' session reads dates and times."""
    return events.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"


def type_in_words(value: object) -> str:
    """The type of something that a caller gave, with its package, such as `pandas.DataFrame`.

    >>> type_in_words([]), type_in_words(Path())
    ('list', 'pathlib.PosixPath')
    """
    type_ = type(value)
    package = type_.__module__.partition(".")[0]
    return type_.__name__ if package == "builtins" else f"{package}.{type_.__name__}"


def spark_type(type_: pa.DataType) -> DataType:
    """The Spark type of an Arrow type."""
    return from_arrow_type(type_)


def plainly_named(events: DataFrame, columns: tuple[str, ...]) -> DataFrame:
    """The columns under plain names: `mapInArrow` trips over dots and backquotes."""
    quoted = [column.replace("`", "``") for column in columns]
    return events.selectExpr(*(f"`{name}` AS c{at}" for at, name in enumerate(quoted)))


def counted(rows: DataFrame, name: str) -> DataFrame:
    """The same rows; a stream's progress then reports their number under this name."""
    return rows.observe(name, F.count(F.lit(1)).alias("rows"))


def outlives_us(events: DataFrame) -> bool:
    """Whether a query on these events may still run when this process has ended.

    A stream that was started through Spark Connect runs in the server.
    """
    return events.isStreaming and is_remote(events.sparkSession)


def _field(field: StructField, timezone: str) -> pa.Field | None:
    try:
        type_ = to_arrow_type(field.dataType, timezone=timezone)
    except (PySparkException, TypeError):
        return None
    if isinstance(field.dataType, StructType):
        inner = [_field(one, timezone) for one in field.dataType.fields]
        type_ = pa.struct([one for one in inner if one is not None])
    collation = _collation(field.dataType)
    metadata = None if collation == UTF8_BINARY else {COLLATION_METADATA: collation}
    return pa.field(field.name, type_, field.nullable, metadata)


def _collation(type_: DataType) -> str:
    if isinstance(type_, ArrayType):
        return _collation(type_.elementType)
    return str(type_.collation) if isinstance(type_, StringType) else UTF8_BINARY


# --------------------------------------------------------------------------------- files


def read_events(
    session: SparkSession, path: AnyPath, format_: FileFormat, schema: pa.Schema | None = None
) -> DataFrame:
    """Read a file, or all files of a folder."""
    reader = session.read.format(_SPARK_NAMES[format_]).options(**_READING[format_])
    if schema is not None:
        reader = reader.schema(from_arrow_schema(schema))
    elif format_ == "csv":
        reader = reader.option("inferSchema", "true")
    return reader.load(literally(path))


def read_event_stream(
    session: SparkSession, folder: AnyPath, format_: FileFormat, schema: pa.Schema | None = None
) -> DataFrame:
    """Read the files of a folder, and those that are moved into it later.

    Without a schema the columns are guessed from the files that are there.
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

    Each match is written exactly once for readers that honour the folder's `_spark_metadata`, as
    Spark does.

    once: end when the files that are there now have been matched.
    """
    writer = matches.writeStream.format(_SPARK_NAMES[format_]).options(**_WRITING[format_])
    writer = writer.option("checkpointLocation", _absolute(checkpoint)).option(
        "path", _absolute(folder)
    )
    trigger = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=POLL)
    return trigger.start()


def _absolute(path: AnyPath) -> str:
    """The absolute path, since Java has a current folder of its own."""
    return str(Path(path).absolute())


def literally(path: AnyPath) -> str:
    r"""Escape a path for Spark, which would take brackets and stars for patterns.

    >>> print(literally("/a[1]/{b}*"))
    /a\[1\]/\{b\}\*
    """
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", _absolute(path))
