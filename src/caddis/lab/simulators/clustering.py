"""Nodes that cluster topics together, in virtual time: how many messages it takes, and the outcome.

The nodes are those of `caddis.topics.clustering`, behind real links on a simulated tree. Nothing is
computed for them, so the messages that are counted are those that a deployment would send, except
for how they are encoded. A run is determined by its arguments and the seed of its generator.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from caddis.arrays import Floats, Int32s
from caddis.lab.simulators.tree import Delay, TreeSimulator, a_while, random_tree
from caddis.topics.clustering import (
    SETTLE_MS,
    ClusteringNode,
    Interests,
    Mode,
    Settings,
    SettledWave,
    own_costs,
)
from caddis.topics.voting import LARGEST_COUNTED, discriminability, moments


@dataclass(frozen=True, slots=True)
class Spell:
    """What happened from one rest to the next.

    at_rest: whether the nodes came to rest before their time was over.
    waves: how many waves of votes settled.
    series: the waves since the nodes last left their rest, with the cost of the map that each
        voted on.
    packets, messages, nbytes: what all nodes sent together. A message about several votes counts
        once for each of them; many messages travel in one packet.
    """

    at_rest: bool
    channels: Int32s
    cost: int
    waves: int
    series: list[SettledWave]
    ms: float
    packets: int
    messages: int
    nbytes: int

    @property
    def fell_back(self) -> bool:
        """Whether topics had to move one after the other."""
        return any(wave.mode == "leader" for wave in self.series)


class ClusteringSimulation:
    """A tree of nodes, each of which is a subscriber; node 0 is its root.

    interests: what each node wants, in the order of the nodes.
    parents: the tree, by each node's parent; without it, the tree is random.
    channels, settings, protocol, start, settle_ms: see `ClusteringNode`.
    delay: how long a packet takes on a link.

    >>> from caddis.lab.workloads.interests import planted
    >>> interests = planted(20, 12, np.random.default_rng(0), groups=3)
    >>> simulation = ClusteringSimulation(interests, 3, np.random.default_rng(1))
    >>> first = simulation.run()
    >>> simulation.want(7, [])
    >>> after = simulation.run()
    >>> first.at_rest, after.at_rest, after.packets < first.packets
    (True, True, True)
    """

    def __init__(
        self,
        interests: Interests,
        k: int,
        rng: np.random.Generator,
        *,
        parents: Int32s | None = None,
        channels: Int32s | None = None,
        settings: Settings | None = None,
        protocol: str = "aggregation",
        start: Mode = "leader",
        settle_ms: float = SETTLE_MS,
        delay: Delay = a_while,
    ) -> None:
        self._rates, self._k = interests.rates, k
        size = interests.subscribers
        drawn = random_tree(size, rng) if parents is None else parents
        self.nodes = [
            ClusteringNode(
                name,
                interests.rates,
                k,
                own,
                channels=channels,
                settings=settings,
                protocol=protocol,
                start=start,
                settle_ms=settle_ms,
            )
            for name, own in enumerate(rng.spawn(size))
        ]
        self.tree = TreeSimulator(self.nodes, rng, delay, parents=drawn)
        for node in range(size):
            self.want(node, interests.wanted(node))
        self._before = self._counts()

    def want(self, node: int, topics: Iterable[int]) -> None:
        """Let a node want other topics from now on."""
        self.tree.say(node, self.nodes[node].set_wanted(topics))

    def want_at(self, moment_ms: float, node: int, topics: Iterable[int]) -> None:
        """Let a node want other topics from some moment on."""
        self.tree.at(moment_ms, partial(self.want, node, topics))

    def change(self, interests: Interests, *, within_ms: float = 0.0) -> None:
        """Let all nodes change to other interests, one after the other, evenly spread."""
        changed = [
            node.name
            for node in self.nodes
            if not np.array_equal(node.wanted, interests.wanted(node.name))
        ]
        for place, node in enumerate(changed):
            moment = self.tree.now + within_ms * place / len(changed)
            self.want_at(moment, node, interests.wanted(node))

    def run(self, within_ms: float | None = None) -> Spell:
        """Let time pass until nothing is left to do, or time is over."""
        began, (waves, packets, messages, nbytes) = self.tree.now, self._before
        self.tree.run(None if within_ms is None else began + within_ms)
        self._before = self._counts()
        root = self.nodes[0]
        return Spell(
            at_rest=self.tree.quiet and root.at_rest,
            channels=root.channels,
            cost=sum(node.own_cost for node in self.nodes),
            waves=self._before[0] - waves,
            series=root.series,
            ms=self.tree.now - began,
            packets=self._before[1] - packets,
            messages=self._before[2] - messages,
            nbytes=self._before[3] - nbytes,
        )

    def difficulties(self) -> Floats:
        """The d' of every topic's standing vote; it is small if the race is close."""
        every = np.arange(len(self._rates), dtype=np.int32)
        totals = np.zeros((len(every), 1 + 2 * self._k), np.int64)
        unit = 1 + int(self._rates.sum()) // LARGEST_COUNTED
        for node in self.nodes:
            wanted = np.isin(every, node.wanted)
            costs = own_costs(wanted, node.channels, self._rates, self._k, every)
            totals += moments(costs, unit)
        return discriminability(totals)

    def _counts(self) -> tuple[int, int, int, int]:
        sent = (self.tree.packets, self.tree.messages, self.tree.nbytes)
        packets, messages, nbytes = (int(of.sum()) for of in sent)
        return self.nodes[0].waves, packets, messages, nbytes
