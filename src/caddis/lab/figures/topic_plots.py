"""Pictures of a clustering of topics: what channels cost, and who filters how much.

Needs matplotlib, of the extra `lab`. Colours are Okabe and Ito's, which the colour-blind can tell
apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from caddis.arrays import Int64s

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, RANDOM = "#0072B2", "#D55E00"
SIZE = (5.6, 4.0)
DPI = 110


class CurvePoint(NamedTuple):
    """What a number of channels costs, clustered and at random."""

    channels: int
    cost: float
    random_cost: float

    @property
    def saved(self) -> float:
        """The share of the random assignment's cost."""
        return 1 - self.cost / self.random_cost if self.random_cost else 0.0


def draw_curve(points: Sequence[CurvePoint], path: Path) -> Path:
    """Cost against the number of channels, ours and at random."""
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
    return _saved(canvas, path)


def draw_filtering(shares: Int64s, path: Path) -> Path:
    """Who filters how much.

    shares: how many subscribers do not want 0, up to 1, ..., up to 100 % of what they receive.
    """
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
    return _saved(canvas, path)


def _panel() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=SIZE, layout="constrained")
    panel = canvas.subplots()
    panel.grid(alpha=0.3)
    return canvas, panel


def _saved(canvas: Figure, path: Path) -> Path:
    canvas.savefig(path, dpi=DPI)
    return path
