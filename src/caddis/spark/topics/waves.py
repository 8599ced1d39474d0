"""Clustering on Spark: a first map from a sample in memory, then waves over everybody.

A sample of the subscribers is clustered in this process, topic by topic, as a leader does. Then all
subscribers vote: each wave counts tallies on the workers, every topic's vote follows from them, and
the `Schedule` says which outcomes are adopted, as it does for nodes. Sums are of whole numbers and
the sample is drawn by a hash, so the outcome depends on the seed and the data, and not on how these
are spread over partitions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s, Int64s
from caddis.spark.topics.packing import PackedInterests
from caddis.spark.topics.reports import ClusteringReport, Progress, WaveReport, silent
from caddis.spark.topics.tables import NEW, PreviousMap
from caddis.topics.clustering import (
    Effort,
    Schedule,
    Settings,
    Tallies,
    channel_rates,
    fill_empty,
    outcomes,
    search,
    total_cost,
    vote_costs,
)

logger = logging.getLogger(__name__)


class Counted(NamedTuple):
    """A map of the wanted topics, who receives what under it, and what it costs."""

    channels: Int32s
    tallies: Tallies
    cost: int


@dataclass(frozen=True, slots=True)
class Clusterer:
    """Finds maps of the same interests, for one number of channels or for several.

    tries: how often in a row merging and splitting channels of a first map may fail.
    waves: the most waves that are held, however much the last one gained.
    """

    packed: PackedInterests
    settings: Settings
    tries: int
    waves: int
    seed: int

    def cluster(
        self,
        k: int,
        previous: PreviousMap | None,
        report: ClusteringReport,
        progress: Progress = silent,
    ) -> Int32s:
        """The channel of each topic: first of those that somebody wants, then of the others."""
        logger.info("clustering %d topics into %d channels", len(self.packed.rates), k)
        rng = np.random.default_rng(self.seed)
        with report.phase("random"):
            self._price_at_random(k, rng, report)
        with report.phase("start"):
            start, before = self._start(k, previous, rng)
        with report.phase("waves"):
            began = self._counted(start, k)
            kept = began if before is start else self._counted_if(before, k)
            found = self._found(self._waves(began, rng, report, progress), kept, report)
        channels = self._with_unwanted(found)
        report.cost = self._price(channels, found.tallies)
        logger.info(
            "%d channels after %d waves: cost %g, %.1f%% saved, ended by %s",
            k,
            len(report.waves),
            report.cost,
            100 * report.saved,
            report.ended,
        )
        return channels

    def table(self, channels: Int32s) -> pa.Table:
        """A map as a table, in the order of the topics."""
        named = {"topic": self.packed.topics.names, "channel": pa.array(channels)}
        return pa.table(named).sort_by("topic")

    def shares(self, channels: Int32s, k: int) -> Int64s:
        """How many subscribers do not want 0, up to 1, ..., up to 100 % of what they receive."""
        carried = channel_rates(channels, self.packed.rates, k)
        return self.packed.shares(channels[: self.packed.topics.wanted], carried)

    def _price_at_random(self, k: int, rng: np.random.Generator, report: ClusteringReport) -> None:
        """Report what a random map costs; on the way, all interests are counted."""
        channels = rng.integers(k, size=len(self.packed.rates), dtype=np.int32)
        tallies = self.packed.count(channels[: self.packed.topics.wanted], k)
        report.topics, report.interests = len(channels), int(tallies.wants.sum())
        report.wanted_rate = float(tallies.wants @ self.packed.wanted_rates) * self.packed.unit
        report.random_cost = self._price(channels, tallies)

    def _start(
        self, k: int, previous: PreviousMap | None, rng: np.random.Generator
    ) -> tuple[Int32s, Int32s | None]:
        """A map to begin with, and the previous one with new topics added, if there is one."""
        topics = self.packed.topics.wanted
        before = np.full(topics, NEW, np.int32)
        if previous is not None:
            before = previous.of(self.packed.wanted_names, k)
        if topics <= k:
            return each_alone(before, k), None
        if (before == NEW).all():
            return self._first(k, rng), None
        placed = self._placed(before, k)
        if len(np.unique(placed)) == k:
            return placed, placed
        return fill_empty(self.packed.sample(), k, placed, rng), placed

    def _first(self, k: int, rng: np.random.Generator) -> Int32s:
        """A map from a sample of the subscribers."""
        sample = self.packed.sample()
        if not len(sample):
            return rng.integers(k, size=self.packed.topics.wanted, dtype=np.int32)
        effort = Effort(merge_splits=self.tries, improvement=self.settings.improvement)
        return search(sample, k, rng, effort=effort).channels

    def _placed(self, previous: Int32s, k: int) -> Int32s:
        """The previous map, with each new topic where it costs least."""
        new = previous == NEW
        if not new.any():
            return previous
        # New topics are put aside, into one channel more, so that they do not count for each other.
        aside = np.where(new, k, previous).astype(np.int32)
        tallies = self.packed.count(aside, k + 1)
        costs = vote_costs(tallies, aside, self.packed.wanted_rates)
        return np.where(new, costs[:, :k].argmin(axis=1), previous).astype(np.int32)

    def _found(
        self, waves: Iterator[Counted], previous: Counted | None, report: ClusteringReport
    ) -> Counted:
        """The best map that was voted on, or the previous one if little was to be gained."""
        found = min(waves, key=lambda counted: counted.cost)
        if previous is not None:
            gained = previous.cost - found.cost
            if gained <= 0 or gained < self.settings.improvement * previous.cost:
                report.ended = "kept" if gained > 0 else report.ended
                found = previous
        report.at_rest = np.array_equal(self._choices(found), found.channels)
        report.ended = "rest" if report.at_rest else report.ended
        return found

    def _waves(
        self,
        start: Counted,
        rng: np.random.Generator,
        report: ClusteringReport,
        progress: Progress,
    ) -> Iterator[Counted]:
        """The maps that are voted on, until no topic wants to move or it is enough."""
        k = len(start.tallies.receivers)
        schedule = Schedule(start.channels, k, self.settings, rng)
        wave, counted, best = schedule.begin("concurrent"), start, start
        while True:
            began = time.monotonic()
            if not np.array_equal(counted.channels, schedule.channels):
                counted = self._counted(schedule.channels, k)
            best = counted if counted.cost < best.cost else best
            yield counted
            choices = self._choices(counted)
            moving = choices != counted.channels
            moves = len(wave.topics), int(moving[wave.topics].sum())
            progress(self._add_wave(report, counted, moves, began))
            following = schedule.settle(choices[wave.topics], counted.cost)
            if following is None or (counted is best and not moving.any()):
                report.ended = "little"
                return
            # The schedule gives up on concurrent waves: one topic a job would take too long here.
            if following.mode == "leader" or len(report.waves) >= self.waves:
                report.ended = "limit"
                return
            wave = following

    def _counted(self, channels: Int32s, k: int) -> Counted:
        tallies = self.packed.count(channels, k)
        cost = total_cost(tallies, channels, self.packed.wanted_rates)
        return Counted(channels.copy(), tallies, cost)

    def _counted_if(self, channels: Int32s | None, k: int) -> Counted | None:
        return None if channels is None else self._counted(channels, k)

    def _choices(self, counted: Counted) -> Int32s:
        costs = vote_costs(counted.tallies, counted.channels, self.packed.wanted_rates)
        return outcomes(costs, counted.channels)

    def _add_wave(
        self, report: ClusteringReport, counted: Counted, moves: tuple[int, int], began: float
    ) -> WaveReport:
        cost = self._price(self._with_unwanted(counted), counted.tallies)
        if not report.waves:
            report.start_cost = cost
        number, seconds = len(report.waves) + 1, time.monotonic() - began
        wave = WaveReport(number, *moves, cost, seconds)
        report.waves.append(wave)
        logger.debug(
            "wave %d: %d of %d topics move, cost %g", number, wave.moved, wave.voters, cost
        )
        return wave

    def _with_unwanted(self, counted: Counted) -> Int32s:
        """The map of all topics: those that nobody wants go where fewest receive them."""
        others = len(self.packed.rates) - len(counted.channels)
        quietest = np.int32(counted.tallies.receivers.argmin())
        return np.concatenate([counted.channels, np.full(others, quietest, np.int32)])

    def _price(self, channels: Int32s, tallies: Tallies) -> float:
        """The cost of a map of all topics, in the unit of the user's rates."""
        carried = channel_rates(channels, self.packed.rates, len(tallies.receivers))
        wanted = tallies.wants @ self.packed.wanted_rates
        return float(int(tallies.receivers @ carried - wanted) * self.packed.unit)


def each_alone(before: Int32s, k: int) -> Int32s:
    """A channel for each topic alone: the one it had, if it is the first that had it.

    >>> each_alone(np.array([3, NEW, 1, 3], np.int32), 5).tolist()
    [3, 0, 1, 2]
    """
    alone = np.full(len(before), NEW, np.int32)
    channels, first = np.unique(before, return_index=True)
    known = channels != NEW
    alone[first[known]] = channels[known]
    left = alone == NEW
    alone[left] = np.setdiff1d(np.arange(k), channels)[: left.sum()]
    return alone
