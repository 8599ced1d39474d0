"""What a receiver knows of one publisher: how far it is with each topic, and what it waits for.

Every pair of publisher and topic has a window of numbers:

    settled ............ | held back or missing ............ |
                         mark                                highest

All numbers up to `mark` were delivered or reported as lost. Above it, events that came too early
are held back until what is missing before them has come or is given up. Memory is bounded: at most
`capacity` events are held, and none that is further above the mark; those are asked for again when
their time comes.

A publisher is asked for all topics together. What is missing is waited for before it is asked for,
as it may only be late. The longer no answer comes, the longer the next question waits; but not very
long while the publisher is heard of, as then only the question or its answer was lost.
"""

from __future__ import annotations

from caddis.topics.channels.messages import Event, Gap, Lost, Settings

Outcome = list[Event | Lost]


class ReceiveWindow:
    """One publisher's events of one topic: what has come, what is missing, what may be delivered.

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
        """None as long as the publisher has not acknowledged; what comes is held back."""
        self.highest = 0
        """The highest number that the publisher is known to have given."""
        self.suspected = 0
        """What is missing up to this number has been waited for."""

    @property
    def complete(self) -> bool:
        """Whether all events that are known of were delivered or reported as lost."""
        return self.mark is not None and self.mark >= self.highest

    def start(self, after: int) -> Outcome:
        """Begin after a number, as the publisher acknowledged; what came early is delivered."""
        self.mark = self.suspected = after
        self.highest = max(self.highest, after)
        # Events up to the acknowledged number were published before the subscription counted.
        near = range(after + 1, after + self._capacity + 1)
        self._held = {number: body for number, body in self._held.items() if number in near}
        return self._release()

    def knows(self, number: int) -> bool:
        """Whether this event has come before, or is not wanted any more."""
        return number in self._held or (self.mark is not None and number <= self.mark)

    def take(self, number: int, body: object) -> Outcome:
        """Take in an event that is not known yet; returns what may be delivered now."""
        self.highest = max(self.highest, number)
        if self._has_room(number):
            self._held[number] = body
        return self._release()

    def reach(self, last: int) -> None:
        """Note that the publisher has given numbers up to this one."""
        self.highest = max(self.highest, last)

    def gaps(self, upto: int, most: int | None = None) -> list[Gap]:
        """What is missing up to a number; `most` bounds how many events that is."""
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
        """Report what is missing below a number as lost, and go on after it."""
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


LOSS_PAUSES = 4
"""While a publisher is heard of, a question waits at most this many times as long as the first."""


class Source:
    """A publisher, as a receiver sees it: a window for each topic, and when to ask.

    A receiver takes topics up in turns, which it counts.
    """

    def __init__(self, publisher: str, settings: Settings) -> None:
        self.publisher = publisher
        self.acknowledged = 0
        """All topics that were taken up in turns up to this one have started."""
        self.windows: dict[str, ReceiveWindow] = {}
        """The windows of those topics that the publisher has published on."""
        self.open: dict[str, None] = {}
        """The topics whose windows wait for something, in the order of asking."""
        self.gone = False
        """Whether it has been silent for so long that it is not asked any more."""
        self.pause_ms = settings.ask_after_ms
        self._settings = settings
        self._silent = 0
        """How many questions in a row got no sign of the publisher."""

    @property
    def silent(self) -> bool:
        """Whether the last questions, as many as `give_up` allows, got no sign of it."""
        return self._silent >= self._settings.give_up

    def heard(self, *, answered: bool) -> None:
        """Note that the publisher gave a sign of itself; with `answered`, an answer."""
        self._silent, self.gone = 0, False
        # After an answer the pause is the shortest again; any other sign only bounds it.
        most = 1 if answered else LOSS_PAUSES
        self.pause_ms = min(self.pause_ms, most * self._settings.ask_after_ms)

    def asked(self) -> None:
        """Note that a question went out; the next one waits for longer."""
        self._silent += 1
        self.pause_ms = min(2 * self.pause_ms, self._settings.ask_at_most_ms)

    def window(self, topic: str, turn: int) -> ReceiveWindow:
        """A topic's window; it starts with the first event if the topic was acknowledged before."""
        window = self.windows.get(topic)
        if window is None:
            window = ReceiveWindow(self.publisher, topic, self._settings.window)
            self.windows[topic] = window
            if turn <= self.acknowledged:
                window.start(0)
        return window

    def settled(self, window: ReceiveWindow, outcome: Outcome) -> Outcome:
        """Note whether a window still waits for something; returns what came out of it."""
        if window.complete:
            self.open.pop(window.topic, None)
        else:
            self.open.setdefault(window.topic)
        return outcome

    def forget(self, topic: str) -> None:
        """Drop a topic that is no longer wanted."""
        self.windows.pop(topic, None)
        self.open.pop(topic, None)

    def suspect(self) -> None:
        """Mark what is missing now: it will have been waited for when the alarm rings."""
        for topic in self.open:
            self.windows[topic].suspected = self.windows[topic].highest

    def due(self) -> tuple[Gap, ...]:
        """What was waited for and is still missing, as much as one question may hold."""
        gaps: list[Gap] = []
        left = self._settings.ask_events
        for topic in self.open:
            window = self.windows[topic]
            found = window.gaps(window.suspected, left)
            left -= sum(gap.last - gap.first + 1 for gap in found)
            gaps += found
        # Topics take turns, so that one that misses much keeps no other from being asked for.
        for topic in {gap.topic: None for gap in gaps}:
            self.open[topic] = self.open.pop(topic)
        return tuple(gaps)

    def give_up(self, topic: str, before: int) -> Outcome:
        """Report what is missing of a topic below a number as lost."""
        window = self.windows.get(topic)
        return [] if window is None else self.settled(window, window.give_up(before))

    def give_up_all(self) -> Outcome:
        """Report everything that is missing as lost."""
        outcome: Outcome = []
        for topic in sorted(self.open):
            outcome += self.give_up(topic, self.windows[topic].highest + 1)
        return outcome
