"""TODO."""

from caddis.ordering.kernels.choice import (
    EMEC,
    FORESIGHT,
    LOOKAHEAD,
    PER_SUBSCRIPTION,
    PRANK,
    ROLLOUT,
    RUN_ALL,
    UNIT_PRICE,
    choose,
    settle_events,
    tell,
)
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

__all__ = [
    "EMEC",
    "FORESIGHT",
    "LOOKAHEAD",
    "MEMO",
    "NONE",
    "OPEN",
    "PER_SUBSCRIPTION",
    "PRANK",
    "ROLLOUT",
    "RUN_ALL",
    "SATISFIED",
    "UNIT_PRICE",
    "Clauses",
    "GraphArrays",
    "MemoArrays",
    "PlanArrays",
    "choose",
    "copy_literals",
    "group_pairs",
    "settle_events",
    "share_links",
    "tell",
    "weigh",
]
