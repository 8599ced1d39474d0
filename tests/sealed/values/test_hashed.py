"""Values have the same hashes under one key, and nothing in common under two."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from caddis.language.predicates import Key
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys.secrets import MatchingKey, cells_of, places_of, tokens_of
from caddis.sealed.values.hashed import Hashed, HashedValues, filters_of, sorted_tokens

SCHEMA = pa.schema([("city", pa.string()), ("town", pa.string()), ("price", pa.int64())])
DESIGN = StreamDesign.of("homes", SCHEMA, values=20, rate=0.001)
CITY, TOWN, PRICE = range(3)

VALUES = 5_000
CELLS = 65_536
IMPROBABLE = 1e-9
SECRET, OTHER_SECRET = bytes(range(32)), bytes(range(1, 33))

KEY = MatchingKey.of(SECRET, "homes", 1)
OTHERS = {
    "the next epoch": (MatchingKey.of(SECRET, "homes", 2), CITY),
    "another stream": (MatchingKey.of(SECRET, "cars", 1), CITY),
    "another stream's secret": (MatchingKey.of(OTHER_SECRET, "homes", 1), CITY),
    "another column": (KEY, TOWN),
}


def digests(key: MatchingKey, column: int = CITY) -> np.ndarray:
    return HashedValues(key, DESIGN).of(column, [b"city %d" % n for n in range(VALUES)])


@pytest.mark.parametrize("other", OTHERS)
def test_tokens_of_equal_values_do_not_collide(other):
    """Two of 64 bits are equal with a chance of 1 in 2^64 a pair: none of these 25 million is."""
    mine, theirs = tokens_of(digests(KEY)), tokens_of(digests(*OTHERS[other]))
    assert VALUES**2 / 2**64 < 1e-11
    assert not np.isin(mine, theirs).any()


@pytest.mark.parametrize("other", OTHERS)
def test_cells_of_equal_values_collide_by_chance_alone(other):
    equal = int((cells_of(digests(KEY)) == cells_of(digests(*OTHERS[other]))).sum())
    assert binom.sf(equal - 1, VALUES, 1 / CELLS) > IMPROBABLE


@pytest.mark.parametrize("other", OTHERS)
def test_places_of_equal_values_collide_by_chance_alone(other):
    mine, theirs = (
        places_of(one, DESIGN.bits, DESIGN.hashes)
        for one in (digests(KEY), digests(*OTHERS[other]))
    )
    equal, pairs = int((mine == theirs).sum()), VALUES * DESIGN.hashes
    assert binom.sf(equal - 1, pairs, 1 / DESIGN.bits) > IMPROBABLE
    assert binom.cdf(equal, pairs, 1 / DESIGN.bits) > IMPROBABLE


@pytest.mark.parametrize("other", OTHERS)
def test_an_element_seems_to_be_in_a_filter_of_another_domain_as_any_other_would(other):
    """The filter of 20 values under one key against the same 20 under the other."""
    mine, theirs = digests(KEY), digests(*OTHERS[other])
    rows = np.repeat(np.arange(VALUES // 20), 20)
    every = np.arange(VALUES)
    held = filters_of([Hashed(rows, every, mine)], VALUES // 20, DESIGN)
    asked = filters_of([Hashed(every, every, theirs)], VALUES, DESIGN)
    seems = int((~np.any(asked & ~held[rows], axis=1)).sum())
    shares = np.bitwise_count(held).sum(axis=1) / DESIGN.bits
    assert binom.sf(seems - 1, VALUES, float((shares**DESIGN.hashes).max())) > IMPROBABLE


def test_the_same_key_gives_the_same_hashes_to_everybody():
    assert np.array_equal(digests(KEY), digests(MatchingKey.of(SECRET, "homes", 1)))


@given(
    st.lists(
        st.tuples(st.sampled_from([CITY, TOWN]), st.lists(st.binary(max_size=2), max_size=6)),
        max_size=8,
    ),
    st.integers(0, 8),
)
def test_what_is_kept_is_what_would_be_computed(asked, most_kept):
    kept = HashedValues(KEY, DESIGN, most_kept)
    for column, keys in asked:
        given_keys: list[Key] = list(dict.fromkeys(keys))
        fresh = HashedValues(KEY, DESIGN).of(column, given_keys)
        assert np.array_equal(kept.of(column, given_keys), fresh)
        assert len(kept) <= most_kept


def test_a_number_and_a_text_of_its_digits_are_hashed_by_their_columns():
    hashed = HashedValues(KEY, DESIGN)
    assert not np.array_equal(hashed.of(PRICE, [5]), hashed.of(CITY, [b"5"]))
    assert not np.array_equal(hashed.of(CITY, [b""]), hashed.presence(CITY))


Pairs = list[tuple[int, int]]


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=9), max_size=3))
def test_tokens_are_sorted_and_each_there_once(columns: list[Pairs]):
    owners = [np.array([row for row, _ in pairs], np.int32) for pairs in columns]
    tokens = [np.array([token for _, token in pairs], np.uint64) for pairs in columns]
    starts, found = sorted_tokens(owners, tokens, rows=6)
    for row in range(6):
        expected = sorted({token for pairs in columns for at, token in pairs if at == row})
        assert found[starts[row] : starts[row + 1]].tolist() == expected


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=9), max_size=3))
def test_filters_hold_the_places_of_all_elements(columns: list[Pairs]):
    hashed = HashedValues(KEY, DESIGN).of(PRICE, list(range(10)))
    elements = [
        Hashed(
            np.array([row for row, _ in pairs], np.int32),
            np.array([place for _, place in pairs], np.int64),
            hashed,
        )
        for pairs in columns
    ]
    filters = filters_of(elements, 5, DESIGN)
    places = places_of(hashed, DESIGN.bits, DESIGN.hashes)
    for row in range(5):
        mine = {place for pairs in columns for at, place in pairs if at == row}
        expected = sorted({int(bit) for place in mine for bit in places[place]})
        words = filters[row].astype("<u8").view(np.uint8)
        assert np.flatnonzero(np.unpackbits(words, bitorder="little")).tolist() == expected
