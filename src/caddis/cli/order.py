"""What a user asked `caddis match` for, and everything that can be checked before Spark starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from caddis.cli.java import require_java
from caddis.cli.options import checked_timezone
from caddis.cli.paths import FileFormat, data_files, existing, format_of, named_format
from caddis.cli.running import Job, debugging
from caddis.cli.summary import count
from caddis.errors import EventError, SubscriptionTableError

if TYPE_CHECKING:
    from caddis.pipeline import SubscriptionStore
    from caddis.pipeline.files import DataFrame, SparkSession

    EventReader = Callable[[SparkSession, Path, FileFormat, pa.Schema | None], DataFrame]


@dataclass(frozen=True, slots=True)
class Order:
    """The options as they were given."""

    events: Path
    subscriptions: Path
    out: Path
    format: FileFormat | None = None
    out_format: FileFormat | None = None
    schema: str | None = None
    event_key: str = "event_id"
    on_invalid: Literal["raise", "report"] = "raise"
    overwrite: bool = False
    timezone: str = "UTC"
    master: str = "local[*]"
    index_dir: Path | None = None
    checkpoint: Path | None = None
    once: bool = False

    @property
    def matches_format(self) -> FileFormat:
        """As asked for, else as the name tells, else Parquet."""
        return self.out_format or named_format(self.out) or "parquet"


@dataclass(frozen=True, slots=True)
class Prepared:
    """An order whose paths exist and whose subscriptions are read."""

    format: FileFormat
    schema: pa.Schema | None
    subscriptions: pa.Table | SubscriptionStore
    count: int


def prepare(order: Order, job: Job) -> Prepared:
    """Check what can be checked, and read the subscriptions."""
    from caddis.cli.ddl import parse_schema
    from caddis.cli.subscriptions import open_store, read_subscriptions

    existing(order.events, EventError)
    existing(order.subscriptions, SubscriptionTableError)
    timezone = checked_timezone(order.timezone)
    schema = None if order.schema is None else parse_schema(order.schema, timezone)
    format_ = order.format or format_of(order.events, EventError)
    require_java()
    with job.screen.step("Reading the subscriptions") as step:
        subscriptions = open_store(order.subscriptions) or read_subscriptions(order.subscriptions)
        step.done = f"{count(len(subscriptions), 'subscription')} read"
    if schema is None and not data_files(order.events):
        schema = _schema_of_store(subscriptions, order)
    return Prepared(format_, schema, subscriptions, len(subscriptions))


def start_spark(master: str, timezone: str, job: Job) -> SparkSession:
    """A session that ends with the job."""
    with job.screen.step(f"Starting Spark on {master}") as step:
        from caddis.pipeline.session import local_session

        session = local_session(master, timezone=timezone, quiet=not debugging())
        spark = job.resources.enter_context(session)
        step.done = f"Spark started on {master}"
    return spark


def look_at_events(
    order: Order, prepared: Prepared, spark: SparkSession, read: EventReader, job: Job
) -> DataFrame:
    """The events, not yet read, with their columns."""
    with job.screen.step("Looking at the events") as step:
        events = read(spark, order.events, prepared.format, prepared.schema)
        if not events.columns:
            raise EventError(f"{order.events} holds no events; give their columns with --schema")
        step.done = f"{count(len(events.columns), 'column')} of events found"
    return events


def compiled(
    order: Order, prepared: Prepared, events: DataFrame, job: Job
) -> tuple[DataFrame, list[tuple[object, str]]]:
    """The matches to be computed, and the subscriptions that cannot be used."""
    from caddis.pipeline import match

    with job.screen.step("Compiling the subscriptions") as step:
        step.done = "Subscriptions compiled"
        given = (events, prepared.subscriptions)
        if order.on_invalid == "raise":
            matches = match(*given, event_key=order.event_key, index_dir=order.index_dir)
            return matches, []
        result = match(
            *given, event_key=order.event_key, on_invalid="report", index_dir=order.index_dir
        )
        rows = result.invalid.collect()
        step.done = f"Subscriptions compiled, {len(rows):,} of them invalid"
    return result.matches, [(row["subscription_id"], row["error"]) for row in rows]


def _schema_of_store(subscriptions: pa.Table | SubscriptionStore, order: Order) -> pa.Schema:
    """With no events yet, a store still knows their columns."""
    schema = None if isinstance(subscriptions, pa.Table) else subscriptions.schema
    if schema is None or order.event_key not in schema.names:
        raise EventError(
            f"{order.events} is empty, so the events' columns are unknown; give them with --schema"
        )
    return schema
