"""Numbers and rows as a person reads them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number of things.

    >>> count(1, "file"), count(1200, "file"), count(2, "batch", "batches")
    ('1 file', '1,200 files', '2 batches')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def rate(things: int, seconds: float) -> str:
    """Things a second, to three digits.

    >>> rate(123456, 1.0), rate(5, 2.0)
    ('123,000', '2.5')
    """
    a_second = things / max(seconds, 1e-9)
    return f"{float(f'{a_second:.3g}'):,.0f}" if a_second >= 10 else f"{a_second:.1f}"


def short(number: float) -> str:
    """A measured number: a digit behind the point, or two digits of a small one.

    >>> short(1234.56), short(0.012345), short(0.0)
    ('1,234.6', '0.012', '0')
    """
    return f"{number:,.1f}" if number >= 1 else f"{number:.2g}"


def show_rows(console: Console, rows: Iterable[tuple[str, str, str]]) -> None:
    """Name, number and remark, one line each."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim", overflow="fold")
    for name, number, remark in rows:
        table.add_row(Text(name), Text(number), Text(remark))
    console.print()
    console.print(table)


def text_table(*names: str, texts: Collection[int] = (0,)) -> Table:
    """A table of numbers, but for the columns at these places."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for at, name in enumerate(names):
        table.add_column(name, justify="left" if at in texts else "right", overflow="fold")
    return table


def show_titled(title: str, table: Table, console: Console) -> None:
    """A table below its title."""
    console.print(f"\n[bold]{title}[/bold]")
    console.print(table)
