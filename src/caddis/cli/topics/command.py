"""`caddis topics`: put topics into channels, on Spark.

Each verb's options are one frozen dataclass that Typer fills, and its work is a function of that
object, which is imported only when the verb runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from caddis.cli.shell import (
    AsJson,
    DemoFolder,
    Master,
    Overwrite,
    examples,
    fills,
    flag,
    option,
    run,
)
from caddis.files import FileFormat

SEARCH = "How long to look"

app = typer.Typer(
    name="topics",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Put topics into channels that many can subscribe to.

    A few dozen channels carry thousands of topics; whoever wants a topic
    receives everything on its channel. Begin with [bold]caddis topics demo[/bold].
    """,
)

Channels = Annotated[int, option("N", "How many channels there are.", "-k", "--channels", min=1)]
Plots = Annotated[
    bool, flag("--plots/--no-plots", "Whether to draw plots. They need caddis\\[lab].")
]


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The options of `caddis topics cluster`."""

    interests: Annotated[
        Path,
        typer.Argument(
            metavar="INTERESTS",
            help="A file with the columns subscriber and topic, or a folder of such files.",
            show_default=False,
        ),
    ]
    channels: Channels
    out: Annotated[Path, option("FOLDER", "A new folder for the map and the plots.")]
    rates: Annotated[
        Path | None,
        option(
            "PATH",
            "A file with the columns topic and rate: how much is published on each topic. "
            "Without it each rate is 1.",
        ),
    ] = None
    previous: Annotated[
        Path | None,
        option(
            "PATH",
            "An earlier map to begin with, or the --out folder that it is in. Topics then move "
            "only where that saves something.",
        ),
    ] = None
    curve: Annotated[
        str | None,
        option(
            "LIST",
            "Also cluster into these numbers of channels, such as 5,10,20,40, and draw what each "
            "of them costs.",
        ),
    ] = None
    format: Annotated[
        FileFormat | None,
        option(
            "FORMAT", "The interests' format, if the files' names do not tell: parquet, jsonl, csv."
        ),
    ] = None
    out_format: Annotated[
        Literal["csv", "parquet"], option("FORMAT", "The map's format: csv or parquet.")
    ] = "csv"
    plots: Plots = True
    overwrite: Overwrite = False
    seed: Annotated[
        int, option("N", "Another seed may find another map that is about as good.", min=0)
    ] = 0
    as_json: AsJson = False
    improvement: Annotated[
        float,
        option(
            "X",
            "Stop when all topics had a turn to vote and the cost fell by a smaller share than "
            "this.",
            panel=SEARCH,
            min=0,
            max=0.99,
        ),
    ] = 0.001
    waves: Annotated[
        int, option("N", "The most waves of votes that are held on Spark.", panel=SEARCH, min=1)
    ] = 100
    sample: Annotated[
        int,
        option(
            "N",
            "About how many interests the first map is made from, in memory.",
            panel=SEARCH,
            min=1,
        ),
    ] = 2_000_000
    tries: Annotated[
        int,
        option(
            "N",
            "For the first map, merge and split channels until that has failed this many times in "
            "a row. 0 is K-Means alone.",
            panel=SEARCH,
            min=0,
        ),
    ] = 10
    master: Master = "local[*]"


@app.callback()
def topics() -> None:
    """Keep the verbs below `topics`."""


@app.command(
    name="cluster",
    epilog=examples(
        "topics cluster interests.parquet --rates rates.csv -k 20 --out map",
        "topics cluster interests.csv -k 20 --curve 5,10,20,40 --out map",
        "topics cluster interests.csv -k 20 --previous map --out next-map",
    ),
)
@fills(ClusterOptions)
def cluster(options: ClusterOptions) -> None:
    """Find channels in which subscribers receive little that they do not want.

    Reads Parquet, JSON lines or CSV. Topics that the same subscribers want come
    together; the cost is the rate of everything that reaches subscribers
    unwanted. The map has a row (topic, channel) for each topic. channels.json
    holds the same map, with a version, for publishers and receivers.
    """
    from caddis.cli.topics.cluster import cluster_files

    run(lambda job: cluster_files(options, job), as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """The options of `caddis topics demo`."""

    folder: DemoFolder = None
    subscribers: Annotated[int, option("N", "How many subscribers there are.", min=1)] = 20_000
    topics: Annotated[int, option("N", "How many topics there are.", min=1)] = 500
    channels: Channels = 20
    seed: Annotated[int, option("N", "Another seed makes other subscribers.", min=0)] = 1
    plots: Plots = True
    master: Master = "local[*]"
    as_json: AsJson = False


@app.command(
    name="demo",
    epilog=examples(
        "topics demo",
        "topics demo --subscribers 200000 --topics 2000 -k 40 --dir my-topics",
    ),
)
@fills(DemoOptions)
def demo(options: DemoOptions) -> None:
    """Cluster the topics of subscribers that are made up here.

    Writes interests and rates into a folder, clusters them on Spark, and
    compares the result with channels that are drawn at random.
    """
    from caddis.cli.topics.demo import run_demo

    if not options.as_json:
        typer.echo(
            f"{options.subscribers:,} subscribers, {options.topics:,} topics, "
            f"{options.channels:,} channels.\n"
        )
    run(lambda job: run_demo(options, job), as_json=options.as_json)
