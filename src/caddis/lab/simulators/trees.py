"""Trees of any size: by node its parent, with the root first and parents before their children.

parents [-1, 0, 0, 1]      the root 0 has the children 1 and 2, node 1 has the child 3
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.lab.simulators.tree_kernels import farthest, grow_binary


class Neighbours(NamedTuple):
    """The neighbours of `node` are `nodes[offsets[node] : offsets[node + 1]]`, in ascending order.

    So a node's parent is the first of them.
    """

    offsets: Int64s
    nodes: Int32s


def complete_binary_tree(nodes: int) -> Int32s:
    """Every level full, the last from the left.

    >>> complete_binary_tree(6).tolist()
    [-1, 0, 0, 1, 1, 2]
    """
    parents = (np.arange(nodes, dtype=np.int32) - 1) // 2
    parents[:1] = -1
    return parents


def random_binary_tree(nodes: int, rng: np.random.Generator) -> Int32s:
    """Each new node is the child of a random one of those that have fewer than two children."""
    return grow_binary(rng.random(max(nodes - 1, 0)))[:nodes]


def random_tree(nodes: int, rng: np.random.Generator) -> Int32s:
    """Each new node is the child of a random one."""
    parents = np.full(nodes, -1, np.int32)
    parents[1:] = rng.integers(np.arange(1, max(nodes, 1)))
    return parents


def neighbours(parents: Int32s) -> Neighbours:
    """Who is linked to whom.

    >>> neighbours(complete_binary_tree(4)).nodes.tolist()
    [1, 2, 0, 3, 0, 1]
    """
    children = np.arange(1, len(parents), dtype=np.int32)
    here = np.concatenate([children, parents[1:]])
    there = np.concatenate([parents[1:], children])
    degrees = np.bincount(here, minlength=len(parents))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(degrees)])
    return Neighbours(offsets, there[np.argsort(here, kind="stable")])


def eccentricities(parents: Int32s) -> Int32s:
    """By node: how many links away the node is that is farthest from it.

    Their least is the tree's radius, their greatest its diameter; the mean over a complete binary
    tree of 1,000 is what the paper on local building blocks calls an average radius of about 17.

    >>> eccentricities(complete_binary_tree(4)).tolist()
    [2, 2, 3, 3]
    """
    return farthest(parents)
