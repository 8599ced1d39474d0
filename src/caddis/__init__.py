"""Match a stream of events against very many standing subscriptions.

    matches = caddis.match(events, subscriptions)

`Matcher` is the same without Spark. What needs Spark is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caddis import errors
from caddis.matching import Matcher, Matches

if TYPE_CHECKING:
    from caddis.pipeline import MatchResult, SubscriptionStore, match

__all__ = ["MatchResult", "Matcher", "Matches", "SubscriptionStore", "errors", "match"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in ("MatchResult", "SubscriptionStore", "match"):
        from caddis import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module 'caddis' has no attribute {name!r}")
