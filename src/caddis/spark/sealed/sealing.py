"""Sealing and opening on Spark, for publishers and subscribers whose events are DataFrames.

Unlike `match`, these need keys. They travel to the workers inside the operator that Spark ships,
over Spark's connections; no file is written, and no `repr` shows them. Use a cluster of your own,
and let Spark encrypt its connections.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from os import PathLike

import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from caddis.errors import EventError
from caddis.language import is_array
from caddis.sealed import EventSealer, Opener, StreamDesign, check_authority
from caddis.sealed.keys import (
    Directory,
    KeyRing,
    PublisherKeys,
)
from caddis.spark.base import (
    arrow_schema,
    outlives_us,
    plainly_named,
    session_timezone,
)
from caddis.spark.matching import OTHER_STREAMS, Report, joined, results_of, where_to_report
from caddis.spark.places import place_for
from caddis.spark.sealed.matching import sealed_columns
from caddis.spark.sealed.reader import Ledger

EVENT_ID, SEALED_ID = "event_id", "sealed_id"
NUMBERED = ("publisher", "epoch", "run", "number")
"""What no two events of a stream have in common."""


def seal_events(
    events: DataFrame, keys: PublisherKeys, *, event_key: str = EVENT_ID, compressed: bool = False
) -> DataFrame:
    """Seal events, batch or streaming, for the stream and epoch of a publisher's keys.

    Every task is a run of its own. Whoever computes the result twice publishes twice: nobody can
    tell that the sealed events are the same, so write it to a file and publish from there.

    keys: what `KeyRing.publisher_keys` gives; they travel to the workers.
    event_key: a column of strings or whole numbers, which everybody may read.
    compressed: whether filters are sent in their shorter form.
    """
    _check_columns(events, keys.design, event_key)
    check_timezone(events, keys.design)
    # Sealing no event at all finds what is wrong with the columns, here and not on a worker.
    none = pa.RecordBatch.from_pylist([], arrow_schema(events.schema, keys.design.timezone))
    schema = EventSealer(keys, randomness=os.urandom).seal(none, event_key).schema
    operator = SealOperator(tuple(events.columns), event_key, compressed, keys)
    return plainly_named(events, operator.columns).mapInArrow(operator, from_arrow_schema(schema))


def _check_columns(events: DataFrame, design: StreamDesign, event_key: str) -> None:
    """Refuse columns that would be lost, and events that lack a column they must have."""
    names, known = events.columns, design.schema.names
    if event_key not in names:
        raise EventError(
            f"events have no column {event_key!r} for their key; they have {', '.join(names)}"
        )
    unknown = set(names) - set(known) - {event_key}
    if unknown:
        raise EventError(
            f"stream {design.stream!r} has no column {min(unknown)!r}: it would be lost; select "
            f"what is to be sealed of {', '.join(known)}"
        )
    readable = arrow_schema(events.schema, design.timezone).names
    for name in names:
        if name not in readable:
            type_ = events.schema[name].dataType.simpleString()
            raise EventError(f"column {name!r} is {type_}, which cannot be sealed")
    for one in design.schema:
        if not one.nullable and one.name not in names:
            raise EventError(
                f"events have no column {one.name!r}, which is NOT NULL in stream "
                f"{design.stream!r}; they have {', '.join(names)}"
            )


def check_timezone(events: DataFrame, design: StreamDesign) -> None:
    """Refuse a session that reads dates and times in another zone than sealed matching does."""
    timezone = session_timezone(events)
    if timezone != design.timezone:
        raise EventError(
            f"stream {design.stream!r} reads dates and times in {design.timezone}, this session in "
            f"{timezone}; set spark.sql.session.timeZone"
        )


@dataclass(frozen=True, slots=True)
class SealOperator:
    """Called by `mapInArrow` once a task; holds a publisher's secrets."""

    columns: tuple[str, ...]
    event_key: str
    compressed: bool
    keys: PublisherKeys

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The sealed events of one task."""
        sealer = EventSealer(self.keys, randomness=os.urandom, compressed=self.compressed)
        for arrived in batches:
            yield sealer.seal(arrived.rename_columns(list(self.columns)), self.event_key)

    def __reduce__(self) -> tuple[object, ...]:
        # A signing key of `cryptography` cannot be pickled; its bytes can.
        signing = self.keys.signing.private_bytes_raw()
        keys = replace(self.keys, signing=None)  # type: ignore[arg-type]
        return _unpickled, (self.columns, self.event_key, self.compressed, keys, signing)


def _unpickled(
    columns: tuple[str, ...], event_key: str, compressed: bool, keys: PublisherKeys, signing: bytes
) -> SealOperator:
    keys = replace(keys, signing=Ed25519PrivateKey.from_private_bytes(signing))
    return SealOperator(columns, event_key, compressed, keys)


def open_events(
    events: DataFrame,
    ring: KeyRing,
    publishers: Directory,
    *,
    stream: str,
    sealed_id: str = SEALED_ID,
    report: Report | None = None,
    report_dir: str | PathLike[str] | None = None,
) -> DataFrame:
    """Open the sealed events of one stream, batch or streaming, as they were published.

    Each is checked as its reader must: who signed it, in which epoch, whether it was changed, and
    whether it came before in the same task. What is refused is listed in the report, and stops
    nobody. A replay that lands in another task is not noticed, as an `Inbox` in one place would;
    dropping duplicates of `sealed_id` drops those within a batch.

    ring: a subscriber's keys; those of the stream travel to the workers.
    publishers: the registry of publishers' keys that the authority signed.
    stream: the name of the stream to open; events of others are left alone.
    sealed_id: a name for the column that tells all events apart, made of the publisher and its
        numbers of epoch, run and event. Two publishers may use one event_id: so match with
        event_key="sealed_id".
    report: filled with what was opened and refused, once a job has run. Without it workers warn of
        what they refuse.
    report_dir: where workers report, while this process lives: a folder that all of them see. By
        default a temporary one if Spark's master is local; on a cluster reports come back with the
        events, for the first job on a batch and all micro-batches of a stream.
    """
    columns = sealed_columns(events, checked=True)
    # Workers get the stream's keys alone: whether the ring fits the registry is seen here.
    check_authority(ring, publishers)
    design = ring.subscriber_keys(stream).design
    check_timezone(events, design)
    if sealed_id in {EVENT_ID, *design.schema.names}:
        raise EventError(
            f"stream {stream!r} has a column {sealed_id!r} itself; give sealed_id another name"
        )
    reports_to, reports = None, None
    if report is not None:
        place = place_for(events.sparkSession, report_dir, keep=outlives_us(events))
        reports_to, reports = where_to_report(place)
        report.begin(reports)
    id_type = arrow_schema(events.schema, "UTC").field(EVENT_ID).type
    operator = OpenOperator(
        columns, stream, sealed_id, ring.for_reading(stream), publishers, reports_to
    )
    schema = _opened_schema(design, id_type, sealed_id)
    spark_schema = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    return results_of(plainly_named(events, columns), operator, spark_schema, reports)


@dataclass(frozen=True, slots=True)
class OpenOperator:
    """Called by `mapInArrow` once a task; holds a subscriber's secrets of one stream."""

    columns: tuple[str, ...]
    stream: str
    sealed_id: str
    ring: KeyRing
    publishers: Directory = field(repr=False)
    reports: str | None
    """Where it is reported what was refused, if somebody wants to know."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The opened events of one task."""
        opener = Opener(self.ring, self.publishers)
        ledger = Ledger(self.reports)
        for arrived in joined(batches):
            batch = arrived.rename_columns(list(self.columns))
            others = pc.fill_null(pc.not_equal(batch.column("stream"), self.stream), False)
            mine = batch.filter(pc.invert(others))
            opened = opener.open(mine)
            ledger.count(OTHER_STREAMS, batch.num_rows - mine.num_rows)
            ledger.see(mine, opened.refused)
            if self.stream in opened.events:
                rows, events = opened.events[self.stream]
                yield _with_ids(events, mine.take(pa.array(rows)), self.sealed_id)
        ledger.finish()


