"""Nodes that cluster topics into channels together, though none knows everybody's interests.

Section 3 of "Local Building Blocks for a Scalable Pub/Sub Infrastructure" (Shraer et al.): K-Means
whose every step is a vote of all nodes. The root of the tree leads. It announces a map and the
topics that are voted on, and the announcement goes down the tree. When all below a node have taken
the map over, the node votes, together with what it heard from them, and reports what the map costs
them all. So the leader knows the cost, and that everybody votes on the same map. When the votes
have settled it announces the next wave of the `Schedule`, or rests. At rest nothing is sent. A node
whose interests change votes again where that makes a difference, and the leader wakes if an outcome
changes.

A node follows the node above it. Without a link that leads up it is the root, and leads after a
while. Where two parts of the tree meet, the map that was made for more nodes is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.topics.clustering.ballots import PROTOCOLS, Ballots, last_words
from caddis.topics.clustering.interests import checked_channels, checked_rates
from caddis.topics.clustering.messages import (
    FIRST,
    Announcement,
    Offer,
    Report,
    Standing,
    TreePlace,
    Version,
)
from caddis.topics.clustering.schedule import (
    Leader,
    Mode,
    Schedule,
    Settings,
    SettledWave,
    Step,
    check_beginning,
)
from caddis.topics.links import Alarms, Attentive, Link, Sent, Wake

SETTLE_MS = 2_000.0
"""How long choices have to stay as they are, unless a node is told otherwise."""
WAITED = "choices have had time to settle"
"""The meaning of the leader's alarm."""


