"""The figures of the paper on local building blocks and ours, drawn with matplotlib.

Lines are means over the runs, bands one standard error to either side; clouds are single votes.
Colours are Okabe and Ito's, which the colour-blind can tell apart; every line has its own marker.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from caddis.lab.local_building_blocks_figures import Figure
from caddis.lab.local_building_blocks_results import Values, of_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"
SIZE = (5.6, 4.0)
SHEETS = {
    "figure-2": ("2a", "2b", "2c"),
    "ways": ("first", "upkeep", "pairs"),
    "votes": ("interests", "interests-upkeep"),
    "clusters": ("clustering", "convergence", "waves"),
}
"""Figures that are drawn side by side, too."""
FEW, WIDE = 6, 500
"""At most so many marks where they name all places; beyond this ratio, only powers of ten."""
MANY = 4
"""Beyond so many lines their names need room above."""
FAINTEST = 1e-16
"""Probabilities below this are not drawn."""


def draw(figures: Sequence[Figure], values: Values, folder: Path, *, dpi: int = 110) -> list[Path]:
    """A PNG for each figure, and one for each of SHEETS; the paths of what was written."""
    written = [_save([figure], values, folder / file_of(figure), dpi) for figure in figures]
    for name, together in SHEETS.items():
        some = [figure for figure in figures if figure.name in together]
        if len(some) > 1:
            written.append(_save(some, values, folder / f"{name}.png", dpi))
    return written


def file_of(figure: Figure) -> str:
    """The name of a figure's file."""
    return f"figure-{figure.name}.png" if figure.name[0].isdigit() else f"{figure.name}.png"


def _save(figures: Sequence[Figure], values: Values, path: Path, dpi: int) -> Path:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(SIZE[0] * len(figures), SIZE[1]), layout="constrained")
    panels = canvas.subplots(1, len(figures), squeeze=False).ravel()
    for panel, figure in zip(panels, figures, strict=True):
        _draw(panel, figure, values)
    canvas.savefig(path, dpi=dpi)
    return path


def _draw(panel: Axes, figure: Figure, values: Values) -> None:
    for number, line in enumerate(figure.lines):
        some = of_line(line, values)
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        x, y = np.array([cell.x for cell in some]), np.array([cell.mean for cell in some])
        if figure.log_y:
            y = np.where(y > 0, y, np.nan)
        if line.against:
            [cloud] = panel.plot(x, y, color=colour, marker=marker, label=line.label)
            cloud.set(linestyle="", markersize=4, alpha=0.6)
            continue
        error = np.array([cell.error for cell in some])
        panel.plot(x, y, color=colour, marker=marker, markersize=5, label=line.label)
        panel.fill_between(x, y - error, y + error, color=colour, alpha=0.2, linewidth=0)
    panel.set_title(f"{figure.name}: {figure.title}", fontsize="medium")
    panel.set_xlabel(figure.axis)
    panel.set_ylabel(figure.unit)
    _scale(panel, figure, values)
    panel.grid(alpha=0.3)
    panel.legend(fontsize="small", framealpha=0.6)


def _scale(panel: Axes, figure: Figure, values: Values) -> None:
    """Axes with plain numbers; where few places were measured, these are the marks."""
    from matplotlib.ticker import NullFormatter

    if figure.log_x:
        panel.set_xscale("log")
        _plain(panel.xaxis)
        xs = {cell.x for line in figure.lines for cell in of_line(line, values)}
        if len(xs) <= FEW:
            panel.set_xticks(sorted(xs))
            panel.xaxis.set_minor_formatter(NullFormatter())
    if not figure.log_y:
        room = 1.3 if len(figure.lines) > MANY else 1.05
        panel.set_ylim(0, panel.dataLim.y1 * room)
        return
    panel.set_yscale("log")
    if figure.unit == "probability":
        panel.set_ylim(FAINTEST, 2)
    else:
        _plain(panel.yaxis)


def _plain(axis: Axis) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    steps = (1, 2, 5) if high < WIDE * low else (1,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}")
    axis.set_minor_formatter(NullFormatter())
