"""What joins brokers: how records and control messages come from one broker to another.

A broker asks for a `Transport` and knows nothing else about links. `FolderTransport` is the one
that comes with Caddis: folders that all brokers see.

    links/TO/FROM/FROM-00000012-0.parquet       records
    control/TO/FROM/*.jsonl                     control messages, see `logs`

A record is an event in a column of its own, so the event's columns may have any names:

    source STRING                       the neighbour that sends it; '' if it is published here
    known MAP<STRING, TINYINT>          such as {'beach(photo)': 1}
    event STRUCT<...>                   the columns of the overlay file's schema
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from caddis.overlay import WIRE
from caddis.spark.base import literally
from caddis.spark.overlay.logs import FolderLog, Log

_LINK = {"maxFileAge": "36500d", "cleanSource": "delete"}
"""A file counts however old it is. It is deleted when the micro-batch that read it is done, but its
name is remembered: if its sender is restarted and links it again, it is not read again."""


def link_schema(events: pa.Schema) -> pa.Schema:
    """The columns of records whose events have this schema."""
    return pa.schema([("source", pa.string()), ("known", WIRE), ("event", pa.struct(list(events)))])


def as_records(events: DataFrame) -> DataFrame:
    """Turn events that are published here into records about which nothing is known."""
    columns = [F.col(f"`{name.replace('`', '``')}`") for name in events.columns]
    return events.select(
        F.lit("").alias("source"),
        F.expr("CAST(map() AS MAP<STRING, TINYINT>)").alias("known"),
        F.struct(*columns).alias("event"),
    )


class OutStream(Protocol):
    """Where the files of committed micro-batches go."""

    def publish(self, batch: int, files: Sequence[Path]) -> None:
        """Send the rows of these Parquet files; return when they cannot be lost any more.

        The broker's streaming query calls it for one micro-batch after the other. It may block: the
        next micro-batch begins afterwards. If it raises, the broker stops; a restarted broker calls
        again with the same number and the same files. What was sent under that number before must
        not reach a reader twice. The files stay until the next micro-batch is committed.
        """


class Transport(Protocol):
    """The links between brokers. Both ends of a link have the same kind of transport.

    What brokers rely on:

    - Every record reaches the receiver's stream exactly once, also if either end is killed and
      started again, and waits there if the receiver does not run yet.
    - Records may overtake each other, since every event is decided by itself.
    - Control messages of one direction keep their order, see `Log`.

    A Kafka transport would keep a topic for each direction of a link, carry a record's batch and
    place in its headers, and let the receiver drop what it has seen.
    """

    def outgoing(self, sender: str, receiver: str) -> OutStream:
        """Open the way for records from one broker to another, whether the receiver runs or not.

        The sender calls it for every micro-batch that has records for the receiver.
        """

    def incoming(self, session: SparkSession, receiver: str, events: pa.Schema) -> DataFrame:
        """Open the stream of records that all neighbours send to a broker; called once a start.

        It has the columns of `link_schema(events)`, and begins with the first record that was ever
        sent: the query's checkpoint remembers how far it got.
        """

    def control(self, sender: str, receiver: str) -> Log:
        """Open the log of control messages from one broker to another; called by both of them."""


class FolderStream:
    """Files appear in a folder whole and under fixed names: exactly once for whoever reads it."""

    def __init__(self, path: Path, sender: str) -> None:
        self.path = path
        self._sender = sender

    def publish(self, batch: int, files: Sequence[Path]) -> None:
        """Link the files into the folder; those that are there already stay as they are."""
        self.path.mkdir(parents=True, exist_ok=True)
        for number, file in enumerate(files):
            _appear(file, self.path / f"{self._sender}-{batch:08}-{number}.parquet")


class FolderTransport:
    """Links as folders below one root that all brokers see."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    def outgoing(self, sender: str, receiver: str) -> FolderStream:
        """A folder for each direction of a link."""
        return FolderStream(self._root / "links" / receiver / sender, sender)

    def incoming(self, session: SparkSession, receiver: str, events: pa.Schema) -> DataFrame:
        """All folders of a receiver, including those that are made later."""
        folder = self._root / "links" / receiver
        folder.mkdir(parents=True, exist_ok=True)
        reader = session.readStream.schema(from_arrow_schema(link_schema(events)))
        return reader.options(**_LINK).parquet(f"{literally(folder)}/*")

    def control(self, sender: str, receiver: str) -> FolderLog:
        """A log for each direction of a link."""
        return FolderLog(self._root / "control" / receiver / sender)


def _appear(file: Path, name: Path) -> None:
    """Give a finished file one more name; where hard links cannot be made, copy it."""
    if name.exists():
        return
    try:
        os.link(file, name)
    except OSError:
        unfinished = name.with_name(f".{name.name}.{os.getpid()}")
        shutil.copyfile(file, unfinished)
        unfinished.replace(name)
