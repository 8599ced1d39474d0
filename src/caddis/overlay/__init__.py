"""Brokers that share the work of matching, without I/O.

`Topology` is the tree that joins them; a `Broker` is a state machine that takes messages and gives
messages; `FORWARDINGS` are the ways in which brokers divide the models of an event among them.
"""

from caddis.overlay.batch_routing import DEFAULT, HERE, BatchRouter, Decider, Means, policy_named
from caddis.overlay.broker import Broker
from caddis.overlay.file import BrokerEntry, OverlayFile, read_overlay_file
from caddis.overlay.forwarding import FORWARDINGS, Beliefs, Forwarding, Sharing, forwarding_named
from caddis.overlay.known_answers import WIRE, KnownAnswers
from caddis.overlay.messages import (
    Advertise,
    Answered,
    Ask,
    Control,
    Event,
    Inside,
    Join,
    Learnt,
    Leave,
    Link,
    Message,
    Neighbour,
    Notification,
    Publish,
    Publisher,
    Subscribe,
    Subscriber,
    Unadvertise,
    Unsubscribe,
    Wake,
)
from caddis.overlay.routing import PublicationRoutingGraph, Routing
from caddis.overlay.topology import Topology

__all__ = [
    "DEFAULT",
    "FORWARDINGS",
    "HERE",
    "WIRE",
    "Advertise",
    "Answered",
    "Ask",
    "BatchRouter",
    "Beliefs",
    "Broker",
    "BrokerEntry",
    "Control",
    "Decider",
    "Event",
    "Forwarding",
    "Inside",
    "Join",
    "KnownAnswers",
    "Learnt",
    "Leave",
    "Link",
    "Means",
    "Message",
    "Neighbour",
    "Notification",
    "OverlayFile",
    "PublicationRoutingGraph",
    "Publish",
    "Publisher",
    "Routing",
    "Sharing",
    "Subscribe",
    "Subscriber",
    "Topology",
    "Unadvertise",
    "Unsubscribe",
    "Wake",
    "forwarding_named",
    "policy_named",
    "read_overlay_file",
]
