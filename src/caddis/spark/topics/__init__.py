"""Topics into channels on Spark, for those who have all interests in one table.

    tables: check ─▶ packing: arrays on the workers ─▶ waves: a job for each, until no move pays

`topics_to_channels` is the call for users. `clusterer_of` is the same in steps, for whoever wants
several maps of the same interests, as the command line does. The costs and moves are those of
`caddis.topics.clustering`.
"""

from caddis.spark.topics.clustering import Effort, clusterer_of, map_before, topics_to_channels
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
