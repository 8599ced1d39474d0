"""What a command of `caddis keys` has done, and what is to be done next."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from caddis.cli.keys.options import AUTHORITY


@dataclass(frozen=True, slots=True)
class KeysSaid:
    """Sentences and next commands for a person, facts for a machine; never a secret."""

    sentences: tuple[str, ...]
    facts: dict[str, object]
    next: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The facts."""
        return self.facts

    def show(self, console: Console) -> None:
        """Sentences, then the commands that come next."""
        for sentence in self.sentences:
            console.print(Text(sentence), soft_wrap=True)
        if self.next:
            console.print(Text("\nNext:", style="dim"))
        for command in self.next:
            console.print(Text(f"  {command}"), soft_wrap=True)


def command(authority: Path, *words: object) -> str:
    """A command of `caddis keys` on the same authority, to be copied.

    >>> command(Path("safe.json"), "rotate", "holiday homes")
    "caddis keys rotate 'holiday homes' --authority safe.json"
    """
    more = [] if authority == AUTHORITY else ["--authority", authority]
    return shlex.join(map(str, ["caddis", "keys", *words, *more]))
