"""The options of `caddis explain`, and what it shows of the index."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from caddis.cli.shell import (
    AsJson,
    EventKey,
    EventsFormat,
    Job,
    Models,
    Policy,
    Schema,
    Timezone,
    checked_timezone,
    count,
    examples,
    fills,
    load_models,
    option,
    run,
    show_titled,
    text_table,
    with_models_hint,
)
from caddis.errors import EventError
from caddis.files import FileFormat, existing, format_of

if TYPE_CHECKING:
    import pyarrow as pa

    from caddis.cli.explain.models import SampleSummary
    from caddis.matching import Explanation
    from caddis.models import Model

EXAMPLES = examples(
    "explain subs.csv --events offers.parquet",
    "explain subs.csv --schema 'city STRING, price INT' --limit 20",
    "explain store/ --json",
    "explain subs.csv --events posts.jsonl --models efficientnet-lite0",
)
app = typer.Typer()


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """Which subscriptions to explain, for which events, and how much to show.

    The events' columns are those of `schema`, else of `events`, else of the store.
    """

    subscriptions: Annotated[
        str,
        typer.Argument(
            metavar="SUBSCRIPTIONS",
            help="A file with the columns subscription_id and where; or the folder or URI of a "
            "subscription store.",
            show_default=False,
        ),
    ]
    events: Annotated[
        Path | None,
        option(
            "PATH",
            "A file or folder of events. Their columns are used unless --schema is given; with "
            "--models, the first events are decided.",
        ),
    ] = None
    format: EventsFormat = None
    schema: Schema = None
    event_key: EventKey = "event_id"
    limit: Annotated[int, option("N", "How many entries to show in each list.", min=0)] = 10
    timezone: Timezone = "UTC"
    as_json: AsJson = False
    models: Models = None
    policy: Policy = None
    sample: Annotated[
        int, option("N", "With --models: how many events to decide.", panel="Models", min=1)
    ] = 20

    def events_format(self, events: Path) -> FileFormat:
        """The format that was given, or that the files' names tell."""
        return self.format or format_of(existing(events, EventError), EventError)


@dataclass(frozen=True, slots=True)
class ExplainSummary:
    """How the subscriptions are indexed.

    limit: how many entries to show in each list.
    sample: how some events were decided with models, if any were.
    """

    explanation: Explanation
    limit: int
    sample: SampleSummary | None

    def as_json(self) -> dict[str, object]:
        """The values that --json prints."""
        explanation = self.explanation
        return {
            "subscriptions": explanation.subscriptions,
            "clauses": explanation.clauses,
            "bytes": explanation.nbytes,
            "access": [asdict(one) for one in explanation.access],
            "shared": [asdict(one) for one in explanation.shared],
            "scanned_count": explanation.scanned_count,
            "scanned": [asdict(one) for one in explanation.scanned],
            "invalid_count": len(explanation.invalid),
            "invalid": [
                {"subscription_id": error.subscription_id, "error": with_models_hint(str(error))}
                for error in explanation.invalid[: self.limit]
            ],
            **({} if self.sample is None else self.sample.as_json()),
        }

    def show(self, console: Console) -> None:
        """Print a table for each list that is not empty."""
        explanation = self.explanation
        console.print(
            f"{count(explanation.subscriptions, 'subscription')}, "
            f"{count(explanation.clauses, 'clause')}, "
            f"an index of {explanation.nbytes / 1e6:,.2f} MB"
        )
        _show_access(explanation, console)
        _show_shared(explanation, console)
        _show_scanned(explanation, console)
        _show_invalid(explanation, self.limit, console)
        if self.sample is not None:
            self.sample.show(console, self.limit)


@app.command(name="explain", epilog=EXAMPLES)
@fills(ExplainOptions)
def command(options: ExplainOptions) -> None:
    """Show how subscriptions are indexed, and which models run on events.

    The index keeps each clause under one access token, its rarest, and looks
    at the clause only for events that carry that token. You see the kinds of
    tokens, the tokens that most clauses share, the subscriptions that have no
    token and are tried on every event, and those that are invalid. Spark is
    not started.

    With --models and --events, explain also decides some events. You see
    which models ran on each event, what they answered and cost, and how that
    compares with the least possible cost.
    """
    run(lambda job: explain(options, job), as_json=options.as_json)


