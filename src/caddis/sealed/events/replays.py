"""Which events have been here: for every run of a publisher, the numbers that were seen.

Numbers are kept as intervals, so that a run whose events arrive without gaps costs one interval,
however long it is. Nothing that was seen is forgotten before its epoch is over. Even so, memory is
bounded in each lane, which is one publisher in one epoch of one stream:

    MOST_GAPS       in one run; beyond that its lowest gaps are closed: old numbers count as seen
    MOST_INTERVALS  in all runs together; beyond that a run closes a gap for each that it opens
    MOST_RUNS       further runs are refused, and so are new runs while no interval is left

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
        """The numbers that `intervals` listed."""
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
        """The first and last number of each interval, ascending."""
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
        """Remember a number; False if it was seen, or is so old that it counts as seen."""
        # The interval before `place` is the only one that may hold the number.
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
        """Close the lowest gaps until there are few enough; all below then counts as seen."""
        excess = len(self._firsts) - 1 - most_gaps
        if excess > 0:
            del self._firsts[1 : excess + 1], self._lasts[:excess]
            self._firsts[0] = 0


Lane: TypeAlias = tuple[str, str, int]
"""A publisher, a stream and an epoch: events in one lane are numbered by one publisher."""
Verdict: TypeAlias = Literal["new", "seen", "full"]
"""What to do with an event; "full": it is new, but no more runs can be remembered."""


@dataclass(slots=True)
class _Runs:
    """What was seen in a lane, by run; intervals: how many there are in all runs."""

    seen: dict[int, SeenNumbers] = field(default_factory=dict)
    intervals: int = 0

    def add(self, run: int, number: int, most_gaps: int, most_intervals: int) -> None:
        numbers = self.seen.setdefault(run, SeenNumbers())
        before = len(numbers)
        # n intervals have n - 1 gaps: the run may have as many gaps as the lane has room for.
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
    _lanes: dict[Lane, _Runs] = field(default_factory=dict, repr=False)

    def verdict(self, lane: Lane, run: int, number: int) -> Verdict:
        """Whether an event would be new; nothing is remembered."""
        runs = self._lanes.get(lane)
        if runs is None:
            return "new"
        if run in runs.seen:
            return "seen" if number in runs.seen[run] else "new"
        full = len(runs.seen) >= self.most_runs or runs.intervals >= self.most_intervals
        return "full" if full else "new"

    def add(self, lane: Lane, run: int, number: int) -> Verdict:
        """Remember an event if it is new."""
        verdict = self.verdict(lane, run, number)
        if verdict == "new":
            runs = self._lanes.setdefault(lane, _Runs())
            runs.add(run, number, self.most_gaps, self.most_intervals)
        return verdict

    def forget(self, is_over: Callable[[str, int], bool]) -> None:
        """Forget the lanes of epochs that are over; is_over: of a stream and an epoch."""
        for lane in [one for one in self._lanes if is_over(one[1], one[2])]:
            del self._lanes[lane]

    @property
    def intervals(self) -> int:
        """How many intervals there are in all, which is what memory grows with."""
        return sum(runs.intervals for runs in self._lanes.values())

    def as_json(self) -> Json:
        """Plain values, to remember beyond the end of a process; nothing in them is secret."""
        runs = [
            {
                **dict(zip(("publisher", "stream", "epoch"), lane, strict=True)),
                "run": run,
                "seen": [end for interval in numbers.intervals for end in interval],
            }
            for lane, runs in self._lanes.items()
            for run, numbers in runs.seen.items()
        ]
        return document(REPLAY_MEMORY, {"runs": runs})

    @classmethod
    def from_json(cls, plain: object) -> ReplayMemory:
        """The memory that `as_json` gave."""
        memory = cls()
        for one in opened_document(REPLAY_MEMORY, plain).several("runs"):
            lane = one.text("publisher"), one.text("stream"), one.whole("epoch")
            runs = memory._lanes.setdefault(lane, _Runs())
            run, numbers = one.whole("run"), _numbers(one)
            if run in runs.seen:
                raise KeyFileError("this replay memory has a run twice")
            runs.seen[run] = numbers
            runs.intervals += len(numbers)
        return memory

    @classmethod
    def read(cls, path: Path) -> ReplayMemory:
        """The memory in a file."""
        return read_public(Path(path), cls.from_json)

    def write(self, path: Path) -> None:
        """Write it into a file, in place of the one that was there."""
        write_public(Path(path), self.as_json(), replace=True)


class NoMemory(ReplayMemory):
    """Remembers nothing: for those who go through the same events again.

    >>> [NoMemory().add(("pat", "homes", 1), run=5, number=0) for _ in range(2)]
    ['new', 'new']
    """

    __slots__ = ()

    def add(self, lane: Lane, run: int, number: int) -> Verdict:
        """The verdict alone."""
        return self.verdict(lane, run, number)


def _numbers(fields: Fields) -> SeenNumbers:
    ends = fields.wholes("seen")
    if len(ends) % 2:
        raise KeyFileError("this replay memory has an interval without an end")
    return SeenNumbers.of(zip(ends[::2], ends[1::2], strict=True))
