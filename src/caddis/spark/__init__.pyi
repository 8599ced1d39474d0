from .matching import MatchResult, ModelReport, ModelUse, SealedReport, match
from .sealed import open_events, seal_events
from .store import SubscriptionStore
from .topics import ClusteringReport, WaveReport, topics_to_channels

__all__ = [
    "ClusteringReport",
    "MatchResult",
    "ModelReport",
    "ModelUse",
    "SealedReport",
    "SubscriptionStore",
    "WaveReport",
    "match",
    "open_events",
    "seal_events",
    "topics_to_channels",
]
