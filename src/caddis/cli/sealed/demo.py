"""`caddis sealed demo`: a marketplace under seal, from the keys to what is opened.

Everybody works with their own files alone, as they would on machines of their own, and runs the
same code as the other verbs. The broker is a process that is started in its folder, in which there
is no key. Attacks are put among the events on their way to it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.text import Text

from caddis.cli.sealed.command import (
    DemoOptions,
    OpenOptions,
    SealEventsOptions,
    SealSubscriptionsOptions,
)
from caddis.cli.sealed.files import reason_of
from caddis.cli.sealed.matching import SealedMatchSummary
from caddis.cli.sealed.opening import OpenedSummary, open_events
from caddis.cli.sealed.sealing import seal_events, seal_subscriptions
from caddis.cli.sealed.town import (
    ATTACKS,
    PUBLISHERS,
    REVOKED,
    SUBSCRIBERS,
    Town,
    change,
    settle,
    with_attacks,
)
from caddis.cli.shell import Job, require_java, short, show_rows, show_titled, text_table
from caddis.errors import CaddisError, SealedError
from caddis.files import write_table
from caddis.lab.workloads import MARKETPLACE_SCHEMA, marketplace_events, marketplace_subscriptions
from caddis.matching import Matcher
from caddis.sealed import Scheme, StreamDesign

STREAM = "offers"
SCHEMA = MARKETPLACE_SCHEMA.remove(MARKETPLACE_SCHEMA.get_field_index("event_id"))
VALUES = 11
"""An offer has six columns with one value each, and at most four tags; its id is none of them."""

EVENTS, SUBSCRIPTIONS, MATCHES = "events", "subscriptions", "matches"
BROKER = [sys.executable, "-c", "from caddis.cli import main; main()", "sealed", "match"]


Broker = Callable[[Town, str], SealedMatchSummary]
"""Matches what lies in the broker's folder, on this master of Spark."""

Offers = dict[int, pa.Table]
"""The plain offers of each epoch."""

Subscriptions = dict[str, pa.Table]
"""The plain subscriptions of each subscriber."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a subscriber was sent by the broker, kept after its own check, and should have."""

    subscriber: str
    subscriptions: int
    sent: int
    kept: int
    plain: int
    equal: bool
    """Whether it kept exactly what plain matching finds, match by match."""


def run_demo(options: DemoOptions, job: Job, broker: Broker | None = None) -> DemoSummary:
    """Play it through, and compare the outcome with plain matching.

    broker: what matches in the broker's folder; by default, a process of its own.
    """
    began = time.monotonic()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="caddis-sealed-"))
    if folder.exists() and any(folder.iterdir()):
        raise SealedError(f"{folder} is not empty; name a new folder with --dir")
    require_java()
    town, quiet = Town(folder), Job(quiet=True)
    with job.screen.step("Handing out keys, making up offers and subscriptions") as step:
        settle(town, design_of(options.scheme))
        plain, mine = make_up(town, options.events, options.subscriptions, options.seed)
        step.done = "Keys handed out, offers and subscriptions made up"
    with job.screen.step("Sealing in two epochs; in between one is revoked") as step:
        _publish(town, 1, quiet)
        change(town, lambda authority: authority.revoke(REVOKED, STREAM, "subscriber"))
        _publish(town, 2, quiet)
        _subscribe(town, quiet)
        step.done = f"Everything sealed; {REVOKED} was revoked before the second epoch"
    with job.screen.step("The broker matches on Spark, in a process without keys") as step:
        summary = (broker or broker_process)(town, options.master)
        step.done = f"{summary.events:,} sealed events matched by a process without keys"
    with job.screen.step("Subscribers open what matched") as step:
        receipts = tuple(_receipts(town, plain, mine, quiet))
        stolen = open_events(_opening(town, REVOKED, "stolen.parquet", None), quiet)
        step.done = "Opened, checked, and compared with plain matching"
    seconds = time.monotonic() - began
    return DemoSummary(folder, options.scheme, receipts, summary, stolen, seconds)


