"""TODO."""

from caddis.sealed.matcher.blocks import sealed_clauses_of
from caddis.sealed.matcher.groups import Sifting
from caddis.sealed.matcher.matcher import SealedMatcher, warm_up
from caddis.sealed.matcher.matches import SealedMatches, SealedMatchReport

__all__ = [
    "SealedMatchReport",
    "SealedMatcher",
    "SealedMatches",
    "Sifting",
    "sealed_clauses_of",
    "warm_up",
]