def _opened_schema(design: StreamDesign, id_type: pa.DataType, sealed_id: str) -> pa.Schema:
    """The ids, then the design's columns, all of which may be null.

    Whoever has a key can seal nulls. Spark does not look for nulls in a column that is declared
    without them, and would follow a pointer that leads nowhere.
    """
    own = [pa.field(one.name, _nullable(one.type)) for one in design.schema if one.name != EVENT_ID]
    return pa.schema([(EVENT_ID, id_type), (sealed_id, pa.string()), *own])


def _nullable(type_: pa.DataType) -> pa.DataType:
    """The same type, in which everything but the keys of maps may be null."""
    if pa.types.is_struct(type_):
        return pa.struct([(one.name, _nullable(one.type)) for one in type_])
    if pa.types.is_map(type_):
        return pa.map_(_nullable(type_.key_type), _nullable(type_.item_type))
    if is_array(type_):
        return pa.list_(_nullable(type_.value_type))
    return type_


def _with_ids(events: pa.RecordBatch, sealed: pa.RecordBatch, sealed_id: str) -> pa.RecordBatch:
    """Put ids before opened events; `sealed` are the same events as they arrived."""
    parts = [sealed.column(name).cast(pa.string()) for name in NUMBERED]
    ids = [sealed.column(EVENT_ID), pc.binary_join_element_wise(*parts, "/")]
    own = [name for name in events.schema.names if name != EVENT_ID]
    columns = [*ids, *(events.column(name) for name in own)]
    return pa.RecordBatch.from_arrays(columns, [EVENT_ID, sealed_id, *own])
