"""`caddis sealed subscriptions`: a subscriber's WHERE clauses become sealed ones.

In files they are texts, so that any format can hold them and everything that reads subscriptions
can read these, too.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
from rich.console import Console

from caddis.cli.sealed.files import check_free, check_named, write_table
from caddis.cli.sealed.keys import one_stream, read_ring
from caddis.cli.shell import Job, count, show_rows
from caddis.errors import SubscriptionError, SubscriptionTableError
from caddis.files import existing, read_subscriptions
from caddis.sealed import SubscriptionSealer
from caddis.sealed.clauses import as_text, join
from caddis.sealed.keys import KeyRing

EPOCHS = 2
"""How many of the newest epochs subscriptions are sealed for, if nothing else is said: so they
match what is on its way while a stream is rotated."""


@dataclass(frozen=True, slots=True)
class SubscriptionOrder:
    """The options as they were given."""

    subscriptions: Path
    name: str
    out: Path
    keys: Path = Path()
    stream: str | None = None
    epochs: tuple[int, ...] = ()
    on_invalid: Literal["raise", "report"] = "raise"
    overwrite: bool = False
    authority: str | None = None


@dataclass(frozen=True, slots=True)
class SealedSubscriptionsSummary:
    """What was sealed, and what could not be."""

    subscriber: str
    stream: str
    epochs: tuple[int, ...]
    subscriptions: int
    invalid: tuple[SubscriptionError, ...]
    out: Path
    bytes: int
    seconds: float
    authority: str

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            "subscriber": self.subscriber,
            "authority": self.authority,
            "stream": self.stream,
            "epochs": self.epochs,
            "subscriptions": self.subscriptions,
            "invalid": [
                {"subscription_id": error.subscription_id, "error": str(error)}
                for error in self.invalid
            ],
            "out": self.out,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """The closing summary."""
        epochs = ", ".join(map(str, self.epochs))
        size = f"{self.bytes / max(1, self.subscriptions):,.0f} bytes each, in {self.out}"
        rows = [
            ("stream", self.stream, f"epoch {epochs}, subscriber {self.subscriber}"),
            ("keys", "", f"of authority {self.authority}"),
            ("sealed subscriptions", f"{self.subscriptions:,}", size),
        ]
        if self.invalid:
            rows.append(("invalid", f"{len(self.invalid):,}", "left out:"))
        show_rows(console, rows)
        for error in self.invalid:
            console.print(str(error), markup=False)


def seal_subscriptions(order: SubscriptionOrder, job: Job) -> SealedSubscriptionsSummary:
    """Seal all subscriptions of a file."""
    began = time.monotonic()
    check_free(order.out, overwrite=order.overwrite)
    check_named(order.out)
    plain = read_subscriptions(existing(order.subscriptions, SubscriptionTableError))
    ring = read_ring(order.keys, order.name, order.authority)
    stream = one_stream(ring, "subscriber", order.stream)
    epochs = order.epochs or ring.epochs(stream, "subscriber")[-EPOCHS:]
    with job.screen.step(f"Sealing {count(len(plain), 'subscription')}") as step:
        sealed, invalid = _sealed(ring, stream, epochs, plain, order.on_invalid)
        write_table(sealed, order.out)
        step.done = f"{count(len(sealed), 'subscription')} sealed"
    return SealedSubscriptionsSummary(
        subscriber=ring.name,
        stream=stream,
        epochs=tuple(sorted(set(epochs))),
        subscriptions=len(sealed),
        invalid=invalid,
        out=order.out,
        bytes=order.out.stat().st_size,
        seconds=time.monotonic() - began,
        authority=ring.fingerprint,
    )


def _sealed(
    ring: KeyRing,
    stream: str,
    epochs: tuple[int, ...],
    plain: pa.Table,
    on_invalid: Literal["raise", "report"],
) -> tuple[pa.Table, tuple[SubscriptionError, ...]]:
    """For all epochs together, as texts; a design is the same in all, and so is what is invalid."""
    parts = [
        SubscriptionSealer(ring.subscriber_keys(stream, epoch), randomness=os.urandom).seal(
            plain, on_invalid=on_invalid
        )
        for epoch in sorted(set(epochs))
    ]
    blobs = zip(*(part.table["where"].to_pylist() for part in parts), strict=True)
    texts = pa.array([as_text(join(one)) for one in blobs], pa.string())
    ids = parts[0].table["subscription_id"]
    return pa.table({"subscription_id": ids, "where": texts}), tuple(parts[0].invalid)
