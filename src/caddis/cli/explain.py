"""`caddis explain`: how subscriptions are indexed, and which ones are slow."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from caddis.cli import options
from caddis.cli.paths import FileFormat
from caddis.cli.running import Job, run
from caddis.cli.summary import count
from caddis.errors import EventError

if TYPE_CHECKING:
    import pyarrow as pa

    from caddis.matching import Explanation

NAME = "explain"
EXAMPLES = """
[bold]Examples[/bold]

  caddis explain wishes.csv --events offers.parquet

  caddis explain wishes.csv --schema 'city STRING, price INT' --limit 20

  caddis explain store/ --json
"""

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
    typer.Option(metavar="PATH", help="Events to take the columns from, if there is no --schema."),
]
InFormat = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="The events' format, if the files' names do not tell: parquet, jsonl or csv.",
    ),
]
Limit = Annotated[int, typer.Option(min=0, metavar="N", help="How many to list of each kind.")]


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation, to be shown."""

    explanation: Explanation
    limit: int

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
                {"subscription_id": error.subscription_id, "error": str(error)}
                for error in found.invalid[: self.limit]
            ],
        }

    def show(self, console: Console) -> None:
        """Four tables, as far as they have something to say."""
        found = self.explanation
        console.print(
            f"{count(found.subscriptions, 'subscription')}, {count(found.clauses, 'clause')}, "
            f"an index of {found.nbytes / 1e6:,.2f} MB"
        )
        _show_access(found, console)
        _show_shared(found, console)
        _show_scanned(found, console)
        _show_invalid(found, self.limit, console)


def command(
    subscriptions: Subscriptions,
    events: Events = None,
    format_: InFormat = None,
    schema: options.Schema = None,
    limit: Limit = 10,
    timezone: options.Timezone = "UTC",
    as_json: options.AsJson = False,
) -> None:
    """Show how subscriptions are indexed.

    Each clause is filed under one access token, its rarest, and is looked at
    only for events that carry it. Shown are the kinds of tokens, the tokens
    that most clauses share, the subscriptions that have none and are tried on
    every event, and those that cannot be used. Spark is not started.
    """

    def work(_: Job) -> Explained:
        from caddis.matching import explain

        table, columns, zone = _inputs(subscriptions, events, format_, schema, timezone)
        return Explained(explain(table, columns, timezone=zone, limit=limit), limit)

    run(work, as_json=as_json)


def _inputs(
    subscriptions: Path,
    events: Path | None,
    format_: FileFormat | None,
    ddl: str | None,
    timezone: str,
) -> tuple[pa.Table, pa.Schema, str]:
    """The subscriptions, the events' columns and the time zone; a store knows all of them."""
    from caddis.cli.subscriptions import open_store, read_subscriptions

    store = open_store(subscriptions)
    if store is not None and ddl is None and events is None:
        return store.subscriptions(), store.schema, store.timezone
    timezone = options.checked_timezone(timezone)
    table = store.subscriptions() if store is not None else read_subscriptions(subscriptions)
    return table, _schema(events, format_, ddl, timezone), timezone


def _schema(
    events: Path | None, format_: FileFormat | None, ddl: str | None, timezone: str
) -> pa.Schema:
    from caddis.cli.ddl import EXAMPLE, parse_schema
    from caddis.cli.paths import existing, format_of
    from caddis.cli.schemas import schema_of

    if ddl is not None:
        return parse_schema(ddl, timezone)
    if events is None:
        raise EventError(
            "which columns do the events have? Name a file of them with --events, or say "
            f"--schema '{EXAMPLE}'"
        )
    format_ = format_ or format_of(existing(events, EventError), EventError)
    return schema_of(events, format_, timezone)


def _show_access(found: Explanation, console: Console) -> None:
    table = _table("by", "clauses", "tokens", "most clauses on one token")
    for use in found.access:
        table.add_row(use.kind, f"{use.clauses:,}", f"{use.tokens:,}", f"{use.most_shared:,}")
    if found.access:
        _show("How clauses are found", table, console)


def _show_shared(found: Explanation, console: Console) -> None:
    table = _table("column", "token", "clauses", texts=2)
    for one in found.shared:
        table.add_row(escape(one.column), escape(one.token), f"{one.clauses:,}")
    if found.shared:
        _show("The tokens that most clauses share", table, console)


def _show_scanned(found: Explanation, console: Console) -> None:
    if not found.scanned_count:
        console.print("\nNo subscription is tried on every event.")
        return
    table = _table("subscription", "where", "why", texts=3)
    for one in found.scanned:
        table.add_row(escape(str(one.subscription_id)), escape(one.where), escape(one.why))
    many = count(found.scanned_count, "subscription")
    _show(f"Tried on every event: {many} of {found.subscriptions:,}", table, console)


def _show_invalid(found: Explanation, limit: int, console: Console) -> None:
    if not found.invalid:
        return
    console.print(f"\n[bold]Cannot be used: {count(len(found.invalid), 'subscription')}[/bold]")
    for error in found.invalid[:limit]:
        console.print(escape(str(error)), soft_wrap=True)
    if len(found.invalid) > limit:
        console.print(f"... and {len(found.invalid) - limit:,} more; --limit shows them")


def _show(title: str, table: Table, console: Console) -> None:
    console.print(f"\n[bold]{title}[/bold]")
    console.print(table)


def _table(*names: str, texts: int = 1) -> Table:
    """A table whose first columns are texts and the others numbers."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for at, name in enumerate(names):
        table.add_column(name, justify="left" if at < texts else "right", overflow="fold")
    return table
