"""Who receives from channels: gives its subscriber each wanted event once, in order, and no other.

A receiver joins the channels of its topics in every map that serves, and drops what it does not
want or has had. It finds what is missing by the numbers of later events and of digests, and asks
the publisher for it, again and again and less and less often. What the publisher no longer has, or
what a publisher that is silent for long cannot be asked for, is reported as lost. Nothing is ever
left out silently. So what is delivered does not depend on which map anybody has: only how soon it
comes does, and how many questions it takes.

A topic starts when a publisher acknowledges it: everything published after that comes. A `Join` or
`Leave` that was lost or overtaken is sent again: a channel is joined again when what it carries has
to be asked for though nothing comes on it, and left again when events still come on it. A receiver
that restarts is a new receiver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from caddis.errors import TopicError
from caddis.topics.channels.map import ChannelMap, MapEnds, ServedMaps, checked_topics
from caddis.topics.channels.messages import (
    CONTROL,
    SUBSCRIBER,
    Acknowledged,
    Ask,
    Channel,
    Digest,
    Event,
    Gap,
    Gone,
    Join,
    Leave,
    Lost,
    Peer,
    Settings,
    Start,
    Started,
)
from caddis.topics.channels.source import Outcome, Source
from caddis.topics.links import Alarms, Link, Sent, Wake

STRAYS = 8
"""A channel that was left is left again after this many events on it: fewer may be under way."""


class AskAgain(NamedTuple):
    """An alarm: it is time to ask a publisher for what is missing."""

    publisher: str


@dataclass(slots=True)
class Tally:
    """What a receiver has seen so far, in events; `asks` counts messages."""

    delivered: int = 0
    duplicates: int = 0
    unwanted: int = 0
    asked: int = 0
    asks: int = 0
    lost: int = 0


class ChannelReceiver:
    """A receiver of channels.

    >>> bob = ChannelReceiver("bob", ChannelMap({"tea": 3}))
    >>> bob.subscribe(["tea"])[0]
    (Channel(number=3), Join(receiver='bob'))
    >>> _ = bob.handle(Peer("ann"), Started("ann", since=0, turn=1, numbers=(("tea", 4),)))
    >>> bob.handle(Channel(3), Event("ann", "tea", 5, "is ready"))[0][1].body
    'is ready'
    """

    def __init__(self, name: str, first: ChannelMap, settings: Settings | None = None) -> None:
        self.name = name
        self.tally = Tally()
        self._settings = settings or Settings()
        self._alarms = Alarms()
        self._maps = ServedMaps(first, self._settings.overlap_ms, self._alarms)
        self._turn = 0
        self._wanted: dict[str, int] = {}
        """The turn in which each topic was taken up; later ones are last."""
        self._joined: set[int] = set()
        self._alive: set[int] = set()
        """The channels on which something came since one of their events was asked for."""
        self._strays: Counter[int] = Counter()
        """How many events came on each channel since it was left, or left again."""
        self._sources: dict[str, Source] = {}

    @property
    def version(self) -> int:
        """The version of the map that it listens by."""
        return self._maps.current.version

    @property
    def topics(self) -> frozenset[str]:
        """The topics that its subscriber wants."""
        return frozenset(self._wanted)

    @property
    def channels(self) -> frozenset[int]:
        """The channels that it has joined."""
        return frozenset(self._joined)

    def subscribe(self, topics: Iterable[str]) -> Sent:
        """Want more topics; each publisher acknowledges them for itself."""
        added = tuple(topic for topic in checked_topics(topics) if topic not in self._wanted)
        if not added:
            return []
        self._turn += 1
        self._wanted.update(dict.fromkeys(added, self._turn))
        start = Start(self.name, self._turn - 1, self._turn, added)
        sent = [*self._join_and_leave(), (CONTROL, start)]
        for source in self._sources.values():
            sent += self._watch(source)
        return sent

    def unsubscribe(self, topics: Iterable[str]) -> Sent:
        """Stop wanting topics; what is held back or missing of them is forgotten."""
        for topic in checked_topics(topics).keys() & self._wanted.keys():
            del self._wanted[topic]
            for source in self._sources.values():
                source.forget(topic)
        return self._join_and_leave()

    def adopt(self, new: ChannelMap) -> Sent:
        """Take up a map that was announced, if it is newer."""
        return [*self._maps.adopt(new), *self._join_and_leave()]

    def publisher_left(self, publisher: str) -> Sent:
        """Forget a publisher that is gone for good; what is missing from it is lost."""
        source = self._sources.pop(publisher, None)
        if source is None:
            return []
        self._alarms.cancel(AskAgain(publisher))
        return self._hand_over(source.give_up_all())

    def handle(self, link: Link, message: Any) -> Sent:
        """Take in an event, a message about a publisher's numbers, a new map, or an alarm."""
        match message:
            case ChannelMap():
                return self.adopt(message)
            case Wake():
                return self._wake(message)
            case Event() | Digest() | Started() | Gone():
                stray = self._came_on(link.number) if isinstance(link, Channel) else []
                source = self._heard(message.publisher, answered=isinstance(link, Peer))
                return [*stray, *self._hear(source, message), *self._watch(source)]
        raise TopicError(f"receiver {self.name!r} cannot use a {type(message).__name__}")

    def _hear(self, source: Source, message: Event | Digest | Started | Gone) -> Sent:
        match message:
            case Event():
                return self._take(source, message)
            case Started():
                return self._start(source, message)
            case Digest():
                self._reach(source, message)
                return []
            case Gone():
                return self._hand_over(source.give_up(message.topic, message.before))

    def _heard(self, publisher: str, *, answered: bool) -> Source:
        source = self._sources.get(publisher)
        if source is None:
            source = self._sources[publisher] = Source(publisher, self._settings)
        source.heard(answered=answered)
        return source

    def _take(self, source: Source, event: Event) -> Sent:
        turn = self._wanted.get(event.topic)
        if turn is None:
            self.tally.unwanted += 1
            return []
        window = source.window(event.topic, turn)
        # During an overlap an event comes on two channels; an answer may come twice, too.
        if window.knows(event.number):
            self.tally.duplicates += 1
            return []
        return self._hand_over(source.settled(window, window.take(event.number, event.body)))

    def _reach(self, source: Source, digest: Digest) -> None:
        for topic, last in digest.numbers:
            turn = self._wanted.get(topic)
            if turn is not None:
                window = source.window(topic, turn)
                window.reach(last)
                source.settled(window, [])

    def _hand_over(self, outcome: Outcome) -> Sent:
        for one in outcome:
            if isinstance(one, Lost):
                self.tally.lost += one.last - one.first + 1
            else:
                self.tally.delivered += 1
        return [(SUBSCRIBER, one) for one in outcome]

    # -- starting topics

    def _start(self, source: Source, started: Started) -> Sent:
        """Begin with the topics of a question that has its answer."""
        # An answer to a later question does not count if one before it is still open: topics of the
        # open turn would seem acknowledged. The alarm asks again for all open turns together.
        if started.since > source.acknowledged or started.turn <= source.acknowledged:
            return []
        numbers = dict(started.numbers)
        topics = self._unacknowledged(source, started.turn)
        sent: Sent = [(SUBSCRIBER, Acknowledged(source.publisher, topics))] if topics else []
        for topic in topics:
            if topic in numbers or topic in source.windows:
                window = source.window(topic, self._wanted[topic])
                outcome = window.start(numbers.get(topic, 0))
                sent += self._hand_over(source.settled(window, outcome))
        source.acknowledged = started.turn
        return sent

    def _unacknowledged(self, source: Source, upto: int) -> tuple[str, ...]:
        if source.acknowledged >= upto:
            return ()
        turns = self._wanted.items()
        return tuple(topic for topic, turn in turns if source.acknowledged < turn <= upto)

    # -- asking again

    def _watch(self, source: Source) -> Sent:
        """Set an alarm if the publisher owes something; one that is gone is left alone."""
        alarm = AskAgain(source.publisher)
        owes = source.open or source.acknowledged < self._turn
        if not owes or alarm in self._alarms or source.gone:
            return []
        # Only what is missing now will have been waited for when the alarm rings.
        source.suspect()
        return [self._alarms.set(source.pause_ms, alarm)]

    def _wake(self, wake: Wake) -> Sent:
        match self._alarms.rung(wake):
            case MapEnds(version):
                self._maps.end(version)
                return self._join_and_leave()
            case AskAgain(publisher):
                source = self._sources[publisher]
                return [*self._ask(source), *self._watch(source)]
        return []

    def _ask(self, source: Source) -> Sent:
        """Ask for all that was waited for, or give it up after a long silence of the publisher."""
        if source.silent:
            source.gone = True
            return self._hand_over(source.give_up_all())
        peer, sent = Peer(source.publisher), Sent()
        if topics := self._unacknowledged(source, self._turn):
            sent.append((peer, Start(self.name, source.acknowledged, self._turn, topics)))
        elif source.acknowledged < self._turn:
            # All topics of the open turns were dropped again: there is nothing to ask for.
            source.acknowledged = self._turn
        if gaps := source.due():
            self.tally.asks += 1
            self.tally.asked += sum(gap.last - gap.first + 1 for gap in gaps)
            sent += [(peer, Ask(self.name, gaps)), *self._join_again(gaps)]
        if sent:
            source.asked()
        return sent

    # -- channels

    def _join_and_leave(self) -> Sent:
        needed = {one for topic in self._wanted for one in self._maps.channels_of(topic)}
        joins = sorted(needed - self._joined)
        leaves = sorted(self._joined - needed)
        self._joined = needed
        self._alive &= needed
        for one in joins:
            del self._strays[one]
        sent: Sent = [(Channel(one), Join(self.name)) for one in joins]
        return sent + [(Channel(one), Leave(self.name)) for one in leaves]

    def _join_again(self, gaps: Iterable[Gap]) -> Sent:
        """Join the channels again on which these topics should come, but nothing does."""
        topics = {gap.topic: None for gap in gaps}
        channels = {one for topic in topics for one in self._maps.channels_of(topic)}
        dead = sorted(channels - self._alive)
        # They must prove again that they carry something before the next question.
        self._alive -= channels
        return [(Channel(one), Join(self.name)) for one in dead]

    def _came_on(self, channel: int) -> Sent:
        """Note that something came on a channel; leave it again if it was left before."""
        if channel in self._joined:
            self._alive.add(channel)
            return []
        self._strays[channel] += 1
        if self._strays[channel] < STRAYS:
            return []
        del self._strays[channel]
        return [(Channel(channel), Leave(self.name))]
