"""Cheap predicates, very many at a time: `Matcher`.

`packing` turns clauses into intervals of codes, `building` into an access index, `encoding` turns
a batch into codes, and `kernels` brings the two together.
"""

from caddis.matching.explaining import AccessUse, Explanation, Scanned, SharedToken, explain
from caddis.matching.matcher import EncodedBatch, Matcher, Matches, OnInvalid, Report, warm_up

__all__ = [
    "AccessUse",
    "EncodedBatch",
    "Explanation",
    "Matcher",
    "Matches",
    "OnInvalid",
    "Report",
    "Scanned",
    "SharedToken",
    "explain",
    "warm_up",
]
