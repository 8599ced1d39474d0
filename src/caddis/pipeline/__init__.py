"""Everything that imports pyspark: `match`, the store that it follows, and sessions.

`topics_to_channels` puts topics into channels.
"""

from caddis.pipeline.matching import MatchResult, match
from caddis.pipeline.model_reports import ModelReport, ModelUse
from caddis.pipeline.sealed_reports import SealedReport
from caddis.pipeline.store import SubscriptionStore
from caddis.pipeline.topics import topics_to_channels
from caddis.pipeline.topics_reports import ClusteringReport, WaveReport

__all__ = [
    "ClusteringReport",
    "MatchResult",
    "ModelReport",
    "ModelUse",
    "SealedReport",
    "SubscriptionStore",
    "WaveReport",
    "match",
    "topics_to_channels",
]
