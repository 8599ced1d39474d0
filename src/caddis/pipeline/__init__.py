"""Everything that imports pyspark: `match`, the store that it follows, and sessions."""

import os
import sys

from caddis.pipeline.matching import MatchResult, match
from caddis.pipeline.model_reports import ModelReport, ModelUse
from caddis.pipeline.store import SubscriptionStore

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
"""Spark would otherwise start whatever `python3` a worker finds, which may lack Caddis."""

__all__ = ["MatchResult", "ModelReport", "ModelUse", "SubscriptionStore", "match"]
