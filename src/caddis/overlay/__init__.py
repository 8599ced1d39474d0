"""Brokers that share the work of matching, without I/O.

    file, topology ──▶ which brokers there are, and the tree that joins them
    messages ──▶ routing ──▶ PublicationRoutingGraph: who wants what, through which link
                                   │
                  forwarding ──▶ EventBroker    one event at a time, a state machine
                             ──▶ BatchRouter    micro-batches, for the brokers on Spark

Both decide by the same routing graph and the same policies, `FORWARDINGS`. The simulator drives
event brokers; `caddis.spark.overlay` runs batch routers.
"""

from caddis.overlay.batch_routing import HERE, BatchRouter, Decider, ModelContext
from caddis.overlay.event_broker import EventBroker
from caddis.overlay.file import BrokerEntry, OverlayFile, parse_overlay_file
from caddis.overlay.forwarding import (
    BATCH_FORWARDINGS,
    FORWARDINGS,
    Forwarding,
    Sharing,
)
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
from caddis.overlay.routing import PublicationRoutingGraph, Read, Routing
from caddis.overlay.topology import Topology, parse_round_trips
