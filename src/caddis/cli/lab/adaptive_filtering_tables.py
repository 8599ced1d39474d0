"""The tables of `caddis lab adaptive-filtering`: what air takes, and the others as ratios to it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console

from caddis.cli.shell import show_titled, text_table
from caddis.lab.adaptive_filtering import (
    BASELINE,
    MEANS,
    Cell,
    Figure,
    Run,
    cells,
    percent_less,
    savings,
)
from caddis.lab.simulators import Mean

NOTHING = "–"


def show_figure(console: Console, figure: Figure, runs: Sequence[Run], mean: Mean) -> None:
    """A policy a row, an x a column; the frontier has delay and cost instead."""
    if figure.axis is None:
        _show_frontier(console, figure, runs)
        return
    found = {(cell.policy, cell.x): cell for cell in cells(figure, runs, mean)}
    xs = [figure.x(point) for point in figure.points]
    table = text_table(figure.axis, *(f"{x:,}" for x in xs))
    for policy in figure.policies:
        row = [found.get((policy, x)) for x in xs]
        if any(row):
            table.add_row(policy, *(_ratio_or_ms(cell) for cell in row))
    show_titled(f"{figure.name}: {figure.title}", table, console)
    if figure.measure == "delay":
        console.print(f"[dim]means over {mean}[/dim]")


def show_savings(console: Console, figure: Figure, runs: Sequence[Run]) -> None:
    """How much less delay each policy has than the baseline, whatever mean is taken."""
    found = {(one.policy, one.mean): percent_less(one) for one in savings(figure, runs)}
    table = text_table("mean over", *MEANS)
    for policy in figure.policies:
        row = [found.get((policy, mean)) for mean in MEANS]
        if any(row):
            table.add_row(policy, *(text or NOTHING for text in row))
    if found:
        show_titled(f"Delay, compared with {BASELINE} (figure {figure.name})", table, console)


def _show_frontier(console: Console, figure: Figure, runs: Sequence[Run]) -> None:
    delays = {cell.policy: cell for cell in cells(figure, runs, "notifications", "delay")}
    costs = {cell.policy: cell for cell in cells(figure, runs, "notifications", "cost")}
    table = text_table("policy", "delay (ms)", f"÷ {BASELINE}", "cost (ms)", f"÷ {BASELINE}")
    for policy, delay in delays.items():
        both = (delay, costs[policy])
        table.add_row(policy, *(word for cell in both for word in (_ms(cell), _ratio(cell))))
    show_titled(f"{figure.name}: {figure.title}", table, console)
    console.print("[dim]delays are means over notifications[/dim]")


def _ratio_or_ms(cell: Cell | None) -> str:
    if cell is None:
        return NOTHING
    if cell.policy == BASELINE or math.isnan(cell.ratio):
        return f"{_ms(cell)} ms"
    return _ratio(cell)


def _ms(cell: Cell) -> str:
    return NOTHING if math.isnan(cell.mean) else f"{cell.mean:,.0f}"


def _ratio(cell: Cell) -> str:
    return NOTHING if math.isnan(cell.ratio) else f"{cell.ratio:.2f}×"
