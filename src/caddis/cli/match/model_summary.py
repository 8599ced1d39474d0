"""What the models of a match did, as its closing summary tells it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from caddis.cli.shell import short

if TYPE_CHECKING:
    from caddis.spark import ModelReport, ModelUse

PROBLEMS = "_problems.jsonl"
HEADINGS = ("runs", "saved", "cache", "unreadable", "failed", "ms/run", "s")


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """What each model did, and how many of the events without an answer are listed."""

    uses: tuple[ModelUse, ...] = ()
    listed: int = 0

    @property
    def problems(self) -> int:
        """How often an event got no answer from a model."""
        return sum(use.unreadable + use.failed for use in self.uses)

    def as_json(self, out: Path) -> dict[str, object]:
        """The same for a machine."""
        models = [{**asdict(use), "ms_per_run": milliseconds_a_run(use)} for use in self.uses]
        path = out / PROBLEMS if self.problems else None
        return {"models": models, "problems": self.problems, "problems_path": path}

    def rows(self, out: Path) -> list[tuple[str, str, str]]:
        """What is to stand among the other counts."""
        if not self.problems:
            return []
        which = "" if self.listed >= self.problems else f"the first {self.listed:,} "
        remark = f"events without an answer from a model, {which}listed in {out / PROBLEMS}"
        return [("problems", f"{self.problems:,}", remark)]

    def show(self, console: Console) -> None:
        """A table, if models ran."""
        if self.uses:
            console.print()
            console.print(use_table(self.uses))


def use_table(uses: Iterable[ModelUse]) -> Table:
    """A row a model: values it ran on, events it was spared, and what it took."""
    table = Table(box=None, pad_edge=False, header_style="dim", collapse_padding=True)
    table.add_column("model", overflow="fold")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for use in uses:
        counts = (use.runs, use.saved, use.hits, use.unreadable, use.failed)
        mean = milliseconds_a_run(use)
        table.add_row(
            Text(use.name),
            *(f"{number:,}" for number in counts),
            "" if mean is None else short(mean),
            short(use.milliseconds / 1000),
        )
    return table


def milliseconds_a_run(use: ModelUse) -> float | None:
    """What a run took on average, if there was one."""
    return use.milliseconds / use.runs if use.runs else None


class ProblemList:
    """Writes problems below a folder as they come, a JSON object a line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written = 0

    def update(self, report: ModelReport) -> ModelSummary:
        """Add what is new in the report; what it tells by now."""
        problems = report.problems
        new = problems.slice(self._written).to_pylist()
        if new:
            with (self._folder / PROBLEMS).open("a") as lines:
                lines.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in new)
        self._written = problems.num_rows
        return ModelSummary(report.models, self._written)
