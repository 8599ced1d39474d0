"""Figure 3 and the frontier, drawn with matplotlib from the runs of `adaptive_filtering`.

Lines are means over the runs, bands one standard error to either side. Colours are Okabe and Ito's,
which the colour-blind can tell apart; every policy has its own marker, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from caddis.lab.adaptive_filtering.figures import Figure, Measure, Run
from caddis.lab.adaptive_filtering.results import Cell, cells
from caddis.lab.simulators import Mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

STYLES = {
    "air": ("#D55E00", "s"),
    "ail": ("#E69F00", "^"),
    "mec": ("#56B4E9", "v"),
    "emec": ("#0072B2", "o"),
    "eager": ("#CC79A7", "P"),
    "frontier": ("#009E73", "D"),
}
OTHER = ("#000000", "x")
AXES: dict[Measure, str] = {
    "delay": "processing delay (ms an event)",
    "cost": "models in all brokers (ms an event)",
}
SIZE = (5.6, 4.0)


def draw(
    figures: Sequence[Figure], runs: Sequence[Run], mean: Mean, folder: Path, *, dpi: int = 110
) -> list[Path]:
    """A PNG for each figure, and one of all that have an axis; the paths of what was written."""
    lines = [figure for figure in figures if figure.axis is not None]
    written = [_save([figure], runs, mean, folder / file_of(figure), dpi) for figure in figures]
    if len(lines) > 1:
        written.append(_save(lines, runs, mean, folder / "figure-3.png", dpi))
    return written


def file_of(figure: Figure) -> str:
    """The name of a figure's file."""
    return f"figure-{figure.name}.png" if figure.axis is not None else f"{figure.name}.png"


def _save(figures: Sequence[Figure], runs: Sequence[Run], mean: Mean, path: Path, dpi: int) -> Path:
    from matplotlib.figure import Figure as Canvas

    columns = min(2, len(figures))
    rows = -(-len(figures) // columns)
    canvas: Canvas = Canvas(figsize=(SIZE[0] * columns, SIZE[1] * rows), layout="constrained")
    panels = canvas.subplots(rows, columns, squeeze=False).ravel()
    for panel, figure in zip(panels, figures, strict=False):
        if figure.axis is None:
            _frontier(panel, figure, runs)
        else:
            _lines(panel, figure, runs, mean)
    for spare in panels[len(figures) :]:
        spare.remove()
    canvas.savefig(path, dpi=dpi)
    return path


def _lines(panel: Axes, figure: Figure, runs: Sequence[Run], mean: Mean) -> None:
    """A policy a line, against the figure's axis."""
    for policy, some in _by_policy(figure, cells(figure, runs, mean)):
        colour, marker = _style(policy)
        x = np.array([cell.x for cell in some])
        y = np.array([cell.mean for cell in some])
        error = np.array([cell.error for cell in some])
        panel.plot(x, y, color=colour, marker=marker, markersize=5, label=policy)
        panel.fill_between(x, y - error, y + error, color=colour, alpha=0.2, linewidth=0)
    panel.set_title(f"{figure.name}: {figure.title}", fontsize="medium")
    panel.set_xlabel(f"{figure.axis}")
    by = f"\nmean over {mean}" if figure.measure == "delay" else ""
    panel.set_ylabel(AXES[figure.measure] + by)
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)
    _finish(panel)


def _frontier(panel: Axes, figure: Figure, runs: Sequence[Run]) -> None:
    """Delay against cost: the policies as points, and a curve of those with a knob."""
    from matplotlib.ticker import LogLocator, NullFormatter

    delays = {cell.policy: cell for cell in cells(figure, runs, "notifications", "delay")}
    costs = {cell.policy: cell for cell in cells(figure, runs, "notifications", "cost")}
    curve = [policy for policy in delays if policy.startswith("frontier")]
    for policy in [policy for policy in delays if policy not in curve]:
        colour, marker = _style(policy)
        at = costs[policy].mean, delays[policy].mean
        panel.plot(*at, color=colour, marker=marker, markersize=8, linestyle="", label=policy)
    colour, marker = _style("frontier")
    way = sorted((costs[policy].mean, delays[policy].mean) for policy in curve)
    if way:
        panel.plot(
            *zip(*way, strict=True), color=colour, marker=marker, label="frontier, by patience"
        )
    for policy in curve:
        note = policy.partition("@")[2]
        panel.annotate(
            f"{note} ms" if note else "its default",
            (costs[policy].mean, delays[policy].mean),
            textcoords="offset points",
            xytext=(0, 6),
            rotation=60,
            fontsize=7,
            color=colour,
        )
    panel.set_title(f"{figure.name}: {figure.title}", fontsize="medium")
    panel.set_xlabel(AXES["cost"])
    panel.set_ylabel(f"{AXES['delay']}\nmean over notifications")
    panel.set(xscale="log", yscale="log")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:,.0f}")
        axis.set_minor_formatter(NullFormatter())
    _finish(panel)


def _finish(panel: Axes) -> None:
    panel.grid(alpha=0.3)
    panel.legend(fontsize="small", framealpha=0.6)


def _by_policy(figure: Figure, some: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    for policy in figure.policies:
        own = [cell for cell in some if cell.policy == policy]
        if own:
            yield policy, own


def _style(policy: str) -> tuple[str, str]:
    return STYLES.get(policy.partition("@")[0], OTHER)
