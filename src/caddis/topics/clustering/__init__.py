"""Topics into channels: K-Means over what subscribers would receive and do not want.

    Interests ─▶ what each map costs (`count`, `vote_costs`) ─┬─▶ `kmeans`, `search`: in one memory
                                                              ├─▶ `ClusteringNode`s, who vote on it
                                                              └─▶ caddis.spark.topics: in partitions

A `Schedule` says which topics vote next and which outcomes are adopted; nodes and Spark follow the
same one. All costs are whole numbers, so all three ways agree to the last unit.
"""

from caddis.topics.clustering.ballots import PROTOCOLS
from caddis.topics.clustering.interests import (
    Interests,
    Tallies,
    channel_rates,
    count,
    integer_rates,
    outcomes,
    total_cost,
    vote_costs,
)
from caddis.topics.clustering.k_means import Effort, Table, fill_empty, kmeans, search
from caddis.topics.clustering.kernels import own_costs
from caddis.topics.clustering.node import SETTLE_MS, ClusteringNode
from caddis.topics.clustering.schedule import Mode, Schedule, Settings, SettledWave, Wave
