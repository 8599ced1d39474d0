"""Which events have been here: for every run of a publisher, the numbers that were seen.

Numbers are kept as intervals, so that a run whose events arrive without gaps costs one interval,
however long it is. Memory is bounded: of a run that has more than MOST_GAPS gaps the lowest ones
are closed, which means that its oldest numbers count as seen; and of a publisher, topic and epoch
no more than MOST_RUNS runs are remembered, and further ones are refused. Nothing that was seen is
ever forgotten before its epoch is over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from caddis.errors import ConfidentialError

MOST_GAPS = 10_000
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
                raise ValueError("intervals that ascend and do not touch")
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


Stream = tuple[str, str, int]
"""Publisher, topic and epoch."""


@dataclass(slots=True)
class ReplayMemory:
    """What was seen of all publishers, in all epochs that are still accepted."""

    most_gaps: int = MOST_GAPS
    most_runs: int = MOST_RUNS
    _seen: dict[Stream, dict[int, SeenNumbers]] = field(default_factory=dict, repr=False)

    def add(self, stream: Stream, run: int, number: int) -> bool:
        """Remember an event; False, if it has been here or counts as seen."""
        runs = self._seen.setdefault(stream, {})
        seen = runs.get(run)
        if seen is None:
            if len(runs) >= self.most_runs:
                return False
            seen = runs[run] = SeenNumbers()
        return seen.add(number, self.most_gaps)

    def is_full(self, stream: Stream, run: int) -> bool:
        """Whether this run would be one too many."""
        runs = self._seen.get(stream, {})
        return run not in runs and len(runs) >= self.most_runs

    def forget(self, is_over: Callable[[str, int], bool]) -> None:
        """Let go of the topics' epochs that are over."""
        for stream in [one for one in self._seen if is_over(one[1], one[2])]:
            del self._seen[stream]

    def as_json(self) -> list[object]:
        """Plain values, for who has to remember beyond a process; nothing in them is secret."""
        return [
            [*stream, run, seen.intervals]
            for stream, runs in self._seen.items()
            for run, seen in runs.items()
        ]

    @classmethod
    def from_json(cls, plain: object) -> ReplayMemory:
        """From what `as_json` gave.

        >>> memory = ReplayMemory()
        >>> memory.add(("ann", "homes", 1), run=5, number=0)
        True
        >>> ReplayMemory.from_json(memory.as_json()).add(("ann", "homes", 1), run=5, number=0)
        False
        """
        memory = cls()
        try:
            assert isinstance(plain, list)
            for publisher, topic, epoch, run, intervals in plain:
                stream = str(publisher), str(topic), int(epoch)
                seen = SeenNumbers.of((int(first), int(last)) for first, last in intervals)
                memory._seen.setdefault(stream, {})[int(run)] = seen
        except (AssertionError, TypeError, ValueError) as problem:
            raise ConfidentialError(f"this is no memory of events: {problem}") from None
        return memory

    @property
    def intervals(self) -> int:
        """How many there are in all, which is what memory grows with."""
        return sum(len(seen.intervals) for runs in self._seen.values() for seen in runs.values())
