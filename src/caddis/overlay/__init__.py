"""Brokers that share the work of matching, without I/O.

`Topology` is the tree that joins them; a `Broker` is a state machine that takes messages and gives
messages; `FORWARDINGS` are the ways in which brokers divide the models of an event among them.
"""

from caddis.overlay.broker import Broker
from caddis.overlay.forwarding.compiled_graph import Beliefs
from caddis.overlay.forwarding.policies import FORWARDINGS, Forwarding, Sharing, forwarding_named
from caddis.overlay.routing.publication_graph import PublicationRoutingGraph
from caddis.overlay.routing.routing import Routing
from caddis.overlay.topology.tree import Topology

__all__ = [
    "FORWARDINGS",
    "Beliefs",
    "Broker",
    "Forwarding",
    "PublicationRoutingGraph",
    "Routing",
    "Sharing",
    "Topology",
    "forwarding_named",
]
