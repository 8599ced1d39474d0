"""Nodes of votes on a tree that keeps changing, while messages are delayed.

Inputs change, votes are opened late, links go down and come up again, there or between other nodes,
and parts of the tree are turned round. All that while messages travel: some take no time, some so
long that their link has had two more lives when they arrive. Whatever happens, once all is quiet
each node has to know what the inputs of all nodes of its part of the tree come to: in polls, the
choice that costs them the least, among equals the first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from caddis.arrays import Int64s
from caddis.lab.simulators.tree import TreeSimulator, random_tree
from caddis.topics.links import Node
from caddis.topics.voting.local import Poll

SPREADS = (0, 1, 3, 1000, 1 << 40)
"""How large costs may be: the smaller, the more are equal."""


def nasty(rng: np.random.Generator) -> float:
    """No time at all, a little, or an age."""
    draw = rng.random()
    return 0.0 if draw < 0.2 else 10 * draw if draw < 0.9 else 300 * rng.random()


def on_a_random_tree(nodes: Sequence[Node], rng: np.random.Generator) -> TreeSimulator:
    """A tree that stays as it is."""
    return TreeSimulator(nodes, rng, parents=random_tree(len(nodes), rng))


class ChangingTree(ABC):
    """A tree of any nodes that vote, and what happens to it."""

    def __init__(
        self,
        nodes: Sequence[Node],
        rng: np.random.Generator,
        delay: Callable[[np.random.Generator], float] = nasty,
    ) -> None:
        self.rng = rng
        self.size = len(nodes)
        self.tree = TreeSimulator(nodes, rng, delay)

    @abstractmethod
    def vote(self, node: int) -> None:
        """A node's input changes, in some votes."""

    @abstractmethod
    def vote_late(self, node: int) -> None:
        """A node says what it has not said in any vote so far."""

    def grow(self) -> None:
        """Open most votes, and join all nodes, in any order, each to any that is there."""
        for node in range(self.size):
            self.vote(node)
        order = self.rng.permutation(self.size).tolist()
        for place in range(1, len(order)):
            self.tree.join(order[int(self.rng.integers(place))], order[place])
            self.pause()

    def pause(self) -> None:
        """Let a little time pass, or none."""
        if self.rng.random() < 0.3:
            self.tree.run(until_ms=self.tree.now + 10 * self.rng.random())

    def change(self) -> None:
        """Let anything happen."""
        links = np.flatnonzero(self.tree.parents >= 0)
        draw = self.rng.random()
        if draw < 0.4 or self.size == 1:
            self.vote(int(self.rng.integers(self.size)))
        elif draw < 0.9 and len(links):
            self.cut(int(self.rng.choice(links)), mend=self.rng.random() < 0.7)
        else:
            self.mend()
        self.pause()

    def cut(self, child: int, *, mend: bool) -> None:
        """A link goes down; it, or another one that joins the same parts, may come up at once."""
        parent = int(self.tree.parents[child])
        self.tree.leave(child, parent)
        if mend and self.rng.random() < 0.4:
            self.tree.join(parent, child)
        elif mend:
            self.mend()

    def mend(self) -> None:
        """Some link comes up between two parts of the tree, if there are two."""
        one = int(self.rng.integers(self.size))
        roots = [self.tree.root(node) for node in range(self.size)]
        others = [node for node, root in enumerate(roots) if root != roots[one]]
        if others:
            self.tree.join(one, int(self.rng.choice(others)))

    def settle(self) -> None:
        """Let all votes be opened, and all become quiet."""
        for node in self.rng.permutation(self.size).tolist():
            self.vote_late(node)
        self.tree.run()

    def parts(self) -> list[list[int]]:
        """The nodes of each part of the tree."""
        parts: dict[int, list[int]] = {}
        for node in range(self.size):
            parts.setdefault(self.tree.root(node), []).append(node)
        return list(parts.values())


class ChangingPolls(ChangingTree):
    """A tree of polls, all of the same votes, and what happens to it.

    make: gives a poll for a number of choices and one of votes.
    """

    def __init__(
        self,
        make: Callable[[int, int], Poll],
        rng: np.random.Generator,
        *,
        nodes: int,
        choices: int,
        votes: int = 1,
        delay: Callable[[np.random.Generator], float] = nasty,
        spreads: Sequence[int] = SPREADS,
    ) -> None:
        self.polls = [make(choices, votes) for _ in range(nodes)]
        super().__init__(self.polls, rng, delay)
        self.spread = int(rng.choice(spreads))
        self.inputs = np.zeros((nodes, votes, choices), np.int64)
        self.opened = np.zeros((nodes, votes), np.bool_)

    def vote(self, node: int) -> None:
        """A node's input changes, in some votes."""
        some = np.flatnonzero(self.rng.random(self.opened.shape[1]) < 0.7).astype(np.int32)
        self.inputs[node, some] = self._drawn(len(some))
        self.opened[node, some] = True
        self.tree.say(node, self.polls[node].set_input(self.inputs[node, some], some))

    def vote_late(self, node: int) -> None:
        late = np.flatnonzero(~self.opened[node]).astype(np.int32)
        if len(late):
            self.inputs[node, late] = self._drawn(len(late))
            self.opened[node, late] = True
            self.tree.say(node, self.polls[node].set_input(self.inputs[node, late], late))
            self.pause()

    def chosen(self) -> list[list[int]]:
        return [poll.choices.tolist() for poll in self.polls]

    def expected(self) -> list[list[int]]:
        """By node and vote: the least of the sum over its part of the tree, in plain Python."""
        best: dict[int, list[int]] = {}
        for part in self.parts():
            votes = zip(*(self.inputs[node].tolist() for node in part), strict=True)
            sums = [[sum(column) for column in zip(*rows, strict=True)] for rows in votes]
            for node in part:
                best[node] = [row.index(min(row)) for row in sums]
        return [best[node] for node in range(self.size)]

    def _drawn(self, votes: int) -> Int64s:
        size = (votes, self.inputs.shape[2])
        return self.rng.integers(-self.spread, self.spread + 1, size) * (self.rng.random() < 0.9)


def drifted(
    make: Callable[[int, int], Poll],
    seed: int,
    *,
    changes: int = 12,
    spreads: Sequence[int] = SPREADS,
) -> ChangingPolls:
    """A tree that all this has happened to, and that has become quiet."""
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 31)) if seed % 10 == 0 else int(rng.integers(1, 10))
    choices, votes = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    world = ChangingPolls(make, rng, nodes=nodes, choices=choices, votes=votes, spreads=spreads)
    shaken(world, changes)
    return world


def check_polls(make: Callable[[int, int], Poll], seed: int) -> None:
    """All nodes of a tree that has become quiet know the best choice, and repeat nothing."""
    world = drifted(make, seed)
    assert world.chosen() == world.expected(), f"seed {seed}"
    sent = world.tree.packets.sum()
    for node, poll in enumerate(world.polls):
        world.tree.say(node, poll.set_input(world.inputs[node]))
    assert world.tree.quiet, f"seed {seed}: the same input again is no news"
    assert world.tree.packets.sum() == sent


def check_large_tree(make: Callable[[int, int], Poll], seed: int) -> None:
    """The same after 150 changes of a tree with 150 nodes."""
    world = ChangingPolls(make, np.random.default_rng(seed), nodes=150, choices=4, votes=3)
    shaken(world, changes=150)
    assert world.chosen() == world.expected(), f"seed {seed}"


def shaken(world: ChangingTree, changes: int = 12) -> None:
    """Let a tree grow, change and become quiet."""
    world.grow()
    for _ in range(changes):
        world.change()
    world.settle()
