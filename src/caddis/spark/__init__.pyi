from .matching.match import MatchResult, match
from .matching.model_reports import ModelReport, ModelUse
from .matching.sealed_reports import SealedReport
from .sealed.sealing import open_events, seal_events
from .store.store import SubscriptionStore
from .topics.clustering import topics_to_channels
from .topics.reports import ClusteringReport, WaveReport

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
