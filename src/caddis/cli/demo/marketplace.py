"""What `caddis demo` does: make the data, match it on Spark twice, show who got what.

Offers go in and matches come out as Parquet files, as in real work. The first pass starts Spark's
Python workers, which load their code (the very first time they also compile it) and map the index;
the rate that is shown is that of the second pass.
"""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from caddis.cli.demo.command import DemoOptions
from caddis.cli.shell import (
    Job,
    begin_compiling,
    count,
    needed_kernels,
    rate,
    require_java,
    show_rows,
    start_spark,
)
from caddis.files import write_parts

if TYPE_CHECKING:
    from caddis.spark.base import DataFrame, SparkSession

PARTS = 8
SHOWN = 6
LOOKED_AT = 50_000
"""Subscriptions among which those that are shown are chosen; more would only take longer."""


@dataclass(frozen=True, slots=True)
class ShownSubscription:
    """One person's subscription, and what it got.

    offers: how many offers it matched.
    example: one of these offers, in words.
    """

    subscription_id: str
    where: str
    offers: int
    example: str


@dataclass(frozen=True, slots=True)
class MarketplaceSummary:
    """How many offers were matched, how fast, and what some people got.

    warm_pass_seconds: of the second pass; the rate is computed from it.
    seconds: of the whole demo, with making the data and starting Spark.
    """

    offers: int
    subscriptions: int
    matches: int
    master: str
    compile_seconds: float
    first_pass_seconds: float
    warm_pass_seconds: float
    seconds: float
    shown: tuple[ShownSubscription, ...]

    def as_json(self) -> dict[str, object]:
        """The values that --json prints."""
        per_second = round(self.offers / self.warm_pass_seconds, 1)
        return {**asdict(self), "events_per_second": per_second}

    def show(self, console: Console) -> None:
        """Print who got what, and how fast."""
        console.print()
        console.print(_who_got_what(self.shown))
        most = f"{self.matches / self.offers:.1f} people an offer, on average"
        compiled = f"compiled in {self.compile_seconds:.1f} s"
        warm = f"warm pass, {self.warm_pass_seconds:.1f} s: Parquet in and out on {self.master}"
        rows = [
            ("offers", f"{self.offers:,}", ""),
            ("subscriptions", f"{self.subscriptions:,}", compiled),
            ("matches", f"{self.matches:,}", most),
            ("offers/s", rate(self.offers, self.warm_pass_seconds), warm),
        ]
        show_rows(console, rows)


def match_marketplace(options: DemoOptions, job: Job) -> MarketplaceSummary:
    """Make the data and match it."""
    began = time.monotonic()
    require_java()
    begin_compiling(needed_kernels(), job)
    temporary = tempfile.TemporaryDirectory(prefix="caddis-demo-")
    folder = Path(job.resources.enter_context(temporary))
    subscriptions, offers = _make_data(options, folder / "offers", job)
    spark = start_spark(options.master, "UTC", job, needed_kernels())
    from caddis.spark.base import spark_failures

    with spark_failures():
        matches, compiling = _compile(spark, folder / "offers", subscriptions, job)
        doing = "First pass: workers start and load their code"
        first = _match_into(folder / "1", doing, matches, job)
        warm = _match_into(folder / "2", "Second pass, everything warm", matches, job)
    table = ds.dataset(folder / "2", format="parquet").to_table()
    return MarketplaceSummary(
        offers=len(offers),
        subscriptions=len(subscriptions),
        matches=len(table),
        master=options.master,
        compile_seconds=round(compiling, 3),
        first_pass_seconds=round(first, 3),
        warm_pass_seconds=round(warm, 3),
        seconds=round(time.monotonic() - began, 3),
        shown=_choose(table, subscriptions, offers),
    )


def _make_data(options: DemoOptions, folder: Path, job: Job) -> tuple[pa.Table, pa.Table]:
    """The subscriptions, and the offers, which are also written to files."""
    from caddis.lab.workloads import marketplace_events, marketplace_subscriptions

    things = (
        f"{count(options.subscription_count, 'subscription')} and "
        f"{count(options.offer_count, 'offer')}"
    )
    with job.screen.step(f"Making {things}") as step:
        subscriptions = marketplace_subscriptions(options.subscription_count, options.seed)
        offers = marketplace_events(options.offer_count, options.seed)
        write_parts(offers, folder, -(-len(offers) // PARTS))
        step.done = f"{things} made"
    return subscriptions, offers


def _compile(
    spark: SparkSession, offers: Path, subscriptions: pa.Table, job: Job
) -> tuple[DataFrame, float]:
    """The matches to be computed, and how many seconds compiling took."""
    from caddis.spark import match_files

    with job.screen.step("Compiling the subscriptions into an index") as step:
        step.done = "Subscriptions compiled into an index"
        return match_files(spark, offers, subscriptions), step.seconds


def _match_into(out: Path, doing: str, matches: DataFrame, job: Job) -> float:
    """Compute and write the matches; how many seconds that took."""
    from caddis.spark.base import watching_tasks, write_matches

    with (
        job.screen.step(doing) as step,
        watching_tasks(matches.sparkSession, step.show_tasks),
    ):
        write_matches(matches, out, "parquet")
        return step.seconds


def _choose(
    matches: pa.Table, subscriptions: pa.Table, offers: pa.Table
) -> tuple[ShownSubscription, ...]:
    """Some short subscriptions, no two alike in name or wording, and what they got."""
    got = matches.group_by("subscription_id").aggregate(
        [("event_id", "count"), ("event_id", "min")]
    )
    row_of = {row["subscription_id"]: row for row in got.slice(0, LOOKED_AT).to_pylist()}
    short = subscriptions.filter(pc.less(pc.utf8_length(subscriptions["where"]), 110))
    seen: set[str] = set()
    chosen = []
    for one in short.to_pylist():
        name, where = one["subscription_id"], one["where"]
        marks = {name.partition("-")[0], re.sub(r"'[^']*'|[\d.]+", "?", where)}
        if name in row_of and row_of[name]["event_id_count"] > 1 and not marks & seen:
            seen |= marks
            example = _in_words(offers.slice(row_of[name]["event_id_min"], 1).to_pylist()[0])
            number = row_of[name]["event_id_count"]
            chosen.append(ShownSubscription(name, where, number, example))
        if len(chosen) == SHOWN:
            break
    return tuple(chosen)


def _in_words(offer: dict[str, object]) -> str:
    return f"{offer['title']}, {offer['city']}, €{offer['price']}"


def _who_got_what(shown: tuple[ShownSubscription, ...]) -> Table:
    table = Table(width=80, box=None, pad_edge=False, header_style="dim", padding=(0, 2, 1, 0))
    table.add_column("who", width=15, overflow="fold")
    table.add_column("waits for", width=36)
    table.add_column("got", width=23)
    for one in shown:
        more = f"\n[dim]and {count(one.offers - 1, 'other')}[/dim]"
        table.add_row(escape(one.subscription_id), escape(one.where), escape(one.example) + more)
    return table
