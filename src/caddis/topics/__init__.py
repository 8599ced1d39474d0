"""Topics into channels: voting, majority filters, clustering; nodes without I/O.

`Voter`, `Aggregator` and `MeasuredPoll` hold votes; `MajorityFilter` and `MajorityCascade` find
popular topics; `ClusteringNode` finds channels with nobody who knows all interests; a `ChannelMap`
says which they are, to publishers and receivers. All nodes stand behind `Links`.
"""

from caddis.topics.channels.catch_all import (
    next_map,
    popular_by_levels,
    popular_topics,
    popularity_steps,
)
from caddis.topics.channels.map import ChannelMap
from caddis.topics.channels.publisher import ChannelPublisher
from caddis.topics.channels.receiver import ChannelReceiver
from caddis.topics.clustering.interests import Interests, integer_rates
from caddis.topics.clustering.node import ClusteringNode
from caddis.topics.links import CLOCK, Links, Packet, Wake
from caddis.topics.majority.bloom import BloomFilter
from caddis.topics.majority.filter import MajorityCascade, MajorityFilter
from caddis.topics.voting.aggregation import Aggregator
from caddis.topics.voting.difficulty import choose_protocol
from caddis.topics.voting.measured_poll import MeasuredPoll
from caddis.topics.voting.voter import Poll, Voter, Votes

__all__ = [
    "CLOCK",
    "Aggregator",
    "BloomFilter",
    "ChannelMap",
    "ChannelPublisher",
    "ChannelReceiver",
    "ClusteringNode",
    "Interests",
    "Links",
    "MajorityCascade",
    "MajorityFilter",
    "MeasuredPoll",
    "Packet",
    "Poll",
    "Voter",
    "Votes",
    "Wake",
    "choose_protocol",
    "integer_rates",
    "next_map",
    "popular_by_levels",
    "popular_topics",
    "popularity_steps",
]
