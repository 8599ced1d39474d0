"""What the workers of a sealed match share: a folder beside the subscriptions.

    directory.json      publishers and streams, if a directory was given that is no file already
    counts.json         events, and how many of them were refused and why, task by task added up
    refused.jsonl       the first of the refused events

A worker adds its own when its task ends, under a lock. There is no secret in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from caddis.spark.base import append_lines, lines_of, locked, replace_json

DIRECTORY, COUNTS, REFUSED = "directory.json", "counts.json", "refused.jsonl"
KEPT_REFUSED = 10_000


@dataclass(frozen=True, slots=True)
class Sealed:
    """What sealed events are checked by, and where it is told what was refused.

    folder: a SealedFolder; None if nobody reads it, then workers warn of refused events.
    directory: the file of a directory, read anew by each task; None to check nothing but sizes.
    authority: the fingerprint of who must have signed it.
    """

    folder: str | None
    directory: str | None
    authority: str | None


@dataclass(frozen=True, slots=True)
class RefusedEvent:
    """A sealed event that was not matched, and why."""

    event_id: object
    publisher: str | None
    error: str
    """The kind: a name of `caddis.errors`, such as TamperedEvent."""
    message: str


class SealedFolder:
    """A folder that the driver makes and workers add to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, counts: Mapping[str, int], refused: Sequence[RefusedEvent]) -> None:
        """Add what one task did."""
        with locked(self.path / COUNTS):
            all_ = self._counts()
            for name, count in counts.items():
                all_[name] = all_.get(name, 0) + count
            replace_json(self.path / COUNTS, all_)
            if refused:
                append_lines(self.path / REFUSED, map(asdict, refused), KEPT_REFUSED)

    def counts(self) -> dict[str, int]:
        """By what is counted, or by the kind of error: how many, in all tasks that have ended."""
        with locked(self.path / COUNTS):
            return self._counts()

    def refused(self) -> list[RefusedEvent]:
        """The first events that were refused."""
        with locked(self.path / COUNTS):
            return [RefusedEvent(**json.loads(line)) for line in lines_of(self.path / REFUSED)]

    def _counts(self) -> dict[str, int]:
        path = self.path / COUNTS
        return json.loads(path.read_text()) if path.exists() else {}
