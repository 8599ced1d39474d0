"""`caddis lab local-building-blocks`: what votes, majority filters and topic clusterings take."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
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
from caddis.errors import TopicError

if TYPE_CHECKING:
    from caddis.lab.figures import Study
    from caddis.lab.local_building_blocks import Setup

EXAMPLES = """
[bold]Examples[/bold]

  caddis lab local-building-blocks --quick --out quick

  caddis lab local-building-blocks --figures 2a,2b,2c --repeats 100 --out votes

  caddis lab local-building-blocks --interests genres.json --out full
"""
FIGURES = (
    "1, 2a, 2b, 2c, delays, delays-time, growth, growth-radius, first, pairs, upkeep, choices, "
    "packets, interests, interests-upkeep, clustering, clustering-ratio, convergence, waves"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBuildingBlocksOptions(StudyOptions):
    """The options of `caddis lab local-building-blocks`; None stands for the usual size."""

    figures: Annotated[str, figures_option(FIGURES)] = ""
    interests: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Real interests as JSON: an object with a list of topics for each subscriber. "
            "Without it, interests are drawn.",
            show_default=False,
        ),
    ] = None
    changed: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="X",
            help="The share of inputs that change in the figures of upkeep.",
            rich_help_panel=OPEN,
        ),
    ] = 0.01
    channels: Annotated[
        int,
        typer.Option(
            min=2, metavar="K", help="Channels that topics are voted into.", rich_help_panel=OPEN
        ),
    ] = 10
    repeats: Annotated[int | None, size("Runs at a point.", "30; quick: 5")] = None
    few: Annotated[
        int | None, size("Runs at a point where a single run is large.", "5; quick: 2")
    ] = None
    nodes: Annotated[int | None, size("Nodes in a tree.", "1,000")] = None
    largest: Annotated[
        int | None, size("Nodes in the largest tree.", "1,000,000; quick: 100,000")
    ] = None
    subscribers: Annotated[
        int | None, size("Subscribers whose interests are drawn.", "10,000; quick: 2,000")
    ] = None
    topics: Annotated[int | None, size("Topics of drawn interests.", "100")] = None

    def study(self) -> Study:
        """The figures and the setup that these options ask for."""
        from caddis.lab.local_building_blocks import QUICK, Scale, figures_named, study

        usual = QUICK if self.quick else Scale()
        scale = replace(
            usual,
            repeats=self.repeats or usual.repeats,
            few=self.few or usual.few,
            nodes=up_to(self.largest, usual.nodes),
        )
        figures = figures_named(words(self.figures), scale, self.changed)
        return study(figures, scale, self._setup())

    def _setup(self) -> Setup:
        """What all runs have in common, and the interests whose topics are voted on."""
        import numpy as np

        from caddis.files import text_of
        from caddis.lab.local_building_blocks import QUICK_SUBSCRIBERS, Conditions, Setup
        from caddis.lab.workloads import from_json, planted

        usual = Conditions()
        many = QUICK_SUBSCRIBERS if self.quick else usual.subscribers
        conditions = Conditions(
            nodes=self.nodes or usual.nodes,
            changed=self.changed,
            seed=self.seed,
            subscribers=self.subscribers or many,
            topics=self.topics or usual.topics,
            k=self.channels,
        )
        if self.interests is None:
            rng = np.random.default_rng(conditions.seed)
            return Setup(conditions, planted(conditions.subscribers, conditions.topics, rng))
        text = text_of(self.interests, TopicError)
        try:
            interests, _ = from_json(text)
        except TopicError as wrong:
            raise TopicError(f"{self.interests}: {wrong}") from None
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return Setup(conditions.of_file(interests, digest), interests)


@app.command(name="local-building-blocks", epilog=EXAMPLES)
@fills(LocalBuildingBlocksOptions)
def command(options: LocalBuildingBlocksOptions) -> None:
    """Redraw the figures of "Local Building Blocks for a Scalable Pub/Sub Infrastructure".

    The figures show what votes on a tree of nodes take, against the difficulty
    of the vote and the size of the tree; beside them stand majority votes on
    pairs and plain sums, votes on real interests, and what clusterings of
    topics cost. Each run is kept as soon as it is done, so the same command
    goes on where Ctrl-C stopped it.
    """
    redraw_study(options)
