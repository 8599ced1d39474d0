"""`caddis explain`: how subscriptions are indexed, which ones are slow, and which models run."""

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
    load_models,
    run,
    show_titled,
    text_table,
    with_models_hint,
)
from caddis.errors import EventError
from caddis.files import FileFormat, existing, format_of

if TYPE_CHECKING:
    import pyarrow as pa

    from caddis.cli.explain.models import ModelsExplained
    from caddis.matching import Explanation

NAME = "explain"
EXAMPLES = """
[bold]Examples[/bold]

  caddis explain wishes.csv --events offers.parquet

  caddis explain wishes.csv --schema 'city STRING, price INT' --limit 20

  caddis explain store/ --json

  caddis explain wishes.csv --events posts.jsonl --models efficientnet-lite0
"""
app = typer.Typer()

Subscriptions = Annotated[
    Path,
    typer.Argument(
        metavar="SUBSCRIPTIONS",
        help="A file with the columns subscription_id and where, or a subscription store.",
        show_default=False,
    ),
]
Events = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Events to take the columns from, if there is no --schema; and, if there are models, "
        "some to decide.",
    ),
]
Sample = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="With --models: how many events to decide, the first ones of --events.",
        rich_help_panel="Models",
    ),
]
Limit = Annotated[int, typer.Option(min=0, metavar="N", help="How many to list of each kind.")]


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation, to be shown."""

    explanation: Explanation
    limit: int
    models: ModelsExplained | None

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        found = self.explanation
        return {
            "subscriptions": found.subscriptions,
            "clauses": found.clauses,
            "bytes": found.nbytes,
            "access": [asdict(one) for one in found.access],
            "shared": [asdict(one) for one in found.shared],
            "scanned_count": found.scanned_count,
            "scanned": [asdict(one) for one in found.scanned],
            "invalid_count": len(found.invalid),
            "invalid": [
                {
                    "subscription_id": error.subscription_id,
                    "error": with_models_hint(str(error)),
                }
                for error in found.invalid[: self.limit]
            ],
            **({} if self.models is None else self.models.as_json()),
        }

    def show(self, console: Console) -> None:
        """Tables, as far as they have something to say."""
        found = self.explanation
        console.print(
            f"{count(found.subscriptions, 'subscription')}, {count(found.clauses, 'clause')}, "
            f"an index of {found.nbytes / 1e6:,.2f} MB"
        )
        _show_access(found, console)
        _show_shared(found, console)
        _show_scanned(found, console)
        _show_invalid(found, self.limit, console)
        if self.models is not None:
            self.models.show(console, self.limit)


@dataclass(frozen=True, slots=True)
class Question:
    """The options as they were given."""

    subscriptions: Path
    events: Path | None
    format: FileFormat | None
    schema: str | None
    event_key: str
    timezone: str
    limit: int
    models: tuple[str, ...]
    policy: str | None
    sample: int

    def events_format(self, events: Path) -> FileFormat:
        """As told, or as the files' names tell."""
        return self.format or format_of(existing(events, EventError), EventError)


@app.command(name=NAME, epilog=EXAMPLES)
def command(
    subscriptions: Subscriptions,
    events: Events = None,
    format_: EventsFormat = None,
    schema: Schema = None,
    event_key: EventKey = "event_id",
    limit: Limit = 10,
    timezone: Timezone = "UTC",
    as_json: AsJson = False,
    models: Models = None,
    policy: Policy = None,
    sample: Sample = 20,
) -> None:
    """Show how subscriptions are indexed, and which models events run.

    Each clause is filed under one access token, its rarest, and is looked at
    only for events that carry it. Shown are the kinds of tokens, the tokens
    that most clauses share, the subscriptions that have none and are tried on
    every event, and those that cannot be used. Spark is not started.

    With --models and --events some events are decided, and it is shown which
    models each ran and what they said, what that cost, and how far it is from
    the least that had to be paid.
    """
    question = Question(
        subscriptions=subscriptions,
        events=events,
        format=format_,
        schema=schema,
        event_key=event_key,
        timezone=timezone,
        limit=limit,
        models=tuple(models or ()),
        policy=policy,
        sample=sample,
    )
    run(lambda job: _explained(question, job), as_json=as_json)


