"""The synthetic workload, really sealed, and what the whole sealed match takes.

One party publishes and subscribes, with keys from an authority of its own. Subscriptions and events
are sealed as anybody's are; the broker's SealedMatcher gets no key. What it finds must hold all
that the plain Matcher finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.errors import SealedError
from caddis.lab.bloom_prefiltering.runs import Case, Draw, Setup
from caddis.lab.bloom_prefiltering.workload import RATE, SCHEMA, STREAM, VALUES
from caddis.lab.figures import Measured
from caddis.lab.workloads import ZIPF_SCHEMA, zipf_events, zipf_subscriptions
from caddis.matching import Matcher
from caddis.sealed import EventSealer, Scheme, StreamDesign, SubscriptionSealer
from caddis.sealed.events import Gate, NoMemory
from caddis.sealed.keys import Authority, Directory, Identity, KeyRing, Randomness
from caddis.sealed.matcher import SealedMatcher, Sifting

EVENTS = 4096
SAMPLE = 1000
AT_A_TIME = 50_000
CHECKED = 64
WAYS: tuple[tuple[str, Sifting, int], ...] = (
    ("ours", "rarest-bit", EVENTS),
    ("paper", "paper", 4 * CHECKED),
    ("none", None, CHECKED),
)
"""Names, prefilters, and events that are matched at most."""


@dataclass(frozen=True, slots=True)
class SealedStream:
    """A stream that one party publishes and subscribes to."""

    ring: KeyRing
    directory: Directory
    randomness: Randomness

    @classmethod
    def of(cls, scheme: Scheme, randomness: Randomness, rate: float = RATE) -> SealedStream:
        """Of this workload's columns."""
        design = StreamDesign.of(STREAM, SCHEMA, rate=rate, values=VALUES, scheme=scheme)
        party = Identity.new("lab", randomness)
        authority = Authority.new(randomness).register(party.public)
        authority = authority.add_stream(design, randomness)
        for role in ("publisher", "subscriber"):
            authority = authority.grant(party.name, STREAM, role)
        ring = KeyRing.open(party, authority.issue(party.name))
        return cls(ring, authority.directory(), randomness)

    def subscriptions(self, plain: pa.Table) -> pa.Table:
        """Sealed, some at a time, which takes less memory."""
        sealer = SubscriptionSealer(self.ring.subscriber_keys(STREAM), randomness=self.randomness)
        firsts = range(0, len(plain), AT_A_TIME)
        return pa.concat_tables([sealer.seal(plain.slice(at, AT_A_TIME)).table for at in firsts])

    def events(self, plain: pa.RecordBatch) -> pa.RecordBatch:
        """Sealed."""
        keys = self.ring.publisher_keys(STREAM)
        return EventSealer(keys, randomness=self.randomness).seal(plain)


def measure_aspe(setup: Setup, case: Case) -> Measured:
    """µs an event of the whole match, if everything is decided by products; x: subscriptions."""
    return _measured("aspe", setup, case)


def measure_tokens(setup: Setup, case: Case) -> Measured:
    """The same if equalities are decided by tokens."""
    return _measured("tokens", setup, case)


def _measured(scheme: Scheme, setup: Setup, case: Case) -> Measured:
    most = min(EVENTS, setup.batch)
    stream = SealedStream.of(scheme, _randomness(case.draw), setup.conditions.rate)
    plain = zipf_subscriptions(int(case.x), case.draw.subscriptions_seed)
    events = batch_of(most + SAMPLE, case.draw.events_seed)
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
    """So many events, in one batch."""
    [batch] = zipf_events(events, seed).combine_chunks().to_batches()
    return batch


def check_nothing_is_lost(
    known: Matcher, matcher: SealedMatcher, events: pa.RecordBatch, sealed: pa.RecordBatch
) -> None:
    """Let no time be told of a match that misses something."""
    plain, found = known.match(events), matcher.match(sealed)
    pairs = [np.stack([some.rows, some.links], axis=1) for some in (plain, found)]
    missed = set(map(tuple, pairs[0].tolist())) - set(map(tuple, pairs[1].tolist()))
    if missed:
        raise SealedError(f"{len(missed)} matches were lost by sealing")


def _randomness(draw: Draw) -> Randomness:
    return np.random.default_rng([draw.seed, draw.repeat]).bytes
