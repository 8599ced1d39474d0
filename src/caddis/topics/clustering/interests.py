"""Who wants which topic, packed by subscriber, and how much each topic costs to receive.

    offsets  [subscriber]   its topics are topics[offsets[i] : offsets[i + 1]]
    topics   [interest]     ascending and distinct within a subscriber
    rates    [topic]        traffic, in whole units

Rates are whole numbers, as all costs of this room are: sums over any part of the subscribers, in
any order, are then the same to the last unit, and nodes that vote fall silent. `integer_rates`
finds a unit for rates that are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caddis.arrays import Floats, Int32s, Int64s
from caddis.errors import TopicError

LARGEST_RATES = 1 << 32
"""What all rates together may come to: costs of 2^29 subscribers then fit into 64 bits, doubled."""

LARGEST_GIVEN = 1e290


@dataclass(frozen=True, slots=True, eq=False)
class Interests:
    """What each subscriber wants, as arrays.

    >>> interests = Interests.from_pairs(
    ...     np.array([7, 3, 7, 7]), np.array([2, 0, 1, 2], np.int32), np.array([5, 1, 1])
    ... )
    >>> interests.subscribers, interests.topic_count, len(interests)
    (2, 3, 3)
    >>> interests.wanted(1).tolist()
    [1, 2]
    """

    offsets: Int64s
    topics: Int32s
    rates: Int64s

    @classmethod
    def from_pairs(cls, subscribers: Int64s, topics: Int32s, rates: Int64s) -> Interests:
        """Pack (subscriber, topic) pairs, in any order; pairs that come twice count once.

        subscribers: any numbers; each that occurs gets a row, in ascending order.
        rates: by topic, so topics are numbers below their count.
        """
        if len(subscribers) != len(topics):
            raise TopicError(
                f"{len(subscribers):,} subscribers and {len(topics):,} topics: no pairs"
            )
        rates = checked_rates(rates)
        if len(topics) and not 0 <= topics.min() <= topics.max() < len(rates):
            raise TopicError(
                f"topics {topics.min()} to {topics.max()} do not all have one of {len(rates)} rates"
            )
        rows, size = _rows(subscribers)
        pairs = np.sort(rows * max(len(rates), 1) + topics)
        fresh = np.ones(len(pairs), np.bool_)
        np.not_equal(pairs[1:], pairs[:-1], out=fresh[1:])
        owner, topic = np.divmod(pairs[fresh], max(len(rates), 1))
        filled = np.bincount(owner, minlength=size)
        if not filled.all():
            filled = filled[filled > 0]
        return cls(offsets_of(filled), topic.astype(np.int32), rates)

    def __len__(self) -> int:
        return len(self.topics)

    @property
    def subscribers(self) -> int:
        return len(self.offsets) - 1

    @property
    def topic_count(self) -> int:
        return len(self.rates)

    def wanted(self, subscriber: int) -> Int32s:
        """The topics that one subscriber wants, ascending."""
        return self.topics[self.offsets[subscriber] : self.offsets[subscriber + 1]]


def offsets_of(sizes: Int64s) -> Int64s:
    """Where rows of these sizes begin and end when they are packed.

    >>> offsets_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def integer_rates(rates: Floats) -> tuple[Int64s, float]:
    """Rates as whole numbers, and the rate of one unit.

    Whole rates stay as they are unless they are huge. Of others about nine digits of their sum are
    kept; no rate above 0 becomes 0.

    >>> numbers, unit = integer_rates(np.array([0.25, 1.5, 0.0]))
    >>> numbers.tolist(), unit
    ([1, 6, 0], 0.25)
    """
    given = np.asarray(rates, np.float64)
    usable = (given >= 0) & (given <= LARGEST_GIVEN)
    if not usable.all():
        raise TopicError(f"a rate is {given[~usable][0]}; rates are from 0 to {LARGEST_GIVEN}")
    total = float(given.sum())
    if total <= LARGEST_RATES and (given == np.rint(given)).all():
        return given.astype(np.int64), 1.0
    room = np.log10(LARGEST_RATES) - np.log10(total) - np.log1p(len(given) / LARGEST_RATES)
    digits = min(int(np.floor(room)), 300)
    numbers = np.rint(_scaled(given, digits)).astype(np.int64)
    numbers[(numbers == 0) & (given > 0)] = 1
    common = int(np.gcd.reduce(numbers))
    return numbers // common, float(_scaled(np.array(float(common)), -digits))


def _scaled(values: Floats, digits: int) -> Floats:
    """Values times a power of ten; division by a whole one keeps 0.1 what it is."""
    return values * 10.0**digits if digits >= 0 else values / 10.0**-digits


def checked_rates(rates: Int64s) -> Int64s:
    """Whole numbers that are not too large, even all together.

    >>> checked_rates(np.array([5, 0], np.int8)).tolist()
    [5, 0]
    """
    given = np.asarray(rates)
    if given.dtype.kind not in "iu" and given.size:
        raise TopicError(f"rates are whole numbers, not {given.dtype}: see integer_rates")
    if given.size and (given.min() < 0 or max(given.max(), given.sum()) > LARGEST_RATES):
        raise TopicError(
            f"{given.size:,} rates from {given.min():,} to {given.max():,}: they are 0 or more, "
            f"and at most {LARGEST_RATES:,} together (see integer_rates)"
        )
    return given.astype(np.int64)


def _rows(subscribers: Int64s) -> tuple[Int64s, int]:
    """A number for each subscriber, in their order; few of the numbers are left out."""
    if not len(subscribers):
        return np.zeros(0, np.int64), 0
    lowest, highest = int(subscribers.min()), int(subscribers.max())
    if highest - lowest < 4 * len(subscribers):
        return subscribers.astype(np.int64) - lowest, highest - lowest + 1
    distinct, rows = np.unique(subscribers, return_inverse=True)
    return rows.astype(np.int64), len(distinct)
