"""Sealed matching finds what plain matching finds, and after the final check nothing else.

Random workloads, 400 in `make test` and 2,000 in `make test-long`: events and clauses of every type
and syntax, in both schemes, with filters in both forms. A workload is a batch of events against the
clauses of a seed, so the workloads of a seed share the cost of parsing.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from caddis.arrays import Int32s
from caddis.matching import Matcher, Matches
from caddis.sealed.design import SCHEMES
from caddis.sealed.events.opening import Opener
from caddis.sealed.matcher.matcher import SealedMatcher
from tests.runs import times
from tests.sealed.sealed_workloads import RandomStreams

SEEDS_AT_A_TIME = 5
BATCHES = 10
CLAUSES, EVENTS = 12, 12

Pairs = set[tuple[int, int]]


def pairs_of(matches: Matches) -> Pairs:
    return set(zip(matches.rows.tolist(), matches.links.tolist(), strict=True))


def check_workloads(seed: int) -> int:
    """Check all workloads of a seed; returns how many pairs were to be found."""
    streams = RandomStreams.of(seed, SCHEMES, clauses=CLAUSES, rows=EVENTS, batches=BATCHES)
    parties, table = streams.parties, streams.subscriptions
    plain = Matcher.compile(table, streams.schema)
    expected = [pairs_of(plain.match(batch)) for batch in streams.batches]
    for scheme in SCHEMES:
        broker = SealedMatcher.compile(parties.subscription_sealer(scheme).seal(table).table)
        opener = Opener(parties.ann, parties.directory)
        for number, (batch, pairs) in enumerate(zip(streams.batches, expected, strict=True)):
            sealed = streams.sealed(batch, scheme, compressed=number % 2 == 1)
            found = broker.match(sealed)
            assert not found.refused
            assert pairs <= pairs_of(found), f"seed {seed}, {scheme}, batch {number}: lost a match"
            passed = np.unique(found.rows)
            assert final_check(opener, plain, batch, sealed, passed) == pairs
    return sum(map(len, expected))


def final_check(
    opener: Opener, plain: Matcher, batch: pa.RecordBatch, sealed: pa.RecordBatch, passed: Int32s
) -> Pairs:
    """What the subscriber finds in the rows that the broker passed on."""
    opened = opener.open(sealed.take(pa.array(passed)))
    assert not opened.refused
    found: Pairs = set()
    for rows, events in opened.events.values():
        assert events.schema == batch.schema
        published = batch.take(pa.array(passed[rows]))
        assert repr(events.to_pylist()) == repr(published.to_pylist())
        final = plain.match(events)
        found |= set(zip(passed[rows][final.rows].tolist(), final.links.tolist(), strict=True))
    return found


@pytest.mark.no_cover
@pytest.mark.parametrize("start", range(0, times(20, 100), SEEDS_AT_A_TIME))
def test_sealed_results_equal_plain_ones_on_random_workloads(start):
    assert sum(map(check_workloads, range(start, start + SEEDS_AT_A_TIME))) > 0
