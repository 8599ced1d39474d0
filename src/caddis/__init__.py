"""Match a stream of events against very many standing subscriptions.

    matches = caddis.match(events, subscriptions, models=[...])
    matches = caddis.match(sealed_events, sealed_subscriptions, sealed=True)
    channels = caddis.topics_to_channels(interests, rates, channels=20)

`concept` makes a model of a Python function; `caddis.models` has others. `Matcher` is the same
without Spark and without models. `caddis.confidential` seals events and subscriptions. All are
imported when they are first used, so that the command line answers at once.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from caddis import errors

if TYPE_CHECKING:
    from caddis import confidential, models
    from caddis.matching import Matcher, Matches
    from caddis.models import concept
    from caddis.pipeline import (
        ClusteringReport,
        MatchResult,
        ModelReport,
        SealedReport,
        SubscriptionStore,
        match,
        topics_to_channels,
    )
    from caddis.pipeline.sealing import open_events, seal_events

__all__ = [
    "ClusteringReport",
    "MatchResult",
    "Matcher",
    "Matches",
    "ModelReport",
    "SealedReport",
    "SubscriptionStore",
    "concept",
    "confidential",
    "errors",
    "match",
    "models",
    "open_events",
    "seal_events",
    "topics_to_channels",
]
__version__ = "0.1.0"

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
"""A session reads it when it starts, which may be before anything of Caddis is used; Spark would
otherwise start whatever `python3` a worker finds, which may lack Caddis."""

_HOMES = {
    "ClusteringReport": "caddis.pipeline",
    "Matcher": "caddis.matching",
    "Matches": "caddis.matching",
    "MatchResult": "caddis.pipeline",
    "ModelReport": "caddis.pipeline",
    "SealedReport": "caddis.pipeline",
    "SubscriptionStore": "caddis.pipeline",
    "concept": "caddis.models",
    "match": "caddis.pipeline",
    "open_events": "caddis.pipeline.sealing",
    "seal_events": "caddis.pipeline.sealing",
    "topics_to_channels": "caddis.pipeline",
}


def __getattr__(name: str) -> Any:
    if name in ("confidential", "models"):
        return import_module(f"caddis.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'caddis' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
