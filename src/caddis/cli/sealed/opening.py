"""`caddis sealed open`: a subscriber opens what a broker found, and keeps what it asked for.

A row of the output is an event and one of the subscriptions that want it: exactly the rows that
plain matching would have given, whatever the broker added.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from caddis.cli.sealed.command import OpenOptions
from caddis.cli.sealed.files import (
    matched_events,
    one_stream,
    read_ring,
    refusal_rows,
    sealed_batches,
)
from caddis.cli.shell import Job, count, show_rows
from caddis.errors import EventError, SubscriptionTableError
from caddis.files import check_free_file, existing, format_to_write, read_subscriptions, write_table
from caddis.language import is_text
from caddis.sealed import Inbox, Received
from caddis.sealed.events import ReplayMemory
from caddis.sealed.keys import Directory, locked

EVENT_ID = "event_id"


@dataclass(frozen=True, slots=True)
class OpenedSummary:
    """What reached a subscriber, and what it kept."""

    subscriber: str
    authority: str
    stream: str
    sealed: int
    """Events of the stream: all, or those that a broker found for the subscriber."""
    opened: int
    refused: dict[str, int]
    """How many events were refused, by the name of the error."""
    events: int
    """Events that some subscription wants."""
    kept: int
    """Pairs of such an event and a subscription that wants it."""
    other_streams: int
    """Events of other streams, which were left alone."""
    out: Path
    seconds: float

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    def show(self, console: Console) -> None:
        """The closing summary."""
        rows = [
            ("sealed events", f"{self.sealed:,}", f"for {self.subscriber}, stream {self.stream}"),
            ("keys", "", f"of authority {self.authority}"),
            ("refused", f"{sum(self.refused.values()):,}", ""),
            *refusal_rows(self.refused),
            ("opened", f"{self.opened:,}", f"{self.opened - self.events:,} of them not wanted"),
            ("wanted", f"{self.events:,}", f"{count(self.kept, 'match', 'matches')} in {self.out}"),
        ]
        if self.other_streams:
            rows.append(("other streams", f"{self.other_streams:,}", "events, left alone"))
        show_rows(console, rows)


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where a subscriber opens events: its keys and plain subscriptions, ready to use.

    matched: ids, as texts, of the events that a broker found for it; None for all.
    """

    subscriber: str
    authority: str
    stream: str
    inbox: Inbox
    matched: pa.Array | None


@dataclass(slots=True)
class _Tally:
    """How many events there were so far, named as in the summary."""

    sealed: int = 0
    events: int = 0
    other_streams: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def open_events(options: OpenOptions, job: Job) -> OpenedSummary:
    """Open and check all events, and write those that are wanted."""
    began = time.monotonic()
    check_free_file(options.out, overwrite=options.overwrite)
    format_to_write(options.out)
    with _kept_memory(options.seen) as memory:
        desk = _desk(options, memory)
        table, tally = _written(options, desk, job)
    return OpenedSummary(
        subscriber=desk.subscriber,
        authority=desk.authority,
        stream=desk.stream,
        sealed=tally.sealed,
        opened=tally.sealed - tally.refused.total(),
        refused=dict(sorted(tally.refused.items())),
        events=tally.events,
        kept=len(table),
        other_streams=tally.other_streams,
        out=options.out,
        seconds=time.monotonic() - began,
    )


@contextmanager
def _kept_memory(seen: Path | None) -> Iterator[ReplayMemory]:
    """The memory of what was opened before.

    It is saved after the opened events are written: a kill between the two lets the same events be
    opened once more, and loses none.
    """
    if seen is None:
        yield ReplayMemory()
        return
    with locked(seen):
        memory = ReplayMemory.read(seen) if seen.exists() else ReplayMemory()
        yield memory
        memory.write(seen)


