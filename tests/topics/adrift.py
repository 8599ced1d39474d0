"""Nodes of votes on a tree that keeps changing, with messages that drift.

Inputs change, votes are opened late, links go down and come up, elsewhere or at once again, parts
of the tree are turned round, and all that while messages fly: some take no time, some so long that
their link has had two more lives when they arrive. Whatever happens, once all is quiet each node
has to choose what costs the nodes of its part of the tree the least, of equals the first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from caddis.arrays import Int64s
from caddis.lab.tree_simulator import TreeSimulator
from caddis.topics.voting import Poll

SPREADS = (0, 1, 3, 1000, 1 << 40)
"""How large costs may be: the smaller, the more are equal."""


def nasty(rng: np.random.Generator) -> float:
    """No time at all, a little, or an age."""
    draw = rng.random()
    return 0.0 if draw < 0.2 else 10 * draw if draw < 0.9 else 300 * rng.random()


class Adrift:
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
    ) -> None:
        self.rng = rng
        self.polls = [make(choices, votes) for _ in range(nodes)]
        self.tree = TreeSimulator(self.polls, rng, delay)
        self.spread = int(rng.choice(SPREADS))
        self.inputs = np.zeros((nodes, votes, choices), np.int64)
        self.opened = np.zeros((nodes, votes), np.bool_)

    def grow(self) -> None:
        """Open most votes, and join all nodes, in any order, each to any that is there."""
        for node in range(len(self.polls)):
            self.vote(node)
        order = self.rng.permutation(len(self.polls)).tolist()
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
        if draw < 0.4 or len(self.polls) == 1:
            self.vote(int(self.rng.integers(len(self.polls))))
        elif draw < 0.9 and len(links):
            self.cut(int(self.rng.choice(links)), mend=self.rng.random() < 0.7)
        else:
            self.mend()
        self.pause()

    def vote(self, node: int) -> None:
        """A node's input changes, in some votes."""
        some = np.flatnonzero(self.rng.random(self.opened.shape[1]) < 0.7).astype(np.int32)
        self.inputs[node, some] = self._drawn(len(some))
        self.opened[node, some] = True
        self.tree.say(node, self.polls[node].set_input(self.inputs[node, some], some))

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
        one = int(self.rng.integers(len(self.polls)))
        roots = [self.tree.root(node) for node in range(len(self.polls))]
        others = [node for node, root in enumerate(roots) if root != roots[one]]
        if others:
            self.tree.join(one, int(self.rng.choice(others)))

    def settle(self) -> None:
        """Let all votes be opened, and all become quiet."""
        for node in self.rng.permutation(len(self.polls)).tolist():
            late = np.flatnonzero(~self.opened[node]).astype(np.int32)
            if len(late):
                self.inputs[node, late] = self._drawn(len(late))
                self.opened[node, late] = True
                self.tree.say(node, self.polls[node].set_input(self.inputs[node, late], late))
                self.pause()
        self.tree.run()

    def chosen(self) -> list[list[int]]:
        return [poll.choices.tolist() for poll in self.polls]

    def expected(self) -> list[list[int]]:
        """By node and vote: the least of the sum over its part of the tree, in plain Python."""
        sums: dict[int, list[list[int]]] = {}
        for node, costs in enumerate(self.inputs.tolist()):
            root = self.tree.root(node)
            before = sums.get(root, [[0] * len(row) for row in costs])
            sums[root] = [
                [one + more for one, more in zip(*rows, strict=True)]
                for rows in zip(before, costs, strict=True)
            ]
        best = {root: [row.index(min(row)) for row in rows] for root, rows in sums.items()}
        return [best[self.tree.root(node)] for node in range(len(self.polls))]

    def _drawn(self, votes: int) -> Int64s:
        size = (votes, self.inputs.shape[2])
        return self.rng.integers(-self.spread, self.spread + 1, size) * (self.rng.random() < 0.9)


def drifted(make: Callable[[int, int], Poll], seed: int, *, changes: int = 12) -> Adrift:
    """A tree that all this has happened to, and that has become quiet."""
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 31)) if seed % 10 == 0 else int(rng.integers(1, 10))
    choices, votes = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    world = Adrift(make, rng, nodes=nodes, choices=choices, votes=votes)
    world.grow()
    for _ in range(changes):
        world.change()
    world.settle()
    return world
