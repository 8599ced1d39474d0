"""What a verb shows: its steps while it works, and numbers and tables as a person reads them.

A step is a live line on a terminal, and plain lines in a file or pipe. Steps go to stderr, so that
stdout holds only the result; with --json they are not shown. They are logged in either case.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

logger = logging.getLogger(__name__)

WIDTH = 60
PLAIN_EVERY = 10.0
"""Seconds between two progress lines of one step, where a line cannot be redrawn."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number of things, in words.

    >>> count(1, "file"), count(1200, "file"), count(2, "batch", "batches")
    ('1 file', '1,200 files', '2 batches')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def rate(things: int, seconds: float) -> str:
    """The number of things per second, to three significant digits.

    >>> rate(123456, 1.0), rate(5, 2.0)
    ('123,000', '2.5')
    """
    a_second = things / max(seconds, 1e-9)
    return f"{float(f'{a_second:.3g}'):,.0f}" if a_second >= 10 else f"{a_second:.1f}"


def short(number: float) -> str:
    """A measured number with one digit after the point; below 1, with two significant digits.

    >>> short(1234.56), short(0.012345), short(0.0)
    ('1,234.6', '0.012', '0')
    """
    return f"{number:,.1f}" if number >= 1 else f"{number:.2g}"


def show_rows(console: Console, rows: Iterable[tuple[str, str, str]]) -> None:
    """Print lines of a name, a number and a remark."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim", overflow="fold")
    for name, number, remark in rows:
        table.add_row(Text(name), Text(number), Text(remark))
    console.print()
    console.print(table)


def text_table(*names: str, texts: Collection[int] = (0,)) -> Table:
    """An empty table of numbers with these headings.

    texts: the positions of the columns that hold text, which is aligned to the left.
    """
    table = Table(box=None, pad_edge=False, header_style="dim")
    for at, name in enumerate(names):
        table.add_column(name, justify="left" if at in texts else "right", overflow="fold")
    return table


def show_titled(title: str, table: Table, console: Console) -> None:
    """Print a table below its title."""
    console.print(f"\n[bold]{title}[/bold]")
    console.print(table)


class Step:
    """One step under way; `done` is the line that is shown when it has ended."""

    def __init__(self, console: Console, doing: str) -> None:
        self.done = doing
        self._console = console
        self._doing = doing
        self._began = self._spoke = time.monotonic()
        self._live = _live_line(console) if console.is_terminal and not console.quiet else None
        self._task = (
            self._live.add_task(escape(doing), total=None, detail="") if self._live else None
        )

    @property
    def seconds(self) -> float:
        """How long the step has been going on."""
        return time.monotonic() - self._began

    def update(self, detail: str, done: int = 0, total: int | None = None) -> None:
        """Show the step's progress; with a total, as a bar.

        detail: what to print beside the step's name.
        """
        if self._live and self._task is not None:
            self._live.update(self._task, detail=escape(detail), completed=done, total=total)
        elif time.monotonic() - self._spoke >= PLAIN_EVERY:
            self._spoke = time.monotonic()
            self._console.print(f"  {escape(self._doing)}: {escape(detail)}, {self.seconds:.0f} s")

    def show_tasks(self, done: int, total: int) -> None:
        """Show how many of Spark's tasks are done."""
        self.update(f"{done}/{total} tasks", done, total)

    def begin(self) -> None:
        """Show the live line."""
        if self._live:
            self._live.start()

    def end(self) -> None:
        """Remove the live line; calling it twice does no harm."""
        if self._live:
            self._live.stop()


class Screen:
    """Where messages and results are printed: a terminal, a file or a pipe.

    quiet: show no messages.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.messages = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self.results = Console(highlight=False)
        self._step: Step | None = None
        self._closed = False

    def say(self, line: str) -> None:
        """Print one line about what is going on."""
        self.messages.print(escape(line))

    @contextmanager
    def step(self, doing: str) -> Iterator[Step]:
        """Show a step while it is under way, and afterwards what was done and how long it took."""
        step = self._step = Step(self.messages, doing)
        step.begin()
        try:
            yield step
        finally:
            step.end()
        logger.debug("%s in %.1f s", step.done, step.seconds)
        if self._closed:
            return
        tick = "✓" if self.messages.encoding.startswith("utf") else "*"
        line = Text(f"{step.done:<{WIDTH}} {step.seconds:>7.1f} s")
        self.messages.print(Text(tick, style="green"), line)

    def close(self) -> None:
        """Leave the terminal as it was, whatever was going on."""
        self._closed = True
        if self._step is not None:
            self._step.end()


class _Bar(BarColumn):
    """A bar for steps whose length is known."""

    def render(self, task: Task) -> Text:  # type: ignore[override]
        return Text("") if task.total is None else super().render(task)  # type: ignore[return-value]


def _live_line(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        _Bar(bar_width=24),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
