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
import pyarrow.dataset as ds
from rich.console import Console

from caddis.cli.paths import data_files, existing, format_of
from caddis.cli.running import Job
from caddis.cli.sealed_files import (
    check_free,
    check_named,
    reason,
    sealed_batches,
    write_table,
)
from caddis.cli.sealed_keys import one_topic, read_ring
from caddis.cli.subscriptions import read_subscriptions
from caddis.cli.summary import count, show_rows
from caddis.confidential.directory import Directory
from caddis.confidential.key_files import locked
from caddis.confidential.opening import Inbox, Received
from caddis.confidential.replays import ReplayMemory
from caddis.errors import EventError, SubscriptionTableError

MATCHED = ("event_id", "subscription_id")
LOOKED_AT = "looked at"


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
    topic: str | None = None
    overwrite: bool = False
    authority: str | None = None
    seen: Path | None = None


@dataclass(frozen=True, slots=True)
class OpenedSummary:
    """What reached a subscriber, and what it kept."""

    subscriber: str
    topic: str
    sealed: int
    """Events that were looked at: all, or those that a broker found for the subscriber."""
    opened: int
    refused: dict[str, int]
    events: int
    """Events that some subscription wants."""
    kept: int
    """Pairs of such an event and a subscription that wants it."""
    out: Path
    seconds: float
    authority: str

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            "subscriber": self.subscriber,
            "authority": self.authority,
            "topic": self.topic,
            "sealed": self.sealed,
            "opened": self.opened,
            "refused": self.refused,
            "events": self.events,
            "kept": self.kept,
            "out": self.out,
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """The closing summary."""
        rows = [
            ("sealed events", f"{self.sealed:,}", f"for {self.subscriber}, topic {self.topic}"),
            ("keys", "", f"of authority {self.authority}"),
            ("refused", f"{sum(self.refused.values()):,}", ""),
            *((f"  {reason(kind)}", f"{some:,}", "") for kind, some in self.refused.items()),
            ("opened", f"{self.opened:,}", f"{self.opened - self.events:,} of them not wanted"),
            ("wanted", f"{self.events:,}", f"{count(self.kept, 'match', 'matches')} in {self.out}"),
        ]
        show_rows(console, rows)


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where a subscriber opens events: its keys and plain subscriptions, ready to use.

    found: ids, as texts, of the events that a broker found for it; None for all.
    """

    subscriber: str
    authority: str
    topic: str
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
    sealed = tally.pop(LOOKED_AT)
    return OpenedSummary(
        subscriber=desk.subscriber,
        topic=desk.topic,
        sealed=sealed,
        opened=sealed - tally.total(),
        refused=dict(sorted(tally.items())),
        events=len(pc.unique(table["event_id"])),
        kept=len(table),
        out=order.out,
        seconds=time.monotonic() - began,
        authority=desk.authority,
    )


def _written(order: OpenOrder, desk: _Desk, job: Job) -> tuple[pa.Table, Counter[str]]:
    """What is wanted of all events, in its file; how many there were, and were refused and why."""
    tally, kept = Counter[str](), []
    with job.screen.step("Opening the events") as step:
        for batch in sealed_batches(order.events):
            arrived = _arrived(batch, desk)
            received = desk.inbox.receive(arrived)
            tally.update(type(one.error).__name__ for one in received.refused)
            tally[LOOKED_AT] += arrived.num_rows
            kept.append(_wanted(arrived, received, desk.topic))
            step.tell(f"{tally[LOOKED_AT]:,} events")
        table = _together(kept, order.events)
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
    topic = one_topic(ring, "subscriber", order.topic)
    directory = Directory.read(order.directory, order.authority)
    topics = pa.array([topic] * len(wishes), pa.string())
    inbox = Inbox(ring, directory, wishes.append_column("topic", topics), memory=memory)
    found = None if order.matches is None else _found(order.matches, wishes["subscription_id"])
    return _Desk(ring.name, ring.fingerprint, topic, inbox, found)


def _found(matches: Path, mine: pa.ChunkedArray) -> pa.Array:
    """The events, by their ids as texts, that a broker found for some of these subscriptions."""
    format_ = format_of(existing(matches, EventError), EventError)
    files = [str(file) for file in data_files(matches)]
    try:
        table = ds.dataset(files, format={"jsonl": "json"}.get(format_, format_)).to_table()
    except pa.ArrowException as error:
        raise EventError(f"{matches} cannot be read: {str(error).partition(chr(10))[0]}") from None
    missing = [name for name in MATCHED if name not in table.column_names]
    if missing:
        raise EventError(f"{matches}: matches have a column {missing[0]!r}, and these have not")
    events, owners = (table[name].cast(pa.string()) for name in MATCHED)
    return events.filter(pc.is_in(owners, mine.cast(pa.string()))).unique()


def _arrived(batch: pa.RecordBatch, desk: _Desk) -> pa.RecordBatch:
    """The sealed events of the topic that were found for the subscriber."""
    if not {"topic", "event_id"} <= set(batch.schema.names):
        raise EventError(f"these events are not sealed; they have {', '.join(batch.schema.names)}")
    wanted = pc.fill_null(pc.equal(batch.column("topic"), desk.topic), False)
    if desk.found is not None:
        ids = batch.column("event_id").cast(pa.string())
        wanted = pc.and_(wanted, pc.is_in(ids, desk.found))
    return batch.filter(wanted)


def _wanted(arrived: pa.RecordBatch, received: Received, topic: str) -> pa.Table | None:
    """A row for each event and subscription that wants it; None if nothing could be opened."""
    if topic not in received.events:
        return None
    rows, events = received.events[topic]
    places = pa.array(np.searchsorted(rows, received.rows))
    columns = {
        "subscription_id": received.subscription_ids,
        "event_id": arrived.column("event_id").take(pa.array(received.rows)),
    }
    plain = events.take(places)
    more = {name: plain.column(name) for name in plain.schema.names if name not in columns}
    return pa.table({**columns, **more})


def _together(kept: list[pa.Table | None], events: Path) -> pa.Table:
    """All that was kept; of events of which none could be opened, no columns are known."""
    tables = [table for table in kept if table is not None]
    if tables:
        return pa.concat_tables(tables)
    if not kept:
        raise EventError(f"{events} holds no events")
    return pa.table(
        {"subscription_id": pa.array([], pa.string()), "event_id": pa.array([], pa.string())}
    )