def _desk(options: OpenOptions, memory: ReplayMemory) -> _Desk:
    """Read and check everything but the events."""
    existing(options.events, EventError)
    plain = read_subscriptions(existing(options.subscriptions, SubscriptionTableError))
    ring = read_ring(options.keys, options.name, options.trusted)
    stream = one_stream(ring, "subscriber", options.stream)
    directory = Directory.read(options.directory, options.trusted)
    streams = pa.array([stream] * len(plain), pa.string())
    inbox = Inbox(ring, directory, plain.append_column("stream", streams), memory=memory)
    matched = None if options.matches is None else matched_events(options.matches, plain)
    return _Desk(ring.name, ring.fingerprint, stream, inbox, matched)


def _written(options: OpenOptions, desk: _Desk, job: Job) -> tuple[pa.Table, _Tally]:
    """Write what is wanted into its file, and count."""
    tally, kept = _Tally(), []
    with job.screen.step("Opening the events") as step:
        for batch in sealed_batches(options.events):
            of_stream = _of_stream(batch, desk.stream)
            arrived = _matched(of_stream, desk.matched)
            received = desk.inbox.receive(arrived)
            tally.refused.update(type(one.error).__name__ for one in received.refused)
            tally.sealed += arrived.num_rows
            tally.other_streams += batch.num_rows - of_stream.num_rows
            tally.events += len(np.unique(received.rows))
            kept.append(_wanted(arrived, received, desk.stream))
            step.update(f"{tally.sealed:,} events")
        if not tally.sealed and desk.matched:
            raise EventError(
                f"none of the {count(len(desk.matched), 'event')} that {options.matches} names is "
                f"in {options.events}"
            )
        table = _joined(kept)
        write_table(table, options.out)
        step.done = f"{count(tally.sealed, 'sealed event')} checked"
    return table, tally


def _of_stream(batch: pa.RecordBatch, stream: str) -> pa.RecordBatch:
    """The sealed events of a stream, and those without any stream, which will be refused."""
    if not {"stream", EVENT_ID} <= set(batch.schema.names):
        raise EventError(f"these events are not sealed; they have {', '.join(batch.schema.names)}")
    streams = batch.column("stream")
    if not is_text(streams.type):
        raise EventError(f"the column 'stream' of sealed events cannot be {streams.type}")
    return batch.filter(pc.fill_null(pc.equal(streams, stream), True))


def _matched(batch: pa.RecordBatch, matched: pa.Array | None) -> pa.RecordBatch:
    """The events that a broker found, and those without an id, which will be refused."""
    if matched is None:
        return batch
    ids = batch.column(EVENT_ID)
    return batch.filter(pc.or_(pc.is_null(ids), pc.is_in(ids.cast(pa.string()), matched)))


def _wanted(arrived: pa.RecordBatch, received: Received, stream: str) -> pa.Table | None:
    """A row for each event and subscription that wants it; None if nothing could be opened."""
    if stream not in received.events:
        return None
    rows, events = received.events[stream]
    places = pa.array(np.searchsorted(rows, received.rows))
    columns = {
        "subscription_id": received.subscription_ids,
        EVENT_ID: arrived.column(EVENT_ID).take(pa.array(received.rows)),
    }
    plain = events.take(places)
    more = {name: plain.column(name) for name in plain.schema.names if name not in columns}
    return pa.table({**columns, **more})


def _joined(kept: list[pa.Table | None]) -> pa.Table:
    """All rows that were kept; only the ids' columns are known if nothing could be opened.

    Some publishers number their events and others give them texts for ids; where both occur, all
    ids are texts.
    """
    tables = [table for table in kept if table is not None]
    if not tables:
        return pa.table(
            {"subscription_id": pa.array([], pa.string()), EVENT_ID: pa.array([], pa.string())}
        )
    types = [table.schema.field(EVENT_ID).type for table in tables]
    type_ = pa.int64() if all(map(pa.types.is_integer, types)) else pa.string()
    return pa.concat_tables(
        table.set_column(at := table.column_names.index(EVENT_ID), EVENT_ID, table[at].cast(type_))
        for table in tables
    )
