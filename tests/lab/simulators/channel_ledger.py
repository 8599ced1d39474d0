"""What receivers must deliver, told from when things happened and from nothing that nodes know.

Everything gets an ordinal when it is noted: publishing before and after the call, subscribing,
being acknowledged, being handed an event. Of two things, one was before the other only if all of
it was; so the same book serves in virtual time and for threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from threading import Lock

from caddis.topics.channels.messages import Acknowledged, Event, Lost

LIVE = 1 << 60


@dataclass
class Interest:
    """A receiver wants a topic for a time."""

    receiver: str
    topic: str
    begun: int
    ended: int = LIVE
    acknowledged: dict[str, int] = field(default_factory=dict)
    handed: dict[str, list[tuple[int, Event | Lost]]] = field(default_factory=dict)


class Ledger:
    def __init__(self) -> None:
        self._ordinals = count(1)
        self._lock = Lock()
        self._interests: dict[tuple[str, str], Interest] = {}
        self.interests: list[Interest] = []
        self.published: dict[tuple[str, str], list[list[int]]] = {}
        """By publisher and topic: when the call began and when it was over."""
        self.strays: list[tuple[str, object]] = []

    def now(self) -> int:
        with self._lock:
            return next(self._ordinals)

    def publishing(self, publisher: str, topic: str) -> str:
        """To be called before publishing; gives the event's body."""
        calls = self.published.setdefault((publisher, topic), [])
        calls.append([self.now(), LIVE])
        return f"{publisher}/{topic}/{len(calls)}"

    def was_published(self, publisher: str, topic: str) -> None:
        self.published[publisher, topic][-1][1] = self.now()

    def subscribing(self, receiver: str, topics: list[str]) -> None:
        for topic in topics:
            interest = Interest(receiver, topic, self.now())
            self._interests[receiver, topic] = interest
            self.interests.append(interest)

    def unsubscribed(self, receiver: str, topics: list[str]) -> None:
        for topic in topics:
            self._interests.pop((receiver, topic)).ended = self.now()

    def hear(self, receiver: str, message: object) -> None:
        """What a receiver handed to its subscriber."""
        if isinstance(message, Acknowledged):
            for topic in message.topics:
                interest = self._interests[receiver, topic]
                assert message.publisher not in interest.acknowledged
                interest.acknowledged[message.publisher] = self.now()
            return
        assert isinstance(message, Event | Lost)
        wanted = self._interests.get((receiver, message.topic))
        if wanted is None:
            self.strays.append((receiver, message))
        else:
            wanted.handed.setdefault(message.publisher, []).append((self.now(), message))

    # -- judging

    def numbers(self, receiver: str, publisher: str, topic: str) -> list[int]:
        """What a receiver was handed for a topic that it wants, in that order."""
        handed = self._interests[receiver, topic].handed.get(publisher, [])
        return [one.number for _, one in handed if isinstance(one, Event)]

    def losses(self) -> list[Lost]:
        handed = [
            one
            for interest in self.interests
            for all_ in interest.handed.values()
            for _, one in all_
        ]
        return [one for one in handed if isinstance(one, Lost)]

    def settled(self) -> bool:
        """Whether all publishers acknowledged every live interest, and it has their last event."""
        return all(
            publisher in interest.acknowledged
            and self._last_of(interest, publisher) in (0, len(calls))
            for (publisher, topic), calls in list(self.published.items())
            for interest in self._interests.values()
            if interest.topic == topic
        )

    def _last_of(self, interest: Interest, publisher: str) -> int:
        """The last number that was handed over; 0 if none was and none has to be."""
        if handed := interest.handed.get(publisher):
            last = handed[-1][1]
            return last.number if isinstance(last, Event) else last.last
        calls = self.published[publisher, interest.topic]
        return -1 if calls[-1][0] > interest.acknowledged[publisher] else 0

    def check(self) -> None:
        """Each event of a wanted topic once and in order, and no other."""
        assert not self.strays
        for interest in self.interests:
            for publisher in {one for one, _ in self.published}:
                self._check(interest, publisher)

    def _check(self, interest: Interest, publisher: str) -> None:
        calls = self.published.get((publisher, interest.topic), [])
        acknowledged = interest.acknowledged.get(publisher, LIVE)
        numbers: list[int] = []
        for moment, one in interest.handed.get(publisher, []):
            assert moment > acknowledged
            if isinstance(one, Lost):
                numbers += range(one.first, one.last + 1)
                continue
            numbers.append(one.number)
            assert one.body == f"{publisher}/{interest.topic}/{one.number}"
            assert moment > calls[one.number - 1][0]
        what = (interest, publisher, len(calls))
        if numbers:
            assert numbers == list(range(numbers[0], numbers[-1] + 1)), what
            assert calls[numbers[0] - 1][1] > interest.begun, what
        wanted = [place + 1 for place, call in enumerate(calls) if call[0] > acknowledged]
        if interest.ended == LIVE and wanted:
            assert numbers, what
            assert numbers[0] <= wanted[0], what
            assert numbers[-1] == len(calls), what
        elif interest.ended == LIVE and numbers:
            assert numbers[-1] == len(calls), what
        elif numbers and wanted:
            assert numbers[0] <= wanted[0], what
            assert calls[numbers[-1] - 1][0] < interest.ended, what
