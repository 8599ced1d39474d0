"""Who publishes on channels: numbers events, sends them by the map, and again to those who ask.

An event goes out on the channel of its topic and, while an older map still serves, on that map's
channel, too. The publisher knows no receivers. From time to time it tells everybody its last
numbers, so that a receiver that missed an event, even the last one, or that listens where this
publisher no longer speaks, finds out and asks. What it keeps for them is bounded: the last
`Settings.history` events of each topic.

A publisher that restarts forgets its numbers, so it must take a new name.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from caddis.errors import TopicError
from caddis.topics.channels.map import ChannelMap, MapEnds, ServedMaps, checked_topic
from caddis.topics.channels.messages import (
    CONTROL,
    Ask,
    Channel,
    Digest,
    Event,
    Gone,
    Peer,
    Settings,
    Start,
    Started,
)
from caddis.topics.links import Alarms, Link, Sent, Wake

TELLINGS = 3
"""A new number is in at least this many digests, as some may be lost; then it takes turns."""

OTHERS = 16
"""A digest with new numbers has at most this many others, so that it stays small."""


class TellNumbers(NamedTuple):
    """An alarm: it is time for a digest."""


class ChannelPublisher:
    """A publisher on channels.

    >>> ann = ChannelPublisher("ann", ChannelMap({"tea": 3}))
    >>> _ = ann.begin()
    >>> ann.publish("tea", "is ready")[0]
    (Channel(number=3), Event(publisher='ann', topic='tea', number=1, body='is ready'))
    """

    def __init__(self, name: str, first: ChannelMap, settings: Settings | None = None) -> None:
        self.name = name
        self._settings = settings or Settings()
        self._alarms = Alarms()
        self._maps = ServedMaps(first, self._settings.overlap_ms, self._alarms)
        self._kept: dict[str, deque[object]] = {}
        self._last: dict[str, int] = {}
        """The last number of each topic, in the order in which they are told next."""
        self._new: dict[str, int] = {}
        """How many digests must still tell a topic's number, where it is new."""
        self._pause_ms = self._settings.digest_ms
        self._round = 0
        """How many topics were told again since nothing is new: the pause grows after a round."""

    @property
    def version(self) -> int:
        """The version of the map that it publishes by."""
        return self._maps.current.version

    def begin(self) -> Sent:
        """Announce the publisher, so that receivers start with its first event."""
        return [(CONTROL, Digest(self.name, ())), self._next_digest()]

    def publish(self, topic: str, body: object) -> Sent:
        """Publish an event. A topic that is in no map that serves now is refused."""
        channels = self._maps.channels_of(checked_topic(topic))
        if not channels:
            self._maps.current.channel_of(topic)  # raises, and says what may have been meant
        number = self._last.get(topic, 0) + 1
        self._last[topic] = number
        self._kept.setdefault(topic, deque(maxlen=self._settings.history)).append(body)
        self._new[topic] = TELLINGS
        event = Event(self.name, topic, number, body)
        sent: Sent = [(Channel(one), event) for one in channels]
        # After a quiet time the next digest may be far away: the new number must be told sooner.
        if self._pause_ms > self._settings.digest_ms or TellNumbers() not in self._alarms:
            self._pause_ms = self._settings.digest_ms
            sent.append(self._next_digest())
        return sent

    def adopt(self, new: ChannelMap) -> Sent:
        """Take up a map that was announced, if it is newer."""
        return [*self._maps.adopt(new)]

    def handle(self, link: Link, message: Any) -> Sent:  # noqa: ARG002
        """Take in a receiver's question, a new map, or an alarm."""
        match message:
            case Ask():
                return self._answer(message)
            case Start():
                return [(Peer(message.receiver), self._started(message))]
            case ChannelMap():
                return self.adopt(message)
            case Wake():
                return self._wake(message)
        raise TopicError(f"publisher {self.name!r} cannot use a {type(message).__name__}")

    def _wake(self, wake: Wake) -> Sent:
        match self._alarms.rung(wake):
            case MapEnds(version):
                self._maps.end(version)
            case TellNumbers():
                return self._tell()
        return []

    def _tell(self) -> Sent:
        digest = Digest(self.name, tuple((topic, self._last[topic]) for topic in self._in_turn()))
        self._round = 0 if self._new else self._round + len(digest.numbers)
        if not self._new and self._round >= len(self._last):
            self._round = 0
            self._pause_ms = min(2 * self._pause_ms, self._settings.idle_digest_ms)
        return [(CONTROL, digest), self._next_digest()]

    def _in_turn(self) -> list[str]:
        """The topics of the next digest: new numbers first, then those told longest ago."""
        most = self._settings.digest_topics
        topics = list(self._new)[:most]
        for topic in topics:
            left = self._new.pop(topic) - 1
            if left:
                self._new[topic] = left
        most = min(most, len(topics) + OTHERS) if topics else most
        chosen = dict.fromkeys(topics)
        for topic in self._last:
            if len(chosen) >= most:
                break
            chosen[topic] = None
        # What was told moves to the end of the queue.
        for topic in chosen:
            self._last[topic] = self._last.pop(topic)
        return list(chosen)

    def _next_digest(self) -> tuple[Link, Wake]:
        return self._alarms.set(self._pause_ms, TellNumbers())

    def _started(self, start: Start) -> Started:
        numbers = tuple((one, self._last[one]) for one in start.topics if one in self._last)
        return Started(self.name, start.since, start.turn, numbers)

    def _answer(self, ask: Ask) -> Sent:
        sent: Sent = []
        peer, left = Peer(ask.receiver), self._settings.ask_events
        for topic, first, last in ask.gaps:
            kept = self._kept.get(topic)
            if kept is None:
                continue
            # Only the last events are kept, so their numbers follow from how many they are.
            oldest = self._last[topic] - len(kept) + 1
            if first < oldest:
                sent.append((peer, Gone(self.name, topic, min(oldest, last + 1))))
            for number in range(max(first, oldest), min(last, self._last[topic]) + 1)[:left]:
                sent.append((peer, Event(self.name, topic, number, kept[number - oldest])))
                left -= 1
        return sent
