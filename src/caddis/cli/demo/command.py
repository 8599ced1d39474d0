"""The options of `caddis demo`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from caddis.cli.shell import (
    AsJson,
    Job,
    Master,
    Result,
    begin_compiling,
    examples,
    fills,
    needed_kernels,
    option,
    run,
)

EXAMPLES = examples(
    "demo",
    "demo --subscriptions 1000000 --events 500000",
    "demo photos",
    "demo both",
    "demo photos --photos ~/Pictures --frames 500 --out sheet.html",
)
OFFERS, FRAMES = 100_000, 2_000
SUBSCRIPTIONS = {"marketplace": 100_000, "photos": 300}
SHEET = Path("contact-sheet.html")
app = typer.Typer()


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """Which demo to run, and how large it is; None stands for that demo's default."""

    which: Annotated[
        Literal["marketplace", "photos", "both"],
        typer.Argument(
            metavar="[marketplace|photos|both]",
            help="A marketplace's offers; a stream of pictures that networks look at; or one "
            "after the other.",
        ),
    ] = "marketplace"
    subscriptions: Annotated[
        int | None,
        option(
            "N",
            "How many subscriptions there are. \\[default: "
            f"{SUBSCRIPTIONS['marketplace']:,}; photos: {SUBSCRIPTIONS['photos']}]",
            min=1,
        ),
    ] = None
    seed: Annotated[int, option("N", "The seed of the random data.", min=0)] = 1
    events: Annotated[
        int | None,
        option(
            "N",
            f"How many offers there are. \\[default: {OFFERS:,}]",
            panel="Marketplace",
            min=1,
        ),
    ] = None
    frames: Annotated[
        int | None,
        option(
            "N",
            f"How many frames the cameras take. \\[default: {FRAMES:,}]",
            panel="Photos",
            min=1,
        ),
    ] = None
    photos: Annotated[
        Path | None,
        option(
            "FOLDER",
            "Your own photos to make frames from. By default the demo takes photos that ship in "
            "Python packages.",
            panel="Photos",
        ),
    ] = None
    out: Annotated[
        Path | None,
        option(
            "FILE",
            "Where to write the contact sheet, which shows who got which photos, and why. "
            f"\\[default: {SHEET}]",
            panel="Photos",
        ),
    ] = None
    master: Master = "local[*]"
    as_json: AsJson = False

    @property
    def marketplace(self) -> DemoOptions:
        """The options of the marketplace alone."""
        return replace(self, which="marketplace")

    @property
    def pictures(self) -> DemoOptions:
        """The options of the photos alone."""
        return replace(self, which="photos")

    @property
    def introduction(self) -> str:
        """The first line of a demo."""
        things = (
            f"A picture stream: {self.frame_count:,} frames"
            if self.which == "photos"
            else f"A marketplace: {self.offer_count:,} offers"
        )
        shown = ", and a dozen more that are shown" if self.which == "photos" else ""
        return f"{things} against {self.subscription_count:,} standing subscriptions{shown}.\n"

    @property
    def subscription_count(self) -> int:
        """How many subscriptions to make."""
        return self.subscriptions or SUBSCRIPTIONS[self.which]

    @property
    def offer_count(self) -> int:
        """How many offers to make."""
        return self.events or OFFERS

    @property
    def frame_count(self) -> int:
        """How many frames to make."""
        return self.frames or FRAMES

    @property
    def sheet(self) -> Path:
        """Where the contact sheet goes."""
        return self.out or SHEET


@app.command(name="demo", epilog=EXAMPLES)
@fills(DemoOptions)
def command(options: DemoOptions) -> None:
    """Show what Caddis does, on data that the demo makes itself.

    [bold]marketplace[/bold]: offers with city, price, category, tags and time, and
    100,000 people who wait for some of them. Spark matches them on this
    machine twice. The second time everything is warm, and its rate is shown.

    [bold]photos[/bold]: a stream of frames from cameras, and people who wait for cats,
    flowers or motorcycles in some of them. Three networks say what is in a
    frame; each runs only where its answer matters. A contact sheet shows who
    got which frames, and why.

    [bold]both[/bold]: one after the other, in one Spark session.
    """
    if options.which == "photos":
        _refuse(options.which, events=options.events)
    elif options.which == "marketplace":
        _refuse(options.which, frames=options.frames, photos=options.photos, out=options.out)
    begin = options.marketplace if options.which == "both" else options
    if not options.as_json:
        typer.echo(begin.introduction)
    run(lambda job: _demo(options, job), as_json=options.as_json)


def _refuse(which: str, **others: object) -> None:
    """Raise if an option of the other demo is given."""
    for name, value in others.items():
        if value is not None:
            raise typer.BadParameter(f"it is not an option of {which}", param_hint=f"--{name}")


def _demo(options: DemoOptions, job: Job) -> Result:
    from caddis.cli.demo.marketplace import match_marketplace
    from caddis.cli.demo.photos import match_photos

    if options.which == "both":
        return _both(options, job)
    return (match_photos if options.which == "photos" else match_marketplace)(options, job)


def _both(options: DemoOptions, job: Job) -> Result:
    """Run the marketplace, show it, and run the photos on the same Spark."""
    from caddis.cli.demo.marketplace import match_marketplace
    from caddis.cli.demo.photos import match_photos

    begin_compiling(needed_kernels(models=True), job)
    first = match_marketplace(options.marketplace, job)
    if not options.as_json:
        first.show(job.screen.results)
        typer.echo(f"\n{options.pictures.introduction}")
    return BothSummaries(first, match_photos(options.pictures, job))


@dataclass(frozen=True, slots=True)
class BothSummaries:
    """What both demos did; the first was shown before the second began."""

    marketplace: Result
    photos: Result

    def as_json(self) -> dict[str, object]:
        """The values that --json prints."""
        return {"marketplace": self.marketplace.as_json(), "photos": self.photos.as_json()}

    def show(self, console: Console) -> None:
        """Print what the second demo did."""
        self.photos.show(console)
