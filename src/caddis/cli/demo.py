"""`caddis demo`: a marketplace's offers against 100,000 people's standing wishes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from caddis.cli import options
from caddis.cli.running import Job, run

if TYPE_CHECKING:
    from caddis.cli.marketplace import Marketplace

NAME = "demo"
EXAMPLES = """
[bold]Examples[/bold]

  caddis demo

  caddis demo --subscriptions 1000000 --events 500000
"""


def command(
    subscriptions: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many people wait.")
    ] = 100_000,
    events: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many offers come.")
    ] = 100_000,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Another seed, other offers and wishes.")
    ] = 1,
    master: options.Master = "local[*]",
    as_json: options.AsJson = False,
) -> None:
    """Match a marketplace's offers against 100,000 standing subscriptions.

    The data is made here: offers with city, price, category, tags and time, and
    people who wait for some of them. Spark matches them on this machine, twice:
    the second time everything is warm, and its rate is told.
    """

    def work(job: Job) -> Marketplace:
        from caddis.cli.marketplace import match_marketplace

        return match_marketplace(subscriptions, events, seed, master, job)

    if not as_json:
        typer.echo(
            f"A marketplace: {events:,} offers against {subscriptions:,} standing subscriptions.\n"
        )
    run(work, as_json=as_json)
