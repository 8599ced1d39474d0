"""Counting, in one pass over all interests, what every vote's costs are made of.

A subscriber receives the channels that hold a topic it wants. For each topic that it wants, every
such channel with another topic that it wants is shared by topic and channel; its topics' own
channel counts if it wants two topics of it or more. A pass costs interests × channels, but adds
whole rows at a time, which is quicker than to go from one received channel to the next.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Int32s, Int64s


@njit(cache=True)
def tally(
    offsets: Int64s,
    topics: Int32s,
    channels: Int32s,
    wants: Int64s,
    receivers: Int64s,
    shared: Int64s,
) -> None:
    """Add all subscribers to the three tallies: by topic, by channel, by topic and channel."""
    held = np.zeros(len(receivers), np.int32)
    receives = np.zeros(len(receivers), np.int64)
    for subscriber in range(len(offsets) - 1):
        begin, end = offsets[subscriber], offsets[subscriber + 1]
        held[:] = 0
        for place in range(begin, end):
            held[channels[topics[place]]] += 1
        for channel in range(len(receivers)):
            receives[channel] = held[channel] > 0
            receivers[channel] += receives[channel]
        for place in range(begin, end):
            topic = topics[place]
            wants[topic] += 1
            row = shared[topic]
            for channel in range(len(receivers)):
                row[channel] += receives[channel]
            row[channels[topic]] -= held[channels[topic]] == 1
