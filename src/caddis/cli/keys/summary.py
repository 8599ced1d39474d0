"""What a verb of `caddis keys` has to say when it is done: never a secret."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from caddis.cli.keys.command import AUTHORITY
from caddis.cli.shell import show_titled, text_table

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class KeysSummary:
    """Sentences, tables and the next commands for a person; facts and tables for a machine."""

    sentences: tuple[str, ...]
    facts: Row
    tables: dict[str, list[Row]] = field(default_factory=dict)
    next: tuple[str, ...] = ()

    def as_json(self) -> Row:
        """The facts, and every table as a list of rows."""
        return {**self.facts, **self.tables}

    def show(self, console: Console) -> None:
        """The sentences, the tables that have rows, and the commands that come next."""
        for sentence in self.sentences:
            console.print(Text(sentence), soft_wrap=True)
        for title, rows in self.tables.items():
            if rows:
                show_titled(title.capitalize(), _table(rows), console)
        if self.next:
            console.print(Text("\nNext:", style="dim"))
        for line in self.next:
            console.print(Text(f"  {line}"), soft_wrap=True)


def command(authority: Path, *words: object) -> str:
    """A command of `caddis keys` for the same authority, ready to be copied.

    >>> command(Path("safe.json"), "rotate", "holiday homes")
    "caddis keys rotate 'holiday homes' --authority safe.json"
    """
    more = [] if authority == AUTHORITY else ["--authority", authority]
    return shlex.join(map(str, ["caddis", "keys", *words, *more]))


def _table(rows: list[Row]) -> Table:
    names = list(rows[0])
    texts = [at for at, name in enumerate(names) if not isinstance(rows[0][name], int)]
    table = text_table(*names, texts=texts)
    for row in rows:
        table.add_row(*(Text(str(value)) for value in row.values()))
    return table
