"""`caddis overlay`: brokers on Spark that share the work of matching, each a streaming query."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from caddis.cli.overlay.order import OverlayOrder, prepare_overlay
from caddis.cli.shell import AsJson, DemoFolder, EventKey, Job, Master, Result, Timezone, run
from caddis.files import FileFormat

NAME = "overlay"
RUN_EXAMPLES = """
[bold]Examples[/bold]

  caddis overlay run overlay.yaml

  caddis overlay run overlay.yaml --once --policy air

  caddis overlay run overlay.yaml --dir /data/west --master local[4]
"""
BROKER_EXAMPLES = """
[bold]Examples[/bold]

  caddis overlay broker galway overlay.yaml

  caddis overlay broker cork overlay.yaml --dir /shared/west --master local[2]
"""
SUBSCRIBE_EXAMPLES = """
[bold]Examples[/bold]

  caddis overlay subscribe cork overlay.yaml --id ann --where "price < 200"
"""
UNSUBSCRIBE_EXAMPLES = """
[bold]Examples[/bold]

  caddis overlay unsubscribe cork overlay.yaml --id ann
"""
SHOW_EXAMPLES = """
[bold]Examples[/bold]

  caddis overlay show overlay.yaml
"""
DEMO_EXAMPLES = """
[bold]Examples[/bold]

  caddis overlay demo

  caddis overlay demo --dir my-overlay --events 2000
"""

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Spread matching over brokers that share what models answer.

    A YAML file says which brokers there are, how they are joined, who
    subscribes and publishes where. Begin with [bold]caddis overlay demo[/bold].
    """,
)

File = Annotated[
    Path, typer.Argument(metavar="OVERLAY.YAML", help="The overlay file.", show_default=False)
]
Broker = Annotated[
    str, typer.Argument(metavar="BROKER", help="A broker of the file.", show_default=False)
]
Dir = Annotated[
    Path | None,
    typer.Option(
        "--dir",
        metavar="FOLDER",
        help="Where brokers keep and pass on what they do, and where a later start goes on. "
        "\\[default: beside the file, ending in .run]",
        show_default=False,
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How models are shared out: emec, mec, air or ail. Overrides the file's policy; emec "
        "if neither says. What is found does not depend on it, only what it costs.",
        show_default=False,
    ),
]
Once = Annotated[bool, typer.Option("--once", help="End when all that is there has been routed.")]
Format = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Of events in folders that are still empty: parquet, jsonl or csv.",
    ),
]
OnError = Annotated[
    Literal["unknown", "raise"],
    typer.Option(
        metavar="WHAT",
        help="If a model fails on an event: its answer is unknown, and told in problems/ below "
        "--dir; or raise an error.",
    ),
]
Tasks = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Into how many tasks a micro-batch is split at most. "
        "\\[default: as many as there are cores]",
        show_default=False,
        rich_help_panel="Spark",
    ),
]
Id = Annotated[
    str, typer.Option("--id", metavar="ID", help="The subscription's id.", show_default=False)
]


@app.command(name="run", epilog=RUN_EXAMPLES)
def run_all(
    file: File,
    folder: Dir = None,
    once: Once = False,
    policy: Policy = None,
    format_: Format = None,
    event_key: EventKey = "event_id",
    timezone: Timezone = "UTC",
    on_error: OnError = "unknown",
    as_json: AsJson = False,
    master: Master = "local[*]",
    tasks: Tasks = None,
) -> None:
    """Run all brokers of a file in one Spark session.

    Events that appear in the brokers' folders are routed until Ctrl-C; a
    second start goes on where the first ended, and routes no event twice.
    """
    order = OverlayOrder(
        file, folder, policy, event_key, timezone, format_, on_error, master, tasks
    )
    run(lambda job: _run_brokers(order, None, once, job), as_json=as_json)


