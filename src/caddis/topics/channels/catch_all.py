"""The catch-all: where topics go that too few want for their channel to be worth a vote.

One channel for all of them would drown whoever wants a single one. So the catch-all is a row of
buckets, numbered after the clusters' channels, and no bucket carries more than a bound: that is the
most that a subscriber receives for one unpopular topic. Only a topic whose own rate is above the
bound exceeds it, and it has a bucket to itself. Topics stay where they were as long as they fit. A
topic near the threshold of popularity does not go to and fro: it becomes popular at the threshold,
and unpopular only well below it.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Container, Mapping
from fractions import Fraction

from caddis.errors import TopicError
from caddis.topics.channels.map import ChannelMap, checked_number, is_whole
from caddis.topics.majority import Threshold, as_threshold

LEAVE = Fraction(4, 5)
"""A popular topic stays popular down to this share of the threshold."""

MERGE = 0.75
"""Two buckets become one if together they fill at most this share of one: some room is left."""


def popular_topics(
    supports: Mapping[str, Threshold],
    threshold: Threshold,
    before: Container[str] = (),
    leave: Threshold = LEAVE,
) -> set[str]:
    """The topics that enough subscribers want.

    supports: the share (or the number) of subscribers that want each topic.
    threshold: a topic is popular at or above this; in the unit of `supports`.
    before: the topics that were popular up to now.
    leave: those stay popular down to this share of the threshold.

    >>> sorted(popular_topics({"a": 0.5, "b": 0.08, "c": 0.08}, 0.1, before={"b"}))
    ['a', 'b']
    """
    steps = popularity_steps(threshold, leave)
    levels = {}
    for topic, support in supports.items():
        exact = _exact(f"the support of topic {topic!r}", support)
        levels[topic] = sum(exact >= step for step in steps)
    return popular_by_levels(levels, before)


def popularity_steps(threshold: Threshold, leave: Threshold = LEAVE) -> tuple[Fraction, Fraction]:
    """The supports where a topic stops being popular and where it becomes popular.

    They are the thresholds of a `MajorityCascade` that finds popular topics.

    >>> popularity_steps(0.1)
    (Fraction(2, 25), Fraction(1, 10))
    """
    high, share = _exact("the threshold", threshold), _exact("the share to leave at", leave)
    if share > 1:
        raise TopicError(f"topics stay popular down to a share of the threshold, not {leave}")
    return share * high, high


def popular_by_levels(levels: Mapping[str, int], before: Container[str] = ()) -> set[str]:
    """The popular topics, from how many of the two `popularity_steps` each one's support reaches.

    Nodes with majority filters know these levels, but no supports.

    >>> sorted(popular_by_levels({"a": 2, "b": 1, "c": 1, "d": 0}, before={"b", "d"}))
    ['a', 'b']
    """
    return {
        topic for topic, level in levels.items() if level == 2 or (level == 1 and topic in before)
    }


def catch_all(
    rates: Mapping[str, int], bound: int, first: int, before: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Give each unpopular topic a bucket.

    rates: the topics' rates, in whole units (see `integer_rates`).
    bound: the most that a bucket carries, in the same unit. There are as many buckets as it takes.
    first: the number of the first bucket, which is how many channels the clusters have.
    before: the channels of topics up to now; those from `first` up are buckets.

    >>> catch_all({"a": 6, "b": 5, "c": 4, "d": 30}, bound=10, first=3)
    {'a': 4, 'b': 5, 'c': 4, 'd': 3}
    """
    if not is_whole(bound) or bound < 1:
        raise TopicError(f"a bucket's bound is a whole number from 1 up, not {bound!r}")
    whole = {
        topic: checked_number(f"topic {topic!r}: a rate", rate) for topic, rate in rates.items()
    }
    buckets = _Buckets(whole, int(bound), checked_number("the first bucket", first))
    for topic, number in (before or {}).items():
        if number >= first and topic in whole:
            buckets.put(topic, int(number))
    # Stay where possible, relieve what is too full, place the rest largest first, then tidy up.
    buckets.relieve()
    homeless = [topic for topic in whole if topic not in buckets.places]
    buckets.settle(sorted(homeless, key=lambda topic: (-whole[topic], topic)))
    buckets.merge()
    return {topic: buckets.places[topic] for topic in sorted(buckets.places)}


def next_map(
    before: ChannelMap | None,
    clustered: Mapping[str, int],
    rates: Mapping[str, int],
    bound: int,
    *,
    channels: int | None = None,
    otherwise: int | None = None,
) -> ChannelMap:
    """The next version of a map: popular topics as clustered, all others in the catch-all.

    before: the map up to now; None for a first one.
    clustered: the channels of the popular topics.
    rates: the rates of all topics; those that are not clustered are unpopular.
    bound: the most that a bucket of the catch-all carries.
    channels: how many channels the clusters have, even if the last has become empty; buckets are
        numbered after them. By default the highest channel in use is the last.
    otherwise: the channel of topics that are not in the map; by default it stays as before.

    >>> rates = {"chess": 90, "tea": 80, "rain": 2}
    >>> made = next_map(None, {"chess": 0, "tea": 1}, rates, bound=10, channels=5)
    >>> made.channel_of("rain")
    5
    """
    used = max(clustered.values(), default=-1) + 1
    first = used if channels is None else channels
    if first < used:
        raise TopicError(f"topics are clustered into {used} channels, not into {channels}")
    unpopular = {topic: rate for topic, rate in rates.items() if topic not in clustered}
    buckets = catch_all(unpopular, bound, first, before.channels if before else None)
    if otherwise is None and before:
        otherwise = before.otherwise
    version = before.version + 1 if before else 1
    return ChannelMap({**clustered, **buckets}, version, otherwise)


def _exact(what: str, given: Threshold) -> Fraction:
    """A share or a number of subscribers as an exact fraction; floats are rounded to near ones."""
    try:
        number = Fraction(str(given))
        if number > 1:
            return number.limit_denominator(1_000_000)
        return as_threshold(given) if number else number
    except (ValueError, ZeroDivisionError, TopicError):
        raise TopicError(
            f"{what} is a share from 0 to 1 or a number of subscribers, not {given!r}"
        ) from None


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
        """Take the largest topics out of buckets that carry too much, so that few have to move."""
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
        # Best fit: buckets are kept sorted by the room that is left in them.
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
        """Join the emptiest buckets while the result stays well below the bound."""
        emptiest = [(load, -number) for number, load in self._loads.items()]
        heapq.heapify(emptiest)
        while len(emptiest) > 1:
            one, other = heapq.heappop(emptiest), heapq.heappop(emptiest)
            if one[0] + other[0] > MERGE * self._bound:
                return
            # The topics of the bucket with fewer of them move.
            source, target = sorted(
                (-one[1], -other[1]), key=lambda number: (len(self._members[number]), -number)
            )
            for topic in self._members.pop(source):
                self.put(topic, target)
            del self._loads[source]
            heapq.heappush(emptiest, (self._loads[target], -target))

    def _free_numbers(self, count: int) -> list[int]:
        """Enough numbers that no bucket has, in ascending order, which is a heap."""
        span = range(self._first, self._first + count + len(self._loads))
        return [number for number in span if number not in self._loads]
