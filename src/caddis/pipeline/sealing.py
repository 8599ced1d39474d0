"""Sealing and opening on Spark, for publishers and subscribers whose events are DataFrames.

Unlike `match`, these need keys. They travel to the workers inside the operator that Spark ships,
over whatever Spark's connections are; no file is written, and no `repr` shows them. Do it on a
cluster of one's own, and let Spark encrypt its connections.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from caddis.confidential.bundles import Material
from caddis.confidential.design import TopicDesign
from caddis.confidential.directory import Directory
from caddis.confidential.entitlements import Role
from caddis.confidential.identities import Identity
from caddis.confidential.key_rings import KeyRing
from caddis.confidential.opening import Opener
from caddis.confidential.sealed_events import sealed_schema
from caddis.confidential.sealing import EventSealer
from caddis.confidential.secret_keys import MatchingKey, PublisherKeys, SealingKey
from caddis.errors import EventError
from caddis.pipeline.schemas import arrow_schema, plainly_named, session_timezone
from caddis.pipeline.sealed_folder import SealedFolder
from caddis.pipeline.sealed_ledger import Ledger
from caddis.pipeline.sealed_matching import sealed_columns
from caddis.pipeline.sealed_reports import SealedReport
from caddis.pipeline.shared_files import new_folder
from caddis.pipeline.worker import joined

EVENT_ID = "event_id"


def seal_events(
    events: DataFrame, keys: PublisherKeys, *, event_key: str = EVENT_ID, compressed: bool = False
) -> DataFrame:
    """Events, batch or streaming, sealed for the topic and epoch of a publisher's keys.

    Every task is a run of its own. Whoever computes the result twice publishes twice: nobody can
    tell that the sealed events are the same, so write it down and publish from there.

    keys: of `KeyRing.publisher_keys`; they travel to the workers.
    event_key: a column of strings or whole numbers, which everybody may read.
    compressed: whether filters are sent in their shorter form.
    """
    if event_key not in events.columns:
        names = ", ".join(events.columns)
        raise EventError(f"events have no column {event_key!r} for their key; they have {names}")
    unknown = set(events.columns) - set(keys.design.schema.names) - {event_key}
    if unknown:
        raise EventError(
            f"topic {keys.design.topic!r} has no column {min(unknown)!r}: it would be lost; select "
            f"what is to be sealed of {', '.join(keys.design.schema.names)}"
        )
    given = arrow_schema(events.schema, session_timezone(events))
    id_type = given.field(event_key).type
    schema = sealed_schema(pa.int64() if pa.types.is_integer(id_type) else id_type)
    operator = SealOperator(
        tuple(events.columns),
        event_key,
        compressed,
        keys.name,
        keys.design,
        keys.matching,
        keys.sealing,
        keys.signing.private_bytes_raw(),
    )
    return plainly_named(events, operator.columns).mapInArrow(operator, from_arrow_schema(schema))


@dataclass(frozen=True, slots=True)
class SealOperator:
    """Called by `mapInArrow` once a task; holds a publisher's secrets."""

    columns: tuple[str, ...]
    event_key: str
    compressed: bool
    name: str
    design: TopicDesign
    matching: MatchingKey
    sealing: SealingKey
    signing: bytes = field(repr=False)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The sealed events of one task."""
        signing = Ed25519PrivateKey.from_private_bytes(self.signing)
        keys = PublisherKeys(self.name, self.design, self.matching, self.sealing, signing)
        sealer = EventSealer(keys, randomness=os.urandom, compressed=self.compressed)
        for arrived in batches:
            yield sealer.seal(arrived.rename_columns(list(self.columns)), self.event_key)


def open_events(
    events: DataFrame,
    ring: KeyRing,
    directory: Directory,
    *,
    topic: str,
    report: SealedReport | None = None,
    report_dir: str | PathLike[str] | None = None,
) -> DataFrame:
    """The events of one topic as they were published, of sealed ones, batch or streaming.

    Each is checked as its reader must: who signed it, in which epoch, whether it was changed, and
    whether it came before in the same task; a replay that lands in another task is not noticed,
    as an `Inbox` in one place would. What is refused is told in the report, and stops nobody.

    ring: a subscriber's keys; those of the topic travel to the workers.
    report_dir: a folder that all workers see; by default a temporary one.
    """
    columns = sealed_columns(events, EVENT_ID, directory)
    epochs = ring.epochs(topic, "subscriber")
    keys = {epoch: ring.subscriber_keys(topic, epoch) for epoch in epochs}
    design = ring.subscriber_keys(topic).design
    materials = {
        epoch: Material(one.design, one.matching.secret, one.content.secret)
        for epoch, one in keys.items()
    }
    folder = new_folder(report_dir)
    if report is not None:
        report.attach(SealedFolder(folder))
    event_id = arrow_schema(events.schema, "UTC").field(EVENT_ID)
    operator = OpenOperator(
        columns, topic, ring.name, materials, directory, str(folder), report is not None
    )
    schema = _opened_schema(design, event_id.with_nullable(False))
    spark_schema = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    return plainly_named(events, columns).mapInArrow(operator, spark_schema)


@dataclass(frozen=True, slots=True)
class OpenOperator:
    """Called by `mapInArrow` once a task; holds a subscriber's secrets of one topic."""

    columns: tuple[str, ...]
    topic: str
    name: str
    materials: Mapping[int, Material] = field(repr=False)
    directory: Directory = field(repr=False)
    folder: str
    reported: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The opened events of one task."""
        opener = Opener(self._ring(), self.directory)
        ledger = Ledger(self.folder, reported=self.reported)
        for arrived in joined(batches):
            batch = arrived.rename_columns(list(self.columns))
            mine = batch.filter(pa.compute.equal(batch.column("topic"), self.topic))
            opened = opener.open(mine)
            ledger.tell(mine, opened.refused)
            if self.topic in opened.events:
                rows, events = opened.events[self.topic]
                yield _with_ids(events, mine.column(EVENT_ID).take(pa.array(rows)))
        ledger.finish()

    def _ring(self) -> KeyRing:
        """The topic's keys; who they belong to stays where it is, so the identity is made up."""
        identity = Identity.new(self.name, os.urandom)
        keys: dict[tuple[str, Role], Mapping[int, Material]] = {
            (self.topic, "subscriber"): self.materials
        }
        return KeyRing(identity, self.directory.version, self.directory.authority, keys)


def _opened_schema(design: TopicDesign, event_id: pa.Field) -> pa.Schema:
    """The design's columns, behind the id unless that is one of them."""
    own = [field for field in design.schema if field.name != EVENT_ID]
    return pa.schema([event_id, *own])


def _with_ids(events: pa.RecordBatch, ids: pa.Array) -> pa.RecordBatch:
    own = [name for name in events.schema.names if name != EVENT_ID]
    return pa.RecordBatch.from_arrays(
        [ids, *(events.column(name) for name in own)], [EVENT_ID, *own]
    )
