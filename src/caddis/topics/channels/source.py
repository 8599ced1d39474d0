"""What a receiver knows of one publisher: how far it is with each topic, and what it waits for.

Questions are asked a publisher at a time, for all topics together. What was found missing is waited
for before it is asked for, as it may only be late; and the longer no answer comes, the longer the
next question waits: not very long while the publisher can be heard, as then the question or its
answer was lost.
"""

from __future__ import annotations

from caddis.topics.channels.messages import Gap, Settings
from caddis.topics.channels.window import Outcome, ReceiveWindow

LOSS_PAUSES = 4
"""While a publisher is heard, a question waits at most this many times as long as the first."""


class Source:
    """A publisher, as a receiver sees it.

    A receiver takes topics up in turns, which it counts.
    """

    def __init__(self, publisher: str, settings: Settings) -> None:
        self.publisher = publisher
        self.acknowledged = 0
        """All topics that were taken up in turns up to this one have been started."""
        self.windows: dict[str, ReceiveWindow] = {}
        """By topic; only of topics that the publisher has published on."""
        self.open: dict[str, None] = {}
        """The topics whose windows wait for something, as they will be asked for next."""
        self.gone = False
        """Whether it has been silent for so long that nobody asks it any more."""
        self.pause_ms = settings.ask_after_ms
        self._settings = settings
        self._silent = 0
        """How many questions in a row were followed by no sign of the publisher."""

    @property
    def silent(self) -> bool:
        """Whether as many questions as may be were followed by no sign of the publisher."""
        return self._silent >= self._settings.give_up

    def heard(self, *, answered: bool) -> None:
        """The publisher gave a sign of itself, perhaps an answer."""
        self._silent, self.gone = 0, False
        most = 1 if answered else LOSS_PAUSES
        self.pause_ms = min(self.pause_ms, most * self._settings.ask_after_ms)

    def asked(self) -> None:
        """A question went out; the next waits for longer."""
        self._silent += 1
        self.pause_ms = min(2 * self.pause_ms, self._settings.ask_at_most_ms)

    def window(self, topic: str, turn: int) -> ReceiveWindow:
        """A topic's window; one that was acknowledged without a number starts with the first."""
        window = self.windows.get(topic)
        if window is None:
            window = ReceiveWindow(self.publisher, topic, self._settings.window)
            self.windows[topic] = window
            if turn <= self.acknowledged:
                window.start(0)
        return window

    def settled(self, window: ReceiveWindow, outcome: Outcome) -> Outcome:
        """Note whether a window still waits for something; pass on what came out of it."""
        if window.complete:
            self.open.pop(window.topic, None)
        else:
            self.open.setdefault(window.topic)
        return outcome

    def forget(self, topic: str) -> None:
        """A topic is no longer wanted."""
        self.windows.pop(topic, None)
        self.open.pop(topic, None)

    def suspect(self) -> None:
        """What is missing now will have been waited for when the alarm rings."""
        for topic in self.open:
            self.windows[topic].suspected = self.windows[topic].highest

    def due(self) -> tuple[Gap, ...]:
        """What was waited for and is still missing, as much as one question may hold.

        Topics take turns: one that misses much, or what never was, keeps no other from being asked
        for.
        """
        gaps: list[Gap] = []
        left = self._settings.ask_events
        for topic in self.open:
            window = self.windows[topic]
            found = window.gaps(window.suspected, left)
            left -= sum(gap.last - gap.first + 1 for gap in found)
            gaps += found
        for topic in {gap.topic: None for gap in gaps}:
            self.open[topic] = self.open.pop(topic)
        return tuple(gaps)

    def give_up(self, topic: str, before: int) -> Outcome:
        """What is missing of a topic below a number can no longer be had."""
        window = self.windows.get(topic)
        return [] if window is None else self.settled(window, window.give_up(before))

    def give_up_all(self) -> Outcome:
        """Nothing that is missing can be had."""
        outcome: Outcome = []
        for topic in sorted(self.open):
            outcome += self.give_up(topic, self.windows[topic].highest + 1)
        return outcome
