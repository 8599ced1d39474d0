"""A node's place in a tree: who is above it, who is below, and what they told of the map.

A link that leads up carries maps down, the others carry reports up. While the tree is changing, a
node may see two links that lead up; the one that came up last counts.
"""

from __future__ import annotations

from caddis.topics.clustering.messages import Report, Standing
from caddis.topics.links import Link


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
