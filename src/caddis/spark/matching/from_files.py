"""`match_files`: files of events against subscriptions, read by the workers themselves.

    paths ─▶ files ─▶ tasks of row groups ─▶ FileOperator in each worker ─▶ matches

Only names of files travel to the workers, and only matches come back: between a worker and its
files there is no JVM, which costs more than matching. The result is that of `match` on
`spark.read.parquet`: the first file gives the columns, in the types that Spark reads them in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import cast

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from caddis.errors import EventError
from caddis.files import parse_schema
from caddis.files.columnar import (
    ColumnarFormat,
    DataFile,
    Piece,
    Reading,
    Statistics,
    first_schema,
    list_files,
    partition_schema,
    plain_type,
    split,
)
from caddis.language import Column
from caddis.matching import Matcher, OnInvalid, ValueRange
from caddis.models import Model
from caddis.spark.base import arrow_schema, spark_type
from caddis.spark.matching.match import matches_schema, planned
from caddis.spark.matching.model_reader import OnError
from caddis.spark.matching.reporting import results_of, task_reports
from caddis.spark.matching.reports import EVENTS, Report
from caddis.spark.matching.shipping import Subscriptions
from caddis.spark.matching.worker import MatchOperator, store_reader

AnyPath = str | PathLike[str]

SETTINGS = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "true",
}
"""How Spark reads Parquet files by default, which is how workers read them."""


def match_files(
    spark: SparkSession,
    files: AnyPath | Sequence[AnyPath],
    subscriptions: Subscriptions,
    models: Sequence[Model] = (),
    *,
    format: ColumnarFormat | None = None,  # noqa: A002
    schema: pa.Schema | str | None = None,
    event_key: str = "event_id",
    policy: str | None = None,
    on_invalid: OnInvalid = "raise",
    on_error: OnError = "unknown",
    statistics: AnyPath | None = None,
    index_dir: AnyPath | None = None,
    grouped: bool = False,
    report: Report | None = None,
) -> DataFrame:
    """Find which event in some files matches which subscription; faster than `match`.

    Spark's workers read the files themselves, with pyarrow, and only the columns and row groups
    that some subscription can want. The result is that of `match` on `spark.read.parquet(files)`;
    files that pyarrow would read differently are refused. The key of an event that
    no subscription can want need not be read, and is then not checked.

    files: Parquet or Arrow files, folders of them, or patterns such as "offers/*.parquet": of this
        machine, or URIs that pyarrow reads, such as "s3://offers/2026/". All workers must see them.
    format: "parquet" or "arrow", if the files' names do not show it.
    schema: the columns to read, as an Arrow schema or as DDL; by default those of the first file.
    report: its `events` counts the events, once a job has run.

    The other parameters are those of `match`.
    """
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    columnar, found = list_files(files, format)
    columns = _columns(columnar, found, schema, zone)
    _check_settings(spark, columnar)
    plan = planned(
        spark.createDataFrame([], columns),
        subscriptions,
        models,
        event_key=event_key,
        policy=policy,
        on_invalid=on_invalid,
        on_error=on_error,
        statistics=statistics,
        index_dir=index_dir,
        grouped=grouped,
        report=report,
        counts=True,
    )
    operator, tasks = plan.operator, tuple(split(found))
    types = arrow_schema(columns, zone)
    wanted = pa.schema([(name, plain_type(types.field(name).type)) for name in operator.columns])
    coded = frozenset(operator.columns) - {event_key}
    reading = Reading(columnar, wanted, zone, coded)
    result = matches_schema(operator, columns[event_key].dataType, spark_type(plan.id_type))
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    reader = FileOperator(operator, reading, tasks, plan.counts_to)
    return results_of(numbers, reader, result, plan.reports)


@dataclass(frozen=True, slots=True)
class FileOperator:
    """Reads and matches the pieces of one task, whose number Spark sends.

    counts_to: where tasks report how many events they had; None if nobody wants to know.
    """

    operator: MatchOperator
    reading: Reading
    tasks: tuple[tuple[Piece, ...], ...]
    counts_to: str | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches of the task's events."""
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        pieces = [piece for number in numbers for piece in self.tasks[number]]
        wants = _Wants(self.operator)
        yield from self.operator.matches(
            batch for piece in pieces for batch in self.reading.batches(piece, wants)
        )
        if self.counts_to is not None and pieces:
            task_reports(self.counts_to).add_counts({EVENTS: wants.events}, ())


class _Wants:
    """Decides which groups of rows are read, and counts the events of all."""

    def __init__(self, operator: MatchOperator) -> None:
        reader = store_reader(operator.store)
        reader.use(operator.version)
        self._matchers = [cast(Matcher, matcher) for matcher, _ in reader.parts]
        self.events = 0

    def __call__(self, group: Statistics) -> bool:
        self.events += group.rows
        return any(matcher.may_match(_ranges(matcher, group)) for matcher in self._matchers)


def _ranges(matcher: Matcher, group: Statistics) -> dict[Column, ValueRange]:
    found = {
        column: group.range_of(column.path, column.type)
        for column in matcher.columns
        if not column.repeated
    }
    return {column: ValueRange(*one) for column, one in found.items() if one is not None}


def _columns(
    format_: ColumnarFormat, files: list[DataFile], given: pa.Schema | str | None, zone: str
) -> StructType:
    """The events' columns: those given, or those of the first file and of the folders' names."""
    if given is not None:
        return _spark_schema(parse_schema(given, zone) if isinstance(given, str) else given)
    if not files:
        raise EventError("the files are empty; give the events' schema")
    found, noted = first_schema(files[0], format_, zone)
    columns = _spark_schema(found) if noted is None else StructType.fromJson(json.loads(noted))
    partitions = _spark_schema(partition_schema(files)).fields
    named = {field.name.lower() for field in partitions}
    own = [field for field in columns.fields if field.name.lower() not in named]
    twice = {field.name.lower() for field in own}
    if len(twice) < len(own):
        raise EventError(f"{files[0].name}: several columns have names that differ only in case")
    return StructType([*own, *partitions])


def _spark_schema(schema: pa.Schema) -> StructType:
    """The columns that have a type in Spark."""
    fields = []
    for field in schema:
        try:
            fields.append(StructField(field.name, spark_type(field.type)))
        except (PySparkException, TypeError):
            continue
    return StructType(fields)


def _check_settings(spark: SparkSession, format_: ColumnarFormat) -> None:
    """Refuse Parquet files if the session would read them in a way of its own."""
    for name, value in SETTINGS.items() if format_ == "parquet" else ():
        mine = spark.conf.get(name, value)
        if str(mine).lower() != value.lower():
            raise EventError(
                f"match_files reads Parquet files with {name}={value}, and this session has "
                f"{mine}: set it back, or call match on spark.read.parquet(...)"
            )
