"""Brokers that share the work of matching, without I/O.

`Topology` is the tree that joins them; a `Broker` is a state machine that takes messages and gives
messages; `FORWARDINGS` are the ways in which brokers divide the models of an event among them.
"""

from caddis.overlay.batch_routing import DEFAULT, HERE, BatchRouter, Decider, Means, policy_named
from caddis.overlay.broker import Broker
from caddis.overlay.forwarding import FORWARDINGS, Beliefs, Forwarding, Sharing, forwarding_named
from caddis.overlay.known_answers import WIRE, KnownAnswers
from caddis.overlay.messages import (
    Advertise,
    Control,
    Join,
    Link,
    Neighbour,
    Publisher,
    Subscribe,
    Subscriber,
    Unadvertise,
    Unsubscribe,
)
from caddis.overlay.routing import PublicationRoutingGraph, Routing
from caddis.overlay.topology import Topology

__all__ = [
    "DEFAULT",
    "FORWARDINGS",
    "HERE",
    "WIRE",
    "Advertise",
    "BatchRouter",
    "Beliefs",
    "Broker",
    "Control",
    "Decider",
    "Forwarding",
    "Join",
    "KnownAnswers",
    "Link",
    "Means",
    "Neighbour",
    "PublicationRoutingGraph",
    "Publisher",
    "Routing",
    "Sharing",
    "Subscribe",
    "Subscriber",
    "Topology",
    "Unadvertise",
    "Unsubscribe",
    "forwarding_named",
    "policy_named",
]
