from . import errors, models, sealed
from .matching import Matcher, Matches
from .models import concept
from .spark import (
    ClusteringReport,
    MatchResult,
    ModelReport,
    SealedReport,
    SubscriptionStore,
    match,
    open_events,
    seal_events,
    topics_to_channels,
)

__all__ = [
    "ClusteringReport",
    "MatchResult",
    "Matcher",
    "Matches",
    "ModelReport",
    "SealedReport",
    "SubscriptionStore",
    "concept",
    "errors",
    "match",
    "models",
    "open_events",
    "seal_events",
    "sealed",
    "topics_to_channels",
]
__version__: str
