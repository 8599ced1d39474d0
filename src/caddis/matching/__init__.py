"""Cheap predicates, very many at a time: `Matcher`.

`packing` turns clauses into intervals of codes, `building` into an access index, `encoding` turns
a batch into codes, and `kernels` brings the two together.
"""

from caddis.matching.matcher import EncodedBatch, Matcher, Matches, OnInvalid, Report

__all__ = ["EncodedBatch", "Matcher", "Matches", "OnInvalid", "Report"]
