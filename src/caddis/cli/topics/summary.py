"""What a clustering of topics has found, for a person and for a machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.text import Text

from caddis.arrays import Int64s
from caddis.cli.shell import count, show_rows, show_titled, text_table
from caddis.cli.topics.order import ClusterOrder
from caddis.lab.figures import CurvePoint

if TYPE_CHECKING:
    from caddis.spark.topics import ClusteringReport

QUANTILES = (0.5, 0.9, 0.99)
ENDED = {
    "rest": "no topic wants to move",
    "little": "the last ones gained little",
    "kept": "they would save too little: the map stays",
    "limit": "as many as may be; more might save more",
}


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """Costs, who filters how much, and where the files are."""

    order: ClusterOrder
    report: ClusteringReport
    shares: Int64s
    """How many subscribers do not want 0, up to 1, ..., up to 100 % of what they receive."""
    curve: list[CurvePoint]
    files: tuple[str, ...]
    seconds: float

    def unwanted(self, quantile: float) -> int:
        """So many subscribers filter no more than this, in % of what they receive."""
        reached = np.cumsum(self.shares) >= quantile * self.shares.sum()
        return int(reached.argmax())

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        report = self.report
        return {
            "subscribers": int(self.shares.sum()),
            "topics": report.topics,
            "interests": report.interests,
            "channels": self.order.channels,
            "random_cost": report.random_cost,
            "start_cost": report.start_cost,
            "cost": report.cost,
            "saved": round(report.saved, 4),
            "wanted_rate": report.wanted_rate,
            "at_rest": report.at_rest,
            "ended": report.ended,
            "unwanted_percent": {f"p{q * 100:.0f}": self.unwanted(q) for q in QUANTILES},
            "curve": [point._asdict() for point in self.curve],
            "waves": [asdict(wave) for wave in report.waves],
            "seconds_by_phase": {name: round(s, 3) for name, s in report.seconds.items()},
            "seconds": round(self.seconds, 3),
            "out": self.order.out,
            "files": self.files,
        }

    def show(self, console: Console) -> None:
        """The closing summary."""
        report = self.report
        p50, p90, _ = (self.unwanted(quantile) for quantile in QUANTILES)
        rows = [
            ("subscribers", f"{self.shares.sum():,}", f"{report.interests:,} interests"),
            ("topics", f"{report.topics:,}", f"in {count(self.order.channels, 'channel')}"),
            ("cost at random", f"{report.random_cost:,.4g}", "rate of all that comes unwanted"),
            ("cost", f"{report.cost:,.4g}", f"{report.saved:.1%} saved"),
            ("unwanted", f"{p50} %", f"of what a subscriber receives (median); 9 of 10: ≤ {p90} %"),
            ("waves", f"{len(report.waves):,}", f"{self._ended()}; {self.seconds:.0f} s in all"),
        ]
        show_rows(console, rows)
        if len(self.curve) > 1:
            self._show_curve(console)
        console.print(Text(f"\nIn {self.order.out}: {', '.join(self.files)}"))

    def _ended(self) -> str:
        return ENDED[self.report.ended] if self.report.ended else "none"

    def _show_curve(self, console: Console) -> None:
        table = text_table("channels", "cost", "at random", "saved", texts=())
        for point in self.curve:
            costs = f"{point.cost:,.4g}", f"{point.random_cost:,.4g}", f"{point.saved:.1%}"
            table.add_row(f"{point.channels:,}", *costs)
        show_titled("Cost by number of channels", table, console)
