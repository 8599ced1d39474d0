"""What somebody between publishers and broker may try: forged copies of sealed events.

How `caddis sealed demo` tells its end: who received what, what was refused, what it took.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from caddis.cli.sealed.files import reason
from caddis.cli.shell import short, show_rows, show_titled, text_table

ATTACKS = {
    "TamperedEvent": "a copy whose payload was changed",
    "UnknownPublisher": "a copy under another name",
    "TruncatedEvent": "a copy that was cut short",
    "ReplayedEvent": "the same event once more",
}
"""By the error that each is refused with."""

STRANGER = "mallory"


def with_attacks(sealed: pa.Table) -> pa.Table:
    """The sealed events, and behind them the attacks on the first of them."""
    [victim] = sealed.slice(0, 1).to_pylist()
    payload = bytes([*victim["payload"][:-1], victim["payload"][-1] ^ 1])
    attacks = [
        {**victim, "payload": payload},
        {**victim, "publisher": STRANGER},
        {**victim, "signature": victim["signature"][:10]},
        victim,
    ]
    return pa.concat_tables([sealed, pa.Table.from_pylist(attacks, sealed.schema)])


@dataclass(frozen=True, slots=True)
class Received:
    """What a subscriber was sent by the broker, kept after its own check, and should have."""

    subscriber: str
    wishes: int
    sent: int
    kept: int
    plain: int
    equal: bool
    """Whether it kept exactly what plain matching finds, match by match."""


@dataclass(frozen=True, slots=True)
class BrokerTold:
    """What the broker's process told."""

    events: int
    refused: dict[str, int]
    subscriptions: int
    matches: int
    pairs: int
    inspected: int
    tests: int
    products: int
    matching_seconds: float

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> BrokerTold:
        """From what `caddis sealed match --json` prints."""
        return cls(**{one.name: told[one.name] for one in fields(cls)})


@dataclass(frozen=True, slots=True)
class Stolen:
    """What somebody who was revoked could make of all sealed events."""

    subscriber: str
    opened: int
    locked: int


@dataclass(frozen=True, slots=True)
class DemoSummary:
    """What the demo found."""

    folder: Path
    scheme: str
    received: tuple[Received, ...]
    broker: BrokerTold
    stolen: Stolen
    seconds: float

    @property
    def equal(self) -> bool:
        """Whether everybody has exactly what plain matching would have given them."""
        return all(one.equal for one in self.received)

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            "folder": self.folder,
            "scheme": self.scheme,
            "received": [asdict(one) for one in self.received],
            "broker": asdict(self.broker),
            "stolen": asdict(self.stolen),
            "equal": self.equal,
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """Tables for all three questions, and what the revoked one can still read."""
        self._show_received(console)
        self._show_refused(console)
        self._show_work(console)
        stolen = self.stolen
        console.print(
            Text(
                f"\nWith every sealed event in its hands, {stolen.subscriber} can open the "
                f"{stolen.opened:,} of the epoch in\nwhich it was entitled, and none of the "
                f"{stolen.locked:,} after it was revoked."
            )
        )
        console.print(Text(f"The files of all parties are in {self.folder}."), soft_wrap=True)

    def _show_received(self, console: Console) -> None:
        table = text_table(
            "subscriber",
            "wishes",
            "sent by the broker",
            "kept",
            "plain matching",
            "equal",
            texts=(0, 5),
        )
        for one in self.received:
            numbers = (one.wishes, one.sent, one.kept, one.plain)
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
            table.add_row(attack, f"{self.broker.refused.get(kind, 0):,}", reason(kind))
        for kind, number in self.broker.refused.items():
            if kind not in ATTACKS:
                table.add_row("", f"{number:,}", reason(kind))
        show_titled("What the broker refused", table, console)

    def _show_work(self, console: Console) -> None:
        broker = self.broker
        share = broker.pairs / max(1, broker.tests)
        events = max(1, broker.events)
        rows = [
            ("sealed events", f"{broker.events:,}", f"scheme {self.scheme}"),
            ("sealed subscriptions", f"{broker.subscriptions:,}", ""),
            ("pairs", f"{broker.pairs:,}", "of an event and a subscription"),
            (
                "encrypted tests",
                f"{broker.tests:,}",
                f"{short(broker.tests / events)} an event; one for {share:,.0f} pairs",
            ),
            ("matches", f"{broker.matches:,}", "which subscribers then check for themselves"),
        ]
        show_rows(console, rows)
