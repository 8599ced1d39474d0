"""TODO."""

from caddis.spark.topics.clustering import Effort, clustering, map_before, topics_to_channels
from caddis.spark.topics.reports import ClusteringReport, WaveReport
from caddis.spark.topics.tables import (
    CHANNELS,
    RATES,
    Numbers,
    PreviousMap,
    like_interests,
    read_table,
)
from caddis.spark.topics.waves import Clusterer

__all__ = [
    "CHANNELS",
    "RATES",
    "Clusterer",
    "ClusteringReport",
    "Effort",
    "Numbers",
    "PreviousMap",
    "WaveReport",
    "clustering",
    "like_interests",
    "map_before",
    "read_table",
    "topics_to_channels",
]
