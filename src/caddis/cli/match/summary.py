"""What `caddis match` shows at the end: what was matched, where the result is, and how fast."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from caddis.cli.match.command import MatchOptions
from caddis.cli.shell import ModelSummary, count, rate, show_rows
from caddis.files import INVALID, file_count


@dataclass(slots=True)
class MatchSummary:
    """What a finished batch matched, or a stream since it was started.

    began: when the verb was started, by the monotonic clock.
    invalid: how many of the subscriptions were skipped.
    batches: how many micro-batches a stream has written.
    """

    out: Path
    format: str
    is_stream: bool
    began: float = field(default_factory=time.monotonic)
    models: ModelSummary = field(default_factory=ModelSummary)
    subscriptions: int = 0
    invalid: int = 0
    events: int = 0
    matches: int = 0
    batches: int = 0
    matching_seconds: float = 0.0

    @classmethod
    def begin(cls, options: MatchOptions) -> MatchSummary:
        """The summary of a match that starts now."""
        return cls(options.out, options.matches_format, options.stream)

    @property
    def invalid_path(self) -> Path | None:
        """The file that lists the invalid subscriptions; None if all were valid."""
        return self.out / INVALID if self.invalid else None

    def as_json(self) -> dict[str, object]:
        """The values that --json prints."""
        return {
            "events": self.events,
            "matches": self.matches,
            **({"batches": self.batches} if self.is_stream else {}),
            "subscriptions": self.subscriptions,
            "invalid": self.invalid,
            "invalid_path": self.invalid_path,
            "out": self.out,
            "format": self.format,
            "files": file_count(self.out),
            "seconds": round(time.monotonic() - self.began, 3),
            "matching_seconds": round(self.matching_seconds, 3),
            "events_per_second": round(self.events / max(self.matching_seconds, 1e-9), 1),
            **self.models.as_json(self.out),
        }

    def show(self, console: Console) -> None:
        """Print the counts, and what the models did."""
        invalid = f"{self.invalid:,} invalid, listed in {self.invalid_path}" if self.invalid else ""
        files = f"{count(file_count(self.out), 'file')} of {self.format} in {self.out}"
        rows = [
            ("events", f"{self.events:,}", ""),
            ("matches", f"{self.matches:,}", files),
            ("subscriptions", f"{self.subscriptions:,}", invalid),
            *self.models.rows(self.out),
            ("events/s", rate(self.events, self.matching_seconds), self._speed()),
        ]
        show_rows(console, rows)
        self.models.show(console)

    def _speed(self) -> str:
        if self.is_stream:
            batches = count(self.batches, "micro-batch", "micro-batches")
            return f"{batches}, {self.matching_seconds:.1f} s of work"
        seconds = time.monotonic() - self.began
        return f"matching took {self.matching_seconds:.1f} s of {seconds:.1f} s in all"