class ClusteringNode(Attentive):
    """One node's part in the clustering of topics.

    All nodes must have the same `rates`, `k`, `channels`, `settings` and `protocol`.

    name: a number that no other node has or had; a node that lost its memory takes a new one.
    rates: the rate of each topic.
    k: how many channels there are.
    rng: the source of random numbers while this node leads.
    channels: the map to begin with; without one topics are dealt out in turn.
    settings: how boldly topics move.
    protocol: how votes are held: by "voting", by "aggregation", or "measured", which holds each
        vote by the one that its difficulty asks for.
    start: how the first map is made: topic by topic ("leader"), as in the paper, or "concurrent",
        which is quicker.
    settle_ms: how long choices have to stay as they are before they count, and how long a node has
        to be the root before it leads. It should be longer than votes take to get through the tree.

    >>> from caddis.topics import CLOCK
    >>> node = ClusteringNode(0, np.array([5, 1, 4]), 2, np.random.default_rng(0))
    >>> [(_, alarm)] = node.set_wanted([0, 2])
    >>> node.handle(CLOCK, alarm)
    []
    >>> node.channels.tolist(), node.cost, node.at_rest
    ([0, 1, 0], 0, True)
    """

    def __init__(
        self,
        name: int,
        rates: Int64s,
        k: int,
        rng: np.random.Generator,
        *,
        channels: Int32s | None = None,
        settings: Settings | None = None,
        protocol: str = "aggregation",
        start: Mode = "leader",
        settle_ms: float = SETTLE_MS,
    ) -> None:
        rates = checked_rates(rates)
        check_beginning(len(rates), k, start, settle_ms)
        first = np.arange(len(rates), dtype=np.int32) % k if channels is None else channels
        self.name = name
        self._k, self._rng = k, rng
        self._settings, self._start = settings or Settings(), start
        held_by = PROTOCOLS.named(protocol)
        self._exact = held_by.exact
        self._first = Standing(FIRST, 0, "rest", checked_channels(first, len(rates), k))
        self._standing = self._agreed = self._first
        self._ballots = Ballots(rates, k, held_by)
        self._place = TreePlace()
        self._reported: Report | None = None
        """The last report on the present map."""
        self._held: list[tuple[Link, Any]] = []
        """What was heard in votes since the map came, from nodes that have it already."""
        self._leader: Leader | None = None
        self._offered: Offer | None = None
        self._issued = 0
        self._settle_ms = settle_ms
        self._alarms = Alarms()
        self._rang = False

    @property
    def wanted(self) -> Int32s:
        """The topics that this node wants, ascending."""
        return np.flatnonzero(self._ballots.wanted).astype(np.int32)

    @property
    def channels(self) -> Int32s:
        """The channel of each topic in the present map, which may still be voted on."""
        return self._standing.channels.copy()

    @property
    def version(self) -> Version:
        """The version of the present map."""
        return self._standing.version

    @property
    def agreed(self) -> tuple[Version, Int32s]:
        """The last map that was announced as final: the one to send events by."""
        return self._agreed.version, self._agreed.channels.copy()

    @property
    def leads(self) -> bool:
        """Whether this node decides what is voted on."""
        return self._leader is not None

    @property
    def at_rest(self) -> bool:
        """Whether this node leads and has nothing to do."""
        done = self._leader is not None and self._leader.at_rest
        return done and self._is_complete and WAITED not in self._alarms

    @property
    def waves(self) -> int:
        """How many waves have settled while this node led."""
        return self._leader.waves if self._leader else 0

    @property
    def series(self) -> list[SettledWave]:
        """The waves since rest was last left, while this node led."""
        return list(self._leader.series) if self._leader else []

    @property
    def own_cost(self) -> int:
        """What this node itself receives and does not want."""
        return self._ballots.cost(self._standing.channels)

    @property
    def cost(self) -> int:
        """What this node and all below it receive and do not want, as far as they reported.

        By aggregation nodes report every change. Otherwise they report once on each map, as most
        changes should go nowhere, and what changes below this node later may not show here.
        """
        return self.own_cost + self._place.cost_below

    def set_wanted(self, topics: Iterable[int]) -> Sent:
        """Say what this node wants from now on."""
        self._ballots.want(topics)
        return self._proceed()

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:
        """Add a link that came up; with `up`, it leads to the root."""
        if not up:
            self._place.below[link] = None
            return [(link, self._standing.whole()), *self._proceed()]
        self._place.above[link] = None
        return self._look_up() + self._proceed()

    def neighbour_left(self, link: Link) -> Sent:
        """Drop a link that went down, with what came through it."""
        self._held = [(of, message) for of, message in self._held if of != link]
        sent = self._ballots.leave(link)
        followed = link == self._place.up
        self._place.lose(link)
        if followed:
            sent += self._look_up()
        return sent + self._proceed()

    def handle_all(self, heard: Sequence[tuple[Link, Any]]) -> Sent:
        """Take in all that came at one time, from neighbours and the clock, then answer."""
        sent: Sent = []
        for link, message in heard:
            if isinstance(message, Announcement):
                sent += self._hear_from_above(link, message)
            elif isinstance(message, Report):
                # A report on an earlier map is void.
                if message.version == self.version:
                    self._place.below[link] = message
            elif isinstance(message, Offer):
                sent += self._hear_offer(message)
            elif isinstance(message, Wake):
                self._rang |= self._alarms.rung(message) is not None
            else:
                self._held.append((link, message))
        return sent + self._proceed()

    @property
    def _is_complete(self) -> bool:
        """Whether all below have the present map; all have the first one."""
        return self.version == FIRST or self._place.all_reported

    def _hear_from_above(self, link: Link, news: Announcement) -> Sent:
        before = self._place.above[link]
        # A link begins with a whole map; the first map of all is known and need not be sent.
        base = self._first if before is None or news.version == FIRST else before
        new = self._place.above[link] = base.after(news)
        if link != self._place.up:
            return []
        # Votes on the old map are taken in before the new one replaces it.
        sent = self._vote() if self._is_complete else []
        if before is None and new.version != self.version and new.nodes < self._standing.nodes:
            sent.append((link, Offer(self._standing.nodes, self._standing.channels)))
        return sent + self._take_over(new, news)

    def _take_over(self, standing: Standing, news: Announcement) -> Sent:
        """Take another map over, and tell all below; all vote on the topics that the news names."""
        if standing.version == self.version:
            return []
        self._standing = standing
        if standing.stage == "rest":
            self._agreed = standing
        self._ballots.due[news.topics] = True
        self._reported = None
        self._place.await_reports()
        # The same news suits all: a node below had the same map, or has been told only that one.
        return [(link, news) for link in self._place.below]

    def _look_up(self) -> Sent:
        """Follow another node above, or none: report to it, or lead after a while."""
        self._leader = self._offered = None
        self._reported = None
        self._stop_waiting()
        self._ballots.doubt()
        above = self._place.map_above
        return self._take_over(above, above.whole()) if above else []

    def _proceed(self) -> Sent:
        """Do whatever can be done now."""
        sent: Sent = []
        while True:
            if self._is_complete:
                sent += self._vote()
                sent += self._report()
            # A step of the leader may settle at once, where it is alone: go on until none does.
            step = self._next_step() if self._place.is_root else None
            if step is None:
                return sent + self._set_alarm()
            sent += self._announce(step)

    def _vote(self) -> Sent:
        """Vote at the map that all below have, with all that they said at it."""
        if self.version == FIRST:
            return []
        sent: Sent = []
        for link in self._place.below:
            sent += self._ballots.join(link, up=False)
        if self._place.map_above:
            sent += self._ballots.join(self._place.up, up=True)
        # What came from below was held until all below had the map, so it climbs in one packet.
        held, self._held = self._held, []
        sent += self._ballots.hear(held)
        sent += self._ballots.cast(self._standing.channels, favour=self._place.is_root)
        return last_words(sent)

    def _report(self) -> Sent:
        if (
            self._place.map_above is None
            or self.version == FIRST
            or (self._reported and not self._exact)
        ):
            return []
        report = Report(self.version, self.cost, self._place.nodes)
        if report == self._reported:
            return []
        self._reported = report
        return [(self._place.up, report)]

    def _hear_offer(self, offer: Offer) -> Sent:
        if not self._place.is_root:
            return [(self._place.up, offer)]
        if offer.nodes > max(self._standing.nodes, self._offered.nodes if self._offered else 0):
            self._offered = offer
        return []

    def _next_step(self) -> Step | None:
        """What the leader announces now, if anything."""
        rang, self._rang = self._rang, False
        if self._offered is not None:
            self._leader = self._new_leader(self._offered.channels)
            return self._leader.rest()
        if self._leader is None:
            return self._take_the_lead() if rang else None
        if not self._is_complete:
            return None
        return self._leader.decide(self._ballots.choices, self.cost, rang=rang)

    def _take_the_lead(self) -> Step | None:
        self._leader = self._new_leader(self._standing.channels)
        if self.version == FIRST:
            return self._leader.begin(self._start)
        if self._standing.stage == "rest" and self._is_complete:
            return None
        return self._leader.rest()

    def _new_leader(self, channels: Int32s) -> Leader:
        schedule = Schedule(channels, self._k, self._settings, self._rng)
        return Leader(schedule, exact=self._exact, tolerant=self._settings.improvement > 0)

    def _announce(self, step: Step) -> Sent:
        """Tell all below of the leader's map."""
        assert self._leader is not None
        offered, self._offered = self._offered, None
        nodes = max(self._place.nodes, offered.nodes if offered else 0)
        # Higher than the version that this node has, even if another root issued that.
        self._issued = max(self._issued, self.version.number) + 1
        version, channels = Version(self._issued, self.name), self._leader.schedule.channels
        news = self._standing.followed_by(version, nodes, step.stage, step.topics, channels)
        self._stop_waiting()
        return self._take_over(self._standing.after(news), news)

    def _set_alarm(self) -> Sent:
        """Wait for a while if there is something to wait for."""
        if WAITED in self._alarms or not self._place.is_root:
            return []
        if self._leader is None or (
            self._is_complete and self._leader.needs_alarm(self._ballots.choices)
        ):
            return [self._alarms.set(self._settle_ms, WAITED)]
        return []

    def _stop_waiting(self) -> None:
        # An alarm that has rung but was not acted on yet belongs to the old situation, too.
        self._alarms.cancel(WAITED)
        self._rang = False
