"""Everything that imports pyspark: `match`, the store that it follows, and sessions."""

from caddis.pipeline.matching import MatchResult, match
from caddis.pipeline.model_reports import ModelReport, ModelUse
from caddis.pipeline.store import SubscriptionStore

__all__ = ["MatchResult", "ModelReport", "ModelUse", "SubscriptionStore", "match"]
