"""Reads and checks the inputs of `caddis match`, before Spark starts, and compiles the match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from caddis.cli.match.command import MatchOptions
from caddis.cli.shell import (
    Job,
    checked_timezone,
    count,
    hinting_at_models,
    load_models,
    require_java,
    with_models_hint,
)
from caddis.errors import EventError, ModelError, SubscriptionTableError
from caddis.files import FileFormat, data_files, existing, format_of

ARROW = {".arrow", ".feather", ".ipc"}

if TYPE_CHECKING:
    from caddis.files.columnar import ColumnarFormat
    from caddis.models import Model
    from caddis.spark import Report, SubscriptionStore
    from caddis.spark.base import DataFrame, SparkSession

    EventReader = Callable[[SparkSession, Path, FileFormat, pa.Schema | None], DataFrame]
    MatchCall = Callable[..., DataFrame]
    """`match` or `match_files` with its events, to be called with the other arguments."""


@dataclass(frozen=True, slots=True)
class MatchInputs:
    """What the options name: the subscriptions and models, loaded, and the events' format."""

    format: FileFormat | ColumnarFormat
    schema: pa.Schema | None
    """The events' columns; None to infer them from the files."""
    subscriptions: pa.Table | SubscriptionStore
    models: list[Model]
    policy: str

    @property
    def columnar(self) -> ColumnarFormat | None:
        """The format of files that workers can read themselves; None for others."""
        return self.format if self.format in ("parquet", "arrow") else None


@dataclass(frozen=True, slots=True)
class CompiledMatch:
    """The matches that Spark will compute, the subscriptions that are skipped, and a report."""

    matches: DataFrame
    invalid: list[tuple[object, str]]
    """Ids of subscriptions that are skipped, and what is wrong with each."""
    report: Report
    """What the models did, once a job has run."""


def read_inputs(options: MatchOptions, job: Job) -> MatchInputs:
    """Check what can be checked without Spark, and read the subscriptions and models."""
    from caddis.files import parse_schema, read_subscriptions
    from caddis.ordering import POLICIES
    from caddis.spark.places import is_uri
    from caddis.spark.store import open_store

    existing(options.events, EventError)
    if not is_uri(options.subscriptions):
        existing(Path(options.subscriptions), SubscriptionTableError)
    timezone = checked_timezone(options.timezone)
    schema = None if options.schema is None else parse_schema(options.schema, timezone)
    format_ = options.format or _arrow(options) or format_of(options.events, EventError)
    require_java()
    with job.screen.step("Reading the subscriptions") as step:
        given = options.subscriptions
        subscriptions = open_store(given) or read_subscriptions(Path(given))
        step.done = f"{count(len(subscriptions), 'subscription')} read"
    models = load_models(options.models or ())
    _check_models(models, subscriptions)
    policy = POLICIES.named(options.policy).name
    if schema is None and not data_files(options.events):
        schema = _schema_of_store(subscriptions, options)
    return MatchInputs(format_, schema, subscriptions, models, policy)


def look_at_events(
    options: MatchOptions, inputs: MatchInputs, spark: SparkSession, read: EventReader, job: Job
) -> DataFrame:
    """The events as a DataFrame whose columns are known.

    read: `read_events` for a batch, `read_event_stream` for a stream.
    """
    assert inputs.format != "arrow"
    with job.screen.step("Looking at the events") as step:
        events = read(spark, options.events, inputs.format, inputs.schema)
        if not events.columns:
            raise EventError(f"{options.events} holds no events; give their columns with --schema")
        step.done = f"{count(len(events.columns), 'column')} of events found"
    return events


def compile_match(
    options: MatchOptions, inputs: MatchInputs, match: MatchCall, job: Job
) -> CompiledMatch:
    """Compile the subscriptions for the events that `match` was given."""
    from caddis.spark import Report

    report = Report()
    with job.screen.step("Compiling the subscriptions") as step, hinting_at_models():
        matches = match(
            inputs.subscriptions,
            models=inputs.models,
            event_key=options.event_key,
            on_invalid=options.on_invalid,
            index_dir=options.index_dir,
            policy=inputs.policy,
            on_error=options.on_error,
            statistics=options.statistics,
            report=report,
        )
        rows = report.invalid.to_pylist()
        skipped = f", {len(rows):,} of them skipped" if rows else ""
        step.done = f"Subscriptions compiled{skipped}"
    invalid = [(row["subscription_id"], with_models_hint(row["error"])) for row in rows]
    return CompiledMatch(matches, invalid, report)


def _arrow(options: MatchOptions) -> ColumnarFormat | None:
    """The format of a batch of Arrow files; None for other files."""
    suffixes = {file.suffix.lower() for file in data_files(options.events)}
    return "arrow" if suffixes and suffixes <= ARROW and not options.stream else None


def _check_models(models: list[Model], subscriptions: pa.Table | SubscriptionStore) -> None:
    """Raise if a store's subscriptions call concepts and no models are given."""
    called = [] if isinstance(subscriptions, pa.Table) else subscriptions.concepts()
    if called and not models:
        names = ", ".join(sorted({concept.name for concept in called})[:5])
        raise ModelError(f"these subscriptions call models ({names}); name some with --models")


def _schema_of_store(
    subscriptions: pa.Table | SubscriptionStore, options: MatchOptions
) -> pa.Schema:
    """The columns that a store was created for; used while there are no events to look at."""
    schema = None if isinstance(subscriptions, pa.Table) else subscriptions.schema
    if schema is None or options.event_key not in schema.names:
        raise EventError(
            f"{options.events} is empty, so the events' columns are unknown; give them with "
            "--schema"
        )
    return schema
