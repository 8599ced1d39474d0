"""Cheap predicates, very many at a time: `Matcher`.

`packing` turns clauses into intervals of codes, `building` into an access index, `encoding` turns
a batch into codes, and `kernels` brings the two together.
"""

from caddis.matching.explaining import AccessUse, Explanation, Scanned, SharedToken, explain
from caddis.matching.index.encoding import values_of
from caddis.matching.index.needs import NOTHING, Needs
from caddis.matching.matcher import (
    NO_CONCEPTS,
    Candidates,
    EncodedBatch,
    LinkMatcher,
    Matcher,
    Matches,
    OnInvalid,
    Report,
    warm_up,
)

__all__ = [
    "NOTHING",
    "NO_CONCEPTS",
    "AccessUse",
    "Candidates",
    "EncodedBatch",
    "Explanation",
    "LinkMatcher",
    "Matcher",
    "Matches",
    "Needs",
    "OnInvalid",
    "Report",
    "Scanned",
    "SharedToken",
    "explain",
    "values_of",
    "warm_up",
]
