"""TODO."""

from caddis.topics.clustering.ballots import PROTOCOLS
from caddis.topics.clustering.excess import (
    Tallies,
    channel_rates,
    count,
    outcomes,
    total_cost,
    vote_costs,
)
from caddis.topics.clustering.interests import Interests, integer_rates, offsets_of
from caddis.topics.clustering.kernels import own_costs
from caddis.topics.clustering.kmeans import Table, kmeans
from caddis.topics.clustering.leader import SettledWave
from caddis.topics.clustering.node import SETTLE_MS, ClusteringNode
from caddis.topics.clustering.schedule import Mode, Schedule, Settings, Wave
from caddis.topics.clustering.search import Effort, fill_empty, search

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
