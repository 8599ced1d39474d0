"""Loops over trees of many nodes, which are their parents: a parent stands before its children."""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Floats, Int32s


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
