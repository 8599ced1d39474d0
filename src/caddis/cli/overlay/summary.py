"""What brokers have done, as a table with a row for each."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from caddis.cli.shell import count, text_table

if TYPE_CHECKING:
    from caddis.spark.overlay import BrokerReport

COUNTS = ("published", "received", "forwarded", "notified", "refused")


@dataclass(slots=True)
class OverlaySummary:
    """The brokers of one process, since their folder was made; models since this start."""

    folder: Path
    policy: str
    began: float
    reports: tuple[BrokerReport, ...] = ()
    seconds: float = 0.0

    def update(self, reports: tuple[BrokerReport, ...]) -> None:
        """Take in how far all are."""
        self.reports = reports
        self.seconds = time.monotonic() - self.began

    def total(self, what: str) -> int:
        """Over all brokers."""
        return sum(int(getattr(report.totals, what)) for report in self.reports)

    @property
    def models(self) -> int:
        """Runs of models at all brokers."""
        return sum(report.models for report in self.reports)

    def in_words(self) -> str:
        """One line."""
        waits = {name for report in self.reports for name in report.waits_for}
        waits -= {report.name for report in self.reports}
        if waits:
            return f"waiting for {', '.join(sorted(waits))}"
        return (
            f"{self.total('published'):,} published, {self.total('forwarded'):,} forwarded, "
            f"{self.total('notified'):,} notified, {self.models:,} models run"
        )

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
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
        """A row a broker, and their sum."""
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
            console.print(Text(f"{problems:,} events without an answer from a model, in {where}"))
        if self.total("refused"):
            events = count(self.total("refused"), "event")
            where = self.folder / "refused"
            console.print(Text(f"{events} against what was advertised, put aside in {where}"))
