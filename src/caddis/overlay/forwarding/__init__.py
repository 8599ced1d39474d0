"""TODO."""

from caddis.overlay.forwarding.compiled_graph import Beliefs, CompiledGraph
from caddis.overlay.forwarding.policies import (
    DEFAULT,
    FORWARDINGS,
    Forwarding,
    Sharing,
    forwarding_named,
)
from caddis.overlay.forwarding.sharing import SharingVisit
from caddis.overlay.forwarding.traffic import (
    MODELS,
    Answered,
    Ask,
    Event,
    Inside,
    Learnt,
    Message,
    Notification,
    Publish,
    Wake,
)
from caddis.overlay.forwarding.visits import NOBODY, Sent, Visit

__all__ = [
    "DEFAULT",
    "FORWARDINGS",
    "MODELS",
    "NOBODY",
    "Answered",
    "Ask",
    "Beliefs",
    "CompiledGraph",
    "Event",
    "Forwarding",
    "Inside",
    "Learnt",
    "Message",
    "Notification",
    "Publish",
    "Sent",
    "Sharing",
    "SharingVisit",
    "Visit",
    "Wake",
    "forwarding_named",
]
