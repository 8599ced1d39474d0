"""`caddis sealed`: a broker matches events and subscriptions that it cannot read.

Every verb is spelled once: its options are a frozen dataclass that Typer fills, and its work is a
function of that object in another module, which is imported only when the verb runs.
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
    IndexDir,
    Master,
    MatchesFolder,
    MatchesFormat,
    OnInvalid,
    Overwrite,
    examples,
    fills,
    run,
)

KEYS = "Keys"

app = typer.Typer(
    name="sealed",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Match what the broker cannot read.

    Publishers seal events, subscribers seal subscriptions, a broker without
    any key matches them, and subscribers open what reached them. The keys
    come from [bold]caddis keys[/bold]. Begin with [bold]caddis sealed demo[/bold].
    """,
)


PlainEvents = Annotated[
    Path,
    typer.Argument(
        metavar="EVENTS",
        help="A file of events, or a folder of such files: Parquet, JSON lines or CSV.",
    ),
]
PlainSubscriptions = Annotated[
    Path,
    typer.Argument(
        metavar="SUBSCRIPTIONS",
        help="A file with the columns subscription_id and where: Parquet, JSON lines or CSV.",
    ),
]
SealedEvents = Annotated[
    Path, typer.Argument(metavar="EVENTS", help="A file of sealed events, or a folder of them.")
]
SealedFile = Annotated[Path, typer.Option("--out", metavar="FILE", help="The new file to write.")]
DirectoryFile = Annotated[
    Path,
    typer.Option(
        "--directory",
        metavar="FILE",
        help="The file of publishers' public keys and of the streams' epochs that caddis keys "
        "directory writes and the authority signs. It holds no secret.",
        rich_help_panel=KEYS,
    ),
]
DIRECTORY = Path("directory.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedOptions:
    """The options of every verb but the demo."""

    trusted: Annotated[
        str | None,
        typer.Option(
            "--trust",
            metavar="FINGERPRINT",
            help="The only authority to trust: keys and directories that another one signed are "
            "refused. \\[default: whoever signed them; the summary names it]",
            rich_help_panel=KEYS,
        ),
    ] = None
    overwrite: Overwrite = False
    as_json: AsJson = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyOptions(SealedOptions):
    """The options of the verbs that need a party's keys."""

    name: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="NAME",
            help="Whose keys to use: those in NAME.identity.json and NAME.keys.json.",
            rich_help_panel=KEYS,
        ),
    ]
    keys: Annotated[
        Path,
        typer.Option(
            "--keys",
            metavar="FOLDER",
            help="The folder that holds these two files.",
            rich_help_panel=KEYS,
        ),
    ] = Path()
    stream: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The name of the stream. \\[default: the only one that the keys are for]",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SealEventsOptions(PartyOptions):
    """The options of `caddis sealed events`."""

    events: PlainEvents
    out: SealedFile
    epoch: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="The epoch to seal in. \\[default: the newest one that there is a key for]",
        ),
    ] = None
    format: EventsFormat = None
    event_key: EventKey = "event_id"
    compressed: Annotated[
        bool, typer.Option("--compressed", help="Compress the Bloom filters; brokers unpack them.")
    ] = False


