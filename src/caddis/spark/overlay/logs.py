"""A log: records in an order that never changes, to whose end more are appended.

Control messages between brokers travel in logs, one for each direction of a link; a broker keeps
what it handled in one, too. Here a log is a folder of small numbered files:

    000000000000.jsonl      records 0 to 4, a line each
    000000000005.jsonl      records 5 to 7

A file is written under a hidden name, synced and renamed: readers see all records of an append or
none. A topic with one partition, read by offset, could stand in its place.
"""

from __future__ import annotations

import fcntl
import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

Record = dict[str, Any]
"""What JSON can hold."""


class Log(Protocol):
    """What brokers need of a log."""

    def append(self, records: Sequence[Record]) -> None:
        """Durably add records to the end, all or none; several processes may do so at once."""

    def read(self, after: int = 0) -> list[Record]:
        """The records but for the first `after`; never blocks."""

    def __len__(self) -> int:
        """How many records there are."""


class FolderLog:
    """A log in a folder, which is made when it is first needed.

    >>> import tempfile
    >>> log = FolderLog(Path(tempfile.mkdtemp()) / "log")
    >>> log.append([{"say": "one"}, {"say": "two"}])
    >>> log.append([{"say": "three"}])
    >>> len(log), log.read(1)
    (3, [{'say': 'two'}, {'say': 'three'}])
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, records: Sequence[Record]) -> None:
        """Add records to the end: one file."""
        if not records:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        with self._writing():
            name = f"{len(self):012}.jsonl"
            unfinished = self.path / f".{name}"
            with unfinished.open("w") as out:
                out.writelines(json.dumps(record) + "\n" for record in records)
                out.flush()
                os.fsync(out.fileno())
            unfinished.replace(self.path / name)

    def read(self, after: int = 0) -> list[Record]:
        """The records but for the first `after`."""
        firsts = self._firsts()
        begin = max(0, bisect_right(firsts, after) - 1)
        found = [record for first in firsts[begin:] for record in self._records(first)]
        return found[after - firsts[begin] :] if firsts else []

    def __len__(self) -> int:
        firsts = self._firsts()
        return firsts[-1] + len(self._records(firsts[-1])) if firsts else 0

    def _firsts(self) -> list[int]:
        """The number of each file's first record."""
        if not self.path.is_dir():
            return []
        return sorted(int(file.stem) for file in self.path.iterdir() if file.stem.isdigit())

    def _records(self, first: int) -> list[Record]:
        lines = (self.path / f"{first:012}.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with (self.path / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
