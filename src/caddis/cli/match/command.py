"""`caddis match`: files of events against a file of subscriptions, once or for good."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from caddis.cli.shell import (
    AsJson,
    EventKey,
    EventsFormat,
    Master,
    Models,
    OnError,
    Overwrite,
    Policy,
    Schema,
    Statistics,
    Timezone,
    run,
)
from caddis.files import FileFormat

NAME = "match"
EXAMPLES = """
[bold]Examples[/bold]

  caddis match --events offers.parquet --subscriptions wishes.csv --out found

  caddis match --events offers/ --subscriptions wishes.jsonl --out found.csv

  caddis match --stream --events inbox/ --subscriptions store/ --out found

  caddis match --events e.csv --subscriptions s.csv --out found --models m.py
"""
app = typer.Typer()

Events = Annotated[
    Path,
    typer.Option(
        metavar="PATH", help="A file of events, or a folder of such files.", show_default=False
    ),
]
Subscriptions = Annotated[
    Path,
    typer.Option(
        metavar="PATH",
        help="A file with the columns subscription_id and where; or a subscription store, whose "
        "changes a stream follows.",
        show_default=False,
    ),
]
Out = Annotated[
    Path,
    typer.Option(metavar="FOLDER", help="A new folder for the matches.", show_default=False),
]
OutFormat = Annotated[
    FileFormat | None,
    typer.Option(
        metavar="FORMAT", help="The matches' format; otherwise as --out is named, or parquet."
    ),
]
OnInvalid = Annotated[
    Literal["raise", "report"],
    typer.Option(
        metavar="WHAT",
        help="Of subscriptions that cannot be used: raise an error; or match the others and report "
        "these in _invalid.jsonl below --out.",
    ),
]
IndexDir = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where the compiled subscriptions are kept; on a cluster, a folder all machines see.",
        rich_help_panel="Spark",
    ),
]
Stream = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Keep watching the folder of events for new files, until Ctrl-C. A second start with "
        "the same --out goes on where the first ended.",
        rich_help_panel="Streams",
    ),
]
Once = Annotated[
    bool,
    typer.Option(
        "--once",
        help="With --stream: end when the files that are there are done.",
        rich_help_panel="Streams",
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="With --stream: where it is kept how far the stream is; otherwise below --out.",
        rich_help_panel="Streams",
    ),
]


@app.command(name=NAME, epilog=EXAMPLES)
def command(
    events: Events,
    subscriptions: Subscriptions,
    out: Out,
    format_: EventsFormat = None,
    out_format: OutFormat = None,
    schema: Schema = None,
    event_key: EventKey = "event_id",
    on_invalid: OnInvalid = "raise",
    overwrite: Overwrite = False,
    timezone: Timezone = "UTC",
    as_json: AsJson = False,
    models: Models = None,
    policy: Policy = None,
    on_error: OnError = "unknown",
    statistics: Statistics = None,
    stream: Stream = False,
    once: Once = False,
    checkpoint: Checkpoint = None,
    master: Master = "local[*]",
    index_dir: IndexDir = None,
) -> None:
    """Find, for every event, the subscriptions that it satisfies.

    Reads events from Parquet, JSON lines or CSV files and writes a folder of
    rows (event_id, subscription_id), each match once.
    """
    if not stream and (once or checkpoint):
        raise typer.BadParameter(
            "it is only for --stream", param_hint="--once" if once else "--checkpoint"
        )
    from caddis.cli.match.batch import match_once
    from caddis.cli.match.order import Order
    from caddis.cli.match.stream import match_stream

    order = Order(
        events=events,
        subscriptions=subscriptions,
        out=out,
        format=format_,
        out_format=out_format,
        schema=schema,
        event_key=event_key,
        on_invalid=on_invalid,
        overwrite=overwrite,
        timezone=timezone,
        master=master,
        index_dir=index_dir,
        checkpoint=checkpoint,
        once=once,
        models=tuple(models or ()),
        policy=policy,
        on_error=on_error,
        statistics=statistics,
    )
    if stream:
        run(lambda job: match_stream(order, job), as_json=as_json)
    else:
        run(lambda job: match_once(order, job), as_json=as_json)
