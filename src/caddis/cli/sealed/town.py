"""The parties of the demo, the folders in which each keeps its own files, and what goes wrong.

authority/            its secrets
directory.json        what everybody may know
quay/, market/        publishers: identity, keys, plain offers
ann/, bo/, cy/, dee/  subscribers: identity, keys, plain subscriptions, what they opened
broker/               sealed events, sealed subscriptions, a copy of the directory; no key
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from caddis.sealed import StreamDesign
from caddis.sealed.keys import Authority, Change, Identity, Role, change_authority, create_authority

PUBLISHERS = ("quay", "market")
SUBSCRIBERS = ("ann", "bo", "cy", "dee")
REVOKED = "dee"

ATTACKS = {
    "TamperedEvent": "a copy whose payload was changed",
    "UnknownPublisher": "a copy under another name",
    "TruncatedEvent": "a copy that was cut short",
    "ReplayedEvent": "the same event once more",
}
"""What is tried on the way to the broker, by the error that it is refused with."""

STRANGER = "mallory"


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
        """The authority's public directory."""
        return self.folder / "directory.json"

    @property
    def broker(self) -> Path:
        """The broker's folder."""
        return self.folder / "broker"

    def home(self, name: str) -> Path:
        """A party's folder."""
        return self.folder / name

    def offers(self, publisher: str, epoch: int) -> Path:
        """The plain offers that a publisher seals in an epoch."""
        return self.home(publisher) / f"offers-{epoch}.parquet"

    def subscriptions(self, subscriber: str) -> Path:
        """A subscriber's plain subscriptions."""
        return self.home(subscriber) / "subscriptions.csv"


def settle(town: Town, design: StreamDesign) -> None:
    """Create an authority with one stream, register everybody and grant them the stream."""
    for name in ("authority", "broker", *PUBLISHERS, *SUBSCRIBERS):
        (town.folder / name).mkdir(parents=True)
    authority = Authority.new(os.urandom).add_stream(design, os.urandom)
    for name in (*PUBLISHERS, *SUBSCRIBERS):
        identity = Identity.new(name, os.urandom)
        identity.write(town.home(name) / f"{name}.identity.json")
        authority = authority.register(identity.public)
        role: Role = "publisher" if name in PUBLISHERS else "subscriber"
        authority = authority.grant(name, design.stream, role)
    create_authority(town.authority, authority)
    hand_out(town, authority)


def change(town: Town, what: Change) -> None:
    """Change the authority, and hand out what follows from it."""
    hand_out(town, change_authority(town.authority, what)[1])


def hand_out(town: Town, authority: Authority) -> None:
    """Give everybody their keys, and the broker a copy of the directory."""
    for name in authority.parties:
        authority.issue(name).write(town.home(name) / f"{name}.keys.json")
    authority.directory().write(town.directory)
    shutil.copyfile(town.directory, town.broker / town.directory.name)


def with_attacks(sealed: pa.Table) -> pa.Table:
    """The sealed events, followed by one attack of each kind on the first of them."""
    [victim] = sealed.slice(0, 1).to_pylist()
    payload = bytes([*victim["payload"][:-1], victim["payload"][-1] ^ 1])
    attacks = [
        {**victim, "payload": payload},
        {**victim, "publisher": STRANGER},
        {**victim, "signature": victim["signature"][:10]},
        victim,
    ]
    return pa.concat_tables([sealed, pa.Table.from_pylist(attacks, sealed.schema)])
