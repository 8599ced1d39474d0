"""Packed filters are sets of places; a counting one forgets what was removed, and no more."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import FilterError
from caddis.sealed.prefilter.kernels import lowest_place, ones_of
from caddis.sealed.prefilter.prefilter import MANY, CountingFilter, filters_from, included
from tests.sealed.plain_filters import packed, unpacked

PLACES = st.lists(st.integers(0, 127), max_size=20)


@given(st.lists(PLACES, max_size=10))
def test_a_row_has_the_places_between_its_starts(rows):
    starts = np.cumsum([0, *map(len, rows)])
    places = np.array([place for row in rows for place in row], np.int32)
    assert unpacked(filters_from(places, starts, 128)) == [set(row) for row in rows]


@given(st.lists(st.tuples(PLACES, PLACES), max_size=10))
def test_inclusion_is_that_of_sets(pairs):
    inner, outer = [set(pair[0]) for pair in pairs], [set(pair[1]) for pair in pairs]
    found = included(packed(inner, 2), packed(outer, 2))
    assert found.tolist() == [some <= others for some, others in zip(inner, outer, strict=True)]


@pytest.mark.parametrize("bits", [0, 63, 100, -64, 1 << 17])
def test_filters_have_whole_words(bits):
    with pytest.raises(FilterError, match="multiple of 64 bits"):
        filters_from(np.zeros(0, np.int32), np.zeros(1, np.int64), bits)


@pytest.mark.parametrize("place", [-1, 64])
def test_a_place_outside_of_a_filter_is_refused(place):
    with pytest.raises(FilterError, match="from 0 to 63"):
        filters_from(np.array([place], np.int32), np.array([0, 1]), 64)
    with pytest.raises(FilterError, match="from 0 to 63"):
        CountingFilter(64).add([place])


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 9), max_size=4)), max_size=40))
def test_a_counting_filter_holds_what_was_added_and_not_removed(steps):
    held, counts = CountingFilter(64), Counter[int]()
    for adds, places in steps:
        if adds:
            held.add(places)
            counts.update(places)
        elif Counter(places) <= counts:
            held.remove(places)
            counts -= Counter(places)
        else:
            with pytest.raises(FilterError, match="not in the filter"):
                held.remove(places)
    assert unpacked(held.filter()) == [{place for place, count in counts.items() if count}]


def test_a_count_that_was_full_never_falls():
    held = CountingFilter(64)
    for _ in range(MANY + 5):
        held.add([7])
    for _ in range(MANY + 5):
        held.remove([7])
    assert unpacked(held.filter()) == [{7}]


def test_a_count_just_below_full_falls_to_nothing():
    held = CountingFilter(64)
    held.add([7] * (MANY - 1))
    held.remove([7] * (MANY - 1))
    assert unpacked(held.filter()) == [set()]


def test_a_refused_removal_changes_nothing():
    held = CountingFilter(64)
    held.add([1, 2])
    with pytest.raises(FilterError):
        held.remove([1, 3])
    held.remove([1, 2])
    assert unpacked(held.filter()) == [set()]


@given(st.integers(1, 2**64 - 1))
def test_bits_of_a_word_are_counted_and_found(number):
    assert ones_of(np.uint64(number)) == number.bit_count()
    assert lowest_place(np.uint64(number)) == (number & -number).bit_length() - 1
