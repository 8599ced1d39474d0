"""A Bloom filter never misses, and its bits are the same everywhere."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.bloom import false_positive_rate, size_for
from caddis.errors import FilterError, TopicError
from caddis.topics.majority.filter import BloomFilter, Hashing

ELEMENTS = st.lists(st.text() | st.binary(), max_size=20)
PINNED = [852, 441, 120, 684, 440, 469, 594, 599, 19, 384]
SHAPES = st.tuples(st.integers(1, 200), st.integers(1, 20), st.binary(max_size=64))


@given(SHAPES, ELEMENTS)
def test_what_was_added_is_in(shape, elements):
    held = BloomFilter(*shape, elements=elements)
    assert held.contains(elements).all()
    assert all(element in held for element in elements)


@given(SHAPES, ELEMENTS, ELEMENTS)
def test_a_union_is_the_filter_of_both_sets(shape, some, others):
    both = BloomFilter(*shape, elements=some).union(BloomFilter(*shape, elements=others))
    assert (both.ones == BloomFilter(*shape, elements=some + others).ones).all()


@given(SHAPES, ELEMENTS)
def test_places_do_not_depend_on_what_else_is_asked(shape, elements):
    hashing = Hashing(*shape)
    places = hashing.positions_of(elements)
    assert places.shape == (len(elements), hashing.hashes)
    assert ((places >= 0) & (places < hashing.bits)).all()
    for element, row in zip(elements, places, strict=True):
        assert (hashing.positions(element) == row).all()


def test_more_hashes_keep_the_first_places():
    assert (Hashing(1000, 20).positions("jazz")[:8] == Hashing(1000, 8).positions("jazz")).all()


def test_places_stay_what_they_were_in_earlier_versions():
    """Nodes of different versions vote on the same bits; if this fails, mend the code."""
    assert Hashing(1000, 10, b"a key").positions("Bäume").tolist() == PINNED
    assert Hashing(1000, 10, b"a key").positions("Bäume".encode()).tolist() == PINNED


@pytest.mark.parametrize("seed", ["0", "1234"])
def test_places_are_the_same_in_another_process(seed):
    code = (
        "from caddis.topics.majority.filter import Hashing\n"
        "print(Hashing(1000, 10, b'a key').positions('jazz').tolist())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == str(Hashing(1000, 10, b"a key").positions("jazz").tolist())


def test_another_key_means_other_places():
    one, other = Hashing(1 << 30, 3), Hashing(1 << 30, 3, b"x")
    assert set(one.positions("jazz")).isdisjoint(other.positions("jazz"))


@pytest.mark.parametrize("bits", [50, 64, 97])
def test_all_bits_are_hit_alike_and_independently(bits):
    places = Hashing(bits, 4).positions_of(str(i) for i in range(20_000))
    counts = np.bincount(places.ravel(), minlength=bits)
    assert np.abs(counts / counts.mean() - 1).max() < 5 / np.sqrt(counts.mean())
    coincide = (places[:, :, None] == places[:, None, :])[:, *np.triu_indices(4, 1)].mean(axis=0)
    assert np.abs(coincide * bits - 1).max() < 0.3


@pytest.mark.parametrize("rate", [0.3, 0.01, 1e-4])
def test_a_filter_sized_for_a_rate_has_it(rate):
    bits, hashes = size_for(500, rate)
    assert false_positive_rate(500, bits, hashes) <= rate * 1.0001
    held = BloomFilter(bits, hashes, elements=(f"in {i}" for i in range(500)))
    others = held.contains(f"out {i}" for i in range(20_000))
    assert others.mean() < rate + 5 * np.sqrt(rate / 20_000)


def test_filters_of_different_hashing_do_not_unite():
    with pytest.raises(TopicError, match="unite"):
        BloomFilter(50, 3).union(BloomFilter(50, 3, b"x"))


@pytest.mark.parametrize("single", ["jazz", b"jazz"])
def test_a_single_element_is_not_taken_apart(single):
    held = BloomFilter(50, 3)
    for take in (held.add, held.contains, lambda one: BloomFilter(50, 3, elements=one)):
        with pytest.raises(TopicError, match=r"such as \[b?'jazz'\], not as b?'jazz'"):
            take(single)
    assert not held.ones.any()


@pytest.mark.parametrize(("bits", "hashes"), [(0, 3), (50, 0), (1 << 31, 3)])
def test_a_filter_of_no_size_is_refused(bits, hashes):
    with pytest.raises(TopicError, match="needs a bit and a hash"):
        Hashing(bits, hashes)


def test_a_key_that_is_too_long_is_refused():
    with pytest.raises(TopicError, match="up to 64 bytes"):
        Hashing(50, 3, bytes(65))


@pytest.mark.parametrize("most_hashes", [1, 3, 12])
def test_a_filter_with_fewer_hashes_is_larger_and_keeps_its_rate(most_hashes):
    best_bits, best = size_for(500, 1e-6)
    bits, hashes = size_for(500, 1e-6, most_hashes=most_hashes)
    assert hashes == most_hashes < best
    assert bits > best_bits
    assert false_positive_rate(500, bits, hashes) <= 1.0001e-6


@pytest.mark.parametrize(("elements", "rate"), [(0, 0.1), (5, 0.0), (5, 1.0)])
def test_a_rate_that_cannot_be_reached_is_refused(elements, rate):
    with pytest.raises(FilterError, match="above 0 and below 1"):
        size_for(elements, rate)
