"""What nodes that cluster topics together tell each other, besides their votes.

    Announcement   down   a new map, and which topics are voted on now
    Report         up     all below have taken that map over; what it costs them
    Offer          up     a map that was made for more nodes than the one from above

Announcements come from the root of the tree and go down only, so whoever has a link that leads up
has the map of the node above it. A link is in order: after the whole map, which it begins with,
only what changes has to be said.

A node's place in a tree: who is above it, who is below, and what they told of the map.

A link that leads up carries maps down, the others carry reports up. While the tree is changing, a
node may see two links that lead up; the one that came up last counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Int32s
from caddis.topics.clustering.schedule import Stage
from caddis.topics.links import Link

NUMBER_BYTES = 8


class Version(NamedTuple):
    """The name of a map; no two maps have the same.

    issuer: the node that announced it; a node numbers its maps upwards.
    """

    number: int
    issuer: int


FIRST = Version(0, -1)
"""Of the map that all nodes begin with."""


class Announcement(NamedTuple):
    """A map, and the topics that are voted on at it.

    base: the version that it differs from in `moved` only; None if all topics are there.
    nodes: how many nodes the map was made for, as far as the issuer knows.
    channels: of the topics that moved.
    """

    version: Version
    base: Version | None
    nodes: int
    stage: Stage
    topics: Int32s
    moved: Int32s
    channels: Int32s

    @property
    def nbytes(self) -> int:
        """At rest all topics are meant, and need not be listed; so it is with a whole map."""
        listed = self.topics.nbytes if self.stage != "rest" and self.base else 0
        moved = self.moved.nbytes if self.base else 0
        return 6 * NUMBER_BYTES + listed + moved + self.channels.nbytes


class Report(NamedTuple):
    """The sender and all below it have a map.

    cost: what they receive in it and do not want.
    nodes: how many they are.
    """

    version: Version
    cost: int
    nodes: int

    @property
    def nbytes(self) -> int:
        return 4 * NUMBER_BYTES


class Offer(NamedTuple):
    """A map that would be lost, made for that many nodes."""

    nodes: int
    channels: Int32s

    @property
    def nbytes(self) -> int:
        return NUMBER_BYTES + self.channels.nbytes


class Standing(NamedTuple):
    """A map as it stands at some node."""

    version: Version
    nodes: int
    stage: Stage
    channels: Int32s

    def whole(self) -> Announcement:
        """Tell it to a node of which nothing is known; the first map is known to all."""
        known = self.version == FIRST
        topics = np.arange(0 if known else len(self.channels), dtype=np.int32)
        base = FIRST if known else None
        moved = self.channels[topics]
        return Announcement(self.version, base, self.nodes, self.stage, topics, topics, moved)

    def after(self, news: Announcement) -> Standing:
        """The map that an announcement makes of this one, which it is based on."""
        channels = self.channels.copy() if len(news.moved) else self.channels
        channels[news.moved] = news.channels
        return Standing(news.version, news.nodes, news.stage, channels)

    def followed_by(
        self, version: Version, nodes: int, stage: Stage, topics: Int32s, channels: Int32s
    ) -> Announcement:
        """What makes another map of this one, whose topics are voted on."""
        moved = np.flatnonzero(channels != self.channels).astype(np.int32)
        return Announcement(version, self.version, nodes, stage, topics, moved, channels[moved])


class TreePlace:
    """The links of one node."""

    def __init__(self) -> None:
        self.below: dict[Link, Report | None] = {}
        """By link: that all behind it have the map as it stands, if they reported."""
        self.above: dict[Link, Standing | None] = {}
        """By link: the map that it told of."""

    @property
    def is_root(self) -> bool:
        """Whether nobody is above."""
        return not self.above

    @property
    def up(self) -> Link:
        """The link to follow."""
        return next(reversed(self.above), None)

    @property
    def told(self) -> Standing | None:
        """The map of the node above, once it told."""
        return self.above[self.up] if self.above else None

    @property
    def all_reported(self) -> bool:
        """Whether all below have the map as it stands."""
        return None not in self.below.values()

    @property
    def nodes(self) -> int:
        """How many nodes there are from here down, as far as they reported."""
        return 1 + sum(report.nodes for report in self.below.values() if report)

    @property
    def cost_below(self) -> int:
        """What the map costs all below, as far as they reported."""
        return sum(report.cost for report in self.below.values() if report)

    def lose(self, link: Link) -> None:
        """A link went down."""
        self.below.pop(link, None)
        self.above.pop(link, None)

    def await_reports(self) -> None:
        """There is a new map: all below have to report anew."""
        self.below = dict.fromkeys(self.below)
