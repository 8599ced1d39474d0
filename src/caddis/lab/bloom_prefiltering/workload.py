"""The Bloom filters of the synthetic workload, made from its codes.

A million subscriptions would take minutes to be written, parsed and sealed one by one. Their
elements are few, though: 40 columns of 1,000 words and the presence of 50 columns. So every element
is hashed once, with the key and by the code that sealing uses, and rows refer to elements:

    row r holds the elements  which[starts[r]:starts[r + 1]]
    element e                 has the digest  digests[e]

Rows of subscriptions are sealed clauses: an IN list becomes one clause for each member. A test
holds that sealing makes the same filters.

Beside it stands what every run is given: `Conditions`, `Scale`, what it draws from, and a clock. A
clock takes the best of several passes, since other work on the machine only ever adds to a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Bytes, Int64s, Words, offsets_of
from caddis.lab.figures import Place
from caddis.lab.workloads import (
    ATTRIBUTES,
    CATEGORICAL,
    MOST_PREDICATES,
    WHOLE,
    WORDS,
    ZIPF_SCHEMA,
    Ints,
    Operator,
    Predicates,
)
from caddis.language import float_key
from caddis.sealed import WORD, filter_size
from caddis.sealed.clauses import MOST_CLAUSES
from caddis.sealed.keys import KeyedHashing, MatchingKey, places_of
from caddis.sealed.prefilter import filters_from
from caddis.sealed.values import canonical

STREAM = "zipf"
SCHEMA = pa.schema(list(ZIPF_SCHEMA)[1:])
"""The columns that are sealed: all but the events' ids."""
VALUES = 20
"""The most columns of an event that are not null."""
RATE = 0.001

FIRST_PRESENCE = len(CATEGORICAL) * len(WORDS)
FIRST_NUMBER = FIRST_PRESENCE + len(ATTRIBUTES)


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of many filters; this module's docstring draws the layout."""

    digests: Bytes
    which: Int64s
    starts: Int64s

    def __len__(self) -> int:
        return len(self.starts) - 1

    def without_presence(self) -> Elements:
        """The elements of the paper's filters, which hold values alone."""
        kept = (self.which < FIRST_PRESENCE) | (self.which >= FIRST_NUMBER)
        before: Int64s = offsets_of(kept.astype(np.int64))
        return Elements(self.digests, self.which[kept], before[self.starts])

    def filters(self, bits: int, hashes: int) -> Words:
        """A filter for each row."""
        places = places_of(self.digests, bits, hashes)[self.which]
        return filters_from(places.reshape(-1), self.starts * hashes, bits)


def size_of(presence: bool, rate: float = RATE) -> tuple[int, int]:
    """The bits and hashes with which a stream of this workload is sealed."""
    return filter_size(VALUES * (1 + presence), rate)


def sparse_size(hashes: int, rate: float = RATE) -> tuple[int, int]:
    """The size of filters of values alone with so few hashes that most bits are 0."""
    bits = -hashes * VALUES / log(1 - rate ** (1 / hashes))
    return ceil(bits / WORD) * WORD, hashes


@dataclass(frozen=True, slots=True)
class HashedWords:
    """Digests of every word of every column, and then of every column's presence."""

    hashing: KeyedHashing
    digests: Bytes

    @classmethod
    def of(cls, hashing: KeyedHashing) -> HashedWords:
        """Hash all words with the key of a stream and epoch."""
        words = [word.encode() for word in WORDS]
        parts = [hashing.values((name,), words) for name in CATEGORICAL]
        presence = [hashing.presence((name,)) for name in ATTRIBUTES]
        return cls(hashing, np.concatenate([*parts, *presence]))


def event_elements(codes: Ints, words: HashedWords) -> Elements:
    """The elements of events: every value, and the presence of every column that has one."""
    row, column = np.nonzero(codes.T >= 0)
    code = codes[column, row]
    number = column >= len(CATEGORICAL)
    values = column * len(WORDS) + code
    pairs, place = np.unique(np.stack([column[number], code[number]]), axis=1, return_inverse=True)
    values[number] = FIRST_NUMBER + place.reshape(-1)
    digests = [words.digests, *(_number(pair, words.hashing) for pair in pairs.T.tolist())]
    both = np.stack([values, FIRST_PRESENCE + column], axis=1)
    per_row = 2 * np.bincount(row, minlength=codes.shape[1])
    return Elements(np.concatenate(digests), both.reshape(-1), offsets_of(per_row))