def _explained(question: Question, job: Job) -> Explained:
    from caddis.matching import explain
    from caddis.models import Catalogue

    models = load_models(question.models)
    table, columns, timezone = _inputs(question)
    found = explain(
        table,
        columns,
        timezone=timezone,
        limit=question.limit,
        concepts=Catalogue(models).vocabulary,
    )
    if question.events is None or not models:
        return Explained(found, question.limit, None)
    from caddis.cli.explain.models import explain_sample
    from caddis.files import first_events

    format_ = question.events_format(question.events)
    events = first_events(question.events, format_, columns, timezone, question.sample)
    keys = _keys(events, question.event_key)
    with job.screen.step(f"Deciding {count(len(events), 'event')} with models") as step:
        step.done = f"{count(len(events), 'event')} decided with models"
        sample = explain_sample(table, events, keys, models, question.policy, timezone)
    return Explained(found, question.limit, sample)


def _inputs(question: Question) -> tuple[pa.Table, pa.Schema, str]:
    """The subscriptions, the events' columns and the time zone; a store knows all of them."""
    from caddis.files import read_subscriptions
    from caddis.spark.store import open_store

    store = open_store(question.subscriptions)
    if store is not None and question.schema is None and question.events is None:
        return store.subscriptions(), store.schema, store.timezone
    checked_timezone(question.timezone)
    if store is None:
        return read_subscriptions(question.subscriptions), _schema(question), question.timezone
    return store.subscriptions(), _schema(question), question.timezone


def _schema(question: Question) -> pa.Schema:
    from caddis.files import EXAMPLE, parse_schema, schema_of

    if question.schema is not None:
        return parse_schema(question.schema, question.timezone)
    if question.events is None:
        raise EventError(
            "which columns do the events have? Name a file of them with --events, or say "
            f"--schema '{EXAMPLE}'"
        )
    return schema_of(question.events, question.events_format(question.events), question.timezone)


def _keys(events: pa.RecordBatch, event_key: str) -> pa.Array:
    """What to call the events: by their key, else by their number."""
    import pyarrow as pa

    if event_key in events.schema.names:
        return events[event_key]
    return pa.array(range(1, len(events) + 1))


def _show_access(found: Explanation, console: Console) -> None:
    table = text_table("by", "clauses", "tokens", "most clauses on one token")
    for use in found.access:
        table.add_row(use.kind, f"{use.clauses:,}", f"{use.tokens:,}", f"{use.most_shared:,}")
    if found.access:
        show_titled("How clauses are found", table, console)


def _show_shared(found: Explanation, console: Console) -> None:
    table = text_table("column", "token", "clauses", texts=(0, 1))
    for one in found.shared:
        table.add_row(escape(one.column), escape(one.token), f"{one.clauses:,}")
    if found.shared:
        show_titled("The tokens that most clauses share", table, console)


def _show_scanned(found: Explanation, console: Console) -> None:
    if not found.scanned_count:
        console.print("\nNo subscription is tried on every event.")
        return
    table = text_table("subscription", "where", "why", texts=(0, 1, 2))
    for one in found.scanned:
        table.add_row(escape(str(one.subscription_id)), escape(one.where), escape(one.why))
    many = count(found.scanned_count, "subscription")
    show_titled(f"Tried on every event: {many} of {found.subscriptions:,}", table, console)


def _show_invalid(found: Explanation, limit: int, console: Console) -> None:
    if not found.invalid:
        return
    console.print(f"\n[bold]Cannot be used: {count(len(found.invalid), 'subscription')}[/bold]")
    for error in found.invalid[:limit]:
        console.print(escape(with_models_hint(str(error))), soft_wrap=True)
    if len(found.invalid) > limit:
        console.print(f"... and {len(found.invalid) - limit:,} more; --limit shows them")
