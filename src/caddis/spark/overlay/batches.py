"""What a broker's micro-batches gave, committed one by one.

    out/
      .staging-00000012-5f2c/     what tasks are writing; leftovers of a crash are removed
      00000012/                   a committed micro-batch: its files, and
        manifest.json             which goes where, and what the broker has done up to here

The rename of the staging folder is the commit. Before it, nothing has left the broker, and the
micro-batch is computed again. After it, the same files are sent however often the broker is stopped
and started. Spark begins a micro-batch only when the one before it is recorded as done, so all but
the last two folders can go.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal
from uuid import uuid4

from caddis.errors import OverlayError
from caddis.files import sync_folder

MANIFEST = "manifest.json"
KEPT = 2
"""Spark may repeat the last micro-batch only; the one before it costs little and helps whoever
looks into a folder after a crash."""

Kind = Literal["forwarded", "notified", "refused", "problem", "taken"]
"""What a task's file holds; `taken` only counts what came in, and has no file."""

WRITTEN = "kind STRING, target STRING, file STRING, rows BIGINT"
"""The columns in which a task reports the files that it wrote."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a task wrote, and its receiver; or, if `taken`, what it took in and from whom."""

    kind: Kind
    target: str
    file: str
    rows: int


@dataclass(frozen=True, slots=True)
class Totals:
    """What a broker has done since the folder was made."""

    batches: int = 0
    published: int = 0
    received: int = 0
    forwarded: int = 0
    notified: int = 0
    refused: int = 0

    def plus(self, written: Sequence[Written]) -> Totals:
        """The totals after one more micro-batch.

        >>> Totals().plus([Written("taken", "", "", 5), Written("notified", "", "f", 2)]).notified
        2
        """

        def rows(kind: Kind, local: bool | None = None) -> int:
            return sum(
                one.rows for one in written if one.kind == kind and local in (None, not one.target)
            )

        return Totals(
            self.batches + 1,
            self.published + rows("taken", local=True),
            self.received + rows("taken", local=False),
            self.forwarded + rows("forwarded"),
            self.notified + rows("notified"),
            self.refused + rows("refused"),
        )


@dataclass(frozen=True, slots=True)
class Committed:
    """A micro-batch that counts."""

    number: int
    folder: Path
    written: tuple[Written, ...]
    totals: Totals = field(default_factory=Totals)

    def files(self) -> Iterator[tuple[Kind, str, list[Path]]]:
        """The files of each kind and target, always in the same order: a restarted broker must
        send them under the same names.
        """
        grouped: dict[tuple[Kind, str], list[Path]] = {}
        for one in self.written:
            if one.file:
                grouped.setdefault((one.kind, one.target), []).append(self.folder / one.file)
        for (kind, target), files in sorted(grouped.items()):
            yield kind, target, sorted(files)

    def rows(self, kind: Kind) -> int:
        """How many rows there are of one kind."""
        return sum(one.rows for one in self.written if one.kind == kind)


class BatchFolder:
    """The micro-batches of one broker; one process writes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def stage(self, number: int) -> Path:
        """Make a new folder for tasks to write into, and remove what earlier attempts left."""
        self.path.mkdir(parents=True, exist_ok=True)
        for left in self.path.glob(".staging-*"):
            shutil.rmtree(left, ignore_errors=True)
        staging = self.path / f".staging-{number:08}-{uuid4().hex}"
        staging.mkdir()
        return staging

    def commit(self, number: int, staging: Path, written: Sequence[Written]) -> Committed:
        """Let a staged micro-batch count, with the files of the tasks that succeeded."""
        last = self.last()
        totals = (last.totals if last else Totals()).plus(written)
        named = {one.file for one in written}
        for file in staging.iterdir():
            if file.name not in named:  # a task that failed or ran twice left it
                file.unlink()
        plain = {"written": [asdict(one) for one in written], "totals": asdict(totals)}
        (staging / MANIFEST).write_text(json.dumps(plain))
        staging.rename(self._folder(number))
        sync_folder(self.path)
        self._forget()
        return self._read(number)

    def committed(self, number: int) -> Committed | None:
        """A micro-batch, if it counts."""
        return self._read(number) if self._folder(number).exists() else None

    def last(self) -> Committed | None:
        """The last micro-batch that counts."""
        numbers = self._numbers()
        return self._read(numbers[-1]) if numbers else None

    def _numbers(self) -> list[int]:
        folders = self.path.iterdir() if self.path.is_dir() else ()
        return sorted(int(one.name) for one in folders if one.name.isdigit())

    def _forget(self) -> None:
        for number in self._numbers()[:-KEPT]:
            shutil.rmtree(self._folder(number), ignore_errors=True)

    def _folder(self, number: int) -> Path:
        return self.path / f"{number:08}"

    def _read(self, number: int) -> Committed:
        folder = self._folder(number)
        try:
            plain = json.loads((folder / MANIFEST).read_text())
            written = tuple(Written(**one) for one in plain["written"])
            return Committed(number, folder, written, Totals(**plain["totals"]))
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise OverlayError(f"{folder}: this micro-batch is damaged: {problem}") from None
