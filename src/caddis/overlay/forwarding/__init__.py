"""How an event passes through a broker that decides one event at a time.

    policies ──▶ Visit or SharingVisit, one for each event ──▶ models to run, messages to send
                       │ asks
                 CompiledGraph: the routing graph as arrays (`routes`), with `Beliefs` about models

`FORWARDINGS` are the policies; those that also fit micro-batches are `BATCH_FORWARDINGS`.
"""

from caddis.overlay.forwarding.compiled_graph import Beliefs, CompiledGraph
from caddis.overlay.forwarding.policies import (
    BATCH_FORWARDINGS,
    FORWARDINGS,
    Forwarding,
    Sharing,
)
from caddis.overlay.forwarding.sharing import SharingVisit
from caddis.overlay.forwarding.visits import NOBODY, Sent, Visit