def clause_elements(predicates: Predicates, words: HashedWords) -> Elements:
    """The elements of sealed clauses: equalities, and columns that other predicates need."""
    table = clause_table(predicates)
    elements = np.where(
        table.code >= 0, table.column * len(WORDS) + table.code, FIRST_PRESENCE + table.column
    )
    return Elements(words.digests, elements[table.used], offsets_of(table.used.sum(axis=1)))


@dataclass(frozen=True, slots=True)
class ClauseTable:
    """Sealed clauses by row; their predicates by column.

    owner: the subscription of each clause.
    used: which places hold a predicate; the others are padding.
    code: the value that an equality asks for, or -1.
    """

    owner: Ints
    used: Bools
    column: Ints
    code: Ints


def clause_table(predicates: Predicates) -> ClauseTable:
    """A clause for every member of an IN list, and for all combinations of several lists."""
    size = np.diff(predicates.offsets)
    used = np.arange(MOST_PREDICATES) < size[:, None]

    def by_row(values: Ints) -> Ints:
        made = np.full((*used.shape, *values.shape[1:]), -1)
        made[used] = values
        return made

    operator, column = by_row(predicates.operator), by_row(predicates.column)
    members = by_row(predicates.members)
    members[..., 0] = np.where(operator == Operator.EQUAL, by_row(predicates.low), members[..., 0])
    lengths = _within(np.maximum((members >= 0).sum(axis=2), 1))
    members[(lengths == 1) & (operator == Operator.IN)] = -1
    owner = np.repeat(np.arange(len(size)), lengths.prod(axis=1))
    # A clause's number within its subscription, read digit by digit, names a member of each list.
    number = np.arange(len(owner)) - offsets_of(lengths.prod(axis=1))[owner]
    chosen = np.empty((len(owner), MOST_PREDICATES), np.int64)
    for place in range(MOST_PREDICATES):
        number, at = np.divmod(number, lengths[owner, place])
        chosen[:, place] = members[owner, place, at]
    return ClauseTable(owner, used[owner], column[owner], chosen)


def _within(lengths: Ints) -> Ints:
    """The lengths of lists whose combinations are not too many; the longest are given up first."""
    lengths = lengths.copy()
    for _ in range(MOST_PREDICATES):
        many = np.flatnonzero(lengths.prod(axis=1) > MOST_CLAUSES)
        last_longest = MOST_PREDICATES - 1 - lengths[many, ::-1].argmax(axis=1)
        lengths[many, last_longest] = 1
    return lengths


def _number(pair: list[int], hashing: KeyedHashing) -> Bytes:
    """The digest of a numeric column's value."""
    column, code = pair
    whole = column < len(CATEGORICAL) + len(WHOLE)
    key = code if whole else float_key(code / 100.0)
    return hashing.values((ATTRIBUTES[column],), [canonical(key)])


FEWEST, MOST_AT_A_STEP, PASSES = 4, 50, 3
MICRO = 1e6

Clock = Callable[[], float]
"""Gives the time in seconds, from any zero."""