@app.command(
    name="events", epilog=examples("sealed events offers.csv --as pat --out sealed.parquet")
)
@fills(SealEventsOptions)
def events(options: SealEventsOptions) -> None:
    """Seal events, as a publisher.

    Reads the stream's columns, and writes a Parquet file of sealed events:
    what brokers compare, a payload that only the stream's subscribers can
    open, and a signature. Spark is not started.
    """
    from caddis.cli.sealed.sealing import seal_events

    run(lambda job: seal_events(options, job), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class SealSubscriptionsOptions(PartyOptions):
    """The options of `caddis sealed subscriptions`."""

    subscriptions: PlainSubscriptions
    out: SealedFile
    epochs: Annotated[
        list[int] | None,
        typer.Option(
            "--epoch",
            min=1,
            metavar="N",
            help="An epoch whose events are wanted; may be given several times. "
            "\\[default: the newest two that there are keys for]",
        ),
    ] = None
    on_invalid: OnInvalid = "raise"


@app.command(
    name="subscriptions",
    epilog=examples("sealed subscriptions ann.csv --as ann --out ann-sealed.csv"),
)
@fills(SealSubscriptionsOptions)
def subscriptions(options: SealSubscriptionsOptions) -> None:
    """Seal subscriptions, as a subscriber.

    Writes the same ids with sealed WHERE clauses: Parquet, JSON lines or CSV,
    as the name of --out tells. Keep the plain ones: they decide in the end
    which events you wanted. Seal them again after every rotation.
    """
    from caddis.cli.sealed.sealing import seal_subscriptions

    run(lambda job: seal_subscriptions(options, job), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchOptions(SealedOptions):
    """The options of `caddis sealed match`."""

    events: SealedEvents
    subscriptions: Annotated[
        Path,
        typer.Option(metavar="PATH", help="A file of sealed subscriptions, or a folder of them."),
    ]
    out: MatchesFolder
    directory: DirectoryFile = DIRECTORY
    out_format: MatchesFormat = None
    on_invalid: OnInvalid = "raise"
    master: Master = "local[*]"
    index_dir: IndexDir = None


@app.command(
    name="match",
    epilog=examples("sealed match events/ --subscriptions subscriptions/ --out matches"),
)
@fills(MatchOptions)
def match(options: MatchOptions) -> None:
    """Match sealed events, as a broker without any key.

    Writes rows (event_id, subscription_id): all true matches, and perhaps some
    more, which subscribers drop. Events that are not genuine or not of an
    accepted epoch are refused, each with its reason; the others go on. An
    event that comes twice within one Spark task is refused, too; only
    [bold]caddis sealed open[/bold] notices one that comes again in another task.
    """
    from caddis.cli.sealed.matching import match_files

    run(lambda job: match_files(options, job), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions(PartyOptions):
    """The options of `caddis sealed open`."""

    events: SealedEvents
    matches: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The matches that a broker wrote: event_id and subscription_id. \\[default: open "
            "and check all events]",
        ),
    ] = None
    subscriptions: Annotated[
        Path,
        typer.Option(
            metavar="PATH", help="Your own plain subscriptions: subscription_id and where."
        ),
    ]
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="A new file for the opened events: Parquet, JSON lines or CSV, as its name tells.",
        ),
    ]
    directory: DirectoryFile = DIRECTORY
    seen: Annotated[
        Path | None,
        typer.Option(
            "--seen",
            metavar="FILE",
            help="Remembers which events were opened, so that the next run refuses them as "
            "replayed. Created if it does not exist.",
            rich_help_panel=KEYS,
        ),
    ] = None


@app.command(
    name="open",
    epilog=examples("sealed open events/ --subscriptions ann.csv --as ann --out mine.csv"),
)
@fills(OpenOptions)
def open_(options: OpenOptions) -> None:
    """Open what matched, as a subscriber.

    Checks who published each event and that nobody changed it, opens it, and
    keeps what the plain subscriptions want: exactly what plain matching finds.
    Writes a row for each event and subscription, with the event's columns.
    Spark is not started.
    """
    from caddis.cli.sealed.opening import open_events

    run(lambda job: open_events(options, job), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The options of `caddis sealed demo`."""

    folder: DemoFolder = None
    events: Annotated[
        int, typer.Option(min=8, metavar="N", help="How many offers are published.")
    ] = 2_000
    subscriptions: Annotated[
        int, typer.Option(min=4, metavar="N", help="How many subscriptions there are in all.")
    ] = 2_000
    scheme: Annotated[
        Literal["aspe", "tokens"],
        typer.Option(metavar="SCHEME", help="How equality is tested: aspe or tokens."),
    ] = "aspe"
    seed: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Another seed makes up other offers and subscriptions."
        ),
    ] = 1
    master: Master = "local[*]"
    as_json: AsJson = False


@app.command(name="demo", epilog=examples("sealed demo", "sealed demo --scheme tokens"))
@fills(DemoOptions)
def demo(options: DemoOptions) -> None:
    """Show sealed matching from end to end on a made-up marketplace.

    An authority, two publishers, four subscribers of whom one is revoked, and
    a broker in a process of its own that has no key; some events are
    tampered with or replayed. Shows who received what, what was refused and
    why, and how that compares with matching the plain offers.
    """
    from caddis.cli.sealed.demo import run_demo

    if not options.as_json:
        counts = f"{options.events:,} offers, {options.subscriptions:,} subscriptions"
        typer.echo(f"A marketplace under seal: {counts}.\n")
    run(lambda job: run_demo(options, job), as_json=options.as_json)
