"""What nodes that cluster topics together tell each other, besides their votes.

    Announcement   down   a new map, and which topics are voted on now
    Report         up     all below have taken that map over; what it costs them
    Offer          up     a map that was made for more nodes than the one from above

Announcements come from the root of the tree and only go down, so a node that has a link that leads
up has the map of the node above it. A link is in order: after the whole map, with which it begins,
only changes have to be said.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Int32s
from caddis.topics.clustering.schedule import Stage
from caddis.topics.links import Link

NUMBER_BYTES = 8
"""How many bytes a single number takes in `nbytes`."""


class Version(NamedTuple):
    """The name of a map; no two maps have the same.

    number: a node numbers the maps that it announces upwards.
    issuer: the node that announced it.
    """

    number: int
    issuer: int


FIRST = Version(0, -1)
"""The version of the map that all nodes begin with."""


class Announcement(NamedTuple):
    """A map, and the topics that are voted on.

    base: the version from which it differs in `moved` only; None if it names all topics.
    nodes: how many nodes the map was made for, as far as the issuer knows.
    stage: how its topics are voted on.
    topics: the topics that are voted on.
    moved: the topics whose channels are another than in `base`.
    channels: the channels of these.
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
        """The size in bytes; all topics, at rest or of a whole map, need not be listed."""
        listed = self.topics.nbytes if self.stage != "rest" and self.base else 0
        moved = self.moved.nbytes if self.base else 0
        return 6 * NUMBER_BYTES + listed + moved + self.channels.nbytes


class Report(NamedTuple):
    """Says that the sender and all below it have taken a map over.

    cost: what they receive with it and do not want.
    nodes: how many they are.
    """

    version: Version
    cost: int
    nodes: int

    @property
    def nbytes(self) -> int:
        return 4 * NUMBER_BYTES


class Offer(NamedTuple):
    """A map that would otherwise be lost, and how many nodes it was made for."""

    nodes: int
    channels: Int32s

    @property
    def nbytes(self) -> int:
        return NUMBER_BYTES + self.channels.nbytes


class Standing(NamedTuple):
    """A map as some node has it."""

    version: Version
    nodes: int
    stage: Stage
    channels: Int32s

    def whole(self) -> Announcement:
        """An announcement for a node of which nothing is known; all nodes know the first map."""
        known = self.version == FIRST
        topics = np.arange(0 if known else len(self.channels), dtype=np.int32)
        base = FIRST if known else None
        moved = self.channels[topics]
        return Announcement(self.version, base, self.nodes, self.stage, topics, topics, moved)

    def after(self, news: Announcement) -> Standing:
        """The map that an announcement makes of this one, on which it is based."""
        channels = self.channels.copy() if len(news.moved) else self.channels
        channels[news.moved] = news.channels
        return Standing(news.version, news.nodes, news.stage, channels)

    def followed_by(
        self, version: Version, nodes: int, stage: Stage, topics: Int32s, channels: Int32s
    ) -> Announcement:
        """The announcement that makes another map of this one."""
        moved = np.flatnonzero(channels != self.channels).astype(np.int32)
        return Announcement(version, self.version, nodes, stage, topics, moved, channels[moved])


class TreePlace:
    """One node's links: who is above it, who is below, and what they said about the map.

    A link that leads up carries maps down, the others carry reports up. While the tree is changing,
    a node may see two links that lead up; the one that came up last counts.
    """

    def __init__(self) -> None:
        self.below: dict[Link, Report | None] = {}
        """The report on the present map of each link that leads down; None if none came yet."""
        self.above: dict[Link, Standing | None] = {}
        """The map that came through each link that leads up; None if none came yet."""

    @property
    def is_root(self) -> bool:
        """Whether no node is above."""
        return not self.above

    @property
    def up(self) -> Link:
        """The link to follow upwards."""
        return next(reversed(self.above), None)

    @property
    def map_above(self) -> Standing | None:
        """The map of the node above, once it came."""
        return self.above[self.up] if self.above else None

    @property
    def all_reported(self) -> bool:
        """Whether all below have taken the present map over."""
        return None not in self.below.values()

    @property
    def nodes(self) -> int:
        """How many nodes there are from here down, as far as they reported."""
        return 1 + sum(report.nodes for report in self.below.values() if report)

    @property
    def cost_below(self) -> int:
        """What the present map costs all below, as far as they reported."""
        return sum(report.cost for report in self.below.values() if report)

    def lose(self, link: Link) -> None:
        """Drop a link that went down."""
        self.below.pop(link, None)
        self.above.pop(link, None)

    def await_reports(self) -> None:
        """Forget the reports, as there is a new map."""
        self.below = dict.fromkeys(self.below)
