"""`caddis lab adaptive-filtering`: Figure 3 of the paper, and the frontier of delay and cost."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from caddis.cli.lab.shared import OPEN, StudyOptions, app, numbers, redraw_study, size, sizes, words
from caddis.cli.shell import fills
from caddis.errors import OverlayError

if TYPE_CHECKING:
    from caddis.lab.adaptive_filtering import Scale
    from caddis.lab.figures import Study

EXAMPLES = """
[bold]Examples[/bold]

  caddis lab adaptive-filtering --quick --out quick

  caddis lab adaptive-filtering --figures 3a,3c --events 100 --out zipf

  caddis lab adaptive-filtering --mean notifications --out full

  caddis lab adaptive-filtering --policies air,emec,frontier@50 --out some
"""
XS = "500,1000,2000,3000,4000,5000; quick: 250,500,1000"
CONCEPTS = "20,50,100,150,200; quick: 20,50,100"
MOST_TREES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveFilteringOptions(StudyOptions):
    """The options of `caddis lab adaptive-filtering`; None stands for the usual size."""

    figures: Annotated[
        str,
        typer.Option(metavar="LIST", help="Which figures to draw: 3a, 3b, 3c, 3d, frontier."),
    ] = "3a,3b,3c,3d,frontier"
    policies: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="The policies that figures 3a to 3d compare: air, ail, mec, emec, eager, and "
            "frontier, which may have a patience in ms: frontier@50.",
        ),
    ] = "air,ail,mec,emec,frontier"
    round_trips: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A text file with a matrix of round-trip times in ms, such as PlanetLab's. Give "
            "it several times, and each topology takes the next file. Without it, topologies are "
            "made up like PlanetLab's.",
            show_default=False,
        ),
    ] = None
    mean: Annotated[
        Literal["notifications", "brokers", "events", "paths"],
        typer.Option(
            metavar="WHAT",
            help="What the mean delay is taken over. paths: all ways to subscriptions, as the "
            "paper's equation 2 has it. notifications, brokers or events: what subscribers see.",
            rich_help_panel=OPEN,
        ),
    ] = "paths"
    exponent: Annotated[
        float,
        typer.Option(min=0, metavar="X", help="The exponent of Zipf's law.", rich_help_panel=OPEN),
    ] = 1.0
    at_most: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="The most concepts that a subscription names.",
            rich_help_panel=OPEN,
        ),
    ] = 5
    covering: Annotated[
        bool,
        typer.Option(
            help="Whether brokers are spared subscriptions that others cover.",
            rich_help_panel=OPEN,
        ),
    ] = False
    link_delays: Annotated[
        bool,
        typer.Option(
            help="Whether links take time. The delays that are shown leave it out, but frontier "
            "waits for other brokers.",
            rich_help_panel=OPEN,
        ),
    ] = True
    events: Annotated[int | None, size("Events in a run.", "1,000; quick: 10")] = None
    topologies: Annotated[int | None, size("Trees of brokers.", "5; quick: 2", MOST_TREES)] = None
    repeats: Annotated[int | None, size("Workloads on each topology.", "5; quick: 1")] = None
    brokers: Annotated[int | None, size("Brokers in a topology.", "100")] = None
    subscriptions: Annotated[str | None, sizes("The xs of figures 3a to 3c.", XS)] = None
    concepts: Annotated[str | None, sizes("The xs of figure 3d.", CONCEPTS)] = None
    fixed_subscriptions: Annotated[
        int | None, size("Subscriptions of 3d and the frontier.", "3,000; quick: 500")
    ] = None
    fixed_concepts: Annotated[int | None, size("Concepts of 3a to 3c and the frontier.", "100")] = (
        None
    )

    def study(self) -> Study:
        """The figures, the conditions, and the trees of brokers that these options ask for."""
        from caddis.files import text_of
        from caddis.lab.adaptive_filtering import (
            QUICK_EVENTS,
            SYNTHETIC,
            Conditions,
            chosen_figures,
            study,
        )
        from caddis.overlay.topology import parse_round_trips

        scale = self._scale()
        figures = chosen_figures(words(self.figures), scale, words(self.policies), self.mean)
        matrices = tuple(
            parse_round_trips(text_of(path, OverlayError), str(path))
            for path in self.round_trips or ()
        )
        digest = hashlib.sha256(b"".join(matrix.tobytes() for matrix in matrices)).hexdigest()[:16]
        usual = Conditions()
        conditions = Conditions(
            events=self.events or (QUICK_EVENTS if self.quick else usual.events),
            brokers=self.brokers or usual.brokers,
            exponent=self.exponent,
            at_most=self.at_most,
            covering=self.covering,
            link_delays=self.link_delays,
            seed=self.seed,
            trees=digest if matrices else SYNTHETIC,
        )
        return study(figures, scale, conditions, matrices)

    def _scale(self) -> Scale:
        from caddis.lab.adaptive_filtering import QUICK, Scale

        usual = QUICK if self.quick else Scale()
        return Scale(
            topologies=self.topologies or usual.topologies,
            repeats=self.repeats or usual.repeats,
            subscriptions=numbers(self.subscriptions, "--subscriptions") or usual.subscriptions,
            concepts=numbers(self.concepts, "--concepts") or usual.concepts,
            fixed_subscriptions=self.fixed_subscriptions or usual.fixed_subscriptions,
            fixed_concepts=self.fixed_concepts or usual.fixed_concepts,
        )


@app.command(name="adaptive-filtering", epilog=EXAMPLES)
@fills(AdaptiveFilteringOptions)
def command(options: AdaptiveFilteringOptions) -> None:
    """Redraw Figure 3 of "Adaptive Filtering of Visual Content", and our frontier.

    The figures show the delay and the total cost of models in an overlay of
    brokers, for the paper's policies and ours. Simulations are spread over
    Spark's workers. Each is kept as soon as it is done, so the same command
    goes on where Ctrl-C stopped it.
    """
    redraw_study(options)
