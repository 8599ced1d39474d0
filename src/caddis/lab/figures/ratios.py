"""Tables of ratios for the benchmarks: a figure means little without one to compare it with.

A `Row` is one figure and on how many items it was measured. Rows of the same size whose unit is
that of a baseline are divided by the baseline's figure; other rows stand alone. The
table is drawn on a terminal and plain text in a file; for JSON there is a list of records.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich import box
from rich.console import Console
from rich.table import Table

Record = dict[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure, which was measured on a number (`measured_on`) of things (`items`)."""

    subscriptions: int
    what: str
    figure: float
    unit: str
    measured_on: int
    items: str


def records(rows: Sequence[Row], baselines: Sequence[str]) -> list[Record]:
    """Rows as dictionaries, with their ratio to each baseline (None if there is none).

    >>> fast, slow = Row(10, "new", 6.0, "e/s", 1, "e"), Row(10, "old", 2.0, "e/s", 1, "e")
    >>> [record["ratio to old"] for record in records([fast, slow], ["old"])]
    [3.0, 1.0]
    """
    found: dict[tuple[int, str], Row] = {(row.subscriptions, row.what): row for row in rows}
    made: list[Record] = []
    for row in rows:
        record: Record = asdict(row)
        for name in baselines:
            record[f"ratio to {name}"] = _ratio(row, found.get((row.subscriptions, name)))
        made.append(record)
    return made


def print_table(
    console: Console,
    title: str,
    rows: Sequence[Row],
    baselines: Sequence[str],
    *,
    size: str = "subscriptions",
) -> None:
    """One table of all rows, with a rule between sizes, which are numbers of what `size` names."""
    style = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(title=title, box=style, title_justify="left", pad_edge=False)
    table.add_column(size, justify="right")
    table.add_column("what", no_wrap=True)
    for name in ("figure", "", "measured on"):
        table.add_column(name, justify="left" if name == "" else "right", no_wrap=True)
    for name in baselines:
        table.add_column(f"÷ {name}", justify="right")
    made = records(rows, baselines)
    for i, (row, record) in enumerate(zip(rows, made, strict=True)):
        ends = i + 1 < len(rows) and rows[i + 1].subscriptions != row.subscriptions
        first = i == 0 or rows[i - 1].subscriptions != row.subscriptions
        shown = f"{row.subscriptions:,}" if first else ""
        measured = f"{row.measured_on:,} {row.items}"
        ratios = [_times(record[f"ratio to {name}"]) for name in baselines]
        table.add_row(shown, row.what, _short(row.figure), row.unit, measured, *ratios)
        if ends:
            table.add_section() if console.is_terminal else table.add_row()
    console.print(table)


def _ratio(row: Row, baseline: Row | None) -> float | None:
    if baseline is None or baseline.unit != row.unit:
        return None
    return row.figure / baseline.figure


def _short(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def _times(ratio: str | int | float | None) -> str:
    return f"{_short(ratio)}×" if isinstance(ratio, int | float) else ""
