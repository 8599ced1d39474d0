"""Nodes on a random tree whose links go down and come up elsewhere while they vote."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from caddis.lab.tree_simulator import TreeSimulator
from caddis.lab.trees import random_tree
from caddis.topics.links import Node


def grown(nodes: Sequence[Node], rng: np.random.Generator) -> TreeSimulator:
    return TreeSimulator(nodes, rng, parents=random_tree(len(nodes), rng))


def shake(
    tree: TreeSimulator,
    rng: np.random.Generator,
    change_input: Callable[[int], None],
    changes: int = 8,
) -> None:
    """Change links and inputs at random moments of the next half second; then wait for quiet."""
    for moment in tree.now + 500 * rng.random(changes):
        if rng.random() < 0.5:
            tree.at(moment, lambda: change_input(int(rng.integers(len(tree.links)))))
        else:
            tree.at(moment, lambda: move_a_link(tree, rng))
    tree.run()


def move_a_link(tree: TreeSimulator, rng: np.random.Generator) -> None:
    """Cut a link, and join what fell apart elsewhere."""
    below = int(rng.integers(len(tree.links)))
    above = int(tree.parents[below])
    if above < 0:
        return
    tree.leave(above, below)
    roots = np.array([tree.root(node) for node in range(len(tree.links))])
    here = int(rng.choice(np.flatnonzero(roots == roots[above])))
    there = int(rng.choice(np.flatnonzero(roots == below)))
    tree.join(here, there)
