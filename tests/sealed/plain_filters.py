"""Bloom filters as Python sets of places: what the packed ones are held against."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from caddis.arrays import Words
from caddis.sealed.prefilter.prefilter import Candidates

Places = set[int]
Pair = tuple[int, int]


def packed(rows: list[Places], words: int) -> Words:
    """One filter a row."""
    numbers = [sum(1 << place for place in row) for row in rows]
    split = [[number >> 64 * word & (1 << 64) - 1 for word in range(words)] for number in numbers]
    return np.array(split, np.uint64).reshape(len(rows), words)


def unpacked(filters: Words) -> list[Places]:
    """The places of each row."""
    numbers = [sum(int(word) << 64 * i for i, word in enumerate(row)) for row in filters]
    return [
        {place for place in range(64 * filters.shape[1]) if number >> place & 1}
        for number in numbers
    ]


def random_filters(rng: np.random.Generator, rows: int, words: int, share: float) -> Words:
    """Filters in which so many of the bits are set, popular places more often."""
    popular = rng.random(64 * words) * 2 * share
    bits = rng.random((rows, 64 * words)) < popular
    numbers = np.packbits(bits, axis=1, bitorder="little")
    return numbers.view("<u8").astype(np.uint64).reshape(rows, words)


def inclusions(clauses: Words, events: Words) -> list[Pair]:
    """All pairs (event, clause) where the clause's filter is included, ascending."""
    missing = clauses[None, :, :] & ~events[:, None, :]
    return [(int(row), int(clause)) for row, clause in np.argwhere(~missing.any(axis=2))]


def pairs_of(found: Candidates) -> list[Pair]:
    """The pairs found, ascending; a pair that was found twice is there twice."""
    return sorted(zip(found.rows.tolist(), found.clauses.tolist(), strict=True))


@st.composite
def clauses_and_events(draw: st.DrawFn) -> tuple[Words, Words]:
    """Few places, so that inclusions are frequent; some filters are empty, some lists, too."""
    words = draw(st.integers(1, 3))
    places = st.sampled_from(draw(st.lists(st.integers(0, 64 * words - 1), min_size=1)))
    clauses = draw(st.lists(st.sets(places, max_size=12), max_size=30))
    events = draw(st.lists(st.sets(places), max_size=70))
    return packed(clauses, words), packed(events, words)
