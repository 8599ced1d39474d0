"""The tables of `caddis lab`: a line a row, an x a column."""

from __future__ import annotations

import numpy as np
from rich.console import Console

from caddis.cli.shell import show_titled, text_table
from caddis.lab.figures import Figure, Line, Values, of_line

NOTHING = "–"


def show_figure(console: Console, figure: Figure, values: Values) -> None:
    """Means over the runs; of clouds, how hard the votes were and what they took."""
    lines = [line for line in figure.lines if not line.against]
    clouds = [line for line in figure.lines if line.against]
    title = f"{figure.name}: {figure.title}"
    if clouds:
        _show_clouds(console, f"{title} ({figure.unit})", clouds, values)
        return
    found = {line: {cell.x: cell.mean for cell in of_line(line, values)} for line in lines}
    xs = sorted({x for of in found.values() for x in of})
    table = text_table(figure.axis, *(f"{x:,g}" if x < 1e4 else f"{x:,.0f}" for x in xs))
    for line, of in found.items():
        table.add_row(line.label, *(told(of[x]) if x in of else NOTHING for x in xs))
    show_titled(f"{title} ({figure.unit})", table, console)


def _show_clouds(console: Console, title: str, clouds: list[Line], values: Values) -> None:
    table = text_table("median over votes", "votes", "d'(1,2)", "messages", "90% below")
    for line in clouds:
        some = of_line(line, values)
        if some:
            taken = np.array([cell.mean for cell in some])
            hardness = np.median([cell.x for cell in some])
            figures = (hardness, np.median(taken), np.quantile(taken, 0.9))
            table.add_row(line.label, f"{len(some):,}", *(told(float(one)) for one in figures))
    show_titled(title, table, console)


def told(number: float) -> str:
    """Three digits, or as many as a whole number has; two of what is small.

    >>> told(10.234), told(0.0256), told(971.4), told(0.00373), told(1e-120), told(0)
    ('10.2', '0.0256', '971', '3.7e-03', '<1e-99', '0')
    """
    if 0 < number < 1e-99:
        return "<1e-99"
    if 0 < number < 0.01:
        return f"{number:.1e}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
