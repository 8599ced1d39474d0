"""Topics into channels: which topics are disseminated together, and how; without any I/O.

    interests ─▶ majority: popular topics ─▶ clustering ─▶ channels: a map ─▶ publishers, receivers
                        └──────── voting ────────┘

Few channels carry many topics, and a subscriber receives all of a channel for one topic of it. So
topics that the same subscribers want should share a channel. `kmeans` finds such channels where all
interests are in one memory. Where nobody knows all interests, the nodes of a tree find them by
votes (`ClusteringNode`), and popular topics by `MajorityFilter`s. A `ChannelMap` tells publishers
and receivers which channel carries a topic, and may change while they use it. All nodes are state
machines that stand behind `Links`: whoever drives them carries their messages.

>>> import numpy as np
>>> people, wanted = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 2, 3, 1], np.int32)
>>> interests = Interests.from_pairs(people, wanted, rates=np.array([5, 5, 1, 1]))
>>> clustering = kmeans(interests, 2, np.random.default_rng(0))
>>> channels = ChannelMap.from_arrays(["tea", "cake", "rain", "wind"], clustering.channels)
>>> channels.topics_of(channels.channel_of("tea"))
('cake', 'tea')
>>> [(channel, event), _] = ChannelPublisher("ann", channels).publish("tea", "is ready")
>>> event.topic, channel.number == channels.channel_of("cake")
('tea', True)

The ideas are from "Local Building Blocks for a Scalable Pub/Sub Infrastructure" (Shraer et al.).
On Spark, `caddis.topics_to_channels` clusters topics by the same costs and moves.
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
from caddis.topics.clustering import ClusteringNode, Interests, integer_rates, kmeans
from caddis.topics.links import CLOCK, Link, Links, Node, Packet, Sent, Wake
from caddis.topics.majority import BloomFilter, MajorityCascade, MajorityFilter, SignVoter
from caddis.topics.voting import Aggregator, MeasuredPoll, Poll, Voter, Votes, choose_protocol
