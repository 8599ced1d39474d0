"""The clock of experiments that tell times: the best of several passes.

Other work on the machine only ever adds to a time, so the best pass tells most of what is measured.

What is run for the paper on Bloom prefiltering: where, how often, and what is kept of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from caddis.errors import SealedError
from caddis.lab.bloom_prefiltering.workload import RATE, STREAM, HashedWords
from caddis.lab.figures import Run, RunTable
from caddis.sealed.keys import MatchingKey

FEWEST, MOST_AT_A_STEP, PASSES = 4, 50, 3
MICRO = 1e6

Clock = Callable[[], float]
"""Seconds since whenever."""


def per_event(
    function: Callable[[int], object],
    most: int,
    seconds: float,
    *,
    fewest: int = FEWEST,
    clock: Clock = time.perf_counter,
) -> float:
    """µs that an event takes, measured on as many events as take about so many seconds.

    function: does its work on so many events; kernels are warm before the clock starts.
    clock: by the wall, or time.process_time.
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


TABLE = RunTable(Run, SealedError)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all runs have in common; runs under other conditions are not comparable.

    subscriptions: where their number does not vary.
    events: on which tests are counted; those with a clock take as many as they need.
    rate: the false-positive rate that filters are made for, where it does not vary.
    """

    subscriptions: int = 100_000
    events: int = 300
    rate: float = RATE
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Scale:
    """Where experiments are run along their axes, and how often.

    repeats: how often; each time with other events, subscriptions and keys.
    few: the same where subscriptions are many, or a clock runs; once: where they are sealed.
    subscriptions: of figures in which their number varies.
    aspe, tokens: the same where the whole match is timed, by scheme; aspe takes more memory.
    equalities: shares of the predicates.
    rates: for which filters are made.
    bits: of filters.
    wire: bytes of a filter on its way.
    batches: events at a time.
    seconds: how long a clock runs, about.
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


class Setup(NamedTuple):
    """What every run is given."""

    conditions: Conditions
    seconds: float = 1.0
    batch: int = 10_000
    """Events that a clock runs on at most: as many as Spark hands to a worker at a time."""
    clock: Clock = time.perf_counter

    def per_event(
        self, function: Callable[[int], object], most: int, *, fewest: int = FEWEST
    ) -> float:
        """µs an event, by this clock; see there."""
        return per_event(function, most, self.seconds, fewest=fewest, clock=self.clock)


class Draw(NamedTuple):
    """What one run draws from: no two repeats have the same."""

    seed: int
    repeat: int

    @property
    def subscriptions_seed(self) -> int:
        return 2 * (self.seed * 1000 + self.repeat)

    @property
    def events_seed(self) -> int:
        return self.subscriptions_seed + 1

    def key(self, epoch: int = 1) -> MatchingKey:
        """Of the stream that is sealed."""
        secret = np.random.default_rng([self.seed, self.repeat]).bytes(32)
        return MatchingKey.of(secret, STREAM, epoch)

    def words(self) -> HashedWords:
        """Hashed with that key."""
        return HashedWords.of(self.key().hashing())


class Case(NamedTuple):
    """Where a run stands: x is along its experiment's axis."""

    setting: str
    x: float
    draw: Draw
