"""The experiment on majority filters: what Theorem 1 bounds, and what nodes really get.

Nodes hold about 20 of 100 elements, each of which a fifth of them holds, so that nothing is
popular and whatever seems so is false. The theorem supposes that bits of different nodes are
independent; what would then be is computed (`tail_per_bit`). They share the hash functions, and
what that makes of it is measured.
"""

from __future__ import annotations

import numpy as np

from caddis.lab.figures import Measured
from caddis.lab.local_building_blocks.runs import Setup
from caddis.topics.majority import (
    aggregation_bound,
    aggregation_bound_per_bit,
    aggregation_tail_per_bit,
    popular_bits,
)

ELEMENTS, SUPPORT, HASHES = 100, 0.2, 3
DRAWS = 50
"""Sets of hash functions that are tried on the same interests."""


def measure_filters(setup: Setup, setting: str, x: float, rng: np.random.Generator) -> Measured:
    """Bounds and what is measured; x: bits, setting: the threshold."""
    nodes, bits = setup.conditions.nodes, int(x)
    case = nodes, ELEMENTS * SUPPORT, HASHES, bits, setting
    interests = rng.random((nodes, ELEMENTS)) < SUPPORT
    taken, set_bits = 0, 0
    for _ in range(DRAWS):
        places = rng.integers(0, bits, (ELEMENTS, HASHES)).astype(np.int32)
        popular = popular_bits(interests, places, bits, setting)
        set_bits += int(popular.sum())
        taken += int(popular[places].all(axis=1).sum())
    return {
        "bound_per_bit": aggregation_bound_per_bit(*case),
        "bound": aggregation_bound(*case),
        "tail_per_bit": aggregation_tail_per_bit(*case),
        "measured_bits": set_bits / (DRAWS * bits),
        "measured": taken / (DRAWS * ELEMENTS),
    }
