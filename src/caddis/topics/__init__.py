"""Topics into channels: voting, majority filters, clustering; nodes without I/O.

`Voter`, `Aggregator` and `MeasuredPoll` hold votes; `MajorityFilter` and `MajorityCascade` find
popular topics; `ClusteringNode` finds channels with nobody who knows all interests; a `ChannelMap`
says which they are, to publishers and receivers. All nodes stand behind `Links`.
"""

from caddis.topics.aggregation import Aggregator
from caddis.topics.bloom import BloomFilter
from caddis.topics.catch_all import next_map, popular_by_levels, popular_topics, popularity_steps
from caddis.topics.channel_map import ChannelMap
from caddis.topics.channel_publisher import ChannelPublisher
from caddis.topics.channel_receiver import ChannelReceiver
from caddis.topics.clustering import ClusteringNode
from caddis.topics.difficulty import choose_protocol
from caddis.topics.interests import Interests, integer_rates
from caddis.topics.links import CLOCK, Links, Packet, Wake
from caddis.topics.majority_filter import MajorityCascade, MajorityFilter
from caddis.topics.measured_poll import MeasuredPoll
from caddis.topics.voting import Poll, Voter, Votes

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
