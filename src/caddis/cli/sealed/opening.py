"""`caddis sealed open`: a subscriber opens what a broker found, and keeps what it had asked for.

A row of what is written is an event and one of the subscriptions that want it: exactly the rows
that plain matching would have given, whatever the broker added.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from caddis.cli.sealed.files import check_free, check_named, reason, sealed_batches, write_table
from caddis.cli.sealed.found import found_events
from caddis.cli.sealed.keys import one_stream, read_ring
from caddis.cli.shell import Job, count, show_rows
from caddis.errors import EventError, SubscriptionTableError
from caddis.files import existing, read_subscriptions
from caddis.language import is_text
from caddis.sealed import Inbox, Received
from caddis.sealed.events import ReplayMemory
from caddis.sealed.keys import Directory, locked

EVENT_ID = "event_id"
LOOKED_AT, WANTED, ELSEWHERE = "looked at", "wanted", "of other streams"


@dataclass(frozen=True, slots=True)
class OpenOrder:
    """The options as they were given."""

    events: Path
    wishes: Path
    name: str
    out: Path
    matches: Path | None = None
    keys: Path = Path()
    directory: Path = Path("directory.json")
    stream: str | None = None
    overwrite: bool = False
    authority: str | None = None
    seen: Path | None = None


@dataclass(frozen=True, slots=True)
class OpenedSummary:
    """What reached a subscriber, and what it kept."""

    subscriber: str
    stream: str
    sealed: int
    """Events that were looked at: all, or those that a broker found for the subscriber."""
    opened: int
    refused: dict[str, int]
    events: int
    """Events that some subscription wants."""
    kept: int
    """Pairs of such an event and a subscription that wants it."""
    other_streams: int
    """Events of other streams, which were left alone."""
    out: Path
    seconds: float
    authority: str

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            "subscriber": self.subscriber,
            "authority": self.authority,
            "stream": self.stream,
            "sealed": self.sealed,
            "opened": self.opened,
            "refused": self.refused,
            "events": self.events,
            "kept": self.kept,
            "other_streams": self.other_streams,
            "out": self.out,
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """The closing summary."""
        rows = [
            ("sealed events", f"{self.sealed:,}", f"for {self.subscriber}, stream {self.stream}"),
            ("keys", "", f"of authority {self.authority}"),
            ("refused", f"{sum(self.refused.values()):,}", ""),
            *((f"  {reason(kind)}", f"{some:,}", "") for kind, some in self.refused.items()),
            ("opened", f"{self.opened:,}", f"{self.opened - self.events:,} of them not wanted"),
            ("wanted", f"{self.events:,}", f"{count(self.kept, 'match', 'matches')} in {self.out}"),
        ]
        if self.other_streams:
            rows.append(("other streams", f"{self.other_streams:,}", "events, left alone"))
        show_rows(console, rows)


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where a subscriber opens events: its keys and plain subscriptions, ready to use.

    found: ids, as texts, of the events that a broker found for it; None for all.
    """

    subscriber: str
    authority: str
    stream: str
    inbox: Inbox
    found: pa.Array | None


def open_events(order: OpenOrder, job: Job) -> OpenedSummary:
    """Open, check and write all that is wanted."""
    began = time.monotonic()
    check_free(order.out, overwrite=order.overwrite)
    check_named(order.out)
    with _kept_memory(order.seen) as memory:
        desk = _desk(order, memory)
        table, tally = _written(order, desk, job)
    sealed, events, elsewhere = (tally.pop(name, 0) for name in (LOOKED_AT, WANTED, ELSEWHERE))
    return OpenedSummary(
        subscriber=desk.subscriber,
        stream=desk.stream,
        sealed=sealed,
        opened=sealed - tally.total(),
        refused=dict(sorted(tally.items())),
        events=events,
        kept=len(table),
        other_streams=elsewhere,
        out=order.out,
        seconds=time.monotonic() - began,
        authority=desk.authority,
    )


