"""`caddis sealed events` and `caddis sealed subscriptions`: plain files become sealed ones.

Sealed events are Parquet. Sealed WHERE clauses are written as texts, so that any format can hold
them and whatever reads subscriptions can read these, too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from caddis.cli.sealed.command import SealEventsOptions, SealSubscriptionsOptions
from caddis.cli.sealed.files import one_stream, read_ring
from caddis.cli.shell import Job, count, rate, show_rows
from caddis.errors import CaddisError, EventError, SubscriptionError, SubscriptionTableError
from caddis.files import (
    check_free_file,
    event_batches,
    existing,
    format_of,
    format_to_write,
    named_format,
    new_file,
    read_subscriptions,
    schema_of,
    write_table,
)
from caddis.sealed import EventSealer, StreamDesign, SubscriptionSealer
from caddis.sealed.clauses import as_text, join
from caddis.sealed.keys import PublisherKeys, SubscriberKeys

EPOCHS = 2
"""How many of the newest epochs subscriptions are sealed for by default. Two, because events of
the epoch before are still on their way while a stream is rotated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFileSummary:
    """What both verbs tell about the file that they wrote."""

    authority: str
    stream: str
    out: Path
    bytes: int
    seconds: float

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    def rows(self, party: str, kind: str, number: int) -> list[tuple[str, str, str]]:
        """The first rows of the closing summary.

        party: the epochs and the party that sealed.
        kind: what was sealed, and `number` of it.
        """
        size = f"{self.bytes / max(1, number):,.0f} bytes each, in {self.out}"
        return [
            ("stream", self.stream, party),
            ("keys", "", f"of authority {self.authority}"),
            (kind, f"{number:,}", size),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedEventsSummary(SealedFileSummary):
    """What was sealed, and how large it became."""

    publisher: str
    epoch: int
    events: int
    columns: int
    missing: tuple[str, ...]
    """Columns of the stream that the events lack."""

    def show(self, console: Console) -> None:
        """The closing summary."""
        party = f"epoch {self.epoch}, published by {self.publisher}"
        lacking = f"null, as the events lack them: {', '.join(self.missing)}"
        rows = [
            *self.rows(party, "sealed events", self.events),
            ("columns", f"{self.columns:,}", lacking if self.missing else ""),
            ("events/s", rate(self.events, self.seconds), ""),
        ]
        show_rows(console, rows)


def seal_events(options: SealEventsOptions, job: Job) -> SealedEventsSummary:
    """Seal all events of a file or folder."""
    began = time.monotonic()
    check_free_file(options.out, overwrite=options.overwrite)
    if named_format(options.out) != "parquet":
        raise CaddisError(f"{options.out}: sealed events are Parquet files; end it in .parquet")
    format_ = options.format or format_of(existing(options.events, EventError), EventError)
    ring = read_ring(options.keys, options.name, options.trusted)
    keys = ring.publisher_keys(one_stream(ring, "publisher", options.stream), options.epoch)
    found = schema_of(options.events, format_, keys.design.timezone)
    schema = columns_to_read(keys.design, found, options.event_key)
    batches = event_batches(options.events, format_, schema, keys.design.timezone)
    with job.screen.step("Sealing the events") as step:
        events = 0
        with new_file(options.out) as unfinished:
            for events in _write_sealed(keys, batches, options, unfinished):
                step.update(f"{events:,} events")
        step.done = f"{count(events, 'event')} sealed"
    return SealedEventsSummary(
        publisher=ring.name,
        authority=ring.fingerprint,
        stream=keys.design.stream,
        epoch=keys.matching.epoch,
        events=events,
        columns=len(keys.design.schema),
        missing=tuple(name for name in schema.names if name not in found.names),
        out=options.out,
        bytes=options.out.stat().st_size,
        seconds=time.monotonic() - began,
    )


def columns_to_read(design: StreamDesign, found: pa.Schema, event_key: str) -> pa.Schema:
    """The stream's columns, and the key if it is not among them.

    Raises if the events have a column that the stream lacks, for it would be lost.
    """
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


def _write_sealed(
    keys: PublisherKeys, batches: Iterator[pa.RecordBatch], options: SealEventsOptions, file: Path
) -> Iterator[int]:
    """Write sealed events; after each batch, give how many there are so far."""
    sealer = EventSealer(keys, randomness=os.urandom, compressed=options.compressed)
    writer, events = None, 0
    try:
        for batch in batches:
            sealed = sealer.seal(batch, event_key=options.event_key)
            writer = writer or pq.ParquetWriter(file, sealed.schema, compression="zstd")
            writer.write_batch(sealed)
            events += sealed.num_rows
            yield events
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise EventError(f"{options.events} holds no events")


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSubscriptionsSummary(SealedFileSummary):
    """What was sealed, and what could not be."""

    subscriber: str
    epochs: tuple[int, ...]
    subscriptions: int
    invalid: tuple[dict[str, object], ...]
    """The `subscription_id` and `error` of those that were skipped."""

    def show(self, console: Console) -> None:
        """The closing summary."""
        party = f"epoch {', '.join(map(str, self.epochs))}, subscriber {self.subscriber}"
        rows = self.rows(party, "sealed subscriptions", self.subscriptions)
        if self.invalid:
            rows.append(("invalid", f"{len(self.invalid):,}", "skipped:"))
        show_rows(console, rows)
        for one in self.invalid:
            console.print(str(one["error"]), markup=False)


def seal_subscriptions(options: SealSubscriptionsOptions, job: Job) -> SealedSubscriptionsSummary:
    """Seal all subscriptions of a file."""
    began = time.monotonic()
    check_free_file(options.out, overwrite=options.overwrite)
    format_to_write(options.out)
    plain = read_subscriptions(existing(options.subscriptions, SubscriptionTableError))
    ring = read_ring(options.keys, options.name, options.trusted)
    stream = one_stream(ring, "subscriber", options.stream)
    epochs = sorted(set(options.epochs or ring.epochs(stream, "subscriber")[-EPOCHS:]))
    keys = [ring.subscriber_keys(stream, epoch) for epoch in epochs]
    with job.screen.step(f"Sealing {count(len(plain), 'subscription')}") as step:
        sealed, invalid = _sealed(keys, plain, skip_invalid=options.on_invalid == "skip")
        write_table(sealed, options.out)
        step.done = f"{count(len(sealed), 'subscription')} sealed"
    return SealedSubscriptionsSummary(
        subscriber=ring.name,
        authority=ring.fingerprint,
        stream=stream,
        epochs=tuple(epochs),
        subscriptions=len(sealed),
        invalid=tuple(
            {"subscription_id": error.subscription_id, "error": str(error)} for error in invalid
        ),
        out=options.out,
        bytes=options.out.stat().st_size,
        seconds=time.monotonic() - began,
    )


def _sealed(
    keys: list[SubscriberKeys], plain: pa.Table, *, skip_invalid: bool
) -> tuple[pa.Table, tuple[SubscriptionError, ...]]:
    """Subscriptions sealed for several epochs at once, as texts, and the invalid ones.

    A stream has the same design in all epochs, so the same subscriptions are invalid in each.
    """
    parts = [
        SubscriptionSealer(one, randomness=os.urandom).seal(
            plain, on_invalid="skip" if skip_invalid else "raise"
        )
        for one in keys
    ]
    blobs = zip(*(part.table["where"].to_pylist() for part in parts), strict=True)
    texts = pa.array([as_text(join(one)) for one in blobs], pa.string())
    ids = parts[0].table["subscription_id"]
    return pa.table({"subscription_id": ids, "where": texts}), tuple(parts[0].invalid)
