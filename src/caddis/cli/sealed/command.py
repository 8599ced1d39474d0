"""`caddis sealed`: a broker matches events and subscriptions that it cannot read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from caddis.cli.sealed.options import (
    DIRECTORY,
    HERE,
    Believed,
    Compressed,
    DirectoryFile,
    Epoch,
    Epochs,
    Format,
    FoundMatches,
    IndexDir,
    KeyFolder,
    OnInvalid,
    OpenedFile,
    OutFile,
    OutFolder,
    OutFormat,
    Party,
    PlainEvents,
    PlainSubscriptions,
    SealedEvents,
    SealedSubscriptions,
    SeenFile,
    Stream,
    Wishes,
)
from caddis.cli.shell import AsJson, DemoFolder, EventKey, Job, Master, Overwrite, Result, run

NAME = "sealed"
EVENTS_EXAMPLES = """
[bold]Examples[/bold]

  caddis sealed events offers.csv --as pat --out sealed.parquet
"""
SUBSCRIPTIONS_EXAMPLES = """
[bold]Examples[/bold]

  caddis sealed subscriptions wishes.csv --as ann --out sealed-wishes.csv
"""
MATCH_EXAMPLES = """
[bold]Examples[/bold]

  caddis sealed match events/ --subscriptions wishes/ --out found
"""
OPEN_EXAMPLES = """
[bold]Examples[/bold]

  caddis sealed open events/ --matches found --wishes w.csv --as ann --out a
"""
DEMO_EXAMPLES = """
[bold]Examples[/bold]

  caddis sealed demo

  caddis sealed demo --events 5000 --subscriptions 5000 --scheme tokens
"""

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Match what the broker cannot read.

    Publishers seal events, subscribers seal subscriptions, a broker without
    any key matches them, and subscribers open what reached them. The keys
    come from [bold]caddis keys[/bold]. Begin with [bold]caddis sealed demo[/bold].
    """,
)


@app.callback()
def sealed() -> None:
    """Keep the verbs below `sealed`."""


@app.command(name="events", epilog=EVENTS_EXAMPLES)
def events(
    path: PlainEvents,
    name: Party,
    out: OutFile,
    keys: KeyFolder = HERE,
    authority: Believed = None,
    stream: Stream = None,
    epoch: Epoch = None,
    format_: Format = None,
    event_key: EventKey = "event_id",
    compressed: Compressed = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Seal events, as a publisher.

    Reads the columns that the stream has, and writes a Parquet file of sealed
    events: what brokers compare, a payload that only the stream's
    subscribers can open, and a signature. Spark is not started.
    """

    def work(job: Job) -> Result:
        from caddis.cli.sealed.publishing import EventOrder, seal_events

        order = EventOrder(
            path,
            name,
            out,
            keys,
            stream,
            epoch,
            format_,
            event_key,
            compressed,
            overwrite,
            authority,
        )
        return seal_events(order, job)

    run(work, as_json=as_json)


@app.command(name="subscriptions", epilog=SUBSCRIPTIONS_EXAMPLES)
def subscriptions(
    path: PlainSubscriptions,
    name: Party,
    out: OutFile,
    keys: KeyFolder = HERE,
    authority: Believed = None,
    stream: Stream = None,
    epochs: Epochs = None,
    on_invalid: OnInvalid = "raise",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Seal subscriptions, as a subscriber.

    Writes the same ids with sealed WHERE clauses: Parquet, JSON lines or CSV,
    as --out is named. Keep the plain ones; they are needed to check what
    brokers found. After a rotation they have to be sealed anew.
    """

    def work(job: Job) -> Result:
        from caddis.cli.sealed.subscribing import SubscriptionOrder, seal_subscriptions

        wanted = tuple(epochs or ())
        order = SubscriptionOrder(
            path, name, out, keys, stream, wanted, on_invalid, overwrite, authority
        )
        return seal_subscriptions(order, job)

    run(work, as_json=as_json)


@app.command(name="match", epilog=MATCH_EXAMPLES)
def match(
    events: SealedEvents,
    subscriptions: SealedSubscriptions,
    out: OutFolder,
    directory: DirectoryFile = DIRECTORY,
    authority: Believed = None,
    out_format: OutFormat = None,
    on_invalid: OnInvalid = "raise",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    master: Master = "local[*]",
    index_dir: IndexDir = None,
) -> None:
    """Match sealed events, as a broker without any key.

    Writes rows (event_id, subscription_id): all true matches, and maybe some
    more that subscribers will drop. Events that are not genuine or not of an
    accepted epoch are refused, each with its reason, and the others go on. So
    are those that come twice in one task of Spark; one that comes again in
    another task, only [bold]caddis sealed open[/bold] notices.
    """

    def work(job: Job) -> Result:
        from caddis.cli.sealed.matching import MatchOrder, match_sealed

        order = MatchOrder(
            events,
            subscriptions,
            out,
            directory,
            out_format,
            on_invalid,
            overwrite,
            master,
            index_dir,
            authority,
        )
        return match_sealed(order, job)

    run(work, as_json=as_json)


@app.command(name="open", epilog=OPEN_EXAMPLES)
def open_(
    events: SealedEvents,
    wishes: Wishes,
    name: Party,
    out: OpenedFile,
    matches: FoundMatches = None,
    keys: KeyFolder = HERE,
    directory: DirectoryFile = DIRECTORY,
    authority: Believed = None,
    seen: SeenFile = None,
    stream: Stream = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Open what matched, as a subscriber.

    Checks who published it and that it was not changed, opens it, and keeps
    what the plain subscriptions want: exactly what plain matching finds. Writes
    a row for each event and subscription, with the event's columns. Spark
    is not started.
    """

    def work(job: Job) -> Result:
        from caddis.cli.sealed.opening import OpenOrder, open_events

        order = OpenOrder(
            events,
            wishes,
            name,
            out,
            matches,
            keys,
            directory,
            stream,
            overwrite,
            authority,
            seen,
        )
        return open_events(order, job)

    run(work, as_json=as_json)


@app.command(name="demo", epilog=DEMO_EXAMPLES)
def demo(
    folder: DemoFolder = None,
    events: Annotated[
        int, typer.Option(min=8, metavar="N", help="How many offers are published.")
    ] = 2_000,
    subscriptions: Annotated[
        int, typer.Option(min=4, metavar="N", help="How many subscriptions there are in all.")
    ] = 2_000,
    scheme: Annotated[
        Literal["aspe", "tokens"],
        typer.Option(metavar="SCHEME", help="How equality is tested: aspe or tokens."),
    ] = "aspe",
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Another seed, other offers and wishes.")
    ] = 1,
    master: Master = "local[*]",
    as_json: AsJson = False,
) -> None:
    """Show the whole way on a marketplace that is made here.

    An authority, two publishers, four subscribers of whom one is revoked, and
    a broker in a process of its own that has no key; some events are
    tampered with or replayed. Tells who received what, what was refused and
    why, and how it compares with matching the plain offers.
    """

    def work(job: Job) -> Result:
        from caddis.cli.sealed.demo import SealedDemo, run_demo

        made = folder or Path(tempfile.mkdtemp(prefix="caddis-sealed-"))
        return run_demo(SealedDemo(made, events, subscriptions, scheme, seed, master), job)

    if not as_json:
        typer.echo(f"A marketplace under seal: {events:,} offers, {subscriptions:,} wishes.\n")
    run(work, as_json=as_json)
