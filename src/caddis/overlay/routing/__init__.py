"""TODO."""

from caddis.overlay.routing.publication_graph import CompileClauses, PublicationRoutingGraph
from caddis.overlay.routing.routing import Routing
from caddis.overlay.routing.tables import Read

__all__ = [
    "CompileClauses",
    "PublicationRoutingGraph",
    "Read",
    "Routing",
]
