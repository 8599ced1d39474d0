"""The parties of the sealed marketplace, and the folders in which each keeps its own.

authority/            its secrets
directory.json        what everybody may know
quay/, market/        publishers: identity, keys, plain offers
ann/, bo/, cy/, dee/  subscribers: identity, keys, plain wishes, what they opened
broker/               sealed events, sealed subscriptions, a copy of the directory; no key
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from caddis.lab.workloads import MARKETPLACE_SCHEMA, marketplace_events, marketplace_subscriptions
from caddis.sealed import Scheme, StreamDesign
from caddis.sealed.keys import Authority, Identity, change_authority, create_authority

STREAM = "offers"
PUBLISHERS = ("quay", "market")
SUBSCRIBERS = ("ann", "bo", "cy", "dee")
REVOKED = "dee"
VALUES = 11
"""An offer has six columns with one value each, and at most four tags; its id is none of them."""

SCHEMA = MARKETPLACE_SCHEMA.remove(MARKETPLACE_SCHEMA.get_field_index("event_id"))


@dataclass(frozen=True, slots=True)
class Town:
    """Where everybody keeps their files."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The authority's file."""
        return self.folder / "authority" / "authority.json"

    @property
    def directory(self) -> Path:
        """What everybody may know."""
        return self.folder / "directory.json"

    @property
    def broker(self) -> Path:
        """The broker's folder."""
        return self.folder / "broker"

    def home(self, name: str) -> Path:
        """A party's folder."""
        return self.folder / name

    def offers(self, publisher: str, epoch: int) -> Path:
        """What it publishes in an epoch."""
        return self.home(publisher) / f"offers-{epoch}.parquet"

    def wishes(self, subscriber: str) -> Path:
        """What it wants."""
        return self.home(subscriber) / "wishes.csv"


@dataclass(frozen=True, slots=True)
class Plain:
    """Offers by epoch, and wishes by subscriber."""

    offers: dict[int, pa.Table]
    wishes: dict[str, pa.Table]


def settle(town: Town, scheme: Scheme) -> None:
    """An authority with one stream, and everybody registered and granted what they need."""
    for name in ("authority", "broker", *PUBLISHERS, *SUBSCRIBERS):
        (town.folder / name).mkdir(parents=True)
    design = StreamDesign.of(STREAM, SCHEMA, values=VALUES, scheme=scheme)
    authority = Authority.new(os.urandom).add_stream(design, os.urandom)
    for name in (*PUBLISHERS, *SUBSCRIBERS):
        identity = Identity.new(name, os.urandom)
        identity.write(town.home(name) / f"{name}.identity.json")
        authority = authority.register(identity.public)
        authority = authority.grant(
            name, STREAM, "publisher" if name in PUBLISHERS else "subscriber"
        )
    create_authority(town.authority, authority)
    issue(town, authority)


def change(town: Town, what: Callable[[Authority], Authority]) -> None:
    """Let the authority change something, and tell everybody."""
    issue(town, change_authority(town.authority, what)[1])


def issue(town: Town, authority: Authority) -> None:
    """Bundles for all, and the directory, of which the broker has a copy."""
    for name in authority.parties:
        authority.issue(name).write(town.home(name) / f"{name}.keys.json")
    authority.directory().write(town.directory)
    shutil.copyfile(town.directory, town.broker / town.directory.name)


def make_up(town: Town, offers: int, wishes: int, seed: int) -> Plain:
    """Offers and wishes, in the files of those whose they are."""
    events = marketplace_events(offers, seed)
    first = -(-offers // 2)
    by_epoch = {1: events.slice(0, first), 2: events.slice(first)}
    for epoch, table in by_epoch.items():
        for place, name in enumerate(PUBLISHERS):
            rows = np.arange(place, len(table), len(PUBLISHERS))
            pq.write_table(table.take(pa.array(rows)), town.offers(name, epoch))
    texts = marketplace_subscriptions(wishes, seed)["where"]
    mine = {}
    for place, name in enumerate(SUBSCRIBERS):
        wheres = texts.take(pa.array(np.arange(place, wishes, len(SUBSCRIBERS))))
        ids = [f"{name}-{number:05d}" for number in range(len(wheres))]
        mine[name] = pa.table({"subscription_id": ids, "where": wheres})
        csv.write_csv(mine[name], town.wishes(name))
    return Plain(by_epoch, mine)