def per_event(
    function: Callable[[int], object],
    most: int,
    seconds: float,
    *,
    fewest: int = FEWEST,
    clock: Clock = time.perf_counter,
) -> float:
    """Measure how many µs an event takes.

    function: does its work on a number of events; it runs once before the clock starts, so that
        kernels are warm.
    most: the number of events that there are.
    seconds: about how long to measure; the number of events grows until it takes that long.
    clock: time.perf_counter, or time.process_time.
    """

    def spent_on(count: int) -> float:
        started = clock()
        function(count)
        return clock() - started

    count = min(fewest, most)
    function(count)
    while (spent := spent_on(count)) < seconds / PASSES and count < most:
        growth = min(max(seconds / PASSES / max(spent, 1e-9), 2), MOST_AT_A_STEP)
        count = min(most, int(count * growth))
    others = [spent_on(count) for _ in range(PASSES - 1)]
    return min(spent, *others) / count * MICRO


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all runs have in common; runs under other conditions are not comparable.

    subscriptions: their number, where it does not vary.
    events: the number on which tests are counted; runs with a clock take as many as they need.
    rate: the false-positive rate that filters are made for, where it does not vary.
    """

    subscriptions: int = 100_000
    events: int = 300
    rate: float = RATE
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Scale:
    """Where experiments are run along their axes, and how often.

    repeats: how often; each repeat has other events, subscriptions and keys.
    few: how often where subscriptions are many, or a clock runs.
    once: how often where subscriptions are sealed, which takes long.
    subscriptions: their numbers, in figures in which these vary.
    aspe, tokens: their numbers where the whole match is timed, by scheme; aspe takes more memory.
    equalities: shares of the predicates that are equalities.
    rates: the false-positive rates that filters are made for.
    bits: the sizes of filters in memory.
    wire: the sizes of filters on their way, in bytes.
    batches: how many events are matched at a time.
    seconds: about how long a clock runs.
    """

    repeats: int = 5
    few: int = 3
    once: int = 1
    subscriptions: tuple[float, ...] = (1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6)
    aspe: tuple[float, ...] = (1e3, 1e4, 1e5)
    tokens: tuple[float, ...] = (1e3, 1e4, 1e5, 1e6)
    equalities: tuple[float, ...] = (0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1)
    rates: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001)
    bits: tuple[float, ...] = (128, 192, 256, 320, 384, 448, 512, 576, 640, 768, 896, 1024)
    wire: tuple[float, ...] = (16, 24, 32, 40, 48, 56, 64, 72, 80, 96)
    batches: tuple[float, ...] = (1, 10, 100, 1000, 10000)
    seconds: float = 1.0


QUICK = Scale(
    repeats=1,
    few=1,
    subscriptions=(1e3, 1e4, 1e5),
    aspe=(1e3, 1e4),
    tokens=(1e3, 1e4),
    equalities=(0, 0.3, 0.7, 1),
    rates=(0.1, 0.01, 0.001),
    bits=(128, 256, 384, 512),
    wire=(16, 32, 48),
    batches=(1, 100, 2000),
    seconds=0.2,
)
QUICK_CONDITIONS = Conditions(subscriptions=10_000, events=100)
QUICK_BATCH = 2_000


class Setup(NamedTuple):
    """What every run is given."""

    conditions: Conditions
    seconds: float = 1.0
    batch: int = 10_000
    """The most events that a clock runs on: as many as Spark hands to a worker at a time."""
    clock: Clock = time.perf_counter

    def per_event(
        self, function: Callable[[int], object], most: int, *, fewest: int = FEWEST
    ) -> float:
        """Measure how many µs an event takes, by this clock; see the function of this name."""
        return per_event(function, most, self.seconds, fewest=fewest, clock=self.clock)

    def draw(self, place: Place) -> Draw:
        """What the run at a place draws from."""
        return Draw(self.conditions.seed, place.repeat)


class Draw(NamedTuple):
    """The seeds and the key of one run; no two repeats have the same."""

    seed: int
    repeat: int

    @property
    def subscriptions_seed(self) -> int:
        return 2 * (self.seed * 1000 + self.repeat)

    @property
    def events_seed(self) -> int:
        return self.subscriptions_seed + 1

    def key(self, epoch: int = 1) -> MatchingKey:
        """The matching key of the stream that is sealed."""
        secret = np.random.default_rng([self.seed, self.repeat]).bytes(32)
        return MatchingKey.of(secret, STREAM, epoch)

    def words(self) -> HashedWords:
        """The words of all columns, hashed with that key."""
        return _hashed(self)


@lru_cache(maxsize=1)
def _hashed(draw: Draw) -> HashedWords:
    # 40,000 keyed hashes take longer than most runs that need them.
    return HashedWords.of(draw.key().hashing())
