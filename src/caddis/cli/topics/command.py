"""`caddis topics`: topics into channels, on Spark."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from caddis.cli.shell import AsJson, DemoFolder, Job, Master, Overwrite, Result, run
from caddis.files import FileFormat

NAME = "topics"
CLUSTER_EXAMPLES = """
[bold]Examples[/bold]

  caddis topics cluster interests.parquet --rates rates.csv -k 20 --out map

  caddis topics cluster interests.csv -k 20 --curve 5,10,20,40 --out map

  caddis topics cluster interests.csv -k 20 --previous map --out next-map
"""
DEMO_EXAMPLES = """
[bold]Examples[/bold]

  caddis topics demo

  caddis topics demo --subscribers 200000 --topics 2000 -k 40 --dir my-topics
"""

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Put topics into channels that many can subscribe to.

    A few dozen channels carry thousands of topics; whoever wants a topic
    receives all of its channel. Begin with [bold]caddis topics demo[/bold].
    """,
)

SEARCH = "How long to look"

Interests = Annotated[
    Path,
    typer.Argument(
        metavar="INTERESTS",
        help="A file with the columns subscriber and topic, or a folder of such files.",
        show_default=False,
    ),
]
Rates = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="A file with the columns topic and rate: how much is published. Otherwise each is 1.",
        show_default=False,
    ),
]
Channels = Annotated[
    int,
    typer.Option(
        "-k", "--channels", min=1, metavar="N", help="How many channels.", show_default=False
    ),
]
Out = Annotated[
    Path,
    typer.Option(metavar="FOLDER", help="A new folder for map and plots.", show_default=False),
]
Previous = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="An earlier map, or the --out that it is in, to begin with: topics then move only "
        "where that saves something.",
        show_default=False,
    ),
]
Curve = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Also cluster into these numbers of channels, and draw what each costs: 5,10,20,40.",
        show_default=False,
    ),
]
Format = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="The interests' format, if the files' names do not tell: parquet, jsonl or csv.",
    ),
]
OutFormat = Annotated[
    Literal["csv", "parquet"], typer.Option(metavar="FORMAT", help="The map's: csv or parquet.")
]
Plots = Annotated[bool, typer.Option(help="Whether to draw plots; they need caddis\\[lab].")]
Seed = Annotated[
    int, typer.Option(min=0, metavar="N", help="Another seed, other ways to the same end.")
]
Improvement = Annotated[
    float,
    typer.Option(
        min=0,
        max=0.99,
        metavar="X",
        help="It is enough when all topics had a turn to vote and the cost fell by a smaller share "
        "than this.",
        rich_help_panel=SEARCH,
    ),
]
Waves = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="The most waves of votes on Spark.", rich_help_panel=SEARCH
    ),
]
Sample = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="About how many interests a first map is made of, in memory.",
        rich_help_panel=SEARCH,
    ),
]

Tries = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="For the first map, channels are cut anew until that was in vain so many times in a "
        "row; 0 is K-Means alone.",
        rich_help_panel=SEARCH,
    ),
]


@app.callback()
def topics() -> None:
    """Keep the verbs below `topics`."""


@app.command(name="cluster", epilog=CLUSTER_EXAMPLES)
def cluster(
    interests: Interests,
    channels: Channels,
    out: Out,
    rates: Rates = None,
    previous: Previous = None,
    curve: Curve = None,
    format_: Format = None,
    out_format: OutFormat = "csv",
    plots: Plots = True,
    overwrite: Overwrite = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    improvement: Improvement = 0.001,
    waves: Waves = 100,
    sample: Sample = 2_000_000,
    tries: Tries = 10,
    master: Master = "local[*]",
) -> None:
    """Find channels in which subscribers receive little that they do not want.

    Reads Parquet, JSON lines or CSV. Topics that the same subscribers want come
    together; the cost is the rate of all that reaches subscribers unwanted.
    The map has a row (topic, channel) for each topic; channels.json is the
    same as a versioned map for publishers and receivers.
    """

    def work(job: Job) -> Result:
        from caddis.cli.topics.order import ClusterOrder
        from caddis.cli.topics.run import cluster_files

        order = ClusterOrder(
            interests=interests,
            channels=channels,
            out=out,
            rates=rates,
            previous=previous,
            curve=curve,
            format=format_,
            out_format=out_format,
            plots=plots,
            overwrite=overwrite,
            seed=seed,
            improvement=improvement,
            waves=waves,
            sample=sample,
            tries=tries,
            master=master,
        )
        return cluster_files(order, job)

    run(work, as_json=as_json)


@app.command(name="demo", epilog=DEMO_EXAMPLES)
def demo(
    folder: DemoFolder = None,
    subscribers: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many subscribers there are.")
    ] = 20_000,
    number: Annotated[
        int, typer.Option("--topics", min=1, metavar="N", help="How many topics there are.")
    ] = 500,
    channels: Annotated[
        int, typer.Option("-k", "--channels", min=1, metavar="N", help="How many channels.")
    ] = 20,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Another seed, other subscribers.")
    ] = 1,
    plots: Plots = True,
    master: Master = "local[*]",
    as_json: AsJson = False,
) -> None:
    """Cluster the topics of subscribers that are made up here.

    Writes interests and rates into a folder, clusters them on Spark, and
    tells what that saves next to channels that are drawn at random.
    """

    def work(job: Job) -> Result:
        from caddis.cli.topics.demo import TopicDemo, run_demo

        made = folder or Path(tempfile.mkdtemp(prefix="caddis-topics-"))
        return run_demo(TopicDemo(made, subscribers, number, channels, seed, plots, master), job)

    if not as_json:
        typer.echo(f"{subscribers:,} subscribers, {number:,} topics, {channels:,} channels.\n")
    run(work, as_json=as_json)
