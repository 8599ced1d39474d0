"""Nodes on a tree in virtual time: real nodes behind real links, simulated delays and changes.

Nodes are numbered, and a node's link is named by the number of the neighbour that it leads to. A
packet takes a random time. Packets of one epoch of a link keep their order, and nothing else does:
the two ends of a link learn at different moments that it came up or went down, and packets of an
old epoch may arrive after those of a new one. Node 0 is the root of its part of the tree; of two
parts without it, the first that `join` names stays above. Where that turns a link's direction, the
link gets a new epoch. A run is determined by its arguments and the seed of its generator.

A node takes in all packets that reach it at one moment before it answers (`Links.handle_all`). So
with `delay=a_round` a run is synchronous: in each round, every node takes in all that was sent to
it in the round before, then answers once; `now` is the number of the round. Give it the tree as
`parents`, which all nodes know at moment 0, and inputs by `say` before the first `run`.

A tree is an array of parents, with the root first and every parent before its children:

    parents [-1, 0, 0, 1]      the root 0 has the children 1 and 2, node 1 has the child 3
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from caddis.arrays import Floats, Int32s, Int64s
from caddis.compiling import kernel
from caddis.topics import CLOCK, Link, Links, Node, Packet, Sent


@kernel
def grow_binary(draws: Floats) -> Int32s:
    """A tree whose every node is the child of a random one that has fewer than two children.

    draws: for each node after the root, a number from [0, 1) that chooses its parent.
    """
    nodes = len(draws) + 1
    parents = np.empty(nodes, np.int32)
    parents[0] = -1
    children = np.zeros(nodes, np.int8)
    # free[:count] are the nodes with fewer than two children; a full one is overwritten by the new.
    free = np.empty(nodes, np.int32)
    free[0] = 0
    count = 1
    for node in range(1, nodes):
        place = int(draws[node - 1] * count)
        parent = free[place]
        parents[node] = parent
        children[parent] += 1
        if children[parent] == 2:
            free[place] = node
        else:
            free[count] = node
            count += 1
    return parents


@kernel
def farthest(parents: Int32s) -> Int32s:
    """The distance from each node to the node that is farthest from it.

    Going up, every node notes its two greatest heights below; going down, the longest way that
    leads over its parent. Two are needed, since the greatest may lead back to the node itself.
    """
    nodes = len(parents)
    below = np.zeros((nodes, 2), np.int32)
    for node in range(nodes - 1, 0, -1):
        height, two = below[node, 0] + 1, below[parents[node]]
        if height > two[0]:
            two[0], two[1] = height, two[0]
        elif height > two[1]:
            two[1] = height
    far = np.empty(nodes, np.int32)
    above = np.zeros(nodes, np.int32)
    for node in range(nodes):
        if node:
            parent = parents[node]
            longest = below[parent, 0] == below[node, 0] + 1
            beside = below[parent, 1] if longest else below[parent, 0]
            above[node] = max(above[parent], beside) + 1
        far[node] = max(above[node], below[node, 0])
    return far


def complete_binary_tree(nodes: int) -> Int32s:
    """The binary tree whose levels are full; the last one is filled from the left.

    >>> complete_binary_tree(6).tolist()
    [-1, 0, 0, 1, 1, 2]
    """
    parents = (np.arange(nodes, dtype=np.int32) - 1) // 2
    parents[:1] = -1
    return parents


def random_binary_tree(nodes: int, rng: np.random.Generator) -> Int32s:
    """A tree whose every node is the child of a random one that has fewer than two children."""
    return grow_binary(rng.random(max(nodes - 1, 0)))[:nodes]


def random_tree(nodes: int, rng: np.random.Generator) -> Int32s:
    """A tree whose every node is the child of a random one."""
    parents = np.full(nodes, -1, np.int32)
    parents[1:] = rng.integers(np.arange(1, max(nodes, 1)))
    return parents


def eccentricities(parents: Int32s) -> Int32s:
    """The distance from each node to the node that is farthest from it.

    Their least is the tree's radius, their greatest its diameter; the mean over a complete binary
    tree of 1,000 is what the paper on local building blocks calls an average radius of about 17.

    >>> eccentricities(complete_binary_tree(4)).tolist()
    [2, 2, 3, 3]
    """
    return farthest(parents)


Delay = Callable[[np.random.Generator], float]
"""How long a packet takes, or the news of a change."""


def a_while(rng: np.random.Generator) -> float:
    """A random time from 0 to 100 ms."""
    return 100 * rng.random()


def a_round(rng: np.random.Generator) -> float:  # noqa: ARG001
    """The time of one round: 1."""
    return 1.0


class TreeSimulator:
    """Nodes, the tree that joins them, and the packets on their way between them.

    >>> from caddis.topics import Voter
    >>> voters = [Voter(choices=2) for _ in range(3)]
    >>> tree = TreeSimulator(voters, np.random.default_rng(0), parents=[-1, 0, 0])
    >>> for node, costs in enumerate([[0, 3], [5, 4], [3, 0]]):
    ...     tree.say(node, voters[node].set_input(costs))
    >>> tree.run()
    >>> [voter.choice() for voter in voters]
    [1, 1, 1]
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        rng: np.random.Generator,
        delay: Delay = a_while,
        *,
        parents: Sequence[int] | Int32s | None = None,
    ) -> None:
        self.now = 0.0
        self.links = [Links(node) for node in nodes]
        self._rng, self._delay = rng, delay
        self._packets, self._messages, self._nbytes = ([0] * len(nodes) for _ in range(3))
        self._above = [-1] * len(nodes)
        self._epochs: dict[tuple[int, int], int] = {}
        """The last epoch of each link, which is named by its two ends in ascending order."""
        self._ordered: dict[tuple[object, ...], float] = {}
        """When the last packet of each epoch arrives, and the last change of each link."""
        self._to_do: list[tuple[float, int, Callable[[], None]]] = []
        self._arriving: list[tuple[float, int, int, Link, Any]] = []
        self._count = 0
        for node, parent in enumerate(parents if parents is not None else []):
            if parent >= 0:
                self._link(int(parent), node, lambda _: 0.0)
        self.run(until_ms=0)

    @property
    def parents(self) -> Int32s:
        """The tree as it stands, whether or not its nodes know it yet."""
        return np.array(self._above, np.int32)

    @property
    def packets(self) -> Int64s:
        """How many packets each node sent."""
        return np.array(self._packets, np.int64)

    @property
    def messages(self) -> Int64s:
        """How many messages each node sent; one about several votes counts for each of them."""
        return np.array(self._messages, np.int64)

    @property
    def nbytes(self) -> Int64s:
        """The bytes of each node's messages, as far as messages tell their size."""
        return np.array(self._nbytes, np.int64)

    @property
    def quiet(self) -> bool:
        """Whether nothing is on its way and nothing is planned."""
        return not self._arriving and not self._to_do

    def root(self, node: int) -> int:
        """The root of the part of the tree that a node is in."""
        while self._above[node] >= 0:
            node = self._above[node]
        return node

    def join(self, above: int, below: int) -> None:
        """Link two parts of the tree; the part of node 0 is above, whatever the order."""
        if self.root(above) == self.root(below):
            raise ValueError(f"{above} and {below} are already in one part of the tree")
        if self.root(below) == 0:
            above, below = below, above
        turned = [below]
        while self._above[turned[-1]] >= 0:
            turned.append(self._above[turned[-1]])
        self._link(above, below, self._delay)
        for parent, child in pairwise(turned):
            self._link(parent, child, self._delay)

    def leave(self, one: int, other: int) -> None:
        """Cut a link; the part below gets a root of its own."""
        if self._above[one] == other:
            one, other = other, one
        if self._above[other] != one:
            raise ValueError(f"{one} and {other} are not linked")
        self._above[other] = -1
        for here, there in ((one, other), (other, one)):
            self._tell(here, there, self._delay, partial(self.links[here].leave, there))

    def say(self, node: int, sent: Sent) -> None:
        """Send what a node's own method returned."""
        self._send(node, self.links[node].send(sent))

    def at(self, moment_ms: float, action: Callable[[], None]) -> None:
        """Do something at a moment, or now if that is past."""
        self._count += 1
        heapq.heappush(self._to_do, (max(moment_ms, self.now), self._count, action))

    def run(self, until_ms: float | None = None) -> None:
        """Let time pass until all is quiet, or up to and including a moment."""
        while not self.quiet:
            moment = min(one[0][0] for one in (self._to_do, self._arriving) if one)
            if until_ms is not None and moment > until_ms:
                break
            self.now = moment
            self._pass_moment()
        if until_ms is not None:
            self.now = max(self.now, until_ms)

    def _pass_moment(self) -> None:
        """Do all that happens now: first the changes, then each node's packets, all at once."""
        while self._to_do and self._to_do[0][0] == self.now:
            heapq.heappop(self._to_do)[2]()
        arrived: dict[int, list[tuple[Link, Any]]] = {}
        while self._arriving and self._arriving[0][0] == self.now:
            _, _, node, link, packet = heapq.heappop(self._arriving)
            arrived.setdefault(node, []).append((link, packet))
        for node, packets in arrived.items():
            self._send(node, self.links[node].handle_all(packets))

    def _link(self, above: int, below: int, delay: Delay) -> None:
        """Bring a link up, or bring it up anew in the other direction."""
        self._above[below] = above
        ends = min(above, below), max(above, below)
        epoch = self._epochs[ends] = self._epochs.get(ends, -1) + 1
        self._tell(above, below, delay, lambda: self.links[above].join(below, epoch))
        self._tell(below, above, delay, lambda: self.links[below].join(above, epoch, up=True))

    def _tell(self, node: int, link: int, delay: Delay, change: Callable[[], Sent]) -> None:
        """Tell a node that one of its links changed, in the order of the link's changes."""
        moment = self._in_order(("change", node, link), delay)
        self.at(moment, lambda: self._send(node, change()))

    def _in_order(self, of: tuple[object, ...], delay: Delay) -> float:
        moment = max(self.now + delay(self._rng), self._ordered.get(of, 0.0))
        self._ordered[of] = moment
        return moment

    def _send(self, node: int, sent: Sent) -> None:
        for link, packet in sent:
            self._count += 1
            if link is CLOCK:
                moment = self.now + packet.after_ms
                heapq.heappush(self._arriving, (moment, self._count, node, link, packet))
                continue
            assert isinstance(link, int)
            self._weigh(node, packet)
            moment = self._in_order((node, link, packet.epoch), self._delay)
            heapq.heappush(self._arriving, (moment, self._count, link, node, packet))

    def _weigh(self, node: int, packet: Packet) -> None:
        self._packets[node] += 1
        for message in packet.messages:
            self._messages[node] += len(getattr(message, "votes", "1"))
            self._nbytes[node] += getattr(message, "nbytes", 0)
