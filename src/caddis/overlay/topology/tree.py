"""Minimum spanning trees over round-trip times.

The overlay of the adaptive-filtering paper (V-A1) is the minimum spanning tree of brokers that were
chosen at random among measured nodes. Two ways lead there: from a matrix, which may have gaps, and
from a function that tells one row at a time, for so many nodes that their matrix would not fit into
memory. Both give `parents` (-1 for the root) and the round-trip time of each link to the parent.

A matrix is measured at a diagonal place never, elsewhere where it is finite and above zero. Both
directions of a pair time the same round trip, and queues can only make it longer: the smaller of
the two counts, or the only one that was measured.

The tree that joins the brokers, as seen from the broker where events are published.

Brokers are numbered by their place in `brokers`; the tree is one parent a broker. Whoever asks for
neighbours by name finds them ready: ten thousand brokers are joined in a fraction of a second, and
nothing here looks at pairs of brokers except where a matrix of pairs is given. Delays are one-way
and in milliseconds: half a measured round trip.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bools, Floats, Int64s
from caddis.errors import OverlayError
from caddis.overlay.topology.round_trips import draw_places

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


CROWD = 5
"""A synthetic tree's brokers are chosen among so many times more nodes, as 100 are among 490."""


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """A tree of brokers.

    >>> west = Topology(("galway", "cork", "kerry"), "galway", (-1, 0, 1), np.array([0, 4.5, 2]))
    >>> west.neighbours("cork")
    ('galway', 'kerry')
    >>> west.delay("galway", "cork")
    4.5
    >>> west.path("kerry")
    ('galway', 'cork', 'kerry')
    >>> list(west.rooted_at("kerry").links())
    [('kerry', 'cork', 2.0), ('cork', 'galway', 4.5)]
    """

    brokers: tuple[str, ...]
    root: str
    """The publisher's broker."""
    parents: tuple[int, ...]
    """By broker: the number of the next one towards the root; -1 for the root."""
    delays: Floats
    """By broker: milliseconds, one-way, between it and its parent; 0 for the root."""
    depths: Int64s = field(init=False)
    """By broker: how many links lie between it and the root."""
    _places: dict[str, int] = field(init=False, repr=False)
    _outward: tuple[int, ...] = field(init=False, repr=False)
    """Every broker after its parent, nearer ones first."""
    _neighbours: tuple[tuple[int, ...], ...] = field(init=False, repr=False)
    """By broker: its parent, if any, then its children."""

    def __post_init__(self) -> None:
        delays = np.array(self.delays, np.float64)
        places = {name: place for place, name in enumerate(self.brokers)}
        _check(self.brokers, self.root, self.parents, delays)
        around: list[list[int]] = [[parent] if parent >= 0 else [] for parent in self.parents]
        for child, parent in enumerate(self.parents):
            if parent >= 0:
                around[parent].append(child)
        outward, depths = _outward(places[self.root], around)
        if len(outward) < len(places):
            lost = sorted(set(range(len(places))) - set(outward))
            raise OverlayError(
                f"no links lead from the root {self.root!r} to {self.brokers[lost[0]]!r}"
            )
        _freeze(delays, depths)
        object.__setattr__(self, "delays", delays)
        object.__setattr__(self, "depths", depths)
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_outward", outward)
        object.__setattr__(self, "_neighbours", tuple(map(tuple, around)))

    @classmethod
    def from_round_trips(
        cls,
        matrix: Matrix,
        brokers: int = 100,
        seed: int | np.random.Generator = 0,
        root: int | None = None,
    ) -> Topology:
        """The minimum spanning tree of nodes that are chosen at random from a matrix.

        A broker is named after its row. Pairs without a measured time are not linked, and only
        nodes are chosen that measured pairs connect; see `spanning`.

        matrix: milliseconds from the row's node to the column's and back.
        root: a row; one of the chosen, at random, if it is not given.

        >>> matrix = np.array([[0, 8, 50], [8, 0, 20], [50, 20, 0.0]])
        >>> list(Topology.from_round_trips(matrix, brokers=3, root=0).links())
        [('node-0', 'node-1', 4.0), ('node-1', 'node-2', 10.0)]
        """
        _check_matrix(matrix, brokers, root)
        rng = np.random.default_rng(seed)
        times = link_times(matrix)
        chosen = choose_connected(times, brokers, rng, root)
        start = int(rng.choice(chosen)) if root is None else root
        rows = np.sort(chosen)
        at = int(np.searchsorted(rows, start))
        parents, round_trips = spanning_tree(times[np.ix_(rows, rows)], at)
        names = _numbered("node", rows.tolist(), len(matrix))
        return cls(names, names[at], tuple(parents.tolist()), round_trips / 2)

    @classmethod
    def synthetic(cls, brokers: int, seed: int | np.random.Generator = 0) -> Topology:
        """A tree like those of `synthetic_round_trips`, without making their matrix.

        Its time grows with the square of the brokers, its memory with their number.

        >>> tree = Topology.synthetic(50, seed=1)
        >>> len(tree), tree.brokers[7]
        (50, 'broker-07')
        """
        if brokers < 1:
            raise OverlayError(f"an overlay has at least one broker, not {brokers}")
        rng = np.random.default_rng(seed)
        crowd = draw_places(CROWD * brokers, rng)
        places = crowd.some(np.sort(rng.choice(CROWD * brokers, brokers, replace=False)))
        root = int(rng.integers(brokers))
        parents, round_trips = grow_spanning_tree(places.times_from, brokers, root)
        names = _numbered("broker", range(brokers), brokers)
        return cls(names, names[root], tuple(parents.tolist()), round_trips / 2)

    def neighbours(self, name: str) -> tuple[str, ...]:
        """The brokers that it is linked with; the one towards the root comes first."""
        return tuple(self.brokers[place] for place in self._neighbours[self._place(name)])

    def delay(self, one: str, other: str) -> float:
        """Of the link between two brokers, in milliseconds."""
        here, there = self._place(one), self._place(other)
        if self.parents[here] == there:
            return float(self.delays[here])
        if self.parents[there] == here:
            return float(self.delays[there])
        raise OverlayError(f"no link joins {one!r} and {other!r}")

    def links(self) -> Iterator[tuple[str, str, float]]:
        """Parent, child and delay of every link; a broker's own link before those below it."""
        for child in self._outward[1:]:
            parent = self.parents[child]
            yield self.brokers[parent], self.brokers[child], float(self.delays[child])

    def path(self, to: str) -> tuple[str, ...]:
        """The brokers that an event passes from the root to this one, both included."""
        return tuple(self.brokers[place] for place in reversed(self._way_up(to)))

    def rooted_at(self, name: str) -> Topology:
        """The same links, for events that are published at another broker."""
        way = self._way_up(name)
        parents, delays = list(self.parents), self.delays.copy()
        for below, above in pairwise(way):
            parents[above], delays[above] = below, self.delays[below]
        parents[way[0]], delays[way[0]] = -1, 0.0
        return Topology(self.brokers, name, tuple(parents), delays)

    def __len__(self) -> int:
        return len(self.brokers)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Topology)
            and (self.brokers, self.root, self.parents)
            == (other.brokers, other.root, other.parents)
            and np.array_equal(self.delays, other.delays)
        )

    def __hash__(self) -> int:
        return hash((self.brokers, self.root, self.parents))

    def _place(self, name: str) -> int:
        if name in self._places:
            return self._places[name]
        near = difflib.get_close_matches(name, self.brokers, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise OverlayError(f"there is no broker {name!r}{hint}")

    def _way_up(self, name: str) -> list[int]:
        """From a broker to the root, both included."""
        way = [self._place(name)]
        while self.parents[way[-1]] >= 0:
            way.append(self.parents[way[-1]])
        return way


def _outward(root: int, around: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], Int64s]:
    """Brokers that can be reached, breadth first, and every broker's depth."""
    depths = np.full(len(around), -1, np.int64)
    depths[root] = 0
    order = [root]
    for place in order:
        for near in around[place]:
            if depths[near] < 0:
                depths[near] = depths[place] + 1
                order.append(near)
    return tuple(order), depths


