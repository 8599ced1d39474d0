"""The experiments on prefilters that have a clock.

Prefiltering alone: the paper's lists, ours, and all filters in turn. All are compared in the same
run, on the same core, one after the other, and must find the same candidates in the same filters.

The whole sealed match: one party publishes and subscribes, with keys from an authority of its own.
Subscriptions and events are sealed as anybody's are; the broker's SealedMatcher gets no key. It
must find all that the plain Matcher finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from caddis.arrays import Words
from caddis.errors import SealedError
from caddis.lab.bloom_prefiltering.workload import (
    RATE,
    SCHEMA,
    STREAM,
    VALUES,
    Draw,
    Elements,
    Setup,
    clause_elements,
    event_elements,
    size_of,
    sparse_size,
)
from caddis.lab.figures import Measured, Place
from caddis.lab.workloads import (
    ZIPF_SCHEMA,
    zipf_event_codes,
    zipf_events,
    zipf_predicates,
    zipf_subscriptions,
)
from caddis.matching import Matcher
from caddis.sealed import EventSealer, Scheme, StreamDesign, SubscriptionSealer
from caddis.sealed.events import Gate, NoMemory
from caddis.sealed.keys import Authority, Directory, Identity, KeyRing, Randomness
from caddis.sealed.matcher import SealedMatcher, Sifting
from caddis.sealed.prefilter import PaperLists, Prefilter, included

SAMPLE = 2_000
FEW, CHECKED = 100, 20
SPARSE = 2
"""The hashes of filters that are mostly 0: as many as in the paper's example."""


class Filters(NamedTuple):
    """The filters of clauses, of events, and of a sample of events that lists are built from."""

    clauses: Words
    events: Words
    sample: Words


class Workload(NamedTuple):
    """The elements that filters are made of."""

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


def measure_times(setup: Setup, place: Place) -> Measured:
    """Measure µs an event, and count the filters compared; x is the number of subscriptions."""
    rate, workload = setup.conditions.rate, Workload.of(setup, setup.draw(place), int(place.x))
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


def measure_batches(setup: Setup, place: Place) -> Measured:
    """Measure µs an event; x is the number of events at a time."""
    workload = Workload.of(setup, setup.draw(place), setup.conditions.subscriptions)
    filters = workload.filters(*size_of(True, setup.conditions.rate))
    index, size = Prefilter.build(filters.clauses, filters.sample), int(place.x)
    lists = PaperLists.build(filters.clauses)

    def timed(find: Callable[[Words], object]) -> float:
        def in_batches(count: int) -> None:
            for first in range(0, count, size):
                find(filters.events[first : min(first + size, count)])

        return setup.per_event(in_batches, len(filters.events), fewest=min(size, FEW))

    return {"ours": timed(index.candidates), "paper_ours": timed(lists.candidates)}


def check_same(index: Prefilter, lists: PaperLists, filters: Filters) -> None:
    """Refuse to time lists that miss something."""
    events = filters.events[:CHECKED]
    found, others = index.candidates(events), lists.candidates(events)
    pairs = [
        set(zip(one.rows.tolist(), one.clauses.tolist(), strict=True)) for one in (found, others)
    ]
    if pairs[0] != pairs[1]:
        raise SealedError("two prefilters do not find the same candidates")


EVENTS = 4096
SAMPLE = 1000
AT_A_TIME = 50_000
CHECKED = 64
WAYS: tuple[tuple[str, Sifting, int], ...] = (
    ("ours", "rarest-bit", EVENTS),
    ("paper", "paper", 4 * CHECKED),
    ("none", None, CHECKED),
)
"""Each way's name, its prefilter, and the most events that are matched with it."""


