"""What prefiltering takes, by the clock: the paper's lists, ours, and all filters in turn.

All are compared in the same run, on the same core, one after the other, and must find the same
candidates in the same filters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from caddis.arrays import Words
from caddis.errors import SealedError
from caddis.lab.bloom_prefiltering.runs import Case, Draw, Setup
from caddis.lab.bloom_prefiltering.workload import (
    Elements,
    clause_elements,
    event_elements,
    size_of,
    sparse_size,
)
from caddis.lab.figures import Measured
from caddis.lab.workloads import zipf_event_codes, zipf_predicates
from caddis.sealed.prefilter import PaperLists, Prefilter, included

SAMPLE = 2_000
FEW, CHECKED = 100, 20
SPARSE = 2
"""Hashes of filters that are mostly 0: those of the paper's example."""


class Filters(NamedTuple):
    """Of clauses and events."""

    clauses: Words
    events: Words
    sample: Words


class Workload(NamedTuple):
    """What filters are made of."""

    clauses: Elements
    events: Elements

    @classmethod
    def of(cls, setup: Setup, draw: Draw, subscriptions: int) -> Workload:
        words = draw.words()
        codes = zipf_event_codes(setup.batch + SAMPLE, draw.events_seed)
        predicates = zipf_predicates(subscriptions, draw.subscriptions_seed)
        return cls(clause_elements(predicates, words), event_elements(codes, words))

    def without_presence(self) -> Workload:
        return Workload(self.clauses.without_presence(), self.events.without_presence())

    def filters(self, bits: int, hashes: int) -> Filters:
        events = self.events.filters(bits, hashes)
        clauses = self.clauses.filters(bits, hashes)
        return Filters(clauses, events[:-SAMPLE], events[-SAMPLE:])


def measure_times(setup: Setup, case: Case) -> Measured:
    """µs an event, and how many filters are compared; x: subscriptions."""
    rate, workload = setup.conditions.rate, Workload.of(setup, case.draw, int(case.x))
    theirs = workload.without_presence().filters(*size_of(False, rate))
    sparse = workload.without_presence().filters(*sparse_size(SPARSE, rate))
    ours = workload.filters(*size_of(True, rate))
    index, same_lists = Prefilter.build(ours.clauses, ours.sample), PaperLists.build(ours.clauses)
    check_same(index, same_lists, ours)

    def timed(find: Callable[[Words], object], events: Words) -> float:
        return setup.per_event(lambda count: find(events[:count]), len(events))

    def scan(events: Words) -> None:
        for event in events:
            np.flatnonzero(included(ours.clauses, event))

    found: Measured = {}
    for name, filters in (("paper", theirs), ("sparse", sparse)):
        lists = PaperLists.build(filters.clauses)
        found[name] = timed(lists.candidates, filters.events)
        found[f"{name}_compared"] = lists.candidates(filters.events[:CHECKED]).inspected / CHECKED
    return found | {
        "paper_ours": timed(same_lists.candidates, ours.events),
        "ours": timed(index.candidates, ours.events),
        "scan": timed(scan, ours.events),
        "ours_compared": index.candidates(ours.events).inspected / len(ours.events),
    }


def measure_batches(setup: Setup, case: Case) -> Measured:
    """µs an event; x: events at a time."""
    workload = Workload.of(setup, case.draw, setup.conditions.subscriptions)
    filters = workload.filters(*size_of(True, setup.conditions.rate))
    index, size = Prefilter.build(filters.clauses, filters.sample), int(case.x)
    lists = PaperLists.build(filters.clauses)

    def timed(find: Callable[[Words], object]) -> float:
        def in_batches(count: int) -> None:
            for first in range(0, count, size):
                find(filters.events[first : min(first + size, count)])

        return setup.per_event(in_batches, len(filters.events), fewest=min(size, FEW))

    return {"ours": timed(index.candidates), "paper_ours": timed(lists.candidates)}


def check_same(index: Prefilter, lists: PaperLists, filters: Filters) -> None:
    """Let no time be told of lists that miss something."""
    events = filters.events[:CHECKED]
    found, others = index.candidates(events), lists.candidates(events)
    pairs = [
        set(zip(one.rows.tolist(), one.clauses.tolist(), strict=True)) for one in (found, others)
    ]
    if pairs[0] != pairs[1]:
        raise SealedError("two prefilters do not find the same candidates")