@app.command(name="broker", epilog=BROKER_EXAMPLES)
def run_one(
    broker: Broker,
    file: File,
    folder: Dir = None,
    once: Once = False,
    policy: Policy = None,
    format_: Format = None,
    event_key: EventKey = "event_id",
    timezone: Timezone = "UTC",
    on_error: OnError = "unknown",
    as_json: AsJson = False,
    master: Master = "local[*]",
    tasks: Tasks = None,
) -> None:
    """Run one broker of a file in a process of its own.

    It begins with events when all brokers have told each other who publishes
    and who subscribes, and goes on from there whenever it is started again,
    however it ended: no event is lost, and nobody is notified twice.
    """
    order = OverlayOrder(
        file, folder, policy, event_key, timezone, format_, on_error, master, tasks
    )
    run(lambda job: _run_brokers(order, broker, once, job), as_json=as_json)


@app.command(name="subscribe", epilog=SUBSCRIBE_EXAMPLES)
def subscribe(
    broker: Broker,
    file: File,
    id_: Id,
    where: Annotated[
        str, typer.Option(metavar="WHERE", help="Which events are wanted.", show_default=False)
    ],
    folder: Dir = None,
    event_key: EventKey = "event_id",
    timezone: Timezone = "UTC",
    as_json: AsJson = False,
) -> None:
    """Subscribe at a broker, be it running or not.

    It takes the place of what was subscribed there under the same id before.
    """
    from caddis.cli.overlay.clients import subscribe_at

    order = OverlayOrder(file, folder, event_key=event_key, timezone=timezone)
    run(lambda _: subscribe_at(order, broker, id_, where), as_json=as_json)


@app.command(name="unsubscribe", epilog=UNSUBSCRIBE_EXAMPLES)
def unsubscribe(
    broker: Broker,
    file: File,
    id_: Id,
    folder: Dir = None,
    event_key: EventKey = "event_id",
    timezone: Timezone = "UTC",
    as_json: AsJson = False,
) -> None:
    """Take a subscription at a broker back."""
    from caddis.cli.overlay.clients import unsubscribe_at

    order = OverlayOrder(file, folder, event_key=event_key, timezone=timezone)
    run(lambda _: unsubscribe_at(order, broker, id_), as_json=as_json)


@app.command(name="show", epilog=SHOW_EXAMPLES)
def show(
    file: File,
    folder: Dir = None,
    policy: Policy = None,
    format_: Format = None,
    event_key: EventKey = "event_id",
    timezone: Timezone = "UTC",
    as_json: AsJson = False,
) -> None:
    """Check an overlay file and draw its tree.

    Reads all that the file names, except events; Spark is not started.
    """
    from caddis.cli.overlay.show import OverlayTree

    order = OverlayOrder(file, folder, policy, event_key, timezone, format_)
    run(lambda _: OverlayTree(prepare_overlay(order)), as_json=as_json)


@app.command(name="demo", epilog=DEMO_EXAMPLES)
def demo(
    folder: DemoFolder = None,
    events: Annotated[
        int, typer.Option(min=2, metavar="N", help="How many photos are published.")
    ] = 600,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Another seed, other photos and wishes.")
    ] = 1,
    master: Master = "local[*]",
    as_json: AsJson = False,
) -> None:
    """Show four brokers at work on photos that are made here.

    Writes an overlay file, models, subscriptions and events into a folder,
    runs the overlay once, and tells what each broker did and how many runs
    of models sharing has spared.
    """

    def work(job: Job) -> Result:
        from caddis.cli.overlay.demo import run_demo

        made = folder or Path(tempfile.mkdtemp(prefix="caddis-overlay-"))
        return run_demo(made, events, seed, master, job)

    if not as_json:
        typer.echo(f"Four brokers: {events:,} photos are published at two of them.\n")
    run(work, as_json=as_json)


def _run_brokers(order: OverlayOrder, name: str | None, once: bool, job: Job) -> Result:
    """One broker, or all."""
    from caddis.cli.overlay.run import read_overlay, run_brokers

    prepared = read_overlay(order, job)
    names = [broker.name for broker in prepared.overlay.brokers] if name is None else [name]
    return run_brokers(prepared, names, once, job)
