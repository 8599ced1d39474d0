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
from caddis.overlay.forwarding.visits import NOBODY, Sent, Visit

__all__ = [
    "DEFAULT",
    "FORWARDINGS",
    "NOBODY",
    "Beliefs",
    "CompiledGraph",
    "Forwarding",
    "Sent",
    "Sharing",
    "SharingVisit",
    "Visit",
    "forwarding_named",
]
