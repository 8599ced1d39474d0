"""Make before break: the maps that serve at one time, and the alarms that end them.

When a new version comes, the old one goes on to serve beside it for an overlap. Publishers send an
event on the channels of all maps that serve, receivers join the channels of all; so nothing is
missed as long as their moments of change lie within an overlap of each other. Several versions may
come within one overlap: each old one serves until its own time is over.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import NamedTuple

from caddis.topics.channels.map import ChannelMap
from caddis.topics.links import CLOCK, Link, Wake


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
