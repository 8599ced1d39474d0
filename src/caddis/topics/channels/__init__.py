"""TODO."""

from caddis.topics.channels.catch_all import (
    next_map,
    popular_by_levels,
    popular_topics,
    popularity_steps,
)
from caddis.topics.channels.map import ChannelMap, is_whole
from caddis.topics.channels.messages import (
    CONTROL,
    SUBSCRIBER,
    Channel,
    Event,
    Join,
    Leave,
    Peer,
    Settings,
)
from caddis.topics.channels.publisher import ChannelPublisher
from caddis.topics.channels.receiver import ChannelReceiver

__all__ = [
    "CONTROL",
    "SUBSCRIBER",
    "Channel",
    "ChannelMap",
    "ChannelPublisher",
    "ChannelReceiver",
    "Event",
    "Join",
    "Leave",
    "Peer",
    "Settings",
    "is_whole",
    "next_map",
    "popular_by_levels",
    "popular_topics",
    "popularity_steps",
]
