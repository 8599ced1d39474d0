"""Cheap predicates, very many at a time: which links do the rows of a batch satisfy?

    clauses ──index──▶ access index ┐
                                    ├──kernels──▶ (row, link)
    event batch ──index──▶ codes ───┘

`Matcher` is the whole of it; `links` is what every matcher takes and gives, `explain` says how a
table of subscriptions is indexed, and `warm_up` compiles the kernels ahead.
"""

from caddis.matching.explaining import Explanation, explain
from caddis.matching.index import NOTHING, Needs, ValueRange, as_numbers, values_of
from caddis.matching.links import (
    Candidates,
    LinkMatcher,
    Matches,
    MatchReport,
    OnInvalid,
    checked_ids,
    named_errors,
    subscription_ids_of,
)
from caddis.matching.matcher import Matcher
from caddis.matching.slices import in_step
from caddis.matching.warming import NEEDED, warm_up
