"""What travels on a link, and what a micro-batch writes: the columns, and names for both.

A record on a link is an event in a column of its own, so that its columns may have any names:

    source STRING                       the neighbour who sends it; '' if it is published here
    known MAP<STRING, TINYINT>          as in {'beach(photo)': 1}
    event STRUCT<...>                   as the overlay file's schema says

Streams of records between brokers, and out to those who read notifications.

A stream is a folder of Parquet files by default. What brokers need of one is little, so that a
Kafka topic could stand in its place: a reader for Spark, and a `publish` that may be repeated. (A
topic would carry a record's batch and place in its headers, and its reader drop what it has seen.)

    links/TO/FROM/FROM-00000012-0.parquet       records, see `overlay_records`
    control/TO/FROM/*.jsonl                     control messages, see `overlay_logs`
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from caddis.overlay import WIRE
from caddis.spark.base import literally
from caddis.spark.overlay.logs import FolderLog, Log

Kind = Literal["forwarded", "notified", "refused", "problem", "taken"]
"""Of a file that a task wrote; `taken` counts what came, and has no file."""

WRITTEN = "kind STRING, target STRING, file STRING, rows BIGINT"
"""What a task tells of the files that it wrote."""


def link_schema(events: pa.Schema) -> pa.Schema:
    """Of records on a link."""
    return pa.schema([("source", pa.string()), ("known", WIRE), ("event", pa.struct(list(events)))])


def spark_link_schema(events: pa.Schema) -> StructType:
    """The same for Spark."""
    return from_arrow_schema(link_schema(events))


def as_records(events: DataFrame) -> DataFrame:
    """Events that are published here, as records of which nothing is known."""
    columns = [F.col(f"`{name.replace('`', '``')}`") for name in events.columns]
    return events.select(
        F.lit("").alias("source"),
        F.expr("CAST(map() AS MAP<STRING, TINYINT>)").alias("known"),
        F.struct(*columns).alias("event"),
    )


_LINK = {"maxFileAge": "36500d", "cleanSource": "delete"}
"""A file counts, however old it is. It is deleted when the micro-batch that took it in is done, but
its name is remembered: if its sender is started again and links it anew, it is not read again."""


class OutStream(Protocol):
    """Where the files of a committed micro-batch go."""

    def publish(self, batch: int, files: Sequence[Path]) -> None:
        """Make the rows of these files known; doing so again with the same batch does nothing."""


class Transport(Protocol):
    """What joins brokers."""

    def outgoing(self, sender: str, receiver: str) -> OutStream:
        """The records that one broker sends to another."""

    def incoming(self, session: SparkSession, receiver: str, events: pa.Schema) -> DataFrame:
        """The records that all neighbours send to a broker, as a stream."""

    def control(self, sender: str, receiver: str) -> Log:
        """The control messages that one broker sends to another."""


class FolderStream:
    """Files appear in a folder whole and under fixed names: exactly once for whoever reads it."""

    def __init__(self, path: Path, sender: str) -> None:
        self.path = path
        self._sender = sender

    def publish(self, batch: int, files: Sequence[Path]) -> None:
        """Link the files into the folder; those that are there already stay."""
        self.path.mkdir(parents=True, exist_ok=True)
        for number, file in enumerate(files):
            _appear(file, self.path / f"{self._sender}-{batch:08}-{number}.parquet")


class FolderTransport:
    """Folders that all brokers see."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def outgoing(self, sender: str, receiver: str) -> FolderStream:
        """A folder for each direction of a link."""
        return FolderStream(self._root / "links" / receiver / sender, sender)

    def incoming(self, session: SparkSession, receiver: str, events: pa.Schema) -> DataFrame:
        """All folders of a receiver, also those that are made later."""
        folder = self._root / "links" / receiver
        folder.mkdir(parents=True, exist_ok=True)
        reader = session.readStream.schema(spark_link_schema(events))
        return reader.options(**_LINK).parquet(f"{literally(folder)}/*")

    def control(self, sender: str, receiver: str) -> FolderLog:
        """A log for each direction of a link."""
        return FolderLog(self._root / "control" / receiver / sender)


def _appear(file: Path, name: Path) -> None:
    """Give a finished file one more name; where that cannot be, a copy."""
    if name.exists():
        return
    try:
        os.link(file, name)
    except OSError:
        unfinished = name.with_name(f".{name.name}.{os.getpid()}")
        shutil.copyfile(file, unfinished)
        unfinished.replace(name)