def _written(order: OpenOrder, desk: _Desk, job: Job) -> tuple[pa.Table, Counter[str]]:
    """What is wanted of all events, in its file; how many there were, and were refused and why."""
    tally, kept = Counter[str](), []
    with job.screen.step("Opening the events") as step:
        for batch in sealed_batches(order.events):
            of_stream = _of_stream(batch, desk.stream)
            arrived = _found_for_me(of_stream, desk.found)
            received = desk.inbox.receive(arrived)
            tally.update(type(one.error).__name__ for one in received.refused)
            tally[LOOKED_AT] += arrived.num_rows
            tally[ELSEWHERE] += batch.num_rows - of_stream.num_rows
            tally[WANTED] += len(np.unique(received.rows))
            kept.append(_wanted(arrived, received, desk.stream))
            step.update(f"{tally[LOOKED_AT]:,} events")
        if not tally[LOOKED_AT] and desk.found:
            raise EventError(
                f"none of the {count(len(desk.found), 'event')} that {order.matches} names is in "
                f"{order.events}"
            )
        table = _together(kept)
        write_table(table, order.out)
        step.done = f"{count(tally[LOOKED_AT], 'sealed event')} looked at"
    return table, tally


@contextmanager
def _kept_memory(seen: Path | None) -> Iterator[ReplayMemory]:
    """What was opened before. It is written after what is opened now, so that nothing is lost."""
    if seen is None:
        yield ReplayMemory()
        return
    with locked(seen):
        memory = ReplayMemory.read(seen) if seen.exists() else ReplayMemory()
        yield memory
        memory.write(seen)


def _desk(order: OpenOrder, memory: ReplayMemory) -> _Desk:
    """All that is asked for, read and checked."""
    existing(order.events, EventError)
    wishes = read_subscriptions(existing(order.wishes, SubscriptionTableError))
    ring = read_ring(order.keys, order.name, order.authority)
    stream = one_stream(ring, "subscriber", order.stream)
    directory = Directory.read(order.directory, order.authority)
    streams = pa.array([stream] * len(wishes), pa.string())
    inbox = Inbox(ring, directory, wishes.append_column("stream", streams), memory=memory)
    found = None if order.matches is None else found_events(order.matches, wishes)
    return _Desk(ring.name, ring.fingerprint, stream, inbox, found)


def _of_stream(batch: pa.RecordBatch, stream: str) -> pa.RecordBatch:
    """The sealed events of a stream, and those without any, which will be refused."""
    if not {"stream", "event_id"} <= set(batch.schema.names):
        raise EventError(f"these events are not sealed; they have {', '.join(batch.schema.names)}")
    streams = batch.column("stream")
    if not is_text(streams.type):
        raise EventError(f"the column 'stream' of sealed events cannot be {streams.type}")
    return batch.filter(pc.fill_null(pc.equal(streams, stream), True))


def _found_for_me(batch: pa.RecordBatch, found: pa.Array | None) -> pa.RecordBatch:
    """Those that a broker found for the subscriber, and those without an id, as above."""
    if found is None:
        return batch
    ids = batch.column("event_id")
    return batch.filter(pc.or_(pc.is_null(ids), pc.is_in(ids.cast(pa.string()), found)))


def _wanted(arrived: pa.RecordBatch, received: Received, stream: str) -> pa.Table | None:
    """A row for each event and subscription that wants it; None if nothing could be opened."""
    if stream not in received.events:
        return None
    rows, events = received.events[stream]
    places = pa.array(np.searchsorted(rows, received.rows))
    columns = {
        "subscription_id": received.subscription_ids,
        "event_id": arrived.column("event_id").take(pa.array(received.rows)),
    }
    plain = events.take(places)
    more = {name: plain.column(name) for name in plain.schema.names if name not in columns}
    return pa.table({**columns, **more})


def _together(kept: list[pa.Table | None]) -> pa.Table:
    """All that was kept; of events of which none could be opened, no columns are known.

    Publishers name their events by numbers or by texts; if some do this and some that, all ids
    are texts.
    """
    tables = [table for table in kept if table is not None]
    if not tables:
        return pa.table(
            {"subscription_id": pa.array([], pa.string()), "event_id": pa.array([], pa.string())}
        )
    types = [table.schema.field(EVENT_ID).type for table in tables]
    type_ = pa.int64() if all(map(pa.types.is_integer, types)) else pa.string()
    return pa.concat_tables(
        table.set_column(at := table.column_names.index(EVENT_ID), EVENT_ID, table[at].cast(type_))
        for table in tables
    )
