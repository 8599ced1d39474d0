"""TODO."""

from caddis.overlay.routing.publication_graph import CompileClauses, PublicationRoutingGraph, Read
from caddis.overlay.routing.routing import Routing

__all__ = [
    "CompileClauses",
    "PublicationRoutingGraph",
    "Read",
    "Routing",
]
