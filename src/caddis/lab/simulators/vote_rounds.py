"""Votes on trees of a million nodes, in rounds: all that is said in one is heard in the next.

`VoteRounds` is Algorithm 1 of "Local Building Blocks for a Scalable Pub/Sub Infrastructure" under
the rule of the real nodes (`topics.voting`), which it agrees with message for message.
`PairRounds` is what it is compared with: a majority vote on every pair of choices (Wolff and
Schuster). `aggregated` and `aggregated_again` count the messages of plain sums up a tree and
outcomes down.

A node's radius is how far away the farthest node is whose costs went into something that it was
told since its inputs were given: a message speaks of its sender, at distance 1, and of all
that the sender was told through its other links, one farther than it was there.
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
"""What 1.0 becomes where costs are drawn: nodes vote on whole numbers."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree by its links, which are numbered node by node (see `vote_round_kernels`).

    parents: by node; the root's, which is node 0's, is negative, and all others stand before their
        children.
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
            raise TopicError("a tree is given by parents that stand before their children, after 0")
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
        self._told = np.zeros(links, np.bool_)
        self._waiting = np.zeros(len(tree), np.bool_)
        self._hearers = np.empty(len(tree), np.int32)
        self._queue = np.empty(links, np.int32)
        self.choices = np.zeros(len(tree), np.int32)
        """By node: what it takes for the best now."""
        self._begin()
        self._speak(np.arange(len(tree), dtype=np.int32))

    def change(self, nodes: Int32s, costs: Int64s) -> None:
        """Other costs for some nodes; all counts begin anew."""
        if self._said:
            raise TopicError("inputs of a vote in rounds change when it is quiet: run it first")
        self._own[nodes] = self._entries(np.asarray(costs, np.int64))
        self._begin()
        self._speak(nodes.astype(np.int32))

    def step(self) -> Int32s:
        """One round: the links through which something was said in answer to what was heard."""
        tree, queue = self.tree, self._queue[: self._said]
        heard = carry(
            queue,
            tree.back,
            tree.owner,
            self._received,
            self._sent,
            self._heard,
            self._told_of,
            self._waiting,
            self._hearers,
        )
        self.rounds += heard > 0
        return self._speak(self._hearers[:heard])

    def spoken(self) -> Iterator[Int32s]:
        """Until all are quiet: the links through which something is said, round by round."""
        while self._said:
            yield self._queue[: self._said]
            self.step()

    def run(self) -> VoteRounds:
        """Until all are quiet."""
        while self._said:
            self.step()
        return self

    @property
    def messages(self) -> float:
        """Messages by node, since inputs were given."""
        return float(self.link_messages.sum()) / len(self.tree)

    @property
    def numbers(self) -> float:
        """Costs, or differences of two of them, that are in these messages, by node."""
        return float(self._numbers.sum()) / len(self.tree)

    @property
    def node_messages(self) -> Int64s:
        """By node: messages that it sent."""
        return np.bincount(self.tree.owner, self.link_messages, len(self.tree)).astype(np.int64)

    @property
    def radius(self) -> Int32s:
        """By node: how far away the farthest is that it was told of."""
        radius = np.zeros(len(self.tree), np.int32)
        np.maximum.at(radius, self.tree.owner, self._heard)
        return radius

    def _entries(self, costs: Int64s) -> Int64s:
        return costs

    def _begin(self) -> None:
        links = len(self.tree.back)
        self._heard, self._told_of = np.zeros(links, np.int32), np.zeros(links, np.int32)
        self.link_messages = np.zeros(links, np.int32)
        """By link: messages sent through it, since inputs were given."""
        self._numbers = np.zeros(links, np.int64)
        self.rounds = 0
        """Rounds in which somebody heard something."""
        self.updates = 0
        """How often a node judged."""

    def _speak(self, nodes: Int32s) -> Int32s:
        self.updates += len(nodes)
        self._said = self._judge(
            nodes,
            self.tree.offsets,
            self._own,
            self._received,
            self._sent,
            self._told,
            self._heard,
            self._told_of,
            self._waiting,
            self.choices,
            self.link_messages,
            self._numbers,
            self._queue,
        )
        return self._queue[: self._said]


class PairRounds(VoteRounds):
    """The same vote, as one on which of each two choices is better.

    Messages are counted once for all pairs that are told through a link in a round; `numbers` has
    each of them.

    >>> PairRounds(Tree.of([-1, 0]), [[4, 2, 3], [1, 2, 2]]).run().choices.tolist()
    [1, 1]
    """

    _judge = staticmethod(judge_pairs)

    def _entries(self, costs: Int64s) -> Int64s:
        return pairwise(costs)


def packets(votes: Sequence[VoteRounds]) -> float:
    """Run votes side by side: packets by node, where all that takes a link in a round is one."""
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
    """Messages by node if sums go up a tree and the outcome comes down."""
    return 2 * (len(tree) - 1) / len(tree)


def aggregated_again(tree: Tree, before: Int64s, after: Int64s) -> float:
    """Messages by node if some costs changed: new sums go up, and another outcome comes down."""
    order = np.arange(len(tree), dtype=np.int32)
    up = paths_up(tree.parents, order, after - before)
    moved = before.sum(axis=0).argmin() != after.sum(axis=0).argmin()
    return float(up + moved * (len(tree) - 1)) / len(tree)


def gaussian_costs(nodes: int, distances: Sequence[float], rng: np.random.Generator) -> Int64s:
    """The paper's inputs: normally distributed, with a discriminability between neighbours.

    distances: d'(1,2), d'(2,3), ...: the square of how far two means are apart, by the sum of the
        two variances.
    """
    means = np.concatenate([[0.0], np.cumsum(np.sqrt(2.0 * np.asarray(distances)))])
    drawn = rng.normal(means, 1.0, (nodes, len(means)))
    return np.rint(drawn * UNIT).astype(np.int64)


def _before(parents: Int32s) -> bool:
    places = np.arange(1, len(parents))
    return bool(((parents[1:] >= 0) & (parents[1:] < places)).all())
