"""The tree of brokers: built from an overlay file, from measured round trips, or made up."""

from caddis.overlay.topology.round_trips import parse_round_trips
from caddis.overlay.topology.tree import Topology