def design_of(scheme: Scheme) -> StreamDesign:
    """How offers are sealed."""
    return StreamDesign.of(STREAM, SCHEMA, values=VALUES, scheme=scheme)


def make_up(town: Town, offers: int, subscriptions: int, seed: int) -> tuple[Offers, Subscriptions]:
    """Make up offers and subscriptions, and write them into the files of their owners."""
    events = marketplace_events(offers, seed)
    first = -(-offers // 2)
    by_epoch = {1: events.slice(0, first), 2: events.slice(first)}
    for epoch, table in by_epoch.items():
        for place, name in enumerate(PUBLISHERS):
            rows = np.arange(place, len(table), len(PUBLISHERS))
            write_table(table.take(pa.array(rows)), town.offers(name, epoch))
    texts = marketplace_subscriptions(subscriptions, seed)["where"]
    by_subscriber = {}
    for place, name in enumerate(SUBSCRIBERS):
        wheres = texts.take(pa.array(np.arange(place, subscriptions, len(SUBSCRIBERS))))
        ids = [f"{name}-{number:05d}" for number in range(len(wheres))]
        by_subscriber[name] = pa.table({"subscription_id": ids, "where": wheres})
        write_table(by_subscriber[name], town.subscriptions(name))
    return by_epoch, by_subscriber


def _publish(town: Town, epoch: int, job: Job) -> None:
    """Both publishers seal their offers of an epoch; the last ones are attacked on their way."""
    for name in PUBLISHERS:
        out = town.broker / EVENTS / f"{name}-{epoch}.parquet"
        plain, keys = town.offers(name, epoch), town.home(name)
        seal_events(SealEventsOptions(events=plain, name=name, out=out, keys=keys), job)
    if epoch > 1:
        pq.write_table(with_attacks(pq.read_table(out)), out)


def _subscribe(town: Town, job: Job) -> None:
    """Every subscriber seals its subscriptions, for all epochs that it has keys for."""
    for name in SUBSCRIBERS:
        out = town.broker / SUBSCRIPTIONS / f"{name}.parquet"
        plain, keys = town.subscriptions(name), town.home(name)
        options = SealSubscriptionsOptions(subscriptions=plain, name=name, out=out, keys=keys)
        seal_subscriptions(options, job)


def broker_process(town: Town, master: str) -> SealedMatchSummary:
    """Run the broker in its folder, in a process of its own."""
    names = ["--subscriptions", SUBSCRIPTIONS, "--directory", town.directory.name, "--out", MATCHES]
    command = [*BROKER, EVENTS, *names, "--master", master, "--json"]
    done = subprocess.run(command, cwd=town.broker, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CaddisError(f"the broker failed: {done.stderr.strip().removeprefix('caddis: ')}")
    printed = {**json.loads(done.stdout), "out": town.broker / MATCHES}
    names = [one.name for one in fields(SealedMatchSummary)]
    return SealedMatchSummary(**{name: printed[name] for name in names})


def _receipts(
    town: Town, plain: Offers, subscriptions: Subscriptions, job: Job
) -> Iterator[Receipt]:
    """What each subscriber was sent and kept, next to what plain matching gives it."""
    owners = pq.read_table(town.broker / MATCHES)["subscription_id"].to_pylist()
    for name, mine in subscriptions.items():
        opened = open_events(_opening(town, name, "opened.parquet", town.broker / MATCHES), job)
        pairs = pq.read_table(opened.out, columns=["event_id", "subscription_id"])
        kept = set(zip(*pairs.to_pydict().values(), strict=True))
        epochs = (1,) if name == REVOKED else tuple(plain)
        offers = pa.concat_tables([plain[epoch] for epoch in epochs])
        wanted = plain_matches(mine, offers)
        sent = sum(owner.startswith(f"{name}-") for owner in owners)
        yield Receipt(name, len(mine), sent, len(kept), len(wanted), kept == wanted)


def plain_matches(subscriptions: pa.Table, offers: pa.Table) -> set[tuple[int, str]]:
    """What the plain matcher finds: pairs of event_id and subscription_id."""
    matcher = Matcher.compile(subscriptions, SCHEMA)
    [batch] = offers.combine_chunks().to_batches()
    matches = matcher.match(batch)
    events = batch.column("event_id").take(pa.array(matches.rows)).to_pylist()
    owners = matcher.subscription_ids.take(pa.array(matches.links)).to_pylist()
    return set(zip(events, owners, strict=True))


def _opening(town: Town, name: str, out: str, matches: Path | None) -> OpenOptions:
    return OpenOptions(
        events=town.broker / EVENTS,
        subscriptions=town.subscriptions(name),
        name=name,
        directory=town.directory,
        out=town.home(name) / out,
        matches=matches,
        keys=town.home(name),
    )


@dataclass(frozen=True, slots=True)
class DemoSummary:
    """Who received what, what was refused, and what it took."""

    folder: Path
    """Where the files of all parties are."""
    scheme: str
    receipts: tuple[Receipt, ...]
    broker: SealedMatchSummary
    stolen: OpenedSummary
    """What the revoked subscriber can make of all sealed events."""
    seconds: float

    @property
    def equal(self) -> bool:
        """Whether everybody has exactly what plain matching would have given them."""
        return all(one.equal for one in self.receipts)

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        broker, stolen = self.broker.as_json(), self.stolen.as_json()
        numbers = {"equal": self.equal, "seconds": round(self.seconds, 3)}
        return {**asdict(self), "broker": broker, "stolen": stolen, **numbers}

    def show(self, console: Console) -> None:
        """Tables for all three questions, and what the revoked subscriber can still read."""
        self._show_receipts(console)
        self._show_refused(console)
        self._show_work(console)
        stolen = self.stolen
        console.print(
            Text(
                f"\nWith every sealed event in its hands, {stolen.subscriber} can open the "
                f"{stolen.opened:,} of the epoch in\nwhich it was entitled, and none of the "
                f"{stolen.refused.get('NotEntitled', 0):,} after it was revoked."
            )
        )
        console.print(Text(f"The files of all parties are in {self.folder}."), soft_wrap=True)

    def _show_receipts(self, console: Console) -> None:
        names = ("subscriber", "subscriptions", "sent by the broker", "kept", "plain matching")
        table = text_table(*names, "equal", texts=(0, 5))
        for one in self.receipts:
            numbers = (one.subscriptions, one.sent, one.kept, one.plain)
            table.add_row(
                one.subscriber, *(f"{number:,}" for number in numbers), "yes" if one.equal else "NO"
            )
        show_titled("Who received what", table, console)
        console.print(
            Text(
                "The broker sends too much where only the subscriber can tell: LIKE, NOT, IS NULL.",
                style="dim",
            )
        )

    def _show_refused(self, console: Console) -> None:
        table = text_table("attack", "refused", "as", texts=(0, 2))
        for kind, attack in ATTACKS.items():
            table.add_row(attack, f"{self.broker.refused.get(kind, 0):,}", reason_of(kind))
        for kind, number in self.broker.refused.items():
            if kind not in ATTACKS:
                table.add_row("", f"{number:,}", reason_of(kind))
        show_titled("What the broker refused", table, console)

    def _show_work(self, console: Console) -> None:
        broker = self.broker
        share = broker.pairs / max(1, broker.tests)
        each = short(broker.tests / max(1, broker.events))
        rows = [
            ("sealed events", f"{broker.events:,}", f"scheme {self.scheme}"),
            ("sealed subscriptions", f"{broker.subscriptions:,}", ""),
            ("pairs", f"{broker.pairs:,}", "of an event and a subscription"),
            (
                "encrypted tests",
                f"{broker.tests:,}",
                f"{each} an event; one for {share:,.0f} pairs",
            ),
            ("matches", f"{broker.matches:,}", "which subscribers then check for themselves"),
        ]
        show_rows(console, rows)
