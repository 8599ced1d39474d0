"""Excess filtering in plain Python, from its definition: the oracle of the clustering's tests."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from caddis.arrays import Int32s
from caddis.topics.clustering.interests import Interests


def interests_of(wanted: Sequence[set[int]], rates: Sequence[int]) -> Interests:
    """Every set is a subscriber, the empty ones, too."""
    sizes = [len(topics) for topics in wanted]
    return Interests(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([topic for topics in wanted for topic in sorted(topics)], np.int32),
        np.array(rates, np.int64),
    )


def sets_of(interests: Interests) -> list[set[int]]:
    return [set(interests.wanted(i).tolist()) for i in range(interests.subscribers)]


def excess(wanted: Sequence[set[int]], channels: Sequence[int], rates: Sequence[int]) -> int:
    """Everybody's unwanted traffic; a topic in channel -1 is disseminated nowhere."""
    cost = 0
    for topics in wanted:
        received = {channels[topic] for topic in topics} - {-1}
        cost += sum(
            rate
            for topic, rate in enumerate(rates)
            if channels[topic] in received and topic not in topics
        )
    return cost


def cost_of(interests: Interests, channels: Int32s) -> int:
    return excess(sets_of(interests), channels.tolist(), interests.rates.tolist())


def moved_costs(interests: Interests, channels: Int32s, k: int) -> list[list[int]]:
    """By topic and channel: everybody's cost once the topic is moved there."""
    wanted, rates = sets_of(interests), interests.rates.tolist()
    costs = []
    for topic in range(interests.topic_count):
        others = channels.tolist()
        row = []
        for channel in range(k):
            others[topic] = channel
            row.append(excess(wanted, others, rates))
        costs.append(row)
    return costs


def is_local_minimum(interests: Interests, channels: Int32s, k: int) -> bool:
    """Whether no single topic's move lowers the cost."""
    now = cost_of(interests, channels)
    return min(map(min, moved_costs(interests, channels, k))) >= now


@st.composite
def cases(draw: st.DrawFn, topics: int = 8, channels: int = 5) -> tuple[Interests, Int32s, int]:
    """Interests of a few subscribers, a map, and the number of its channels."""
    count = draw(st.integers(1, topics))
    k = draw(st.integers(1, channels))
    wanted = draw(st.lists(st.sets(st.integers(0, count - 1)), max_size=6))
    rates = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    chosen = draw(st.lists(st.integers(0, k - 1), min_size=count, max_size=count))
    return interests_of(wanted, rates), np.array(chosen, np.int32), k
