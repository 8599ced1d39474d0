"""The experiments on prefilters that count: tests that are left, and filters that err.

An encrypted test is one of a sealed clause on an event. Without a prefilter all clauses are tested.
The paper's filters hold equalities only, so that a clause without any is tested on every event;
ours also say which columns an event must have. It does not matter here which lists find the
candidates: all find those whose filter is included in the event's.

A value that an event does not have passes a filter if all of its places are set. In a filter with m
bits, k hashes and n elements that happens with probability (1 - exp(-kn/m))^k, which is compared
with what is counted: all 40,000 words of the workload against every event.

A filter that is best for its bits is half full, and nothing can be gained by compressing it. With
more bits and fewer hashes it is emptier, compresses, and errs less at the same size on its way
(Mitzenmacher's compressed Bloom filters). The best such filter is looked for among all numbers of
hashes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from caddis.arrays import Bools, Floats, Int32s
from caddis.bloom import false_positive_rate
from caddis.lab.bloom_prefiltering.workload import (
    FIRST_PRESENCE,
    Draw,
    Elements,
    Setup,
    clause_elements,
    event_elements,
    size_of,
)
from caddis.lab.figures import Measured, Place
from caddis.lab.workloads import EQUALITY, zipf_event_codes, zipf_predicates
from caddis.lab.yardsticks import CountingMatcher
from caddis.sealed import MOST_HASHES, WORD
from caddis.sealed.keys import places_of
from caddis.sealed.prefilter import Prefilter, encode


def measure_tests(setup: Setup, place: Place) -> Measured:
    """Count the tests an event; x is the number of subscriptions."""
    return _tests(setup, place, subscriptions=int(place.x))


def measure_equalities(setup: Setup, place: Place) -> Measured:
    """Count the tests an event; x is the share of predicates that are equalities."""
    return _tests(setup, place, equality=place.x)


def measure_targets(setup: Setup, place: Place) -> Measured:
    """Count the tests an event; x is the false-positive rate that filters are made for."""
    sizes = {"paper_bits": size_of(False, place.x)[0], "ours_bits": size_of(True, place.x)[0]}
    return _tests(setup, place, rate=place.x) | sizes


def _tests(
    setup: Setup,
    place: Place,
    *,
    subscriptions: int | None = None,
    equality: float = EQUALITY,
    rate: float | None = None,
) -> Measured:
    """The tests an event, by prefilter; what is not given is as the conditions have it.

    matches: subscriptions that match, which no prefilter can discard.
    default: clauses without an equality, which the paper tests on every event.
    """
    draw, ours = setup.draw(place), setup.conditions
    subscriptions, rate = subscriptions or ours.subscriptions, rate or ours.rate
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


WIDTHS = {"moderate": 4, "compressed": 32}
"""How many times the bits of plain filters compressed ones may have, by name. A broker keeps and
compares filters of that many bits for each clause."""
BEST = "best"
"""The setting with as many hashes as err least."""
MOST_TESTED = 300
"""Events whose filters are tested against all words."""


def measure_bits(setup: Setup, place: Place) -> Measured:
    """Count how often filters err, and their bytes; x is their bits, the setting their hashes."""
    elements, bits = _elements(setup, setup.draw(place)), int(place.x)
    hashes = best_hashes(_counts(elements), bits) if place.setting == BEST else int(place.setting)
    return {
        "hashes": hashes,
        "rate": counted_rate(elements, bits, hashes),
        "formula": _formula(_counts(elements), bits, hashes),
        "plain": wire_bytes(elements, bits, hashes, compressed=False),
        "compressed": wire_bytes(elements, bits, hashes, compressed=True),
    }


def measure_wire(setup: Setup, place: Place) -> Measured:
    """Compare plain and compressed filters of one size; x is its bytes, without the first one."""
    elements, bits = _elements(setup, setup.draw(place)), 8 * int(place.x)
    counts = _counts(elements)
    hashes = best_hashes(counts, bits)
    allowed = wire_bytes(elements, bits, hashes, compressed=False)
    found: Measured = {"bytes": allowed}
    sizes = {"plain": (bits, hashes)}
    sizes |= {name: best_compressed(elements, bits, w, allowed) for name, w in WIDTHS.items()}
    for name, size in sizes.items():
        found[name] = counted_rate(elements, *size)
        found[f"{name}_formula"] = _formula(counts, *size)
        found[f"{name}_bits"], found[f"{name}_hashes"] = size
    return found


def best_hashes(counts: Int32s, bits: int) -> int:
    """The number of hashes with which filters of so many bits err least."""
    return min(range(1, MOST_HASHES + 1), key=lambda hashes: _formula(counts, bits, hashes))


def best_compressed(elements: Elements, bits: int, widest: int, allowed: float) -> tuple[int, int]:
    """The bits and hashes that err least among those whose compressed filters are small enough.

    bits: of the plain filters that they are compared with; widest: at most so many times these.
    """
    counts = _counts(elements)
    found = [(bits, best_hashes(counts, bits))]
    for hashes in range(1, MOST_HASHES + 1):

        def fits(words: int, hashes: int = hashes) -> bool:
            return wire_bytes(elements, words * WORD, hashes, compressed=True) <= allowed

        words = _largest(fits, bits // WORD, widest * bits // WORD)
        if words:
            found.append((words * WORD, hashes))
    return min(found, key=lambda size: _formula(counts, *size))


def wire_bytes(elements: Elements, bits: int, hashes: int, *, compressed: bool) -> float:
    """The mean size of a filter on its way."""
    blobs = encode(elements.filters(bits, hashes), compressed=compressed)
    return sum(map(len, blobs)) / len(blobs)


def counted_rate(elements: Elements, bits: int, hashes: int) -> float:
    """The share of words that events do not have and that seem to be in their filters."""
    places = places_of(elements.digests[:FIRST_PRESENCE], bits, hashes)
    passed = tested = 0
    for row in range(min(len(elements), MOST_TESTED)):
        held = elements.which[elements.starts[row] : elements.starts[row + 1]]
        absent: Bools = np.ones(FIRST_PRESENCE, np.bool_)
        absent[held[held < FIRST_PRESENCE]] = False
        filled = np.zeros(bits, np.bool_)
        filled[places_of(elements.digests[held], bits, hashes)] = True
        passed += int(np.count_nonzero(filled[places].all(axis=1) & absent))
        tested += int(np.count_nonzero(absent))
    return passed / tested


def _elements(setup: Setup, draw: Draw) -> Elements:
    codes = zipf_event_codes(setup.conditions.events, draw.events_seed)
    return event_elements(codes, draw.words())


def _counts(elements: Elements) -> Int32s:
    return np.diff(elements.starts).astype(np.int32)


def _formula(counts: Int32s, bits: int, hashes: int) -> float:
    """The mean over events with these numbers of elements."""
    times, often = np.unique(counts, return_counts=True)
    rates: Floats = np.array([false_positive_rate(n, bits, hashes) for n in times.tolist()])
    return float(np.average(rates, weights=often))


def _largest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The largest number from low to high that fits, if all below it do; 0 if none does."""
    if not fits(low):
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
