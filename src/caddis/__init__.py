"""Match a stream of events against very many standing subscriptions.

    matches = caddis.match(events, subscriptions)

`Matcher` is the same without Spark. All are imported when they are first used, so that the command
line answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from caddis import errors

if TYPE_CHECKING:
    from caddis.matching import Matcher, Matches
    from caddis.pipeline import MatchResult, SubscriptionStore, match

__all__ = ["MatchResult", "Matcher", "Matches", "SubscriptionStore", "errors", "match"]
__version__ = "0.1.0"

_HOMES = {
    "Matcher": "caddis.matching",
    "Matches": "caddis.matching",
    "MatchResult": "caddis.pipeline",
    "SubscriptionStore": "caddis.pipeline",
    "match": "caddis.pipeline",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'caddis' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
