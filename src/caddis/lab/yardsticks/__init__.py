"""TODO."""

from caddis.lab.yardsticks.baselines import CountingMatcher, join_table
from caddis.lab.yardsticks.ordering_costs import candidate_costs

__all__ = [
    "CountingMatcher",
    "candidate_costs",
    "join_table",
]
