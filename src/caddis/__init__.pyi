from . import errors, models, overlay, sealed, topics
from .matching import Matcher, Matches
from .models import concept
from .spark import (
    ClusteringReport,
    Report,
    SubscriptionStore,
    check,
    match,
    match_files,
    match_sealed,
    open_events,
    seal_events,
    topics_to_channels,
)

__all__ = [
    "ClusteringReport",
    "Matcher",
    "Matches",
    "Report",
    "SubscriptionStore",
    "check",
    "concept",
    "errors",
    "match",
    "match_files",
    "match_sealed",
    "models",
    "open_events",
    "overlay",
    "seal_events",
    "sealed",
    "topics",
    "topics_to_channels",
]
__version__: str