@dataclass(frozen=True, slots=True)
class ExplainInputs:
    """What the options name, read."""

    subscriptions: pa.Table
    columns: pa.Schema
    timezone: str
    models: list[Model]


def explain(options: ExplainOptions, job: Job) -> ExplainSummary:
    """Index the subscriptions and, if there are models and events, decide some of these."""
    from caddis import matching
    from caddis.models import Catalogue

    inputs = _read_inputs(options)
    explanation = matching.explain(
        inputs.subscriptions,
        inputs.columns,
        timezone=inputs.timezone,
        limit=options.limit,
        concepts=Catalogue(inputs.models).vocabulary,
    )
    sample = None
    if options.events is not None and inputs.models:
        sample = _explain_sample(options, options.events, inputs, job)
    return ExplainSummary(explanation, options.limit, sample)


def _read_inputs(options: ExplainOptions) -> ExplainInputs:
    """Read the models and the subscriptions; a store also knows the columns and the time zone."""
    from caddis.files import read_subscriptions
    from caddis.spark.store import open_store

    models = load_models(options.models or ())
    store = open_store(options.subscriptions)
    if store is not None and options.schema is None and options.events is None:
        return ExplainInputs(store.subscriptions(), store.schema, store.timezone, models)
    timezone = checked_timezone(options.timezone)
    given = Path(options.subscriptions)
    table = read_subscriptions(given) if store is None else store.subscriptions()
    return ExplainInputs(table, _schema(options), timezone, models)


def _schema(options: ExplainOptions) -> pa.Schema:
    from caddis.files import EXAMPLE, parse_schema, schema_of

    if options.schema is not None:
        return parse_schema(options.schema, options.timezone)
    if options.events is None:
        raise EventError(
            "which columns do the events have? Name a file of them with --events, or write "
            f"--schema '{EXAMPLE}'"
        )
    return schema_of(options.events, options.events_format(options.events), options.timezone)


def _explain_sample(
    options: ExplainOptions, path: Path, inputs: ExplainInputs, job: Job
) -> SampleSummary:
    from caddis.cli.explain.models import explain_sample
    from caddis.files import first_events

    format_ = options.events_format(path)
    events = first_events(path, format_, inputs.columns, inputs.timezone, options.sample)
    keys = _keys(events, options.event_key)
    with job.screen.step(f"Deciding {count(len(events), 'event')} with models") as step:
        step.done = f"{count(len(events), 'event')} decided with models"
        return explain_sample(inputs, events, keys, options.policy)


def _keys(events: pa.RecordBatch, event_key: str) -> pa.Array:
    """What to call the events: their keys, or their numbers if they have none."""
    import pyarrow as pa

    if event_key in events.schema.names:
        return events[event_key]
    return pa.array(range(1, len(events) + 1))


def _show_access(explanation: Explanation, console: Console) -> None:
    table = text_table("by", "clauses", "tokens", "most clauses on one token")
    for use in explanation.access:
        table.add_row(use.kind, f"{use.clauses:,}", f"{use.tokens:,}", f"{use.most_shared:,}")
    if explanation.access:
        show_titled("How clauses are found", table, console)


def _show_shared(explanation: Explanation, console: Console) -> None:
    table = text_table("column", "token", "clauses", texts=(0, 1))
    for one in explanation.shared:
        table.add_row(escape(one.column), escape(one.token), f"{one.clauses:,}")
    if explanation.shared:
        show_titled("The tokens that most clauses share", table, console)


def _show_scanned(explanation: Explanation, console: Console) -> None:
    if not explanation.scanned_count:
        console.print("\nNo subscription is tried on every event.")
        return
    table = text_table("subscription", "where", "why", texts=(0, 1, 2))
    for one in explanation.scanned:
        table.add_row(escape(str(one.subscription_id)), escape(one.where), escape(one.why))
    many = count(explanation.scanned_count, "subscription")
    show_titled(f"Tried on every event: {many} of {explanation.subscriptions:,}", table, console)


def _show_invalid(explanation: Explanation, limit: int, console: Console) -> None:
    if not explanation.invalid:
        return
    console.print(f"\n[bold]Invalid: {count(len(explanation.invalid), 'subscription')}[/bold]")
    for error in explanation.invalid[:limit]:
        console.print(escape(with_models_hint(str(error))), soft_wrap=True)
    if len(explanation.invalid) > limit:
        console.print(f"... and {len(explanation.invalid) - limit:,} more; --limit shows them")
