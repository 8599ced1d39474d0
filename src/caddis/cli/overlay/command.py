"""`caddis overlay`: brokers on Spark that share the work of matching, each a streaming query.

Every verb is spelled once: its options are a frozen dataclass that Typer fills, and its work is a
function of that object, which is imported only when the verb runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from caddis.cli.shell import (
    AsJson,
    DemoFolder,
    EventKey,
    EventsFormat,
    Master,
    Timezone,
    examples,
    fills,
    flag,
    option,
    run,
)

app = typer.Typer(
    name="overlay",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Spread matching over brokers that share what models answer.

    A YAML file lists the brokers, how they are joined, and who subscribes and
    publishes at each. Begin with [bold]caddis overlay demo[/bold].
    """,
)


BrokerName = Annotated[
    str, typer.Argument(metavar="BROKER", help="A broker of the file.", show_default=False)
]
SubscriptionId = Annotated[str, option("ID", "The subscription's id.", "--id")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayOptions:
    """The options of every verb that reads an overlay file."""

    file: Annotated[
        Path, typer.Argument(metavar="OVERLAY.YAML", help="The overlay file.", show_default=False)
    ]
    dir: Annotated[
        Path | None,
        option(
            "FOLDER",
            "The folder in which brokers keep their state and reach each other. A later start "
            "continues there. \\[default: beside the file, ending in .run]",
        ),
    ] = None
    event_key: EventKey = "event_id"
    timezone: Timezone = "UTC"
    as_json: AsJson = False

    @property
    def folder(self) -> Path:
        """Where the brokers keep their state."""
        return self.dir or self.file.with_suffix(".run")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(OverlayOptions):
    """The options of `caddis overlay show`."""

    policy: Annotated[
        str | None,
        option(
            "NAME",
            "How brokers share models out: emec, mec, air or ail. It overrides the file's policy; "
            "the default is emec. The policy changes what matching costs, never what matches.",
        ),
    ] = None
    format: EventsFormat = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(ShowOptions):
    """The options of `caddis overlay run`."""

    once: Annotated[bool, flag("--once", "Stop when all events that are there are routed.")] = False
    on_error: Annotated[
        Literal["unknown", "raise"],
        option(
            "WHAT",
            "What to do if a model fails on an event: 'unknown' goes on without its answer and "
            "lists the event in problems/ below --dir; 'raise' stops.",
        ),
    ] = "unknown"
    master: Master = "local[*]"
    tasks: Annotated[
        int | None,
        option(
            "N",
            "The most tasks that a micro-batch is split into. \\[default: the number of cores]",
            panel="Spark",
            min=1,
        ),
    ] = None


@app.command(
    name="run",
    epilog=examples(
        "overlay run overlay.yaml",
        "overlay run overlay.yaml --once --policy air",
        "overlay run overlay.yaml --dir /data/west --master local[4]",
    ),
)
@fills(RunOptions)
def run_all(options: RunOptions) -> None:
    """Run all brokers of a file in one Spark session.

    Events that appear in the brokers' folders are routed until Ctrl-C. The
    next start continues where this one stopped, and routes no event twice.
    """
    from caddis.cli.overlay import verbs

    run(lambda job: verbs.run_all(options, job), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOptions(RunOptions):
    """The options of `caddis overlay broker`."""

    broker: BrokerName


@app.command(
    name="broker",
    epilog=examples(
        "overlay broker galway overlay.yaml",
        "overlay broker cork overlay.yaml --dir /shared/west --master local[2]",
    ),
)
@fills(BrokerOptions)
def run_one(options: BrokerOptions) -> None:
    """Run one broker of a file in a process of its own.

    It waits until all brokers have told each other who publishes and who
    subscribes; then events flow. However it stops, the next start continues
    there: no event is lost, and nobody is notified twice.
    """
    from caddis.cli.overlay import verbs

    run(lambda job: verbs.run_one(options, job), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribeOptions(OverlayOptions):
    """The options of `caddis overlay subscribe`."""

    broker: BrokerName
    subscription_id: SubscriptionId
    where: Annotated[str, option("WHERE", "The WHERE clause that events must satisfy.")]


@app.command(
    name="subscribe",
    epilog=examples('overlay subscribe cork overlay.yaml --id ann --where "price < 200"'),
)
@fills(SubscribeOptions)
def subscribe(options: SubscribeOptions) -> None:
    """Subscribe at a broker, whether it is running or not.

    The subscription replaces an earlier one with the same id at that broker.
    """
    from caddis.cli.overlay import verbs

    run(lambda _: verbs.subscribe(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsubscribeOptions(OverlayOptions):
    """The options of `caddis overlay unsubscribe`."""

    broker: BrokerName
    subscription_id: SubscriptionId


@app.command(name="unsubscribe", epilog=examples("overlay unsubscribe cork overlay.yaml --id ann"))
@fills(UnsubscribeOptions)
def unsubscribe(options: UnsubscribeOptions) -> None:
    """Cancel a subscription at a broker, whether it is running or not."""
    from caddis.cli.overlay import verbs

    run(lambda _: verbs.unsubscribe(options), as_json=options.as_json)


@app.command(name="show", epilog=examples("overlay show overlay.yaml"))
@fills(ShowOptions)
def show(options: ShowOptions) -> None:
    """Check an overlay file and draw its tree.

    Everything that the file names is read, except events. Spark is not started.
    """
    from caddis.cli.overlay.summary import overlay_tree

    run(lambda _: overlay_tree(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The options of `caddis overlay demo`."""

    folder: DemoFolder = None
    events: Annotated[int, option("N", "How many photos are published.", min=2)] = 600
    seed: Annotated[
        int, option("N", "Another seed makes other photos and subscriptions.", min=0)
    ] = 1
    master: Master = "local[*]"
    as_json: AsJson = False


@app.command(
    name="demo", epilog=examples("overlay demo", "overlay demo --dir my-overlay --events 2000")
)
@fills(DemoOptions)
def demo(options: DemoOptions) -> None:
    """Show four brokers at work on photos that are made up here.

    Writes an overlay file, models, subscriptions and events into a folder,
    runs the overlay once, and shows what each broker did and how many runs
    of models sharing has saved.
    """
    from caddis.cli.overlay.demo import run_demo

    if not options.as_json:
        typer.echo(f"Four brokers: {options.events:,} photos are published at two of them.\n")
    run(lambda job: run_demo(options, job), as_json=options.as_json)
