"""Channels: the map that says which channel carries a topic, and who publishes and receives by it.

    next_map ─▶ ChannelMap ─▶ ChannelPublisher ══ channels ══▶ ChannelReceiver ─▶ subscriber
                                     ▲                               │
                                     └──── asks for what is missing ─┘

Channels may lose, delay, repeat and reorder events, and everybody may have another version of the
map: each subscriber still gets each wanted event once and in order, or hears that it was lost.
Unpopular topics share the buckets of a catch-all.
"""

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
    Acknowledged,
    Channel,
    Event,
    Join,
    Leave,
    Lost,
    Peer,
    Settings,
)
from caddis.topics.channels.publisher import ChannelPublisher
from caddis.topics.channels.receiver import ChannelReceiver
