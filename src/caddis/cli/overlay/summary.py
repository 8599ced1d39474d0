"""What the verbs show: the tree of brokers, what they did, and what a client asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from caddis.cli.overlay.preparing import PreparedOverlay, prepare_overlay
from caddis.cli.shell import count, text_table

if TYPE_CHECKING:
    from caddis.cli.overlay.command import ShowOptions
    from caddis.spark.overlay import BrokerReport

COUNTS = ("published", "received", "forwarded", "notified", "refused")


@dataclass(slots=True)
class OverlaySummary:
    """What the brokers of one process did since their folder was made; models since this start.

    began: when they started, by a monotonic clock.
    """

    folder: Path
    policy: str
    began: float
    reports: tuple[BrokerReport, ...] = ()
    seconds: float = 0.0

    def update(self, reports: tuple[BrokerReport, ...]) -> None:
        """Take in how far all brokers are."""
        self.reports = reports
        self.seconds = time.monotonic() - self.began

    def total(self, what: str) -> int:
        """The sum of one of `COUNTS` over all brokers."""
        return sum(int(getattr(report.totals, what)) for report in self.reports)

    @property
    def models(self) -> int:
        """How often models ran at all brokers."""
        return sum(report.models for report in self.reports)

    def in_words(self) -> str:
        """The progress in one line."""
        waits = {name for report in self.reports for name in report.waits_for}
        waits -= {report.name for report in self.reports}
        if waits:
            return f"waiting for {', '.join(sorted(waits))}"
        return (
            f"{self.total('published'):,} published, {self.total('forwarded'):,} forwarded, "
            f"{self.total('notified'):,} notified, {self.models:,} models run"
        )

    def as_json(self) -> dict[str, object]:
        """The summary as JSON."""
        brokers = [
            {
                "name": report.name,
                **asdict(report.totals),
                "models": report.models,
                "problems": report.problems,
                "refused_messages": [one.reason for one in report.refusals],
            }
            for report in self.reports
        ]
        return {
            **{name: self.total(name) for name in COUNTS},
            "models": self.models,
            "brokers": brokers,
            "policy": self.policy,
            "dir": self.folder,
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """Show a row for each broker, and their sum."""
        table = text_table("broker", *COUNTS, "models")
        for report in self.reports:
            numbers = [f"{getattr(report.totals, name):,}" for name in COUNTS]
            table.add_row(Text(report.name), *numbers, f"{report.models:,}")
        if len(self.reports) > 1:
            totals = [f"{self.total(name):,}" for name in COUNTS]
            table.add_row(Text("all"), *totals, f"{self.models:,}", style="bold")
        console.print()
        console.print(table)
        console.print(Text(f"\nnotifications are in {self.folder / 'notifications'}"))
        problems = sum(report.problems for report in self.reports)
        if problems:
            where = self.folder / "problems"
            console.print(Text(f"{problems:,} events that a model could not answer: see {where}"))
        if self.total("refused"):
            events = count(self.total("refused"), "event")
            where = self.folder / "refused"
            console.print(Text(f"{events} did not fit what was advertised; they are in {where}"))


def overlay_tree(options: ShowOptions) -> OverlayTree:
    """Check an overlay file, including its folders of events; Spark is not even imported."""
    prepared = prepare_overlay(options, options.policy)
    prepared.formats(options.format)
    return OverlayTree(prepared)


@dataclass(frozen=True, slots=True)
class OverlayTree:
    """What the file describes, once everything in it has been checked: a tree of text."""

    prepared: PreparedOverlay

    def as_json(self) -> dict[str, object]:
        """The tree as JSON."""
        prepared, topology = self.prepared, self.prepared.overlay.topology
        brokers = [
            {
                "name": broker.name,
                "neighbours": topology.neighbours(broker.name),
                "joins": broker.joins,
                "delay_ms": broker.delay_ms,
                "subscriptions": len(prepared.subscriptions[broker.name]),
                "publishes": broker.publishes,
                "advertises": broker.advertises,
            }
            for broker in prepared.overlay.brokers
        ]
        return {
            "policy": prepared.policy,
            "root": prepared.overlay.root,
            "schema": prepared.overlay.schema,
            "models": [model.name for model in prepared.models],
            "dir": prepared.options.folder,
            "brokers": brokers,
        }

    def show(self, console: Console) -> None:
        """Show the policy and the models, then the tree."""
        prepared = self.prepared
        names = ", ".join(model.name for model in prepared.models) or "none"
        console.print(Text(f"policy {prepared.policy}; models: {names}"))
        console.print()
        for line in self.lines():
            console.print(Text(line), soft_wrap=True)

    def lines(self) -> Iterator[str]:
        """A line for each broker, below the next one towards the root."""
        yield from self._below(self.prepared.overlay.root, "", "", "")

    def _below(self, name: str, above: str, first: str, rest: str) -> Iterator[str]:
        topology = self.prepared.overlay.topology
        delay = f"{topology.delay(name, above):g} ms ── " if above else ""
        yield f"{first}{delay}{name}  {self._details(name)}".rstrip()
        children = [other for other in topology.neighbours(name) if other != above]
        for child in children:
            last = child == children[-1]
            yield from self._below(
                child,
                name,
                rest + ("└── " if last else "├── "),
                rest + ("    " if last else "│   "),
            )

    def _details(self, name: str) -> str:
        broker = self.prepared.entry(name)
        details = []
        if self.prepared.subscriptions[name]:
            details.append(count(len(self.prepared.subscriptions[name]), "subscription"))
        if broker.publishes is not None:
            where = f" where {broker.advertises}" if broker.advertises else ""
            details.append(f"publishes {broker.publishes}{where}")
        return "; ".join(details)


@dataclass(frozen=True, slots=True)
class ClientSummary:
    """A subscription that was made or cancelled at a broker."""

    broker: str
    subscription_id: str
    where: str | None
    """None if it was cancelled."""

    def as_json(self) -> dict[str, object]:
        """The summary as JSON."""
        return asdict(self)

    def show(self, console: Console) -> None:
        """Show it in one line."""
        state = "is no longer subscribed" if self.where is None else "is subscribed"
        console.print(
            Text(f"{self.subscription_id} {state} at {self.broker} once the broker reads its log")
        )
