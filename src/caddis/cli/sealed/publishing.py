"""`caddis sealed events`: a publisher's files of events become a file of sealed ones."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from caddis.cli.sealed.files import check_free, check_parquet_named, new_file
from caddis.cli.sealed.keys import one_stream, read_ring
from caddis.cli.shell import Job, count, rate, show_rows
from caddis.errors import EventError
from caddis.files import FileFormat, event_batches, existing, format_of, schema_of
from caddis.sealed import EventSealer, StreamDesign
from caddis.sealed.keys import PublisherKeys


@dataclass(frozen=True, slots=True)
class EventOrder:
    """The options as they were given."""

    events: Path
    name: str
    out: Path
    keys: Path = Path()
    stream: str | None = None
    epoch: int | None = None
    format: FileFormat | None = None
    event_key: str = "event_id"
    compressed: bool = False
    overwrite: bool = False
    authority: str | None = None


@dataclass(frozen=True, slots=True)
class SealedEventsSummary:
    """What was sealed, and how large it became."""

    publisher: str
    stream: str
    epoch: int
    events: int
    columns: int
    missing: tuple[str, ...]
    out: Path
    bytes: int
    seconds: float
    authority: str

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            "publisher": self.publisher,
            "authority": self.authority,
            "stream": self.stream,
            "epoch": self.epoch,
            "events": self.events,
            "missing": self.missing,
            "out": self.out,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """The closing summary."""
        size = f"{self.bytes / max(1, self.events):,.0f} bytes each, in {self.out}"
        missing = (
            f"null, as there is no such column: {', '.join(self.missing)}" if self.missing else ""
        )
        rows = [
            ("stream", self.stream, f"epoch {self.epoch}, published by {self.publisher}"),
            ("keys", "", f"of authority {self.authority}"),
            ("sealed events", f"{self.events:,}", size),
            ("columns", f"{self.columns:,}", missing),
            ("events/s", rate(self.events, self.seconds), ""),
        ]
        show_rows(console, rows)


def seal_events(order: EventOrder, job: Job) -> SealedEventsSummary:
    """Seal all events that are there."""
    began = time.monotonic()
    check_free(order.out, overwrite=order.overwrite)
    check_parquet_named(order.out)
    format_ = order.format or format_of(existing(order.events, EventError), EventError)
    ring = read_ring(order.keys, order.name, order.authority)
    keys = ring.publisher_keys(one_stream(ring, "publisher", order.stream), order.epoch)
    found = schema_of(order.events, format_, keys.design.timezone)
    schema = columns_to_read(keys.design, found, order.event_key)
    batches = event_batches(order.events, format_, schema, keys.design.timezone)
    with job.screen.step("Sealing the events") as step:
        events = 0
        with new_file(order.out) as staging:
            for events in _written(keys, batches, order, staging):
                step.update(f"{events:,} events")
        step.done = f"{count(events, 'event')} sealed"
    return SealedEventsSummary(
        publisher=ring.name,
        stream=keys.design.stream,
        epoch=keys.matching.epoch,
        events=events,
        columns=len(keys.design.schema),
        missing=tuple(name for name in schema.names if name not in found.names),
        out=order.out,
        bytes=order.out.stat().st_size,
        seconds=time.monotonic() - began,
        authority=ring.fingerprint,
    )


def columns_to_read(design: StreamDesign, found: pa.Schema, event_key: str) -> pa.Schema:
    """The stream's columns, and the key if it is none of them; refuses what would be lost."""
    if event_key not in found.names:
        names = ", ".join(found.names)
        raise EventError(f"events have no column {event_key!r} for their key; they have {names}")
    theirs = design.schema.names
    lost = [name for name in found.names if name not in (*theirs, event_key)]
    if lost:
        raise EventError(
            f"the stream {design.stream!r} has no column {lost[0]!r}, so it would be lost; it has "
            f"{', '.join(theirs)}"
        )
    if event_key in theirs:
        return design.schema
    whole = pa.types.is_integer(found.field(event_key).type)
    return design.schema.insert(0, pa.field(event_key, pa.int64() if whole else pa.string()))


def _written(
    keys: PublisherKeys, batches: Iterator[pa.RecordBatch], order: EventOrder, file: Path
) -> Iterator[int]:
    """Write sealed events, and tell how many there are so far."""
    sealer = EventSealer(keys, randomness=os.urandom, compressed=order.compressed)
    writer, events = None, 0
    try:
        for batch in batches:
            sealed = sealer.seal(batch, event_key=order.event_key)
            writer = writer or pq.ParquetWriter(file, sealed.schema, compression="zstd")
            writer.write_batch(sealed)
            events += sealed.num_rows
            yield events
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise EventError(f"{order.events} holds no events")
