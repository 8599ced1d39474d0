"""The routing plane of a broker: from control messages to a routing graph.

    control messages ──▶ Routing: advertisements, and one `Asking` for each neighbour
                            │ table: who wants what, through which link
                            ▼
                     PublicationRoutingGraph, compiled for the brokers

`covering` decides which clauses a neighbour need not be asked for, as others cover them.
"""

from caddis.overlay.routing.publication_graph import CompileClauses, PublicationRoutingGraph, Read
from caddis.overlay.routing.routing import Routing
