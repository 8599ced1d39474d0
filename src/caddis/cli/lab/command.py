"""`caddis lab`: the figures of the papers that Caddis is built on, redrawn from its own code."""

from __future__ import annotations

from typing import Annotated

import typer

from caddis.cli.lab.options import (
    CONCEPTS,
    XS,
    AtMost,
    BlockFigures,
    Changed,
    Channels,
    Covering,
    Exponent,
    Figures,
    InterestsFile,
    LinkDelays,
    MeanDelay,
    Out,
    Policies,
    PrefilteringFigures,
    Quick,
    Rate,
    RoundTrips,
    Seed,
    size,
    sizes,
)
from caddis.cli.shell import AsJson, Job, Master, Result, run

NAME = "lab"
ADAPTIVE_FILTERING = """
[bold]Examples[/bold]

  caddis lab adaptive-filtering --quick --out quick

  caddis lab adaptive-filtering --figures 3a,3c --events 100 --out zipf

  caddis lab adaptive-filtering --mean notifications --out full

  caddis lab adaptive-filtering --policies air,emec,frontier@50 --out some
"""

LOCAL_BUILDING_BLOCKS = """
[bold]Examples[/bold]

  caddis lab local-building-blocks --quick --out quick

  caddis lab local-building-blocks --figures 2a,2b,2c --repeats 100 --out votes

  caddis lab local-building-blocks --interests genres.json --out full
"""

