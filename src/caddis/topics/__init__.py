"""Topics into channels: voting, majority filters, clustering; nodes without I/O.

`Voter`, `Aggregator` and `MeasuredPoll` hold votes; `MajorityFilter` and `MajorityCascade` find
popular topics; `ClusteringNode` finds channels with nobody who knows all interests; a `ChannelMap`
says which they are, to publishers and receivers. All nodes stand behind `Links`.
"""

from caddis.topics.channels import (
    ChannelMap,
    ChannelPublisher,
    ChannelReceiver,
    next_map,
    popular_by_levels,
    popular_topics,
    popularity_steps,
)
from caddis.topics.clustering import ClusteringNode, Interests, integer_rates
from caddis.topics.links import CLOCK, Link, Links, Node, Packet, Sent, Wake
from caddis.topics.majority import BloomFilter, MajorityCascade, MajorityFilter
from caddis.topics.voting import Aggregator, MeasuredPoll, Poll, Voter, Votes, choose_protocol

__all__ = [
    "CLOCK",
    "Aggregator",
    "BloomFilter",
    "ChannelMap",
    "ChannelPublisher",
    "ChannelReceiver",
    "ClusteringNode",
    "Interests",
    "Link",
    "Links",
    "MajorityCascade",
    "MajorityFilter",
    "MeasuredPoll",
    "Node",
    "Packet",
    "Poll",
    "Sent",
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
