"""Which channel carries a topic: a map that is never changed, only replaced by its next version.

Publishers and receivers each hold a map and learn of a new one at different moments, so a map says
which version it is: a newer one takes the place of an older one, an older one that comes late is
ignored, and two different maps of one version are a mistake of whoever made them. Its text is the
same for equal maps, in files and between machines.

Make before break: the maps that serve at one time, and the alarms that end them.

When a new version comes, the old one goes on to serve beside it for an overlap. Publishers send an
event on the channels of all maps that serve, receivers join the channels of all; so nothing is
missed as long as their moments of change lie within an overlap of each other. Several versions may
come within one overlap: each old one serves until its own time is over.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import count, islice
from numbers import Integral
from typing import NamedTuple

from caddis.arrays import Int32s
from caddis.errors import TopicError
from caddis.topics.links import CLOCK, Link, Wake

Move = tuple[int | None, int | None]
"""The channel of a topic before and after; None where the topic is not in the map."""

COMPARED = 500
"""An unknown topic is compared with so many others at most: it takes 20 µs each."""


class ChannelMap:
    """Topics and the channels that carry them.

    otherwise: the channel of topics that are not in the map; None: there is none for them.

    >>> first = ChannelMap({"chess": 0, "tea": 0, "rain": 1})
    >>> first.channel_of("rain"), first.topics_of(0)
    (1, ('chess', 'tea'))
    >>> second = first.with_channels({"tea": 1})
    >>> second.version, first.moves(second)
    (2, {'tea': (0, 1)})
    >>> first.latest(second) is second and second.latest(first) is second
    True
    >>> first.channel_of("tee")
    Traceback (most recent call last):
    caddis.errors.TopicError: topic 'tee' is not in version 1 of the map; did you mean 'tea'?
    """

    __slots__ = ("_channels", "_topics", "otherwise", "version")

    def __init__(
        self, channels: Mapping[str, int], version: int = 1, otherwise: int | None = None
    ) -> None:
        self._channels = {
            checked_topic(topic): _checked_channel(topic, channel)
            for topic, channel in channels.items()
        }
        self._topics: dict[int, tuple[str, ...]] | None = None
        self.version = checked_number("a map's version", version)
        self.otherwise = (
            None
            if otherwise is None
            else checked_number("the channel of all other topics", otherwise)
        )

    @classmethod
    def from_arrays(
        cls, topics: Sequence[str], channels: Int32s, version: int = 1, otherwise: int | None = None
    ) -> ChannelMap:
        """A map from a clustering: the topics' names, and the channel of each."""
        if len(topics) != len(channels) or len(set(topics)) != len(topics):
            raise TopicError(
                f"{len(channels):,} channels need as many different topics, not"
                f" {len(set(topics)):,} among {len(topics):,}"
            )
        return cls(dict(zip(topics, channels.tolist(), strict=True)), version, otherwise)

    @classmethod
    def from_json(cls, text: str) -> ChannelMap:
        """The map that `to_json` wrote."""
        try:
            read = json.loads(text, object_pairs_hook=_distinct)
        except (ValueError, RecursionError) as error:
            raise TopicError(f"the text is no channel map: {error}") from error
        if not isinstance(read, dict) or not isinstance(read.get("channels"), dict):
            raise TopicError('a channel map reads {"channels": {topic: channel}, "version": 1}')
        if unknown := sorted(set(read) - {"channels", "otherwise", "version"}):
            raise TopicError(f"a channel map has no {unknown[0]!r}; written by a later release?")
        return cls(read["channels"], read.get("version", 1), read.get("otherwise"))

    def to_json(self) -> str:
        """The map as one line of text; equal maps have the same."""
        fields: dict[str, object] = {"channels": self._channels, "version": self.version}
        if self.otherwise is not None:
            fields["otherwise"] = self.otherwise
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def __len__(self) -> int:
        return len(self._channels)

    def __contains__(self, topic: str) -> bool:
        return topic in self._channels

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChannelMap):
            return NotImplemented
        return self is other or (
            (self.version, self.otherwise) == (other.version, other.otherwise)
            and self._channels == other._channels
        )

    def __hash__(self) -> int:
        return hash((self.version, self.otherwise, len(self._channels)))

    def __repr__(self) -> str:
        return f"<ChannelMap version {self.version}: {len(self):,} topics>"

    @property
    def topics(self) -> Iterable[str]:
        """All topics that have a channel of their own choice."""
        return self._channels.keys()

    @property
    def channels(self) -> dict[str, int]:
        """The channel of each topic, as a copy."""
        return dict(self._channels)

    def get(self, topic: str) -> int | None:
        """The topic's channel, or None if no channel carries it."""
        return self._channels.get(topic, self.otherwise)

    def channel_of(self, topic: str) -> int:
        """The topic's channel."""
        channel = self.get(checked_topic(topic))
        if channel is None:
            close = get_close_matches(topic, self._alike(topic), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TopicError(f"topic {topic!r} is not in version {self.version} of the map{hint}")
        return channel

    def topics_of(self, channel: int) -> tuple[str, ...]:
        """The topics of a channel, by name; the first call sorts all of them."""
        if self._topics is None:
            together: dict[int, list[str]] = {}
            for topic in sorted(self._channels):
                together.setdefault(self._channels[topic], []).append(topic)
            self._topics = {number: tuple(topics) for number, topics in together.items()}
        return self._topics.get(channel, ())

    def moves(self, other: ChannelMap) -> dict[str, Move]:
        """The topics whose channel is not the same in another map."""
        moved = {topic for topic, _ in self._channels.items() ^ other._channels.items()}
        ways = {topic: (self.get(topic), other.get(topic)) for topic in sorted(moved)}
        return {topic: way for topic, way in ways.items() if way[0] != way[1]}

    def with_channels(self, changes: Mapping[str, int | None]) -> ChannelMap:
        """The next version: these topics are moved or added, or taken out (None); others stay."""
        after = {**self._channels, **changes}
        kept = {topic: channel for topic, channel in after.items() if channel is not None}
        return ChannelMap(kept, self.version + 1, self.otherwise)

    def latest(self, other: ChannelMap) -> ChannelMap:
        """Which of two maps holds."""
        if other.version == self.version and other != self:
            raise TopicError(
                f"two different maps are version {self.version}: {self._difference(other)};"
                " one author must number all versions"
            )
        return other if other.version > self.version else self

    def _difference(self, other: ChannelMap) -> str:
        if moves := self.moves(other):
            return f"{len(moves):,} topics have another channel"
        if self.otherwise != other.otherwise:
            return f"the channel of all other topics is {self.otherwise} or {other.otherwise}"
        return "they name different topics"

    def _alike(self, topic: str) -> Iterable[str]:
        """Some topics that begin alike and are about as long."""
        near = range(len(topic) - 2, len(topic) + 3)
        alike = (one for one in self._channels if one[:1] == topic[:1] and len(one) in near)
        return islice(alike, COMPARED)


def is_whole(number: object) -> bool:
    """Whether it is a whole number, of Python or of numpy; True and False are none."""
    return isinstance(number, Integral) and not isinstance(number, bool)


def checked_number(what: str, number: int) -> int:
    """A whole number from 0 up, as Python's."""
    if not is_whole(number) or number < 0:
        raise TopicError(f"{what} is a whole number from 0 up, not {number!r}")
    return int(number)


def checked_topic(topic: str) -> str:
    """A topic, if it is one."""
    if not isinstance(topic, str):
        raise TopicError(f"a topic is a text, not {topic!r}")
    return topic


def checked_topics(topics: Iterable[str]) -> dict[str, None]:
    """Topics without repetition, in their order. A text alone is not taken apart.

    >>> list(checked_topics(["tea", "rain", "tea"]))
    ['tea', 'rain']
    """
    if isinstance(topics, str | bytes):
        raise TopicError(f"topics are a list of texts, such as [{topics!r}], not {topics!r}")
    return dict.fromkeys(map(checked_topic, topics))


def _checked_channel(topic: str, channel: int) -> int:
    if type(channel) is int and channel >= 0:
        return channel
    return checked_number(f"topic {topic!r}: a channel", channel)


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read = dict(pairs)
    if len(read) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise TopicError(f"{twice!r} stands twice in the text of a channel map")
    return read


class MapEnds(NamedTuple):
    """The overlap of an old version is over."""

    version: int


class Alarms:
    """What a node waits for: what each of its alarms means, one of a meaning at a time."""

    def __init__(self) -> None:
        self._tokens = count(1)
        self._meanings: dict[int, Hashable] = {}
        self._set: dict[Hashable, int] = {}

    def __contains__(self, meaning: Hashable) -> bool:
        return meaning in self._set

    def set(self, after_ms: float, meaning: Hashable) -> tuple[Link, Wake]:
        """Ask to be woken; an alarm of the same meaning no longer counts."""
        self.cancel(meaning)
        token = next(self._tokens)
        self._meanings[token], self._set[meaning] = meaning, token
        return CLOCK, Wake(after_ms, token)

    def cancel(self, meaning: Hashable) -> None:
        """Whatever was set for this no longer counts."""
        token = self._set.pop(meaning, None)
        if token is not None:
            del self._meanings[token]

    def rung(self, wake: Wake) -> Hashable | None:
        """What an alarm means; None if it no longer counts."""
        meaning = self._meanings.pop(wake.token, None)
        self._set.pop(meaning, None)
        return meaning


class ServedMaps:
    """The current map, and older ones in their overlap.

    >>> alarms = Alarms()
    >>> maps = ServedMaps(ChannelMap({"tea": 0}), 2_000, alarms)
    >>> [(_, wake)] = maps.adopt(maps.current.with_channels({"tea": 7}))
    >>> list(maps.channels_of("tea"))
    [7, 0]
    >>> alarms.rung(wake)
    MapEnds(version=1)
    >>> maps.end(1)
    >>> list(maps.channels_of("tea"))
    [7]
    """

    def __init__(self, first: ChannelMap, overlap_ms: float, alarms: Alarms) -> None:
        self.current = first
        self._old: dict[int, ChannelMap] = {}
        self._overlap_ms, self._alarms = overlap_ms, alarms

    def adopt(self, new: ChannelMap) -> list[tuple[Link, Wake]]:
        """Take up a map if it is newer; the one before it serves for an overlap."""
        old = self.current
        if old.latest(new) is old:
            return []
        self.current, self._old[old.version] = new, old
        return [self._alarms.set(self._overlap_ms, MapEnds(old.version))]

    def end(self, version: int) -> None:
        """An old map no longer serves."""
        del self._old[version]

    def channels_of(self, topic: str) -> dict[int, None]:
        """The different channels that carry a topic now, the current map's first."""
        channels = [self.current.get(topic), *(old.get(topic) for old in self._old.values())]
        return dict.fromkeys(channel for channel in channels if channel is not None)
