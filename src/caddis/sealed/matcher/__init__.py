"""Brokers match sealed events against sealed subscriptions, without a key.

    blocks        sealed clauses on their way in: unpacked, checked for their sizes
    groups        the clauses of one stream and epoch, behind their prefilter
    event_parts   filters, tokens and points of events, as arrays
    search        from rows to groups to links, slice by slice
    matcher       SealedMatcher, with the interface of `caddis.Matcher`

Loops over tokens are in `kernels`.
"""

from caddis.sealed.matcher.blocks import sealed_clauses_of
from caddis.sealed.matcher.groups import Sifting
from caddis.sealed.matcher.matcher import NEEDED, SealedMatcher, warm_up
from caddis.sealed.matcher.search import SealedMatches, SealedMatchReport