def _freeze(delays: Floats, depths: Int64s) -> None:
    delays.setflags(write=False)
    depths.setflags(write=False)


def _numbered(kind: str, numbers: Sequence[int], below: int) -> tuple[str, ...]:
    """Names of one length, so that they sort as their numbers do."""
    digits = len(str(below - 1))
    return tuple(f"{kind}-{number:0{digits}d}" for number in numbers)


def _check(brokers: Sequence[str], root: str, parents: Sequence[int], delays: Floats) -> None:
    """What must hold before the tree can be walked."""
    name, times = max(Counter(brokers).items(), key=lambda item: item[1], default=("", 0))
    if times > 1:
        raise OverlayError(f"{times} brokers are named {name!r}")
    if root not in brokers:
        raise OverlayError(f"the root {root!r} is not among the brokers")
    if not len(brokers) == len(parents) == len(delays):
        raise OverlayError(
            f"{len(brokers)} brokers need as many parents and delays, not {len(parents)} and "
            f"{len(delays)}"
        )
    if not all(-1 <= parent < len(brokers) for parent in parents):
        raise OverlayError(f"a parent is a broker's number below {len(brokers)}, or -1")
    tops = [name for name, parent in zip(brokers, parents, strict=True) if parent == -1]
    if tops != [root]:
        raise OverlayError(f"the root {root!r}, and no other broker, is without a parent: {tops}")
    if not np.all(np.isfinite(delays) & (delays >= 0)):
        raise OverlayError("a delay is a finite number of milliseconds, 0 or more")


def _check_matrix(matrix: Matrix, brokers: int, root: int | None) -> None:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise OverlayError(f"a matrix of round trips is square, not {matrix.shape}")
    if not 1 <= brokers <= len(matrix):
        raise OverlayError(f"{brokers} brokers cannot be chosen among {len(matrix)} nodes")
    if root is not None and not 0 <= root < len(matrix):
        raise OverlayError(f"the root is a row of the matrix, 0 to {len(matrix) - 1}, not {root}")
