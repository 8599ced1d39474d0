"""Counting, in one pass over all interests, what every vote's costs are made of.

A subscriber receives the channels that hold a topic it wants. For each topic that it wants, every
such channel with another topic that it wants is shared by topic and channel; its topics' own
channel counts if it wants two topics of it or more. A pass costs interests × channels received.
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
    received = np.empty(len(receivers), np.int32)
    for subscriber in range(len(offsets) - 1):
        begin, end = offsets[subscriber], offsets[subscriber + 1]
        size = 0
        for place in range(begin, end):
            channel = channels[topics[place]]
            if held[channel] == 0:
                received[size] = channel
                size += 1
            held[channel] += 1
        for place in range(begin, end):
            topic = topics[place]
            row = shared[topic]
            wants[topic] += 1
            for at in range(size):
                row[received[at]] += 1
            if held[channels[topic]] == 1:
                row[channels[topic]] -= 1
        for at in range(size):
            receivers[received[at]] += 1
            held[received[at]] = 0
