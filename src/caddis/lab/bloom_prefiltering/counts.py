"""How many encrypted tests are left: without a prefilter, with the paper's filters, with ours.

An encrypted test is one of a sealed clause on an event. Without a prefilter all clauses are tested.
The paper's filters hold equalities only, so that a clause without any is tested on every event;
ours also say which columns an event must have. Which lists find the candidates does not matter
here: all find those whose filter is included in the event's.
"""

from __future__ import annotations

import numpy as np

from caddis.lab.bloom_prefiltering.runs import Case, Draw, Setup
from caddis.lab.bloom_prefiltering.workload import (
    Elements,
    clause_elements,
    event_elements,
    size_of,
)
from caddis.lab.figures import Measured
from caddis.lab.workloads import EQUALITY, zipf_event_codes, zipf_predicates
from caddis.lab.yardsticks import CountingMatcher
from caddis.sealed.prefilter import Prefilter


def measure_tests(setup: Setup, case: Case) -> Measured:
    """Tests an event; x: subscriptions."""
    return _tests(setup, case.draw, int(case.x), EQUALITY, setup.conditions.rate)


def measure_equalities(setup: Setup, case: Case) -> Measured:
    """Tests an event; x: the share of predicates that are equalities."""
    return _tests(setup, case.draw, setup.conditions.subscriptions, case.x, setup.conditions.rate)


def measure_targets(setup: Setup, case: Case) -> Measured:
    """Tests an event, and how large filters are; x: the false-positive rate they are made for."""
    found = _tests(setup, case.draw, setup.conditions.subscriptions, EQUALITY, case.x)
    return found | {"paper_bits": size_of(False, case.x)[0], "ours_bits": size_of(True, case.x)[0]}


def _tests(setup: Setup, draw: Draw, subscriptions: int, equality: float, rate: float) -> Measured:
    """By whom: tests an event.

    matches: subscriptions that match, which no prefilter can discard.
    default: clauses without an equality, which the paper tests on every event.
    """
    predicates = zipf_predicates(subscriptions, draw.subscriptions_seed, equality=equality)
    codes = zipf_event_codes(setup.conditions.events, draw.events_seed)
    words = draw.words()
    clauses, events = clause_elements(predicates, words), event_elements(codes, words)
    blind = clauses.without_presence()
    tests = {
        "paper": _left(blind, events.without_presence(), size_of(False, rate)),
        "ours": _left(clauses, events, size_of(True, rate)),
    }
    matched, _ = CountingMatcher(predicates).match(codes)
    return tests | {
        "none": len(clauses),
        "default": float(np.count_nonzero(np.diff(blind.starts) == 0)),
        "matches": len(matched) / len(events),
    }


def _left(clauses: Elements, events: Elements, size: tuple[int, int]) -> float:
    candidates = Prefilter.build(clauses.filters(*size)).candidates(events.filters(*size))
    return len(candidates.rows) / len(events)
