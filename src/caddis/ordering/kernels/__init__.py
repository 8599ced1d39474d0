"""The loops of ordering, compiled by numba.

    residual    the graph of what is still open of an event; answers settle it
    parts       clauses of an event that hang together by a model or a link
    choice      which model each part runs next, remembered by what is open:
                  prices        the greedy prices of the papers
                  lookahead     one step ahead on the expected cost that remains
                  exact         the best choice of all, for small parts
                  rollout       both policies followed to the end

`layout` draws the arrays that they share. Each kernel has a twin in plain Python in the tests.
"""

from caddis.ordering.kernels.choice import POLICY_NUMBERS, choose, settle_events, tell
from caddis.ordering.kernels.layout import (
    MEMO,
    NONE,
    OPEN,
    SATISFIED,
    Clauses,
    GraphArrays,
    MemoArrays,
    PlanArrays,
)
from caddis.ordering.kernels.residual import copy_literals, group_pairs, share_links, weigh
