"""Minimum spanning trees over round-trip times.

The overlay of the adaptive-filtering paper (V-A1) is the minimum spanning tree of brokers that were
chosen at random among measured nodes. Two ways lead there: from a matrix, which may have gaps, and
from a function that tells one row at a time, for so many nodes that their matrix would not fit into
memory. Both give `parents` (-1 for the root) and the round-trip time of each link to the parent.

A matrix is measured at a diagonal place never, elsewhere where it is finite and above zero. Both
directions of a pair time the same round trip, and queues can only make it longer: the smaller of
the two counts, or the only one that was measured.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bools, Floats, Int64s
from caddis.errors import OverlayError

Matrix = npt.NDArray[np.floating]


def link_times(matrix: Matrix) -> Matrix:
    """The time of each pair, alike both ways; infinite where nothing was measured.

    >>> link_times(np.array([[0, 3.0, -1], [2, 0, np.nan], [9, 0, 0]])).tolist()
    [[inf, 2.0, 9.0], [2.0, inf, inf], [9.0, inf, inf]]
    """
    times = np.where(np.isfinite(matrix) & (matrix > 0), matrix, np.inf)
    np.fill_diagonal(times, np.inf)
    return np.minimum(times, times.T)


def choose_connected(
    times: Matrix, count: int, rng: np.random.Generator, first: int | None = None
) -> Int64s:
    """So many nodes that the measured pairs among them connect, in a random order.

    Without gaps every set of nodes is as likely as any other. With gaps, a node is passed over
    until one is chosen with which it was measured.
    """
    measured = np.isfinite(times)
    shuffled = rng.permutation(len(times))
    chosen = [_first_node(measured, count, shuffled) if first is None else first]
    reached = np.zeros(len(times), np.bool_)
    taken = np.zeros(len(times), np.bool_)
    while len(chosen) < count:
        reached |= measured[chosen[-1]]
        taken[chosen[-1]] = True
        open_now = (reached & ~taken)[shuffled]
        if not open_now.any():
            raise OverlayError(
                f"node {first} was measured, directly or by way of others, with "
                f"{len(chosen) - 1} nodes: too few for {count} brokers"
            )
        chosen.append(int(shuffled[np.argmax(open_now)]))
    return np.array(chosen, np.int64)


def spanning_tree(times: Matrix, root: int) -> tuple[Int64s, Floats]:
    """The minimum spanning tree of `link_times` that connect all nodes."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

    rows, columns = np.nonzero(np.triu(np.isfinite(times), 1))
    measured = csr_array((times[rows, columns], (rows, columns)), shape=times.shape)
    tree = minimum_spanning_tree(measured)
    _, before = breadth_first_order(tree, root, directed=False)
    parents: Int64s = np.where(before < 0, -1, before).astype(np.int64)
    of_links: Floats = times[np.arange(len(times)), parents].astype(np.float64)
    of_links[root] = 0.0
    return parents, of_links


def grow_spanning_tree(
    times_from: Callable[[int], Floats], nodes: int, root: int
) -> tuple[Int64s, Floats]:
    """The same, with one row in memory at a time (Prim's algorithm).

    times_from: by node, its round-trip time to every node.
    """
    parents = np.full(nodes, root, np.int64)
    parents[root] = -1
    nearest = times_from(root).copy()
    nearest[root] = 0.0
    outside = np.ones(nodes, np.bool_)
    outside[root] = False
    for _ in range(nodes - 1):
        node = int(np.argmin(np.where(outside, nearest, np.inf)))
        outside[node] = False
        times = times_from(node)
        closer = outside & (times < nearest)
        nearest[closer] = times[closer]
        parents[closer] = node
    return parents, nearest


def _first_node(measured: Bools, count: int, shuffled: Int64s) -> int:
    """The first one that is connected with enough others."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, group = connected_components(csr_array(measured), directed=False)
    size = np.bincount(group)[group]
    if size.max() < count:
        raise OverlayError(
            f"no {count} nodes are connected by measured round trips; at most {size.max()} are"
        )
    return int(shuffled[np.argmax(size[shuffled] >= count)])
