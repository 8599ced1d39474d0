"""What `caddis demo` does: make the data, match it on Spark twice, show who got what.

Offers go in and matches come out as Parquet files, as in real work. The first pass starts Spark's
Python workers, which load (the very first time: compile) their code and map the index; the rate
that is told is that of the second.
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
import pyarrow.parquet as pq
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from caddis.cli.shell import Job, count, rate, require_java, show_rows, start_spark

if TYPE_CHECKING:
    from caddis.spark.base import DataFrame, SparkSession
PARTS = 8
SHOWN = 6
LOOKED_AT = 50_000


@dataclass(frozen=True, slots=True)
class Wish:
    """What one person asked for, and got."""

    subscription_id: str
    where: str
    offers: int
    example: str


@dataclass(frozen=True, slots=True)
class Marketplace:
    """What the demo found."""

    offers: int
    subscriptions: int
    matches: int
    master: str
    compile_seconds: float
    first_pass_seconds: float
    warm_pass_seconds: float
    seconds: float
    wishes: tuple[Wish, ...]

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        per_second = round(self.offers / self.warm_pass_seconds, 1)
        return {**asdict(self), "events_per_second": per_second}

    def show(self, console: Console) -> None:
        """Who got what, and how fast."""
        console.print()
        console.print(_who_got_what(self.wishes))
        most = f"{self.matches / self.offers:.1f} people an offer, on average"
        warm = f"warm pass, {self.warm_pass_seconds:.1f} s: Parquet in and out on {self.master}"
        rows = [
            ("offers", f"{self.offers:,}", ""),
            (
                "subscriptions",
                f"{self.subscriptions:,}",
                f"compiled in {self.compile_seconds:.1f} s",
            ),
            ("matches", f"{self.matches:,}", most),
            ("offers/s", rate(self.offers, self.warm_pass_seconds), warm),
        ]
        show_rows(console, rows)


def match_marketplace(
    subscriptions: int, offers: int, seed: int, master: str, job: Job
) -> Marketplace:
    """Make the data and match it."""
    began = time.monotonic()
    require_java()
    folder = job.resources.enter_context(tempfile.TemporaryDirectory(prefix="caddis-demo-"))
    with job.screen.step(f"Making {subscriptions:,} subscriptions and {offers:,} offers") as step:
        wishes, events = _made(subscriptions, offers, seed, Path(folder) / "offers")
        step.done = f"{count(subscriptions, 'subscription')} and {count(offers, 'offer')} made"
    spark = start_spark(master, "UTC", job)
    from caddis.spark.base import spark_failures

    with spark_failures():
        matches, compiling = _compiled(spark, Path(folder) / "offers", wishes, job)
        first = _pass(
            "First pass: workers start and load their code", matches, Path(folder) / "1", job
        )
        warm = _pass("Second pass, everything warm", matches, Path(folder) / "2", job)
    found = ds.dataset(Path(folder) / "2", format="parquet").to_table()
    return Marketplace(
        offers=offers,
        subscriptions=subscriptions,
        matches=len(found),
        master=master,
        compile_seconds=round(compiling, 3),
        first_pass_seconds=round(first, 3),
        warm_pass_seconds=round(warm, 3),
        seconds=round(time.monotonic() - began, 3),
        wishes=_chosen(found, wishes, events),
    )


def _made(subscriptions: int, offers: int, seed: int, folder: Path) -> tuple[pa.Table, pa.Table]:
    """The subscriptions, and the offers, which are also written to files."""
    from caddis.lab.workloads import marketplace_events, marketplace_subscriptions

    wishes = marketplace_subscriptions(subscriptions, seed)
    events = marketplace_events(offers, seed)
    folder.mkdir()
    rows = -(-offers // PARTS)
    for part in range(PARTS):
        pq.write_table(events.slice(part * rows, rows), folder / f"part-{part}.parquet")
    return wishes, events


def _compiled(
    spark: SparkSession, offers: Path, wishes: pa.Table, job: Job
) -> tuple[DataFrame, float]:
    from caddis.spark import match
    from caddis.spark.base import read_events

    events = read_events(spark, offers, "parquet")
    with job.screen.step("Compiling the subscriptions into an index") as step:
        step.done = "Subscriptions compiled into an index"
        return match(events, wishes), step.seconds


def _pass(doing: str, matches: DataFrame, out: Path, job: Job) -> float:
    from caddis.spark.base import watching_tasks, write_matches

    with (
        job.screen.step(doing) as step,
        watching_tasks(matches.sparkSession, step.show_tasks),
    ):
        write_matches(matches, out, "parquet")
        return step.seconds


def _chosen(found: pa.Table, wishes: pa.Table, events: pa.Table) -> tuple[Wish, ...]:
    """Some people with a short wish, no two alike in name or wording, and what they got."""
    offers = found.group_by("subscription_id").aggregate(
        [("event_id", "count"), ("event_id", "min")]
    )
    got = {row["subscription_id"]: row for row in offers.slice(0, LOOKED_AT).to_pylist()}
    short = wishes.filter(pc.less(pc.utf8_length(wishes["where"]), 110))
    alike: set[str] = set()
    chosen = []
    for wish in short.to_pylist():
        name, where = wish["subscription_id"], wish["where"]
        marks = {name.partition("-")[0], re.sub(r"'[^']*'|[\d.]+", "?", where)}
        if name in got and got[name]["event_id_count"] > 1 and not marks & alike:
            alike |= marks
            example = _in_words(events.slice(got[name]["event_id_min"], 1).to_pylist()[0])
            chosen.append(Wish(name, where, got[name]["event_id_count"], example))
        if len(chosen) == SHOWN:
            break
    return tuple(chosen)


def _in_words(offer: dict[str, object]) -> str:
    return f"{offer['title']}, {offer['city']}, €{offer['price']}"


def _who_got_what(wishes: tuple[Wish, ...]) -> Table:
    table = Table(width=80, box=None, pad_edge=False, header_style="dim", padding=(0, 2, 1, 0))
    table.add_column("who", width=15, overflow="fold")
    table.add_column("waits for", width=36)
    table.add_column("got", width=23)
    for wish in wishes:
        more = f"\n[dim]and {count(wish.offers - 1, 'other')}[/dim]"
        table.add_row(escape(wish.subscription_id), escape(wish.where), escape(wish.example) + more)
    return table
