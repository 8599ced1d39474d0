"""What is typical of PlanetLab's round-trip times, and matrices that are made up like them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caddis.arrays import Floats
from caddis.overlay.topology.round_trips import draw_places


@dataclass(frozen=True, slots=True)
class Profile:
    """The numbers that characterise a set of round-trip times, in milliseconds there and back."""

    shares: tuple[float, ...]
    """Which quantiles `pairs` and `links` give."""
    pairs: tuple[float, ...]
    """Quantiles of the times between all nodes."""
    links: tuple[float, ...]
    """Quantiles of the times of links in trees of 100 nodes."""
    mean_depth: float
    """The mean depth of a broker in such a tree, whose root is chosen at random."""
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


def synthetic_round_trips(nodes: int, rng: np.random.Generator) -> Floats:
    """A matrix like PlanetLab's, of any size."""
    places = draw_places(nodes, rng)
    matrix = np.empty((nodes, nodes))
    for node in range(nodes):
        matrix[node] = places.times_from(node)
    return matrix
