"""What `caddis sealed demo` does: a marketplace under seal, from the keys to what is opened.

Everybody works with their own files alone, as they would on machines of their own, and by the same
code as the commands. The broker is a process that is started in its folder, in which there is no
key. Attacks are put among the events on their way to it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from caddis.cli.sealed.demo_parties import (
    PUBLISHERS,
    REVOKED,
    SCHEMA,
    STREAM,
    SUBSCRIBERS,
    Plain,
    Town,
    change,
    make_up,
    settle,
)
from caddis.cli.sealed.demo_summary import BrokerTold, DemoSummary, Received, Stolen, with_attacks
from caddis.cli.sealed.opening import OpenOrder, open_events
from caddis.cli.sealed.publishing import EventOrder, seal_events
from caddis.cli.sealed.subscribing import SubscriptionOrder, seal_subscriptions
from caddis.cli.shell import Job, require_java
from caddis.errors import CaddisError, SealedError
from caddis.matching import Matcher
from caddis.sealed import Scheme

EVENTS, SUBSCRIPTIONS, MATCHES = "events", "subscriptions", "matches"
BROKER = [sys.executable, "-c", "from caddis.cli import main; main()", "sealed", "match"]

FIRST_EPOCH_ONLY = (1,)

Broker = Callable[[Town, str], BrokerTold]
"""Matches what lies in the broker's folder on this master of Spark."""


@dataclass(frozen=True, slots=True)
class SealedDemo:
    """What to make up, and where."""

    folder: Path
    offers: int
    wishes: int
    scheme: Scheme
    seed: int
    master: str


def run_demo(demo: SealedDemo, job: Job, broker: Broker | None = None) -> DemoSummary:
    """Play it through, and hold the outcome against plain matching.

    broker: what matches in the broker's folder; a process of its own, unless it is given.
    """
    began = time.monotonic()
    if demo.folder.exists() and any(demo.folder.iterdir()):
        raise SealedError(f"{demo.folder} is not empty; name a new folder with --dir")
    require_java()
    town, quiet = Town(demo.folder), Job(quiet=True)
    with job.screen.step("Handing out keys, making up offers and wishes") as step:
        settle(town, demo.scheme)
        plain = make_up(town, demo.offers, demo.wishes, demo.seed)
        step.done = "Keys handed out, offers and wishes made up"
    with job.screen.step("Sealing in two epochs; in between one is revoked") as step:
        _publish(town, 1, quiet)
        change(town, lambda authority: authority.revoke(REVOKED, STREAM, "subscriber"))
        _publish(town, 2, quiet)
        _subscribe(town, quiet)
        step.done = f"Everything sealed; {REVOKED} was revoked before the second epoch"
    with job.screen.step("The broker matches on Spark, in a process without keys") as step:
        told = (broker or broker_process)(town, demo.master)
        step.done = f"{told.events:,} sealed events matched by a process without keys"
    with job.screen.step("Subscribers open what matched") as step:
        received = tuple(_received(town, plain, quiet))
        stolen = _stolen(town, quiet)
        step.done = "Opened, checked, and compared with plain matching"
    seconds = time.monotonic() - began
    return DemoSummary(demo.folder, demo.scheme, received, told, stolen, seconds)


def _publish(town: Town, epoch: int, job: Job) -> None:
    """Both publishers seal their offers of an epoch; the last ones are attacked on their way."""
    for name in PUBLISHERS:
        out = town.broker / EVENTS / f"{name}-{epoch}.parquet"
        seal_events(EventOrder(town.offers(name, epoch), name, out, town.home(name)), job)
    if epoch > 1:
        pq.write_table(with_attacks(pq.read_table(out)), out)


def _subscribe(town: Town, job: Job) -> None:
    """Everybody seals what they want, for all epochs that they have keys of."""
    for name in SUBSCRIBERS:
        out = town.broker / SUBSCRIPTIONS / f"{name}.parquet"
        seal_subscriptions(SubscriptionOrder(town.wishes(name), name, out, town.home(name)), job)


def broker_process(town: Town, master: str) -> BrokerTold:
    """Run the broker in its folder, in a process of its own; what it tells."""
    names = ["--subscriptions", SUBSCRIPTIONS, "--directory", town.directory.name, "--out", MATCHES]
    command = [*BROKER, EVENTS, *names, "--master", master, "--json"]
    done = subprocess.run(command, cwd=town.broker, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CaddisError(f"the broker failed: {done.stderr.strip().removeprefix('caddis: ')}")
    return BrokerTold.of(json.loads(done.stdout))


def _received(town: Town, plain: Plain, job: Job) -> Iterator[Received]:
    """What each subscriber was sent and kept, next to what plain matching gives it."""
    owners = pq.read_table(town.broker / MATCHES)["subscription_id"].to_pylist()
    for name in SUBSCRIBERS:
        out = town.home(name) / "opened.parquet"
        open_events(_opening(town, name, out, town.broker / MATCHES), job)
        opened = pq.read_table(out, columns=["event_id", "subscription_id"])
        kept = set(zip(*opened.to_pydict().values(), strict=True))
        epochs = FIRST_EPOCH_ONLY if name == REVOKED else tuple(plain.offers)
        wanted = plain_matches(
            plain.wishes[name], pa.concat_tables([plain.offers[epoch] for epoch in epochs])
        )
        sent = sum(owner.startswith(f"{name}-") for owner in owners)
        yield Received(name, len(plain.wishes[name]), sent, len(kept), len(wanted), kept == wanted)


def plain_matches(wishes: pa.Table, offers: pa.Table) -> set[tuple[int, str]]:
    """What the plain matcher finds: ids of offers and of wishes."""
    matcher = Matcher.compile(wishes, SCHEMA)
    [batch] = offers.combine_chunks().to_batches()
    found = matcher.match(batch)
    events = batch.column("event_id").take(pa.array(found.rows)).to_pylist()
    owners = matcher.subscription_ids.take(pa.array(found.links)).to_pylist()
    return set(zip(events, owners, strict=True))


def _stolen(town: Town, job: Job) -> Stolen:
    """What the one who was revoked can do with all sealed events in its hands."""
    out = town.home(REVOKED) / "stolen.parquet"
    found = open_events(_opening(town, REVOKED, out, None), job)
    return Stolen(REVOKED, found.opened, found.refused.get("NotEntitled", 0))


def _opening(town: Town, name: str, out: Path, matches: Path | None) -> OpenOrder:
    return OpenOrder(
        events=town.broker / EVENTS,
        wishes=town.wishes(name),
        name=name,
        directory=town.directory,
        out=out,
        matches=matches,
        keys=town.home(name),
    )
