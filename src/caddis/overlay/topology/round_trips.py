"""Round-trip times between nodes: a measured matrix, or one that is made up like it.

The adaptive-filtering paper measures on trees over PlanetLab: five matrices of 490 nodes in
milliseconds, symmetric, without gaps, 0 on the diagonal only. `PLANETLAB` is what they have in
common: quantiles of their pairs differ by 4% at most, by 15% where the slowest percent begins.

Made-up nodes stand where those of PlanetLab do: in computer rooms of one to six, every other room
in the same city as another one, cities around six regions of a plane on which a millisecond is a
unit. A packet between two rooms crosses the plane and both rooms' access lines; within a room it
meets only the two nodes' own delays. Then no detour is quicker than the direct way; on PlanetLab
6 in 100 are. Of 20 made-up matrices of 490 nodes the means are within 16% of every number in
`PLANETLAB`, but for the longest links (0.76 and 0.85 of the last two).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caddis.arrays import Floats, Int64s
from caddis.errors import OverlayError


@dataclass(frozen=True, slots=True)
class Profile:
    """What tells one set of round-trip times from another; milliseconds there and back."""

    shares: tuple[float, ...]
    """The quantiles that are told."""
    pairs: tuple[float, ...]
    """Quantiles of the times between all nodes."""
    links: tuple[float, ...]
    """Quantiles of the times of links in trees of 100 nodes."""
    mean_depth: float
    """Of a broker in such a tree, whose root is chosen at random."""
    greatest_depth: float
    leaves: float
    """The share of brokers with one link."""


PLANETLAB = Profile(
    shares=(0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99),
    pairs=(19.3, 31.6, 59.4, 135.6, 204.9, 292.8, 329.0, 422.8),
    links=(0.18, 0.31, 3.7, 9.9, 19.5, 41.9, 85.8, 140.8),
    mean_depth=10.1,
    greatest_depth=20.0,
    leaves=0.44,
)
"""Means over the five matrices, and over 100 trees of each."""

REGIONS = np.array([[0, 80], [33, -47], [-5, -85], [-104, -189], [-217, -123], [142, 0.0]])
REGION_WEIGHTS = (0.40, 0.27, 0.12, 0.09, 0.05, 0.07)
"""Where cities are: centres found by scaling PlanetLab's times down to two dimensions."""
REGION_RADIUS, REGION_SPREAD = 19.0, 0.77
"""A city's distance from the centre of its region: its median, and sigma of its logarithm."""
ROOMS_IN_CITY = 2.0
ROOM_WEIGHTS = (0.32, 0.51, 0.08, 0.05, 0.02, 0.02)
"""How many rooms have one node, two, and so on: nodes within a millisecond of each other."""
ACCESS, ACCESS_SPREAD = 1.7, 1.57
"""Of a room's line: median and sigma again."""
LOCAL, LOCAL_SPREAD = 0.11, 0.56
"""Of a node itself. All but the centres and ROOM_WEIGHTS were fitted together to PLANETLAB."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where made-up nodes stand; by node."""

    x: Floats
    y: Floats
    access: Floats
    local: Floats
    room: Int64s

    def times_from(self, node: int) -> Floats:
        """The round-trip time to every node; 0 to itself."""
        times: Floats = np.hypot(self.x - self.x[node], self.y - self.y[node])
        times += np.where(self.room == self.room[node], 0.0, self.access + self.access[node])
        times += self.local + self.local[node]
        times[node] = 0.0
        return times

    def some(self, nodes: Int64s) -> Places:
        """Only these."""
        return Places(
            self.x[nodes], self.y[nodes], self.access[nodes], self.local[nodes], self.room[nodes]
        )


def draw_places(nodes: int, rng: np.random.Generator) -> Places:
    """As many nodes as asked for, in rooms that follow each other."""
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


def synthetic_round_trips(nodes: int, rng: np.random.Generator) -> Floats:
    """A matrix like PlanetLab's, of any size, for machines without the measured ones.

    >>> matrix = synthetic_round_trips(200, np.random.default_rng(1))
    >>> matrix.shape, bool((matrix == matrix.T).all())
    ((200, 200), True)
    """
    places = draw_places(nodes, rng)
    matrix = np.empty((nodes, nodes))
    for node in range(nodes):
        matrix[node] = places.times_from(node)
    return matrix


def read_round_trips(path: Path) -> Floats:
    """A square matrix of numbers from a text file: a row a line, blanks or tabs between numbers.

    A pair that was not measured is `nan`, 0 or negative. Empty lines do not count.
    """
    rows: list[list[float]] = []
    for number, line in enumerate(_lines(path), start=1):
        row = _numbers(line, f"{path}, line {number}")
        if rows and row and len(row) != len(rows[0]):
            raise OverlayError(
                f"{path}, line {number}: {len(row)} numbers; the lines before have {len(rows[0])}"
            )
        if row:
            rows.append(row)
    if not rows:
        raise OverlayError(f"{path}: there are no numbers in it")
    if len(rows) != len(rows[0]):
        raise OverlayError(
            f"{path}: {len(rows)} lines of {len(rows[0])} numbers; a matrix of round trips has as "
            "many lines as numbers in a line"
        )
    return np.array(rows, np.float64)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise OverlayError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise OverlayError(f"{path}: not a text file") from error


def _numbers(line: str, where: str) -> list[float]:
    words = line.split()
    try:
        return [float(word) for word in words]
    except ValueError:
        column = next(place for place, word in enumerate(words, 1) if not _is_number(word))
        raise OverlayError(
            f"{where}: {words[column - 1]!r}, in column {column}, is not a number"
        ) from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
