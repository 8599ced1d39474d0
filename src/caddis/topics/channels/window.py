"""One publisher's events of one topic on their way to a subscriber: each once, and in order.

    settled ............ | held back or missing ............ |
                         mark                                highest

All numbers up to `mark` were delivered or reported as lost. Above it, events that came too early
are held back until what is missing before them has come or is given up. Memory is bounded: no
more than `capacity` events are held, and none that is further above the mark; it is asked for again
in its time.
"""

from __future__ import annotations

from caddis.topics.channels.messages import Event, Gap, Lost

Outcome = list[Event | Lost]


class ReceiveWindow:
    """What has come, what is missing, and what may be delivered.

    >>> window = ReceiveWindow("ann", "tea", capacity=10)
    >>> window.start(4)
    []
    >>> [event] = window.take(5, "first")
    >>> window.take(7, "third"), window.gaps(7)
    ([], [Gap(topic='tea', first=6, last=6)])
    >>> [event.number for event in window.take(6, "second")]
    [6, 7]
    """

    __slots__ = ("_capacity", "_held", "_publisher", "highest", "mark", "suspected", "topic")

    def __init__(self, publisher: str, topic: str, capacity: int) -> None:
        self._publisher, self.topic, self._capacity = publisher, topic, capacity
        self._held: dict[int, object] = {}
        self.mark: int | None = None
        """None: the publisher has not acknowledged yet; what comes is held back."""
        self.highest = 0
        """The highest number that the publisher is known to have given."""
        self.suspected = 0
        """What is missing up to here has been waited for."""

    @property
    def complete(self) -> bool:
        """Whether all that is known of was delivered or reported."""
        return self.mark is not None and self.mark >= self.highest

    def start(self, after: int) -> Outcome:
        """The publisher acknowledged: numbers above this one are wanted."""
        self.mark = self.suspected = after
        self.highest = max(self.highest, after)
        near = range(after + 1, after + self._capacity + 1)
        self._held = {number: body for number, body in self._held.items() if number in near}
        return self._release()

    def knows(self, number: int) -> bool:
        """Whether this event came before, or is no longer wanted."""
        return number in self._held or (self.mark is not None and number <= self.mark)

    def take(self, number: int, body: object) -> Outcome:
        """An event that is not known yet came; what may be delivered now."""
        self.highest = max(self.highest, number)
        if self._has_room(number):
            self._held[number] = body
        return self._release()

    def reach(self, last: int) -> None:
        """The publisher is known to have given numbers up to this one."""
        self.highest = max(self.highest, last)

    def gaps(self, upto: int, most: int | None = None) -> list[Gap]:
        """What is missing up to a number, and of that at most so many events."""
        found: list[Gap] = []
        if self.mark is None:
            return found
        expected, left = self.mark + 1, upto if most is None else most
        for number in [*sorted(one for one in self._held if one <= upto), upto + 1]:
            if number > expected and left > 0:
                last = min(number - 1, expected + left - 1)
                found.append(Gap(self.topic, expected, last))
                left -= last - expected + 1
            expected = number + 1
        return found

    def give_up(self, before: int) -> Outcome:
        """What is missing below a number can no longer be had."""
        outcome: Outcome = []
        for gap in self.gaps(before - 1):
            outcome.append(Lost(self._publisher, self.topic, gap.first, gap.last))
            self.mark = gap.last
            self.highest = max(self.highest, gap.last)
            outcome += self._release()
        return outcome

    def _has_room(self, number: int) -> bool:
        if self.mark is None:
            return len(self._held) < self._capacity
        return number <= self.mark + self._capacity

    def _release(self) -> Outcome:
        outcome: Outcome = []
        while self.mark is not None and self.mark + 1 in self._held:
            self.mark += 1
            body = self._held.pop(self.mark)
            outcome.append(Event(self._publisher, self.topic, self.mark, body))
        return outcome
