"""The options of the verbs of `caddis lab`: names, limits and what their help says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

OPEN, SIZE = "What the paper leaves open", "Size"

Figures = Annotated[
    str, typer.Option(metavar="LIST", help="Which figures: of 3a, 3b, 3c, 3d and frontier.")
]
Policies = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="What figures 3a to 3d compare: air, ail, mec, emec; eager, and frontier, perhaps "
        "with its patience in ms: frontier@50.",
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER",
        help="For PNG and CSV. What is there from a run with the same options is not run again.",
        show_default=False,
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, metavar="N", help="Another seed, other trees and workloads.")
]
RoundTrips = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="A text matrix of round trips in ms, such as PlanetLab's; several times, and each "
        "topology has the next. Otherwise topologies are made up like PlanetLab's.",
        show_default=False,
    ),
]
MeanDelay = Annotated[
    Literal["notifications", "brokers", "events", "paths"],
    typer.Option(
        metavar="WHAT",
        help="Of what the mean delay is taken. paths: of all ways to subscriptions, as the paper's "
        "equation 2 says. notifications, brokers or events: of what subscribers see.",
        rich_help_panel=OPEN,
    ),
]
Exponent = Annotated[
    float,
    typer.Option(min=0, metavar="X", help="The exponent of Zipf's law.", rich_help_panel=OPEN),
]
AtMost = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Concepts that a subscription names at most.", rich_help_panel=OPEN
    ),
]
Covering = Annotated[
    bool,
    typer.Option(
        help="Whether brokers are spared subscriptions that others cover.", rich_help_panel=OPEN
    ),
]
LinkDelays = Annotated[
    bool,
    typer.Option(
        help="Whether links take time. Delays are told without it, but frontier waits for others.",
        rich_help_panel=OPEN,
    ),
]
Quick = Annotated[
    bool,
    typer.Option("--quick", help="A small run of about a minute.", rich_help_panel=SIZE),
]


XS = "500,1000,2000,3000,4000,5000; quick: 250,500,1000"
CONCEPTS = "20,50,100,150,200; quick: 20,50,100"


def size(what: str, default: str) -> object:
    """A whole number that says how large a run is."""
    return typer.Option(
        min=1,
        metavar="N",
        help=f"{what} \\[default: {default}]",
        show_default=False,
        rich_help_panel=SIZE,
    )


def sizes(what: str, default: str) -> object:
    """Several of them."""
    return typer.Option(
        metavar="LIST",
        help=f"{what} \\[default: {default}]",
        show_default=False,
        rich_help_panel=SIZE,
    )


BLOCKS = "1, 2a, 2b, 2c, delays, delays-time, growth, growth-radius, first, pairs, upkeep, "
BLOCKS += "choices, packets, interests, interests-upkeep, clustering, clustering-ratio, "
BLOCKS += "convergence, waves"
BlockFigures = Annotated[
    str,
    typer.Option(
        metavar="LIST", help=f"Which figures: of {BLOCKS}. Otherwise all.", show_default=False
    ),
]
InterestsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Real interests as JSON: by subscriber, a list of topics. Otherwise they are drawn.",
        show_default=False,
    ),
]
Changed = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        metavar="X",
        help="The share of inputs that change in figures of upkeep.",
        rich_help_panel=OPEN,
    ),
]
Channels = Annotated[
    int,
    typer.Option(
        min=2, metavar="K", help="Channels that topics are voted into.", rich_help_panel=OPEN
    ),
]


PREFILTERING = (
    "tests, times, compared, sealed, rates, wire, same-size, equalities, targets, batches"
)
PrefilteringFigures = Annotated[
    str,
    typer.Option(
        metavar="LIST", help=f"Which figures: of {PREFILTERING}. Otherwise all.", show_default=False
    ),
]
Rate = Annotated[
    float,
    typer.Option(
        min=1e-9,
        max=0.5,
        metavar="X",
        help="The false-positive rate that filters are made for.",
        rich_help_panel=OPEN,
    ),
]
