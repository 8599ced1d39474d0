"""TODO."""

from caddis.topics.clustering.ballots import PROTOCOLS
from caddis.topics.clustering.interests import (
    Interests,
    Tallies,
    channel_rates,
    count,
    integer_rates,
    offsets_of,
    outcomes,
    total_cost,
    vote_costs,
)
from caddis.topics.clustering.k_means import Effort, Table, fill_empty, kmeans, search
from caddis.topics.clustering.kernels import own_costs
from caddis.topics.clustering.node import SETTLE_MS, ClusteringNode
from caddis.topics.clustering.schedule import Mode, Schedule, Settings, SettledWave, Wave

__all__ = [
    "PROTOCOLS",
    "SETTLE_MS",
    "ClusteringNode",
    "Effort",
    "Interests",
    "Mode",
    "Schedule",
    "Settings",
    "SettledWave",
    "Table",
    "Tallies",
    "Wave",
    "channel_rates",
    "count",
    "fill_empty",
    "integer_rates",
    "kmeans",
    "offsets_of",
    "outcomes",
    "own_costs",
    "search",
    "total_cost",
    "vote_costs",
]
