"""`caddis demo`: what Caddis is for, on data that it makes itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from caddis.cli.shell import AsJson, Job, Master, run

if TYPE_CHECKING:
    from caddis.cli.demo.marketplace import Marketplace
    from caddis.cli.demo.photos import PhotoStream

NAME = "demo"
EXAMPLES = """
[bold]Examples[/bold]

  caddis demo

  caddis demo --subscriptions 1000000 --events 500000

  caddis demo photos

  caddis demo photos --photos ~/Pictures --frames 500 --out sheet.html
"""
app = typer.Typer()
OFFERS, WISHES, FRAMES, WATCHES = 100_000, 100_000, 2_000, 300
SHEET = Path("contact-sheet.html")

Which = Annotated[
    Literal["marketplace", "photos"],
    typer.Argument(
        metavar="[marketplace|photos]",
        help="A marketplace's offers, or a stream of pictures that networks look at.",
    ),
]
Subscriptions = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help=f"How many people wait. \\[default: {WISHES:,}; photos: {WATCHES}]",
        show_default=False,
    ),
]
Events = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help=f"How many offers come. \\[default: {OFFERS:,}]",
        show_default=False,
        rich_help_panel="Marketplace",
    ),
]
Frames = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help=f"How many frames cameras take. \\[default: {FRAMES:,}]",
        show_default=False,
        rich_help_panel="Photos",
    ),
]
Photos = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Your own photos to make frames of; otherwise some that ship in packages.",
        show_default=False,
        rich_help_panel="Photos",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help=f"The contact sheet: who got which photos, and why. \\[default: {SHEET}]",
        show_default=False,
        rich_help_panel="Photos",
    ),
]


@app.command(name=NAME, epilog=EXAMPLES)
def command(
    which: Which = "marketplace",
    subscriptions: Subscriptions = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Another seed, other events and wishes.")
    ] = 1,
    events: Events = None,
    frames: Frames = None,
    photos: Photos = None,
    out: Out = None,
    master: Master = "local[*]",
    as_json: AsJson = False,
) -> None:
    """Show the main thing on data that is made here.

    [bold]marketplace[/bold]: offers with city, price, category, tags and time, and
    100,000 people who wait for some of them. Spark matches them on this
    machine, twice: the second time everything is warm, and its rate is told.

    [bold]photos[/bold]: a stream of frames from cameras, and people who wait for cats,
    flowers or motorcycles in some of them. Three networks tell what is in a
    frame; each runs only where its answer matters. A contact sheet shows who
    got which frames, and why.
    """
    if which == "photos":
        _refuse(which, events=events)
        _show_photos(
            frames or FRAMES, subscriptions or WATCHES, seed, photos, out or SHEET, master, as_json
        )
    else:
        _refuse(which, frames=frames, photos=photos, out=out)
        _show_marketplace(subscriptions or WISHES, events or OFFERS, seed, master, as_json)


def _refuse(which: str, **others: object) -> None:
    """Raise if an option of the other demo is given."""
    for name, value in others.items():
        if value is not None:
            raise typer.BadParameter(f"it is not for {which}", param_hint=f"--{name}")


def _show_marketplace(
    subscriptions: int, events: int, seed: int, master: str, as_json: bool
) -> None:
    def work(job: Job) -> Marketplace:
        from caddis.cli.demo.marketplace import match_marketplace

        return match_marketplace(subscriptions, events, seed, master, job)

    if not as_json:
        typer.echo(
            f"A marketplace: {events:,} offers against {subscriptions:,} standing subscriptions.\n"
        )
    run(work, as_json=as_json)


def _show_photos(
    frames: int,
    subscriptions: int,
    seed: int,
    photos: Path | None,
    out: Path,
    master: str,
    as_json: bool,
) -> None:
    def work(job: Job) -> PhotoStream:
        from caddis.cli.demo.photos import PhotoOrder, match_photos

        order = PhotoOrder(frames, subscriptions, seed, photos, out, master)
        return match_photos(order, job)

    if not as_json:
        typer.echo(
            f"A picture stream: {frames:,} frames against {subscriptions:,} standing "
            "subscriptions, and a dozen more that are shown.\n"
        )
    run(work, as_json=as_json)
