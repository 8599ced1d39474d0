"""Figures of lines, clouds and curves, drawn with matplotlib.

Lines are means over the runs, bands one standard error to either side; clouds are single runs.
Lines that coincide are drawn as one, and a mean of a single run, where others are of more, has a
hollow marker. Colours are Okabe and Ito's, which the colour-blind can tell apart; every line has
its own marker.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from caddis.lab.figures.figures import Cell, Figure, Line, Sheets, Style, Values, cells_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

STYLES = tuple(
    map(
        Style,
        ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"),
        "osD^vPX",
    )
)
SIZE = (5.6, 4.0)
"""Inches of one figure."""
ABREAST = 3
"""At most so many figures of a sheet stand in one row; more stand two by two."""
FEW, WIDE = 6, 500
"""Up to this many xs are all marked; an axis with a wider range marks only powers of ten."""
MANY = 4
"""A figure with more lines than this needs space for their labels above them."""
FAINTEST = 1e-16
"""Probabilities below this are not drawn."""


def draw(
    figures: Sequence[Figure], values: Values, folder: Path, sheets: Sheets, *, dpi: int = 110
) -> list[Path]:
    """Draw a PNG for each figure and for each sheet; the paths of what was written."""
    written = [_save([figure], values, folder / file_of(figure), dpi) for figure in figures]
    for name, together in sheets.items():
        some = [figure for figure in figures if figure.name in together]
        if len(some) > 1:
            written.append(_save(some, values, folder / f"{name}.png", dpi))
    return written


def file_of(figure: Figure) -> str:
    """The name of a figure's file."""
    return f"figure-{figure.name}.png" if figure.name[0].isdigit() else f"{figure.name}.png"


def _save(figures: Sequence[Figure], values: Values, path: Path, dpi: int) -> Path:
    from matplotlib.figure import Figure as Canvas

    columns = len(figures) if len(figures) <= ABREAST else 2
    rows = -(-len(figures) // columns)
    canvas = Canvas(figsize=(SIZE[0] * columns, SIZE[1] * rows), layout="constrained")
    panels = canvas.subplots(rows, columns, squeeze=False).ravel()
    for panel, figure in zip(panels, figures, strict=False):
        draw_panel(panel, figure, values)
    for spare in panels[len(figures) :]:
        spare.remove()
    canvas.savefig(path, dpi=dpi)
    return path


def draw_panel(panel: Axes, figure: Figure, values: Values) -> None:
    """Draw the lines, bands, clouds and curves of one figure."""
    for number, (lines, some) in enumerate(distinct(figure, values)):
        style = lines[0].style or STYLES[number % len(STYLES)]
        _draw_line(panel, figure, lines, some, style)
    _draw_curves(panel, figure, values)
    if figure.level is not None:
        panel.axhline(figure.level, color="black", linewidth=0.8, linestyle="--")
    panel.set_title(f"{figure.name}: {figure.title}", fontsize="medium")
    panel.set_xlabel(figure.axis)
    panel.set_ylabel(f"{figure.unit}\n{figure.note}" if figure.note else figure.unit)
    _scale(panel, figure, values)
    panel.grid(alpha=0.3)
    panel.legend(fontsize="small", framealpha=0.6)


def _draw_line(
    panel: Axes, figure: Figure, lines: Sequence[Line], some: Sequence[Cell], style: Style
) -> None:
    colour, marker = style
    label = in_one([line.label for line in lines])
    x, y = np.array([cell.x for cell in some]), np.array([cell.mean for cell in some])
    if figure.log_y:
        y = np.where(y > 0, y, np.nan)
    [drawn] = panel.plot(x, y, color=colour, marker=marker, markersize=5, label=label)
    if lines[0].against:
        pooled = lines[0].pooled
        drawn.set(linestyle="", markersize=8 if pooled else 4, alpha=1.0 if pooled else 0.6)
        return
    error = np.array([cell.error for cell in some])
    panel.fill_between(x, y - error, y + error, color=colour, alpha=0.2, linewidth=0)
    lone = np.array([cell.runs == 1 < max(one.runs for one in some) for cell in some], bool)
    panel.plot(x[lone], y[lone], marker, color=colour, markersize=5, markerfacecolor="white")


def _draw_curves(panel: Axes, figure: Figure, values: Values) -> None:
    """Join the points of pooled lines that belong to one curve, each with its note."""
    curves: dict[str, list[tuple[Line, Cell]]] = {}
    for line in figure.lines:
        if line.curve:
            points = [(line, cell) for cell in cells_of(line, values)]
            curves.setdefault(line.curve, []).extend(points)
    for name, points in curves.items():
        if not points:
            continue
        colour, marker = points[0][0].style or STYLES[0]
        way = sorted((cell.x, cell.mean) for _, cell in points)
        panel.plot(*zip(*way, strict=True), color=colour, marker=marker, label=name)
        for line, cell in points:
            panel.annotate(
                line.note,
                (cell.x, cell.mean),
                textcoords="offset points",
                xytext=(0, 6),
                rotation=60,
                fontsize=7,
                color=colour,
            )


def distinct(figure: Figure, values: Values) -> list[tuple[list[Line], list[Cell]]]:
    """What is drawn as a line of its own: lines with the same means are one."""
    found: dict[tuple[object, ...], tuple[list[Line], list[Cell]]] = {}
    for line in figure.lines:
        if line.curve:
            continue
        some = cells_of(line, values)
        means = tuple((cell.x, cell.mean) for cell in some)
        same = means if means and not line.against else (line,)
        found.setdefault(same, ([], some))[0].append(line)
    return list(found.values())


def in_one(labels: Sequence[str]) -> str:
    """The label of lines that are drawn as one.

    >>> in_one(["if they pay, k = 5", "if they pay, k = 10", "if they pay, k = 20"])
    'if they pay, k = 5, 10, 20'
    """
    heads = {label.rpartition(" ")[0] for label in labels}
    if len(heads) > 1:
        return "; ".join(labels)
    return ", ".join([labels[0], *(label.rpartition(" ")[2] for label in labels[1:])])


def _scale(panel: Axes, figure: Figure, values: Values) -> None:
    """Give the axes plain numbers; where few places were measured, mark exactly these."""
    from matplotlib.ticker import NullFormatter

    if figure.log_x:
        panel.set_xscale("log")
        _plain(panel.xaxis)
        xs = {cell.x for line in figure.lines for cell in cells_of(line, values)}
        if len(xs) <= FEW:
            panel.set_xticks(sorted(xs))
            panel.xaxis.set_minor_formatter(NullFormatter())
    if not figure.log_y:
        if figure.level is None:
            panel.set_ylim(0, _top(figure, panel.dataLim.y1))
        return
    panel.set_yscale("log")
    panel.set_ylim(top=panel.get_ylim()[1] * figure.headroom)
    if figure.unit == "probability":
        panel.set_ylim(FAINTEST, 2)
    else:
        _plain(panel.yaxis)


def _top(figure: Figure, largest: float) -> float:
    if figure.most is not None:
        return 1.05 * figure.most
    return largest * (1.3 if len(figure.lines) > MANY else 1.05)


def _plain(axis: Axis) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    steps = (1, 2, 5) if high < WIDE * low else (1,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}")
    axis.set_minor_formatter(NullFormatter())
