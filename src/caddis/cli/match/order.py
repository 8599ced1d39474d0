"""What a user asked `caddis match` for, and everything that can be checked before Spark starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from caddis.cli.shell import (
    Job,
    checked_timezone,
    count,
    load_models,
    naming_the_option,
    naming_the_option_in,
    require_java,
)
from caddis.errors import EventError, InvalidSubscriptions, ModelError, SubscriptionTableError
from caddis.files import FileFormat, data_files, existing, format_of, named_format

if TYPE_CHECKING:
    from caddis.models import Model
    from caddis.spark import Report, SubscriptionStore
    from caddis.spark.base import DataFrame, SparkSession

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
    models: tuple[str, ...] = ()
    policy: str | None = None
    on_error: Literal["unknown", "raise"] = "unknown"
    statistics: Path | None = None

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
    models: list[Model]
    policy: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """Matches to be computed, subscriptions that cannot be used, and what models will have done."""

    matches: DataFrame
    invalid: list[tuple[object, str]]
    report: Report


def prepare(order: Order, job: Job) -> Prepared:
    """Check what can be checked, and read the subscriptions."""
    from caddis.files import parse_schema, read_subscriptions
    from caddis.spark.store import open_store

    existing(order.events, EventError)
    existing(order.subscriptions, SubscriptionTableError)
    timezone = checked_timezone(order.timezone)
    schema = None if order.schema is None else parse_schema(order.schema, timezone)
    format_ = order.format or format_of(order.events, EventError)
    require_java()
    with job.screen.step("Reading the subscriptions") as step:
        subscriptions = open_store(order.subscriptions) or read_subscriptions(order.subscriptions)
        step.done = f"{count(len(subscriptions), 'subscription')} read"
    models, policy = _prepare_models(order, subscriptions)
    if schema is None and not data_files(order.events):
        schema = _schema_of_store(subscriptions, order)
    return Prepared(format_, schema, subscriptions, len(subscriptions), models, policy)


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


def compiled(order: Order, prepared: Prepared, events: DataFrame, job: Job) -> Compiled:
    """The subscriptions, made ready for these events."""
    from caddis.spark import Report, match

    settings: dict[str, Any] = {
        "models": prepared.models,
        "event_key": order.event_key,
        "index_dir": order.index_dir,
        "policy": prepared.policy,
        "on_error": order.on_error,
        "statistics": order.statistics,
        "report": (report := Report()),
    }
    if order.on_invalid == "report":
        settings["on_invalid"] = "skip"
    with job.screen.step("Compiling the subscriptions") as step, _naming_the_option():
        matches = match(events, prepared.subscriptions, **settings)
        skipped = report.invalid.to_pylist()
        invalid = f", {len(skipped):,} of them invalid" if order.on_invalid == "report" else ""
        step.done = f"Subscriptions compiled{invalid}"
    invalid_rows = [(row["subscription_id"], naming_the_option(row["error"])) for row in skipped]
    return Compiled(matches, invalid_rows, report)


@contextmanager
def _naming_the_option() -> Iterator[None]:
    try:
        yield
    except InvalidSubscriptions as error:
        raise InvalidSubscriptions(naming_the_option_in(error.errors)) from error


def _prepare_models(
    order: Order, subscriptions: pa.Table | SubscriptionStore
) -> tuple[list[Model], str]:
    """The models, loaded, and the policy's name."""
    from caddis.ordering import POLICIES

    models = load_models(order.models)
    called = [] if isinstance(subscriptions, pa.Table) else subscriptions.concepts()
    if called and not models:
        names = ", ".join(sorted({concept.name for concept in called})[:5])
        raise ModelError(f"these subscriptions call models ({names}); name some with --models")
    return models, POLICIES.named(order.policy).name


def _schema_of_store(subscriptions: pa.Table | SubscriptionStore, order: Order) -> pa.Schema:
    """With no events yet, a store still knows their columns."""
    schema = None if isinstance(subscriptions, pa.Table) else subscriptions.schema
    if schema is None or order.event_key not in schema.names:
        raise EventError(
            f"{order.events} is empty, so the events' columns are unknown; give them with --schema"
        )
    return schema