BLOOM_PREFILTERING = """
[bold]Examples[/bold]

  caddis lab bloom-prefiltering --quick --out quick

  caddis lab bloom-prefiltering --figures tests,equalities --out tests

  caddis lab bloom-prefiltering --largest 100000 --rate 0.01 --out other
"""

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Redraw the figures of the papers, next to ours.

    One verb a paper: its experiments, run by Caddis's own code on Spark's
    workers, with every choice that the paper leaves open as an option.
    """,
)


@app.command(name="adaptive-filtering", epilog=ADAPTIVE_FILTERING)
def adaptive_filtering(
    out: Out,
    figures: Figures = "3a,3b,3c,3d,frontier",
    policies: Policies = "air,ail,mec,emec,frontier",
    round_trips: RoundTrips = None,
    seed: Seed = 1,
    as_json: AsJson = False,
    mean: MeanDelay = "paths",
    exponent: Exponent = 1.0,
    at_most: AtMost = 5,
    covering: Covering = False,
    link_delays: LinkDelays = True,
    quick: Quick = False,
    events: Annotated[int | None, size("Events in a run.", "1,000; quick: 10")] = None,
    topologies: Annotated[int | None, size("Trees of brokers.", "5; quick: 2")] = None,
    repeats: Annotated[int | None, size("Workloads a topology.", "5; quick: 1")] = None,
    brokers: Annotated[int | None, size("In a topology.", "100")] = None,
    subscriptions: Annotated[str | None, sizes("Of figures 3a to 3c.", XS)] = None,
    concepts: Annotated[str | None, sizes("Of figure 3d.", CONCEPTS)] = None,
    fixed_subscriptions: Annotated[
        int | None, size("Of 3d and the frontier.", "3,000; quick: 500")
    ] = None,
    fixed_concepts: Annotated[int | None, size("Of 3a to 3c and the frontier.", "100")] = None,
    master: Master = "local[*]",
) -> None:
    """Redraw Figure 3 of "Adaptive Filtering of Visual Content", and our frontier.

    Delay and total cost of models in an overlay of brokers, for the paper's
    policies and ours. Simulations are spread over Spark's workers; each is
    kept as soon as it is done, so that the same command goes on after Ctrl-C.
    """

    def work(job: Job) -> Result:
        from caddis.cli.lab.adaptive_filtering import redraw
        from caddis.cli.lab.adaptive_filtering_order import FigureOrder

        order = FigureOrder(
            out=out,
            figures=figures,
            policies=policies,
            round_trips=tuple(round_trips or ()),
            seed=seed,
            mean=mean,
            exponent=exponent,
            at_most=at_most,
            covering=covering,
            link_delays=link_delays,
            quick=quick,
            events=events,
            topologies=topologies,
            repeats=repeats,
            brokers=brokers,
            subscriptions=subscriptions,
            concepts=concepts,
            fixed_subscriptions=fixed_subscriptions,
            fixed_concepts=fixed_concepts,
            master=master,
        )
        return redraw(order, job)

    run(work, as_json=as_json)


@app.command(name="local-building-blocks", epilog=LOCAL_BUILDING_BLOCKS)
def local_building_blocks(
    out: Out,
    figures: BlockFigures = "",
    interests: InterestsFile = None,
    seed: Seed = 1,
    as_json: AsJson = False,
    changed: Changed = 0.01,
    channels: Channels = 10,
    quick: Quick = False,
    repeats: Annotated[int | None, size("Runs at a point.", "30; quick: 5")] = None,
    few: Annotated[int | None, size("The same of large runs.", "5; quick: 2")] = None,
    nodes: Annotated[int | None, size("In a tree.", "1,000")] = None,
    largest: Annotated[
        int | None, size("Nodes of the largest tree.", "1,000,000; quick: 100,000")
    ] = None,
    subscribers: Annotated[
        int | None, size("Whose interests are drawn.", "10,000; quick: 2,000")
    ] = None,
    topics: Annotated[int | None, size("Of drawn interests.", "100")] = None,
    master: Master = "local[*]",
) -> None:
    """Redraw the figures of "Local Building Blocks for a Scalable Pub/Sub Infrastructure".

    What votes on a tree of nodes take, against the difficulty of the vote and
    the size of the tree; beside them majority votes on pairs and plain sums,
    votes on real interests, and what clusterings of topics cost. Each run is
    kept as soon as it is done, so that the same command goes on after Ctrl-C.
    """

    def work(job: Job) -> Result:
        from caddis.cli.lab.local_building_blocks import redraw
        from caddis.cli.lab.local_building_blocks_order import BlocksOrder

        order = BlocksOrder(
            out=out,
            figures=figures,
            interests=interests,
            seed=seed,
            changed=changed,
            quick=quick,
            repeats=repeats,
            few=few,
            nodes=nodes,
            largest=largest,
            channels=channels,
            subscribers=subscribers,
            topics=topics,
            master=master,
        )
        return redraw(order, job)

    run(work, as_json=as_json)


@app.command(name="bloom-prefiltering", epilog=BLOOM_PREFILTERING)
def bloom_prefiltering(
    out: Out,
    figures: PrefilteringFigures = "",
    seed: Seed = 1,
    as_json: AsJson = False,
    rate: Rate = 0.001,
    quick: Quick = False,
    repeats: Annotated[int | None, size("Runs at a point.", "5; quick: 1")] = None,
    few: Annotated[int | None, size("The same of large runs.", "3; quick: 1")] = None,
    subscriptions: Annotated[
        int | None, size("Where their number does not vary.", "100,000; quick: 10,000")
    ] = None,
    events: Annotated[int | None, size("On which tests are counted.", "300; quick: 100")] = None,
    largest: Annotated[int | None, size("Most subscriptions.", "1,000,000; quick: 100,000")] = None,
    largest_aspe: Annotated[
        int | None, size("The same of sealed matching by products.", "100,000; quick: 10,000")
    ] = None,
    largest_tokens: Annotated[
        int | None, size("The same of sealed matching by tokens.", "1,000,000; quick: 10,000")
    ] = None,
    master: Master = "local[*]",
) -> None:
    """Draw what "Bloom Filters: A Content Based Prefiltering Technique" claims, and ours.

    How many encrypted tests Bloom filters leave, what finding them takes, how
    often filters err, and what that depends on: the paper's lists and filters
    beside ours. Each run is kept as soon as it is done, so that the same
    command goes on after Ctrl-C. Runs with a clock are done one at a time.
    """

    def work(job: Job) -> Result:
        from caddis.cli.lab.bloom_prefiltering import redraw
        from caddis.cli.lab.bloom_prefiltering_order import PrefilteringOrder

        order = PrefilteringOrder(
            out=out,
            figures=figures,
            seed=seed,
            rate=rate,
            quick=quick,
            repeats=repeats,
            few=few,
            subscriptions=subscriptions,
            events=events,
            largest=largest,
            largest_aspe=largest_aspe,
            largest_tokens=largest_tokens,
            master=master,
        )
        return redraw(order, job)

    run(work, as_json=as_json)
