"""Logs: records in an order that never changes, to whose end more are appended.

Control messages between brokers travel in logs, one for each direction of a link, and a broker
keeps what it has handled in one, too. `FolderLog` is a folder of small numbered files:

    000000000000.jsonl      records 0 to 4, a line each
    000000000005.jsonl      records 5 to 7

A file appears whole, so readers see all records of an append or none. A Kafka topic with one
partition that is read by offset could take its place.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from caddis.files import locked, replace_file

Record = dict[str, Any]
"""What JSON can hold."""


class Log(Protocol):
    """What a broker's control plane needs of a log."""

    def append(self, records: Sequence[Record]) -> None:
        """Add records to the end, all or none; return when they cannot be lost any more.

        Several processes may append at once, and then take turns. It may block. If it raises, the
        broker stops; a restarted broker compares `len` with what it had to send and appends what is
        missing, so it does not matter whether the records were added before the error.
        """

    def read(self, after: int = 0) -> list[Record]:
        """Return all records but the first `after`, in order; never wait for more to come."""

    def __len__(self) -> int:
        """How many records there are."""


class FolderLog:
    """A log in a folder, which is made when something is first appended.

    >>> import tempfile
    >>> log = FolderLog(Path(tempfile.mkdtemp()) / "log")
    >>> log.append([{"number": 1}, {"number": 2}])
    >>> log.append([{"number": 3}])
    >>> len(log), log.read(1)
    (3, [{'number': 2}, {'number': 3}])
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, records: Sequence[Record]) -> None:
        """Add records to the end, in one file."""
        if not records:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        with locked(self.path):
            lines = "".join(json.dumps(record) + "\n" for record in records)
            replace_file(self.path / f"{len(self):012}.jsonl", lines)

    def read(self, after: int = 0) -> list[Record]:
        """Return all records but the first `after`."""
        firsts = self._firsts()
        begin = max(0, bisect_right(firsts, after) - 1)
        records = [record for first in firsts[begin:] for record in self._records(first)]
        return records[after - firsts[begin] :] if firsts else []

    def __len__(self) -> int:
        firsts = self._firsts()
        return firsts[-1] + len(self._records(firsts[-1])) if firsts else 0

    def _firsts(self) -> list[int]:
        """The number of each file's first record; names of unfinished files begin with a dot."""
        if not self.path.is_dir():
            return []
        return sorted(int(file.stem) for file in self.path.iterdir() if file.stem.isdigit())

    def _records(self, first: int) -> list[Record]:
        lines = (self.path / f"{first:012}.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]
