"""What a clustering of topics found: for a person, for a machine, and as plots.

Plots need matplotlib, which comes with the extra `lab`. Their colours are Okabe and Ito's, which
the colour-blind can tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.console import Console
from rich.text import Text

from caddis.arrays import Int64s
from caddis.cli.shell import count, show_rows, show_titled, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from caddis.spark.topics import ClusteringReport

QUANTILES = (0.5, 0.9, 0.99)
ENDED = {
    "rest": "no topic wants to move",
    "little": "the last ones gained little",
    "kept": "they would save too little, so the map stays",
    "limit": "as many as --waves allows; more might save more",
}
OURS, RANDOM = "#0072B2", "#D55E00"


class CurvePoint(NamedTuple):
    """What a number of channels costs, clustered and at random."""

    channels: int
    cost: float
    random_cost: float

    @property
    def saved(self) -> float:
        """The share of the random cost that is saved."""
        return 1 - self.cost / self.random_cost if self.random_cost else 0.0


@dataclass(slots=True)
class ClusterSummary:
    """What the channels cost, who filters how much, and where the files are.

    shares: how many subscribers do not want 0, up to 1, ..., up to 100 % of what they receive.
    curve: what each number of channels costs, in ascending order.
    """

    channels: int
    out: Path
    report: ClusteringReport
    shares: Int64s
    curve: list[CurvePoint]
    files: tuple[str, ...] = ()
    seconds: float = 0.0

    def unwanted(self, quantile: float) -> int:
        """The percentage of what they receive that this share of the subscribers stays below."""
        reached = np.cumsum(self.shares) >= quantile * self.shares.sum()
        return int(reached.argmax())

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        report = self.report
        return {
            "subscribers": int(self.shares.sum()),
            "topics": report.topics,
            "interests": report.interests,
            "channels": self.channels,
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
            "out": self.out,
            "files": self.files,
        }

    def show(self, console: Console) -> None:
        """The closing summary."""
        report = self.report
        p50, p90, _ = (self.unwanted(quantile) for quantile in QUANTILES)
        ended = ENDED[report.ended] if report.ended else "none"
        rows = [
            ("subscribers", f"{self.shares.sum():,}", f"{report.interests:,} interests"),
            ("topics", f"{report.topics:,}", f"in {count(self.channels, 'channel')}"),
            ("cost at random", f"{report.random_cost:,.4g}", "rate of all that comes unwanted"),
            ("cost", f"{report.cost:,.4g}", f"{report.saved:.1%} saved"),
            ("unwanted", f"{p50} %", f"of what a subscriber receives (median); 9 of 10: ≤ {p90} %"),
            ("waves", f"{len(report.waves):,}", f"{ended}; {self.seconds:.0f} s in all"),
        ]
        show_rows(console, rows)
        if len(self.curve) > 1:
            self._show_curve(console)
        console.print(Text(f"\nIn {self.out}: {', '.join(self.files)}"))

    def _show_curve(self, console: Console) -> None:
        table = text_table("channels", "cost", "at random", "saved", texts=())
        for point in self.curve:
            costs = f"{point.cost:,.4g}", f"{point.random_cost:,.4g}", f"{point.saved:.1%}"
            table.add_row(f"{point.channels:,}", *costs)
        show_titled("Cost by number of channels", table, console)


def draw_curve(points: Sequence[CurvePoint], path: Path) -> None:
    """Draw cost against the number of channels, clustered and at random."""
    k, ours, random = (np.array(values) for values in zip(*sorted(points), strict=True))
    canvas, panel = _panel()
    panel.plot(k, random, color=RANDOM, marker="s", markersize=5, label="at random")
    panel.plot(k, ours, color=OURS, marker="o", markersize=5, label="clustered")
    panel.set_xlabel("channels")
    panel.set_ylabel("rate of what is received and not wanted")
    panel.set_xscale("log")
    panel.set_xticks(k, [f"{value:,}" for value in k])
    panel.minorticks_off()
    panel.set_ylim(bottom=0)
    panel.legend()
    canvas.savefig(path, dpi=110)


def draw_filtering(shares: Int64s, path: Path) -> None:
    """Draw who filters how much; `shares` are those of a `ClusterSummary`."""
    total = max(1, int(shares.sum()))
    canvas, panel = _panel()
    panel.bar(np.arange(101), 100 * shares / total, width=1.0, color=OURS, alpha=0.6)
    panel.set_xlabel("unwanted, % of the rate that a subscriber receives")
    panel.set_ylabel("subscribers, %")
    panel.set_xlim(-1, 101)
    above = panel.twinx()
    above.step(np.arange(101), 100 * np.cumsum(shares) / total, where="post", color="black")
    above.set_ylabel("subscribers with no more than this, %")
    above.set_ylim(0, 101)
    canvas.savefig(path, dpi=110)


def _panel() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(5.6, 4.0), layout="constrained")
    panel = canvas.subplots()
    panel.grid(alpha=0.3)
    return canvas, panel
