from .matching import ModelUse, Report, check, match, match_files
from .sealed import match_sealed, open_events, seal_events
from .store import SubscriptionStore
from .topics import ClusteringReport, WaveReport, topics_to_channels

__all__ = [
    "ClusteringReport",
    "ModelUse",
    "Report",
    "SubscriptionStore",
    "WaveReport",
    "check",
    "match",
    "match_files",
    "match_sealed",
    "open_events",
    "seal_events",
    "topics_to_channels",
]
