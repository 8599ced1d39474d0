"""Which channel carries a topic: a map that is never changed, only replaced by its next version.

Publishers and receivers each hold a map, and learn of a new one at different moments. So a map says
which version it is: a newer one replaces an older one, an older one that comes late is ignored, and
two different maps of one version are an error of whoever made them. Equal maps have the same text,
in files and between machines.

Make before break: when a new version comes, the old one goes on to serve beside it for an overlap.
Publishers send an event on the channels of all maps that serve, and receivers join the channels of
all of them, so nothing is missed as long as their moments of change lie within an overlap of each
other. Several versions may come within one overlap: each old one serves until its own time is over.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from numbers import Integral
from typing import NamedTuple

from caddis.arrays import Int32s
from caddis.errors import TopicError
from caddis.names import did_you_mean
from caddis.topics.links import Alarms, Link, Wake

Move = tuple[int | None, int | None]
"""A topic's channel before and after; None where the topic is not in the map."""

COMPARED = 500
"""An unknown topic is compared with at most this many others: each takes 20 µs."""


class ChannelMap:
    """Topics and the channels that carry them.

    otherwise: the channel of topics that are not in the map; None if no channel carries them.

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
        """Make a map of a clustering: the topics' names, and the channel of each."""
        if len(topics) != len(channels) or len(set(topics)) != len(topics):
            raise TopicError(
                f"{len(channels):,} channels need as many different topics, not"
                f" {len(topics):,} topics of which {len(set(topics)):,} are different"
            )
        return cls(dict(zip(topics, channels.tolist(), strict=True)), version, otherwise)

    @classmethod
    def from_json(cls, text: str) -> ChannelMap:
        """Read the map that `to_json` wrote."""
        try:
            read = json.loads(text, object_pairs_hook=_distinct)
        except (ValueError, RecursionError) as error:
            raise TopicError(f"the text is not a channel map: {error}") from error
        if not isinstance(read, dict) or not isinstance(read.get("channels"), dict):
            raise TopicError('a channel map reads {"channels": {topic: channel}, "version": 1}')
        if unknown := sorted(set(read) - {"channels", "otherwise", "version"}):
            raise TopicError(f"a channel map has no {unknown[0]!r}; written by a later release?")
        return cls(read["channels"], read.get("version", 1), read.get("otherwise"))

    def to_json(self) -> str:
        """Write the map as one line of text; equal maps give the same text."""
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
        """All topics that the map names."""
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
            hint = did_you_mean(topic, self._alike(topic))
            raise TopicError(f"topic {topic!r} is not in version {self.version} of the map{hint}")
        return channel

    def topics_of(self, channel: int) -> tuple[str, ...]:
        """The topics of a channel, in order; the first call sorts all of them."""
        if self._topics is None:
            together: dict[int, list[str]] = {}
            for topic in sorted(self._channels):
                together.setdefault(self._channels[topic], []).append(topic)
            self._topics = {number: tuple(topics) for number, topics in together.items()}
        return self._topics.get(channel, ())

    def moves(self, other: ChannelMap) -> dict[str, Move]:
        """The topics whose channel is another one in the other map."""
        moved = {topic for topic, _ in self._channels.items() ^ other._channels.items()}
        ways = {topic: (self.get(topic), other.get(topic)) for topic in sorted(moved)}
        return {topic: way for topic, way in ways.items() if way[0] != way[1]}

    def with_channels(self, changes: Mapping[str, int | None]) -> ChannelMap:
        """The next version: these topics are moved, added, or removed (None); others stay."""
        after = {**self._channels, **changes}
        kept = {topic: channel for topic, channel in after.items() if channel is not None}
        return ChannelMap(kept, self.version + 1, self.otherwise)

    def latest(self, other: ChannelMap) -> ChannelMap:
        """The newer of two maps."""
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
        """Some topics that begin with the same letter and are about as long."""
        near = range(len(topic) - 2, len(topic) + 3)
        alike = (one for one in self._channels if one[:1] == topic[:1] and len(one) in near)
        return islice(alike, COMPARED)


def is_whole(number: object) -> bool:
    """Whether this is a whole number, of Python or of numpy; True and False are not."""
    return isinstance(number, Integral) and not isinstance(number, bool)


def checked_number(what: str, number: int) -> int:
    """A whole number from 0 up, as an `int`; `what` names it in errors."""
    if not is_whole(number) or number < 0:
        raise TopicError(f"{what} is a whole number from 0 up, not {number!r}")
    return int(number)


def checked_topic(topic: str) -> str:
    """The topic itself; raises unless it is a text."""
    if not isinstance(topic, str):
        raise TopicError(f"a topic is a text, not {topic!r}")
    return topic


def checked_topics(topics: Iterable[str]) -> dict[str, None]:
    """Topics without repetition, in their order.

    A single text is refused, as it would be taken apart.

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
        raise TopicError(f"{twice!r} occurs twice in the text of a channel map")
    return read


class MapEnds(NamedTuple):
    """An alarm: the overlap of an old version is over."""

    version: int


class ServedMaps:
    """The current map, and older ones that still serve during their overlap.

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
        """Take up a map if it is newer; the one before it goes on to serve for an overlap."""
        old = self.current
        # `latest` raises if both have the same version and are different.
        if old.latest(new) is old:
            return []
        self.current, self._old[old.version] = new, old
        return [self._alarms.set(self._overlap_ms, MapEnds(old.version))]

    def end(self, version: int) -> None:
        """End the overlap of an old map."""
        del self._old[version]

    def channels_of(self, topic: str) -> dict[int, None]:
        """The channels that carry a topic now, each once, the current map's first."""
        channels = [self.current.get(topic), *(old.get(topic) for old in self._old.values())]
        return dict.fromkeys(channel for channel in channels if channel is not None)
