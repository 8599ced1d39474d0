"""The catch-all: where topics go that too few want for their channel to be worth a vote.

One channel for all of them would drown whoever wants a single one. So the catch-all is a row of
buckets, numbered after the clusters' channels, and no bucket carries more than a bound: that is
the most that a subscriber receives for one unpopular topic. Only a topic whose own rate is above
the bound exceeds it, and it is alone. Topics stay where they were as long as they fit, and a topic
around the threshold of popularity does not go to and fro: it becomes popular at the threshold, and
unpopular only well below it.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Container, Mapping

from caddis.errors import TopicError
from caddis.topics.channel_map import ChannelMap

LEAVE = 0.8
"""A popular topic stays so down to this share of the threshold."""

MERGE = 0.75
"""Two buckets become one if together they fill no more than this share of one."""


def popular_topics(
    supports: Mapping[str, float],
    threshold: float,
    before: Container[str] = (),
    leave: float = LEAVE,
) -> set[str]:
    """The topics that enough subscribers want.

    supports: by topic, the share (or the number) of subscribers that want it.
    threshold: at or above this a topic is popular; in the units of `supports`.
    before: the topics that were popular; they stay so while above `leave` × `threshold`.

    >>> sorted(popular_topics({"a": 0.5, "b": 0.09, "c": 0.09}, 0.1, before={"b"}))
    ['a', 'b']
    """
    if not 0 <= leave <= 1:
        raise TopicError(f"popular topics stay down to a share of the threshold, not {leave}")
    low = leave * threshold
    return {
        topic
        for topic, support in supports.items()
        if support >= threshold or (support >= low and topic in before)
    }


def catch_all(
    rates: Mapping[str, int], bound: int, first: int, before: Mapping[str, int] | None = None
) -> dict[str, int]:
    """A bucket for each unpopular topic.

    rates: by topic, in whole units (see `integer_rates`).
    bound: the most that a bucket carries, in the same unit.
    first: the number of the first bucket: how many channels the clusters have.
    before: the channels of topics up to now; those from `first` up are buckets.

    >>> catch_all({"a": 6, "b": 5, "c": 4, "d": 30}, bound=10, first=3)
    {'a': 4, 'b': 5, 'c': 4, 'd': 3}
    """
    if bound < 1 or first < 0:
        raise TopicError(f"buckets hold 1 or more and count from 0 up, not {bound} and {first}")
    for topic, rate in rates.items():
        if type(rate) is not int or rate < 0:
            raise TopicError(f"topic {topic!r}: a rate is a whole number from 0 up, not {rate!r}")
    buckets = _Buckets(rates, bound, first)
    for topic, number in (before or {}).items():
        if number >= first and topic in rates:
            buckets.put(topic, number)
    buckets.relieve()
    homeless = [topic for topic in rates if topic not in buckets.places]
    buckets.settle(sorted(homeless, key=lambda topic: (-rates[topic], topic)))
    buckets.merge()
    return {topic: buckets.places[topic] for topic in sorted(buckets.places)}


def next_map(
    before: ChannelMap | None, clustered: Mapping[str, int], rates: Mapping[str, int], bound: int
) -> ChannelMap:
    """The next version of a map: popular topics as clustered, all others in the catch-all.

    clustered: the popular topics' channels; buckets are numbered after the last of these.
    rates: of all topics; those that are not clustered are unpopular.

    >>> made = next_map(None, {"chess": 0, "tea": 1}, {"chess": 90, "tea": 80, "rain": 2}, 10)
    >>> made.channel_of("rain")
    2
    """
    first = max(clustered.values(), default=-1) + 1
    unpopular = {topic: rate for topic, rate in rates.items() if topic not in clustered}
    buckets = catch_all(unpopular, bound, first, before.channels if before else None)
    version = before.version + 1 if before else 1
    return ChannelMap({**clustered, **buckets}, version, before.otherwise if before else None)


class _Buckets:
    """The buckets while topics are put into them: who is in each, and how full it is."""

    def __init__(self, rates: Mapping[str, int], bound: int, first: int) -> None:
        self._rates, self._bound, self._first = rates, bound, first
        self.places: dict[str, int] = {}
        self._members: dict[int, list[str]] = {}
        self._loads: dict[int, int] = {}

    def put(self, topic: str, number: int) -> None:
        self.places[topic] = number
        self._members.setdefault(number, []).append(topic)
        self._loads[number] = self._loads.get(number, 0) + self._rates[topic]

    def relieve(self) -> None:
        """Take the largest topics out of buckets that carry too much: fewest have to move."""
        for number, members in self._members.items():
            if self._loads[number] <= self._bound:
                continue
            members.sort(key=lambda topic: (self._rates[topic], topic))
            while self._loads[number] > self._bound and len(members) > 1:
                topic = members.pop()
                self._loads[number] -= self._rates[topic]
                del self.places[topic]

    def settle(self, topics: list[str]) -> None:
        """Give each topic the fullest bucket that has room for it, or a new one."""
        room = sorted((self._bound - load, number) for number, load in self._loads.items())
        free = self._free_numbers(len(topics))
        for topic in topics:
            rate = self._rates[topic]
            place = bisect_left(room, (rate, -1))
            left, number = (
                room.pop(place) if place < len(room) else (self._bound, heapq.heappop(free))
            )
            self.put(topic, number)
            insort(room, (left - rate, number))

    def merge(self) -> None:
        """Pour the emptiest buckets together while they stay well below the bound."""
        emptiest = [(load, -number) for number, load in self._loads.items()]
        heapq.heapify(emptiest)
        while len(emptiest) > 1:
            one, other = heapq.heappop(emptiest), heapq.heappop(emptiest)
            if one[0] + other[0] > MERGE * self._bound:
                return
            source, target = sorted(
                (-one[1], -other[1]), key=lambda number: (len(self._members[number]), -number)
            )
            for topic in self._members.pop(source):
                self.put(topic, target)
            del self._loads[source]
            heapq.heappush(emptiest, (self._loads[target], -target))

    def _free_numbers(self, count: int) -> list[int]:
        """Enough numbers that no bucket has, the lowest first."""
        span = range(self._first, self._first + count + len(self._loads))
        return [number for number in span if number not in self._loads]
