"""Round-trip times between nodes, measured or made up, and the spanning trees over them.

The overlay of the adaptive-filtering paper (V-A1) is the minimum spanning tree of brokers that were
chosen at random among measured nodes. It is found in two ways: from a matrix, which may have gaps,
and from a function that gives one row at a time, for so many nodes that their matrix would not fit
into memory. Both give `parents` (-1 for the root) and the round-trip time of each link to the
parent.

The paper's nodes are those of PlanetLab: five matrices of 490 nodes in milliseconds, symmetric,
without gaps, 0 on the diagonal only. Quantiles of their pairs differ by 4% at most, by 15% where
the slowest percent begins.

Made-up nodes stand where those of PlanetLab do: in computer rooms of one to six, every other room
in the same city as another one, cities around six regions of a plane on which a millisecond is a
unit. A packet between two rooms crosses the plane and both rooms' access lines; within a room it
meets only the two nodes' own delays. So no detour is quicker than the direct way; on PlanetLab
6 in 100 are. Over 20 made-up matrices of 490 nodes the means are within 16% of every number of
PlanetLab's profile (which the tests hold), but for the longest links (0.76 and 0.85 of the last
two quantiles).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bools, Floats, Int64s
from caddis.errors import OverlayError

Matrix = npt.NDArray[np.floating]


REGIONS = np.array([[0, 80], [33, -47], [-5, -85], [-104, -189], [-217, -123], [142, 0.0]])
REGION_WEIGHTS = (0.40, 0.27, 0.12, 0.09, 0.05, 0.07)
"""Where cities are: centres found by scaling PlanetLab's times down to two dimensions."""
REGION_RADIUS, REGION_SPREAD = 19.0, 0.77
"""A city's distance from the centre of its region: its median, and sigma of its logarithm."""
ROOMS_IN_CITY = 2.0
ROOM_WEIGHTS = (0.32, 0.51, 0.08, 0.05, 0.02, 0.02)
"""The shares of rooms with one node, two, and so on; a room's nodes are within a millisecond."""
ACCESS, ACCESS_SPREAD = 1.7, 1.57
"""The delay of a room's line: its median, and sigma of its logarithm."""
LOCAL, LOCAL_SPREAD = 0.11, 0.56
"""The delay of a node itself. All but the centres and ROOM_WEIGHTS were fitted to PlanetLab."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where made-up nodes stand; each array has a value for each node."""

    x: Floats
    y: Floats
    access: Floats
    local: Floats
    room: Int64s

    def times_from(self, node: int) -> Floats:
        """The round-trip times from one node to every node; 0 to itself."""
        times: Floats = np.hypot(self.x - self.x[node], self.y - self.y[node])
        times += np.where(self.room == self.room[node], 0.0, self.access + self.access[node])
        times += self.local + self.local[node]
        times[node] = 0.0
        return times

    def some(self, nodes: Int64s) -> Places:
        """The places of these nodes alone."""
        return Places(
            self.x[nodes], self.y[nodes], self.access[nodes], self.local[nodes], self.room[nodes]
        )


def draw_places(nodes: int, rng: np.random.Generator) -> Places:
    """Make nodes up. Those of one room have consecutive numbers."""
    # More rooms than needed: the last ones are cut off where there are enough nodes.
    sizes = rng.choice(len(ROOM_WEIGHTS), nodes, p=ROOM_WEIGHTS) + 1
    room = np.repeat(np.arange(nodes), sizes)[:nodes]
    rooms = int(room[-1]) + 1 if nodes else 0
    cities = max(1, round(rooms / ROOMS_IN_CITY))
    region = rng.choice(len(REGIONS), cities, p=REGION_WEIGHTS)
    radius = rng.lognormal(np.log(REGION_RADIUS), REGION_SPREAD, cities)
    angle = rng.uniform(0, 2 * np.pi, cities)
    x = REGIONS[region, 0] + radius * np.cos(angle)
    y = REGIONS[region, 1] + radius * np.sin(angle)
    city = rng.integers(0, cities, rooms)[room]
    access = rng.lognormal(np.log(ACCESS), ACCESS_SPREAD, rooms)
    local = rng.lognormal(np.log(LOCAL), LOCAL_SPREAD, nodes)
    return Places(x[city], y[city], access[room], local, room)


def parse_round_trips(text: str, name: str) -> Floats:
    """Read a square matrix of numbers: a row on a line, with blanks or tabs between numbers.

    A pair that was not measured is `nan`, 0 or negative. Empty lines do not count.

    name: what errors call the text, such as its path.
    """
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        row = _numbers(line, f"{name}, line {number}")
        if rows and row and len(row) != len(rows[0]):
            raise OverlayError(
                f"{name}, line {number}: {len(row)} numbers; the lines before have {len(rows[0])}"
            )
        if row:
            rows.append(row)
    if not rows:
        raise OverlayError(f"{name}: there are no numbers in it")
    if len(rows) != len(rows[0]):
        raise OverlayError(
            f"{name}: {len(rows)} lines of {len(rows[0])} numbers; a matrix of round trips has as "
            "many lines as numbers in a line"
        )
    return np.array(rows, np.float64)


def _numbers(line: str, where: str) -> list[float]:
    numbers = []
    for column, word in enumerate(line.split(), start=1):
        try:
            numbers.append(float(word))
        except ValueError:
            problem = f"{where}: {word!r}, in column {column}, is not a number"
            raise OverlayError(problem) from None
    return numbers


def link_times(matrix: Matrix) -> Matrix:
    """The time of each pair, the same both ways; infinite where nothing was measured.

    A pair is measured where the matrix is finite and above zero, off the diagonal. Both directions
    time the same round trip, and queues can only make it longer: the smaller of the two counts.

    >>> link_times(np.array([[0, 3.0, -1], [2, 0, np.nan], [9, 0, 0]])).tolist()
    [[inf, 2.0, 9.0], [2.0, inf, inf], [9.0, inf, inf]]
    """
    times = np.where(np.isfinite(matrix) & (matrix > 0), matrix, np.inf)
    np.fill_diagonal(times, np.inf)
    return np.minimum(times, times.T)


def choose_connected(
    times: Matrix, count: int, rng: np.random.Generator, first: int | None = None
) -> Int64s:
    """Choose nodes that measured pairs connect, in a random order.

    Without gaps every set of nodes is equally likely. With gaps, a node is passed over until a
    node with which it was measured has been chosen.

    first: a node that must be among them.
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
    """The minimum spanning tree of `link_times`, which must connect all nodes."""
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
    """The minimum spanning tree, with one row in memory at a time (Prim's algorithm).

    times_from: gives the round-trip times from a node to every node.
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
    """The first node that measured pairs connect with enough others."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, group = connected_components(csr_array(measured), directed=False)
    size = np.bincount(group)[group]
    if size.max() < count:
        raise OverlayError(
            f"no {count} nodes are connected by measured round trips; at most {size.max()} are"
        )
    return int(shuffled[np.argmax(size[shuffled] >= count)])
