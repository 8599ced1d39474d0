"""Votes on trees of a million nodes, in rounds: all that is sent in one arrives in the next.

`VoteRounds` is Algorithm 1 of "Local Building Blocks for a Scalable Pub/Sub Infrastructure" under
the rule of the real nodes (`topics.voting`), which it agrees with message for message.
`PairRounds` is what it is compared with: a majority vote on every pair of choices (Wolff and
Schuster). `aggregated` and `aggregated_again` count the messages of plain sums up a tree and
outcomes down.

A node's radius is the distance of the farthest node whose costs went into any message that it
received since the inputs were given. A message speaks of its sender, at distance 1, and of all
that the sender heard of through its other links, at one more than their distance from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError
from caddis.lab.simulators.vote_round_kernels import carry, judge, judge_pairs, links_of, paths_up
from caddis.topics.majority import pairwise

UNIT = 1 << 20
"""The whole number that stands for 1.0 where costs are drawn: nodes vote on whole numbers."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree by its links, which are numbered node by node (see `vote_round_kernels`).

    parents: the parent of each node, which stands before its children; node 0 is the root, and
        its parent is negative.
    """

    parents: Int32s
    offsets: Int32s
    back: Int32s
    owner: Int32s

    @classmethod
    def of(cls, parents: Sequence[int] | Int32s | Int64s) -> Tree:
        """A tree from the parents of its nodes.

        >>> tree = Tree.of([-1, 0, 0, 1])
        >>> tree.offsets.tolist(), tree.ends.tolist()
        ([0, 2, 4, 5, 6], [1, 2, 0, 3, 0, 1])
        """
        given = np.asarray(parents, np.int32)
        if not len(given) or given[0] >= 0 or not _before(given):
            raise TopicError(
                "a tree is given by parents: node 0 has none, others stand after theirs"
            )
        return cls(given, *links_of(given))

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def ends(self) -> Int32s:
        """Where each link leads."""
        ends: Int32s = self.owner[self.back]
        return ends


class VoteRounds:
    """A vote of all nodes of a tree.

    >>> vote = VoteRounds(Tree.of([-1, 0, 1]), [[10, 10, 0], [10, 0, 11], [10, 0, 11]])
    >>> vote.run().choices.tolist(), vote.rounds
    ([1, 1, 1], 2)
    """

    _judge = staticmethod(judge)

    def __init__(self, tree: Tree, costs: Sequence[Sequence[int]] | Int64s) -> None:
        self.tree = tree
        self._own = self._entries(np.array(costs, np.int64))
        links, size = len(tree.back), self._own.shape[1]
        self._received = np.zeros((links, size), np.int64)
        self._sent = np.zeros((links, size), np.int64)
        self._ever_sent = np.zeros(links, np.bool_)
        self._waiting = np.zeros(len(tree), np.bool_)
        self._hearers = np.empty(len(tree), np.int32)
        self._queue = np.empty(links, np.int32)
        self.choices = np.zeros(len(tree), np.int32)
        """What each node takes for the best choice now."""
        self._begin()
        self._speak(np.arange(len(tree), dtype=np.int32))

    def change(self, nodes: Int32s, costs: Int64s) -> None:
        """Give some nodes other costs; all counts begin anew."""
        if self._queued:
            raise TopicError("inputs of a vote may change when it is quiet: run it first")
        self._own[nodes] = self._entries(np.asarray(costs, np.int64))
        self._begin()
        self._speak(nodes.astype(np.int32))

    def step(self) -> Int32s:
        """Do one round; gives the links that carry an answer to what was heard in it."""
        tree, queue = self.tree, self._queue[: self._queued]
        heard = carry(
            queue,
            tree.back,
            tree.owner,
            self._received,
            self._sent,
            self._heard,
            self._sent_reach,
            self._waiting,
            self._hearers,
        )
        self.rounds += heard > 0
        return self._speak(self._hearers[:heard])

    def spoken(self) -> Iterator[Int32s]:
        """Run until all nodes are quiet, and give the links that carry something in each round."""
        while self._queued:
            yield self._queue[: self._queued]
            self.step()

    def run(self) -> VoteRounds:
        """Run until all nodes are quiet."""
        while self._queued:
            self.step()
        return self

    @property
    def messages(self) -> float:
        """Messages per node since the inputs were given."""
        return float(self.link_messages.sum()) / len(self.tree)

    @property
    def numbers(self) -> float:
        """Numbers in these messages per node: costs, or differences of two costs."""
        return float(self._numbers.sum()) / len(self.tree)

    @property
    def node_messages(self) -> Int64s:
        """The messages that each node sent."""
        return np.bincount(self.tree.owner, self.link_messages, len(self.tree)).astype(np.int64)

    @property
    def radius(self) -> Int32s:
        """The distance of the farthest node that each node heard of."""
        radius = np.zeros(len(self.tree), np.int32)
        np.maximum.at(radius, self.tree.owner, self._heard)
        return radius

    def _entries(self, costs: Int64s) -> Int64s:
        return costs

    def _begin(self) -> None:
        links = len(self.tree.back)
        self._heard, self._sent_reach = np.zeros(links, np.int32), np.zeros(links, np.int32)
        self.link_messages = np.zeros(links, np.int32)
        """The messages sent through each link since the inputs were given."""
        self._numbers = np.zeros(links, np.int64)
        self.rounds = 0
        """The rounds in which a message arrived."""
        self.updates = 0
        """How many times a node judged its vote."""

    def _speak(self, nodes: Int32s) -> Int32s:
        self.updates += len(nodes)
        self._queued = self._judge(
            nodes,
            self.tree.offsets,
            self._own,
            self._received,
            self._sent,
            self._ever_sent,
            self._heard,
            self._sent_reach,
            self._waiting,
            self.choices,
            self.link_messages,
            self._numbers,
            self._queue,
        )
        return self._queue[: self._queued]


class PairRounds(VoteRounds):
    """A vote on which of every two choices is better.

    All pairs that a link carries in one round count as one message; `numbers` counts each pair.

    >>> PairRounds(Tree.of([-1, 0]), [[4, 2, 3], [1, 2, 2]]).run().choices.tolist()
    [1, 1]
    """

    _judge = staticmethod(judge_pairs)

    def _entries(self, costs: Int64s) -> Int64s:
        return pairwise(costs)


def packets(votes: Sequence[VoteRounds]) -> float:
    """Run votes side by side; packets per node, of which a link carries one in a round."""
    tree, count = votes[0].tree, 0
    ways = [vote.spoken() for vote in votes]
    while ways:
        used = np.zeros(len(tree.back), np.bool_)
        going = []
        for way in ways:
            links = next(way, None)
            if links is not None:
                used[links] = True
                going.append(way)
        ways = going
        count += int(used.sum())
    return count / len(tree)


def aggregated(tree: Tree) -> float:
    """Messages per node if sums go up a tree and the outcome comes down."""
    return 2 * (len(tree) - 1) / len(tree)


def aggregated_again(tree: Tree, before: Int64s, after: Int64s) -> float:
    """Messages per node if some costs changed: new sums go up, and a new outcome comes down."""
    order = np.arange(len(tree), dtype=np.int32)
    up = paths_up(tree.parents, order, after - before)
    moved = before.sum(axis=0).argmin() != after.sum(axis=0).argmin()
    return float(up + moved * (len(tree) - 1)) / len(tree)


def gaussian_costs(nodes: int, distances: Sequence[float], rng: np.random.Generator) -> Int64s:
    """The paper's inputs: normally distributed, with a discriminability between neighbours.

    distances: d'(1,2), d'(2,3), ...: the squared distance of two means, divided by the sum of the
        two variances.
    """
    means = np.concatenate([[0.0], np.cumsum(np.sqrt(2.0 * np.asarray(distances)))])
    drawn = rng.normal(means, 1.0, (nodes, len(means)))
    return np.rint(drawn * UNIT).astype(np.int64)


def _before(parents: Int32s) -> bool:
    places = np.arange(1, len(parents))
    return bool(((parents[1:] >= 0) & (parents[1:] < places)).all())
