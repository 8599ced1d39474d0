"""TODO."""

from caddis.overlay.topology.round_trips import read_round_trips
from caddis.overlay.topology.tree import Topology

__all__ = [
    "Topology",
    "read_round_trips",
]
