"""Loops over trees of many nodes, which are their parents: a parent stands before its children.

Trees of any size: by node its parent, with the root first and parents before their children.

parents [-1, 0, 0, 1]      the root 0 has the children 1 and 2, node 1 has the child 3
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from caddis.arrays import Floats, Int32s, Int64s


@njit(cache=True)
def grow_binary(draws: Floats) -> Int32s:
    """Parents: each node the child of a random one of those that have fewer than two children.

    draws: by node after the root, from [0, 1): which of them.
    """
    nodes = len(draws) + 1
    parents = np.empty(nodes, np.int32)
    parents[0] = -1
    children = np.zeros(nodes, np.int8)
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


@njit(cache=True)
def farthest(parents: Int32s) -> Int32s:
    """By node: how many links away the node is that is farthest from it."""
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
