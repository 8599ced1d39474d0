"""Designs, events and queries as plain Python, judged without any vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import numpy as np
import pyarrow as pa

from caddis.arrays import Floats
from caddis.sealed.design import Scheme, StreamDesign
from caddis.sealed.keys.secrets import MatchingKey, Randomness
from caddis.sealed.values.coordinates import CELLS, Coordinates

Value = tuple[int, float] | None
"""A column's cell and its order, or null."""


@dataclass(frozen=True)
class Query:
    """Equalities, as (column, cell), or one bound of a column's order."""

    equal: tuple[tuple[int, int], ...] = ()
    low: tuple[int, float] | None = None
    high: tuple[int, float] | None = None

    def holds(self, event: Sequence[Value], slack: float = 0.0) -> bool:
        """slack: by how much an order may miss its bound."""
        for column, cell in self.equal:
            value = event[column]
            if value is None or value[0] != cell:
                return False
        for bound, sign in ((self.low, 1), (self.high, -1)):
            if bound is not None:
                value = event[bound[0]]
                if value is None or sign * (value[1] - bound[1]) < -slack:
                    return False
        return True

    def vector(self, coordinates: Coordinates, randomness: Randomness) -> Floats:
        if self.low is not None:
            return coordinates.at_least(*self.low)
        if self.high is not None:
            return coordinates.at_most(*self.high)
        return coordinates.equality(self.equal, randomness)


def design_of(
    texts: int, numbers: int, *, padding: int = 8, scheme: Scheme = "aspe"
) -> StreamDesign:
    """Columns of strings, which have cells alone, before ordered ones."""
    fields = [(f"text{i}", pa.string()) for i in range(texts)]
    fields += [(f"number{i}", pa.int64()) for i in range(numbers)]
    return StreamDesign.of("homes", pa.schema(fields), padding=padding, scheme=scheme)


def key_of(epoch: int = 1) -> MatchingKey:
    return MatchingKey.of(b"a stream's secret", "homes", epoch)


def seeded(seed: int) -> Randomness:
    return Random(seed).randbytes


def random_event(random: Random, columns: int, nulls: float) -> list[Value]:
    return [
        None
        if random.random() < nulls
        else (random.randrange(CELLS), random.choice([0.0, 1.0, random.random()]))
        for _ in range(columns)
    ]


@cache
def coordinates_of(design: StreamDesign) -> Coordinates:
    return Coordinates(design)


@cache
def ordered_places(design: StreamDesign) -> tuple[bool, ...]:
    """Whether each column is ordered."""
    return tuple(one.ordered for one in design.columns)


def plain_points(design: StreamDesign, events: Sequence[Sequence[Value]]) -> Floats:
    coordinates = coordinates_of(design)
    points = coordinates.null_points(len(events))
    for column, ordered in enumerate(ordered_places(design)):
        known = [(row, event[column]) for row, event in enumerate(events)]
        rows = np.array([row for row, value in known if value is not None], np.int64)
        values = [value for _, value in known if value is not None]
        if design.scheme == "aspe":
            cells = np.array([cell for cell, _ in values], np.int64)
            coordinates.put_cells(points, column, rows, cells)
        if ordered:
            orders = np.array([order for _, order in values], np.float64)
            coordinates.put_orders(points, column, rows, orders)
    return points