@dataclass(frozen=True, slots=True)
class SealedStream:
    """A stream that one party publishes and subscribes to."""

    ring: KeyRing
    directory: Directory
    randomness: Randomness

    @classmethod
    def of(cls, scheme: Scheme, randomness: Randomness, rate: float = RATE) -> SealedStream:
        """A stream with the workload's columns, sealed by a scheme."""
        design = StreamDesign.of(STREAM, SCHEMA, rate=rate, values=VALUES, scheme=scheme)
        party = Identity.new("lab", randomness)
        authority = Authority.new(randomness).register(party.public)
        authority = authority.add_stream(design, randomness)
        for role in ("publisher", "subscriber"):
            authority = authority.grant(party.name, STREAM, role)
        ring = KeyRing.open(party, authority.issue(party.name))
        return cls(ring, authority.directory(), randomness)

    def subscriptions(self, plain: pa.Table) -> pa.Table:
        """Seal subscriptions, some at a time, which takes less memory."""
        sealer = SubscriptionSealer(self.ring.subscriber_keys(STREAM), randomness=self.randomness)
        firsts = range(0, len(plain), AT_A_TIME)
        return pa.concat_tables([sealer.seal(plain.slice(at, AT_A_TIME)).table for at in firsts])

    def events(self, plain: pa.RecordBatch) -> pa.RecordBatch:
        """Seal a batch of events."""
        keys = self.ring.publisher_keys(STREAM)
        return EventSealer(keys, randomness=self.randomness).seal(plain)


def measure_aspe(setup: Setup, place: Place) -> Measured:
    """Measure the whole match if products decide everything; x is the number of subscriptions."""
    return _measured("aspe", setup, place)


def measure_tokens(setup: Setup, place: Place) -> Measured:
    """Measure the whole match if tokens decide equalities; x is the number of subscriptions."""
    return _measured("tokens", setup, place)


def _measured(scheme: Scheme, setup: Setup, place: Place) -> Measured:
    most = min(EVENTS, setup.batch)
    stream = SealedStream.of(scheme, _randomness(setup.draw(place)), setup.conditions.rate)
    plain = zipf_subscriptions(int(place.x), setup.draw(place).subscriptions_seed)
    events = batch_of(most + SAMPLE, setup.draw(place).events_seed)
    sealed, subscriptions = stream.events(events), stream.subscriptions(plain)
    sample, batch = sealed.slice(most), sealed.slice(0, most)
    known = Matcher.compile(plain, ZIPF_SCHEMA, sample=events.slice(most))

    def timed(match: Callable[[pa.RecordBatch], object], some: pa.RecordBatch, most: int) -> float:
        return setup.per_event(lambda count: match(some.slice(0, count)), most)

    found: Measured = {"plain": timed(known.match, events, most)}
    for name, prefilter, at_most in WAYS:
        matcher = SealedMatcher.compile(subscriptions, sample=sample, prefilter=prefilter)
        check_nothing_is_lost(known, matcher, events.slice(0, CHECKED), batch.slice(0, CHECKED))
        found[name] = timed(matcher.match, batch, min(most, at_most))
        report = matcher.match(batch.slice(0, CHECKED)).report
        found[f"{name}_tests"] = report.tests / CHECKED
    gate = Gate(stream.directory, memory=NoMemory())
    matcher = SealedMatcher.compile(subscriptions, sample=sample, publishers=stream.directory)
    checked = timed(lambda some: matcher.match(some, gate.admit(some)), batch, most)
    return found | {"checked": checked, "found": report.matches / CHECKED}


def batch_of(events: int, seed: int) -> pa.RecordBatch:
    """A number of events in one batch."""
    [batch] = zipf_events(events, seed).combine_chunks().to_batches()
    return batch


def check_nothing_is_lost(
    known: Matcher, matcher: SealedMatcher, events: pa.RecordBatch, sealed: pa.RecordBatch
) -> None:
    """Refuse to time a match that misses something."""
    plain, found = known.match(events), matcher.match(sealed)
    pairs = [np.stack([some.rows, some.links], axis=1) for some in (plain, found)]
    missed = set(map(tuple, pairs[0].tolist())) - set(map(tuple, pairs[1].tolist()))
    if missed:
        raise SealedError(f"{len(missed)} matches were lost by sealing")


def _randomness(draw: Draw) -> Randomness:
    return np.random.default_rng([draw.seed, draw.repeat]).bytes
