"""The tree that joins the brokers, as seen from the broker where events are published.

Brokers are numbered by their place in `brokers`, and each has one parent but for the root. The
neighbours of every broker are prepared once: ten thousand brokers are joined in a fraction of a
second, and nothing here looks at pairs of brokers except where a matrix of pairs is given. Delays
are one-way and in milliseconds: half a measured round trip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from caddis.arrays import Floats, Int64s
from caddis.errors import OverlayError
from caddis.names import did_you_mean
from caddis.overlay.topology.round_trips import (
    Matrix,
    choose_connected,
    draw_places,
    grow_spanning_tree,
    link_times,
    spanning_tree,
)

CROWD = 5
"""A synthetic tree's brokers are chosen among this many times more nodes, as the paper chooses 100
among 490."""


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
    """For each broker: the number of the next one towards the root; -1 for the root."""
    delays: Floats
    """For each broker: milliseconds, one-way, between it and its parent; 0 for the root."""
    depths: Int64s = field(init=False)
    """For each broker: how many links lie between it and the root."""
    _places: dict[str, int] = field(init=False, repr=False)
    _outward: tuple[int, ...] = field(init=False, repr=False)
    """Every broker after its parent, nearer ones first."""
    _neighbours: tuple[tuple[int, ...], ...] = field(init=False, repr=False)
    """For each broker: its parent, if any, then its children."""

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
        delays.setflags(write=False)
        depths.setflags(write=False)
        # The class is frozen, and these fields follow from the given ones.
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
        nodes are chosen that measured pairs connect; see `round_trips`.

        matrix: milliseconds from the row's node to the column's and back.
        root: a row of the matrix; by default one of the chosen nodes, at random.

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
        """The spanning tree of made-up nodes that are like PlanetLab's.

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
        """The brokers that a broker is linked with; the one towards the root comes first."""
        return tuple(self.brokers[place] for place in self._neighbours[self._place(name)])

    def delay(self, one: str, other: str) -> float:
        """The delay of the link between two brokers, in milliseconds."""
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
        raise OverlayError(f"there is no broker {name!r}{did_you_mean(name, self.brokers)}")

    def _way_up(self, name: str) -> list[int]:
        """The brokers from one to the root, both included."""
        way = [self._place(name)]
        while self.parents[way[-1]] >= 0:
            way.append(self.parents[way[-1]])
        return way


def _outward(root: int, around: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], Int64s]:
    """The brokers that can be reached, breadth first, and every broker's depth."""
    depths = np.full(len(around), -1, np.int64)
    depths[root] = 0
    order = [root]
    for place in order:
        for near in around[place]:
            if depths[near] < 0:
                depths[near] = depths[place] + 1
                order.append(near)
    return tuple(order), depths


def _numbered(kind: str, numbers: Sequence[int], below: int) -> tuple[str, ...]:
    """Names of one length, so that they sort as their numbers do."""
    digits = len(str(below - 1))
    return tuple(f"{kind}-{number:0{digits}d}" for number in numbers)


def _check(brokers: Sequence[str], root: str, parents: Sequence[int], delays: Floats) -> None:
    """Refuse what cannot be walked as a tree."""
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
