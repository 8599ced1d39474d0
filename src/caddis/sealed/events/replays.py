"""Which events have been here: for every run of a publisher, the numbers that were seen.

Numbers are kept as intervals, so that a run whose events arrive without gaps costs one interval,
however long it is. Nothing that was seen is forgotten before its epoch is over, and yet memory is
bounded, for each publisher, stream and epoch:

    MOST_GAPS       of one run; the lowest ones are closed: its oldest numbers count as seen
    MOST_INTERVALS  of all runs together; then runs close a gap for each that they open
    MOST_RUNS       further runs are refused, and so they are while there is no interval left

An interval takes up to 90 bytes, a run without gaps 300: together 120 MB at most.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from caddis.errors import KeyFileError
from caddis.sealed.keys import Fields, Json, document, opened_document, read_public, write_public

REPLAY_MEMORY = "replay memory"
MOST_GAPS = 10_000
MOST_INTERVALS = 1_000_000
MOST_RUNS = 100_000


class SeenNumbers:
    """Numbers from 0 on, as intervals that neither overlap nor touch.

    >>> seen = SeenNumbers()
    >>> [seen.add(number) for number in (0, 1, 5, 1)]
    [True, True, True, False]
    >>> seen.intervals
    [(0, 1), (5, 5)]
    """

    __slots__ = ("_firsts", "_lasts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    @classmethod
    def of(cls, intervals: Iterable[tuple[int, int]]) -> SeenNumbers:
        """From what `intervals` gave."""
        seen, last = cls(), -2
        for first, end in intervals:
            if not last + 1 < first <= end:
                raise KeyFileError("the intervals of a replay memory ascend and do not touch")
            seen._firsts.append(first)
            seen._lasts.append(end)
            last = end
        return seen

    @property
    def intervals(self) -> list[tuple[int, int]]:
        """First and last number of each, ascending."""
        return list(zip(self._firsts, self._lasts, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeenNumbers) and self.intervals == other.intervals

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._firsts)

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._firsts, number) - 1
        return place >= 0 and number <= self._lasts[place]

    def add(self, number: int, most_gaps: int = MOST_GAPS) -> bool:
        """Remember a number; False, if it has been here, or is so old that it counts as seen."""
        place = bisect_right(self._firsts, number)
        if place and number <= self._lasts[place - 1]:
            return False
        after_one = bool(place) and self._lasts[place - 1] == number - 1
        before_one = place < len(self._firsts) and self._firsts[place] == number + 1
        if after_one and before_one:
            self._lasts[place - 1] = self._lasts.pop(place)
            self._firsts.pop(place)
        elif after_one:
            self._lasts[place - 1] = number
        elif before_one:
            self._firsts[place] = number
        else:
            self._firsts.insert(place, number)
            self._lasts.insert(place, number)
            self._close_gaps(most_gaps)
        return True

    def _close_gaps(self, most_gaps: int) -> None:
        """The lowest gaps, until there are few enough; then all below them counts as seen."""
        excess = len(self._firsts) - 1 - most_gaps
        if excess > 0:
            del self._firsts[1 : excess + 1], self._lasts[:excess]
            self._firsts[0] = 0


Series: TypeAlias = tuple[str, str, int]
"""Publisher, stream and epoch."""
Verdict: TypeAlias = Literal["new", "seen", "full"]
"""Of an event; "full": its run is one more than can be remembered."""


@dataclass(slots=True)
class _Runs:
    """What was seen of a series, by run; intervals: how many there are in all."""

    seen: dict[int, SeenNumbers] = field(default_factory=dict)
    intervals: int = 0

    def add(self, run: int, number: int, most_gaps: int, most_intervals: int) -> None:
        numbers = self.seen.setdefault(run, SeenNumbers())
        before = len(numbers)
        left = most_intervals - self.intervals
        numbers.add(number, min(most_gaps, before + left - 1))
        self.intervals += len(numbers) - before


@dataclass(slots=True)
class ReplayMemory:
    """What was seen of all publishers, in all epochs that are still accepted.

    >>> memory = ReplayMemory()
    >>> [memory.add(("pat", "homes", 1), run=5, number=number) for number in (0, 1, 1)]
    ['new', 'new', 'seen']
    """

    most_gaps: int = MOST_GAPS
    most_intervals: int = MOST_INTERVALS
    most_runs: int = MOST_RUNS
    _series: dict[Series, _Runs] = field(default_factory=dict, repr=False)

    def verdict(self, series: Series, run: int, number: int) -> Verdict:
        """Whether an event would be new."""
        runs = self._series.get(series)
        if runs is None:
            return "new"
        if run in runs.seen:
            return "seen" if number in runs.seen[run] else "new"
        full = len(runs.seen) >= self.most_runs or runs.intervals >= self.most_intervals
        return "full" if full else "new"

    def add(self, series: Series, run: int, number: int) -> Verdict:
        """Remember an event if it is new."""
        verdict = self.verdict(series, run, number)
        if verdict == "new":
            runs = self._series.setdefault(series, _Runs())
            runs.add(run, number, self.most_gaps, self.most_intervals)
        return verdict

    def forget(self, is_over: Callable[[str, int], bool]) -> None:
        """Let go of the streams' epochs that are over."""
        for series in [one for one in self._series if is_over(one[1], one[2])]:
            del self._series[series]

    @property
    def intervals(self) -> int:
        """How many there are in all, which is what memory grows with."""
        return sum(runs.intervals for runs in self._series.values())

    def as_json(self) -> Json:
        """Plain values, for who has to remember beyond a process; nothing in them is secret."""
        runs = [
            {
                **dict(zip(("publisher", "stream", "epoch"), series, strict=True)),
                "run": run,
                "seen": [end for interval in numbers.intervals for end in interval],
            }
            for series, runs in self._series.items()
            for run, numbers in runs.seen.items()
        ]
        return document(REPLAY_MEMORY, {"runs": runs})

    @classmethod
    def from_json(cls, plain: object) -> ReplayMemory:
        """From what `as_json` gave."""
        memory = cls()
        for one in opened_document(REPLAY_MEMORY, plain).several("runs"):
            series = one.text("publisher"), one.text("stream"), one.whole("epoch")
            runs = memory._series.setdefault(series, _Runs())
            run, numbers = one.whole("run"), _numbers(one)
            if run in runs.seen:
                raise KeyFileError("this replay memory has a run twice")
            runs.seen[run] = numbers
            runs.intervals += len(numbers)
        return memory

    @classmethod
    def read(cls, path: Path) -> ReplayMemory:
        """From a file."""
        return read_public(Path(path), cls.from_json)

    def write(self, path: Path) -> None:
        """Into a file, in place of the one that was there."""
        write_public(Path(path), self.as_json(), replace=True)


class NoMemory(ReplayMemory):
    """Remembers nothing: for who goes through the same events again.

    >>> [NoMemory().add(("pat", "homes", 1), run=5, number=0) for _ in range(2)]
    ['new', 'new']
    """

    __slots__ = ()

    def add(self, series: Series, run: int, number: int) -> Verdict:
        """Remember nothing."""
        return self.verdict(series, run, number)


def _numbers(fields: Fields) -> SeenNumbers:
    ends = fields.wholes("seen")
    if len(ends) % 2:
        raise KeyFileError("this replay memory has an interval without an end")
    return SeenNumbers.of(zip(ends[::2], ends[1::2], strict=True))
