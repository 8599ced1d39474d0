"""`caddis lab bloom-prefiltering`: the encrypted tests that Bloom filters spare, and the cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from caddis.cli.lab.shared import (
    OPEN,
    StudyOptions,
    app,
    figures_option,
    redraw_study,
    size,
    up_to,
    words,
)
from caddis.cli.shell import fills

if TYPE_CHECKING:
    from caddis.lab.figures import Study

EXAMPLES = """
[bold]Examples[/bold]

  caddis lab bloom-prefiltering --quick --out quick

  caddis lab bloom-prefiltering --figures tests,equalities --out tests

  caddis lab bloom-prefiltering --largest 100000 --rate 0.01 --out other
"""
FIGURES = "tests, times, compared, sealed, rates, wire, same-size, equalities, targets, batches"


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomPrefilteringOptions(StudyOptions):
    """The options of `caddis lab bloom-prefiltering`; None stands for the usual size."""

    figures: Annotated[str, figures_option(FIGURES)] = ""
    rate: Annotated[
        float,
        typer.Option(
            min=1e-9,
            max=0.5,
            metavar="X",
            help="The false-positive rate that filters are made for.",
            rich_help_panel=OPEN,
        ),
    ] = 0.001
    repeats: Annotated[int | None, size("Runs at a point.", "5; quick: 1")] = None
    few: Annotated[
        int | None, size("Runs at a point where a single run is large.", "3; quick: 1")
    ] = None
    subscriptions: Annotated[
        int | None,
        size("Subscriptions, where their number does not vary.", "100,000; quick: 10,000"),
    ] = None
    events: Annotated[int | None, size("Events on which tests are counted.", "300; quick: 100")] = (
        None
    )
    largest: Annotated[int | None, size("The most subscriptions.", "1,000,000; quick: 100,000")] = (
        None
    )
    largest_aspe: Annotated[
        int | None,
        size("The most subscriptions of sealed matching by aspe.", "100,000; quick: 10,000"),
    ] = None
    largest_tokens: Annotated[
        int | None,
        size("The most subscriptions of sealed matching by tokens.", "1,000,000; quick: 10,000"),
    ] = None

    def study(self) -> Study:
        """The figures and the conditions that these options ask for."""
        from caddis.lab.bloom_prefiltering import (
            QUICK,
            QUICK_BATCH,
            QUICK_CONDITIONS,
            Conditions,
            Scale,
            Setup,
            figures_named,
            study,
        )

        usual = QUICK_CONDITIONS if self.quick else Conditions()
        conditions = Conditions(
            subscriptions=self.subscriptions or usual.subscriptions,
            events=self.events or usual.events,
            rate=self.rate,
            seed=self.seed,
        )
        scale = QUICK if self.quick else Scale()
        setup = Setup(conditions, scale.seconds)
        return study(
            figures_named(words(self.figures), conditions),
            replace(
                scale,
                repeats=self.repeats or scale.repeats,
                few=self.few or scale.few,
                subscriptions=up_to(self.largest, scale.subscriptions),
                aspe=up_to(self.largest_aspe, scale.aspe),
                tokens=up_to(self.largest_tokens, scale.tokens),
            ),
            setup._replace(batch=QUICK_BATCH) if self.quick else setup,
        )


@app.command(name="bloom-prefiltering", epilog=EXAMPLES)
@fills(BloomPrefilteringOptions)
def command(options: BloomPrefilteringOptions) -> None:
    """Draw what "Bloom Filters: A Content Based Prefiltering Technique" claims, and ours.

    The figures show how many encrypted tests Bloom filters leave, how long
    prefiltering takes, how often filters err, and what all that depends on:
    the paper's lists and filters beside ours. Each run is kept as soon as it is
    done, so the same command goes on where Ctrl-C stopped it. Runs with a
    clock are done one at a time.
    """
    redraw_study(options)
