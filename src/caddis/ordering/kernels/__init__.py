"""The loops of ordering, compiled by numba.

    residual    the graph of what is still open of an event; answers settle it
    parts       clauses of an event that hang together by a model or a link
    choice      choices that take thought are remembered by what is open
    prices      the greedy prices of the papers
    lookahead   one step ahead on the expected cost that remains
    either      the same, where links have several clauses
    exact       the best choice of all, for small parts
    rollout     both policies followed to the end

`layout` draws the arrays that they share. What a policy thinks with is a kernel of its own, named
`by_...`, which chooses for some parts; so only those are compiled that are used, and they can be
compiled side by side. Each kernel has a twin in plain Python in the tests.
"""

from caddis.ordering.kernels.choice import recall, remember
from caddis.ordering.kernels.either import by_lookahead_either
from caddis.ordering.kernels.exact import by_solving
from caddis.ordering.kernels.layout import (
    MEMO,
    NEED,
    NONE,
    OPEN,
    PART,
    SATISFIED,
    WAIT,
    Clauses,
    GraphArrays,
    MemoArrays,
    PlanArrays,
)
from caddis.ordering.kernels.lookahead import by_lookahead
from caddis.ordering.kernels.parts import split
from caddis.ordering.kernels.prices import (
    by_extended_unit_price,
    by_prank,
    by_refutation,
    by_unit_price,
    want_all,
)
from caddis.ordering.kernels.residual import (
    copy_literals,
    group_pairs,
    settle_events,
    share_links,
    tell,
    weigh,
)
from caddis.ordering.kernels.rollout import by_rollout
