"""Both prefilters find exactly the pairs whose filters are included, and look at few others."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Words
from caddis.errors import FilterError
from caddis.sealed.design import MOST_BITS
from caddis.sealed.prefilter import kernels
from caddis.sealed.prefilter.paper_lists import PaperLists
from caddis.sealed.prefilter.prefilter import (
    KEYS,
    ROWS_AT_ONCE,
    Prefilter,
    PrefilterArrays,
    read_only,
)
from tests.sealed.plain_filters import (
    clauses_and_events,
    inclusions,
    packed,
    pairs_of,
    random_filters,
    unpacked,
)

Structure: TypeAlias = type[Prefilter] | type[PaperLists]

both = pytest.mark.parametrize("structure", [Prefilter, PaperLists])


@both
@given(clauses_and_events())
def test_candidates_are_the_inclusions(structure: Structure, given_filters: tuple[Words, Words]):
    clauses, events = given_filters
    found = structure.build(clauses).candidates(events)
    assert pairs_of(found) == inclusions(clauses, events)
    assert (np.diff(found.rows) >= 0).all()


@given(clauses_and_events(), st.data())
def test_a_sample_changes_nothing_that_is_found(given_filters: tuple[Words, Words], data):
    clauses, events = given_filters
    places = st.sets(st.integers(0, 64 * clauses.shape[1] - 1))
    sample = packed(data.draw(st.lists(places, max_size=10)), clauses.shape[1])
    found = Prefilter.build(clauses, sample).candidates(events)
    assert pairs_of(found) == inclusions(clauses, events)


@both
@pytest.mark.parametrize("words", [1, 2, 9, 40])
@pytest.mark.parametrize("share", [0.01, 0.1])
def test_random_filters_of_many_sizes(structure: Structure, words: int, share: float):
    rng = np.random.default_rng([words, int(100 * share)])
    clauses = random_filters(rng, 300, words, min(share, 1.0 / words))
    events = random_filters(rng, 200, words, 0.5)
    found = structure.build(clauses).candidates(events)
    assert pairs_of(found) == inclusions(clauses, events)
    assert found.inspected <= len(clauses) * len(events)


@both
def test_a_clause_with_an_empty_filter_is_a_candidate_for_every_event(structure: Structure):
    clauses, events = packed([{3}, set(), {4}], 1), packed([set(), {4}], 1)
    assert pairs_of(structure.build(clauses).candidates(events)) == [(0, 1), (1, 1), (1, 2)]


@both
@pytest.mark.parametrize(("clauses", "rows"), [(0, 0), (0, 5), (5, 0)])
def test_nothing_is_found_where_there_is_nothing(structure: Structure, clauses: int, rows: int):
    built = structure.build(np.ones((clauses, 2), np.uint64))
    found = built.candidates(np.ones((rows, 2), np.uint64))
    assert len(built) == clauses
    assert (found.rows.tolist(), found.clauses.tolist(), found.inspected) == ([], [], 0)


def test_rows_of_several_blocks_keep_their_numbers():
    rows = 2 * ROWS_AT_ONCE + 77
    clauses = packed([{place} for place in range(64)], 1)
    events = packed([{row % 64} for row in range(rows)], 1)
    found = Prefilter.build(clauses).candidates(events)
    assert pairs_of(found) == [(row, row % 64) for row in range(rows)]


def test_a_clause_of_full_filters_meets_only_full_events():
    full = np.full((2, 3), ~np.uint64(0))
    events = np.concatenate([full, full[:1] >> np.uint64(1)])
    assert pairs_of(Prefilter.build(full).candidates(events)) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_events_may_be_a_part_of_other_rows():
    events = packed([{1}, {2}, {1, 2}], 1)
    found = Prefilter.build(packed([{1}], 1)).candidates(events[::2])
    assert pairs_of(found) == [(0, 0), (1, 0)]


def test_a_prefilter_is_its_arrays():
    rng = np.random.default_rng(5)
    clauses, events = random_filters(rng, 99, 2, 0.05), random_filters(rng, 50, 2, 0.5)
    built = Prefilter.build(clauses)
    again = Prefilter(built.arrays)
    assert pairs_of(again.candidates(events)) == pairs_of(built.candidates(events))
    assert len(again) == 99
    assert again.nbytes == built.nbytes > clauses.nbytes


def test_a_prefilter_can_be_mapped_from_files(tmp_path: Path):
    built = Prefilter.build(packed([{1}, {2, 3}, set()], 1))
    for name, array in built.arrays._asdict().items():
        np.save(tmp_path / name, array)
    files = [tmp_path / f"{name}.npy" for name in PrefilterArrays._fields]
    mapped = PrefilterArrays._make(np.load(file, mmap_mode="r") for file in files)
    found = Prefilter(mapped).candidates(packed([{2, 3}], 1))
    assert pairs_of(found) == [(0, 1), (0, 2)]


@both
@pytest.mark.parametrize("shape", [(3, 1), (3, 3), (2,)])
def test_events_whose_filters_have_another_size_are_refused(
    structure: Structure, shape: tuple[int, ...]
):
    built = structure.build(np.ones((4, 2), np.uint64))
    with pytest.raises(FilterError, match="2 words each"):
        built.candidates(np.ones(shape, np.uint64))


def test_a_sample_of_another_size_is_refused():
    with pytest.raises(FilterError, match="2 words each"):
        Prefilter.build(np.ones((4, 2), np.uint64), np.ones((4, 1), np.uint64))


@both
def test_clauses_may_be_a_part_of_other_rows(structure: Structure):
    clauses = packed([{1}, {2}, {1, 2}], 1)[::2]
    assert pairs_of(structure.build(clauses).candidates(packed([{1}], 1))) == [(0, 0)]


def test_filters_that_are_too_large_are_refused():
    with pytest.raises(FilterError, match="up to 65536"):
        Prefilter.build(np.zeros((1, 2000), np.uint64))


def test_with_a_sample_fewer_pairs_are_compared_than_the_papers_lists_compare():
    rng = np.random.default_rng(1)
    clauses = random_filters(rng, 2000, 9, 0.05)
    events = random_filters(rng, 300, 9, 0.45)
    ours = Prefilter.build(clauses, events[:100]).candidates(events[100:])
    paper = PaperLists.build(clauses).candidates(events[100:])
    assert pairs_of(ours) == pairs_of(paper)
    assert ours.inspected * 10 < paper.inspected


def test_keys_are_places_of_the_filter_the_rarest_first():
    rng = np.random.default_rng(2)
    clauses, sample = random_filters(rng, 200, 2, 0.1), random_filters(rng, 128, 2, 0.5)
    index = Prefilter.build(clauses, sample).arrays
    often = [sum(place in event for event in unpacked(sample)) for place in range(128)]
    for keys, places in zip(index.keys.tolist(), unpacked(index.filters), strict=True):
        assert len(set(keys)) == min(len(places), KEYS)
        assert set(keys) <= places
        assert often[keys[0]] == min(often[place] for place in places)


def test_filters_are_sorted_by_keys_and_know_what_they_share():
    clauses = random_filters(np.random.default_rng(3), 500, 1, 0.1)
    index = Prefilter.build(clauses).arrays
    keys = index.keys.tolist()
    assert keys == sorted(keys)
    assert index.filters.tolist() == clauses[index.clauses].tolist()
    for before, after, shared in zip(keys, keys[1:], index.shared[1:].tolist(), strict=False):
        assert before[:shared] == after[:shared]
        assert shared == KEYS or before[shared] != after[shared]
    for place in range(64):
        first, last = index.starts[place : place + 2]
        assert all(row[0] == place for row in keys[first:last])


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 200])
def test_turned_rows_are_bitmaps_of_places(rows: int):
    events = random_filters(np.random.default_rng(rows), rows, 2, 0.4)
    plain = unpacked(events)
    bitmaps = [{row for row in range(rows) if place in plain[row]} for place in range(128)]
    assert unpacked(kernels.turned(read_only(events))) == bitmaps


def test_levels_are_the_rows_that_have_all_keys_so_far():
    keys = np.array([[3, 5, 5, 9]], np.uint16)
    rows = [{3, 5, 9}, {3, 5}, {5, 9}, {3}]
    bitmaps = kernels.turned(read_only(packed(rows, 1)))
    levels = np.full((5, 1), ~np.uint64(0))
    assert kernels.intersect(keys, 0, 0, bitmaps, levels) == 4
    assert unpacked(levels[1:]) == [{0, 1, 3}, {0, 1}, {0, 1}, {0}]
    without_nine = kernels.turned(read_only(packed(rows[1:2], 1)))
    assert kernels.intersect(keys, 0, 0, without_nine, levels) == 3


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30), st.integers(0, 3))
def test_pairs_in_row_order_keep_their_order_within_a_row(pairs, defaults):
    clauses, default = np.arange(100, 110, dtype=np.int32), np.arange(defaults, dtype=np.int32)
    given_pairs = np.array(pairs, np.int32).reshape(-1, 2)
    rows, named = kernels.in_row_order(given_pairs, read_only(clauses), read_only(default), 6)
    plain = [(row, number) for row in range(6) for number in range(defaults)]
    plain += [(row, 100 + place) for row, place in pairs]
    assert list(zip(rows.tolist(), named.tolist(), strict=True)) == sorted(
        plain, key=lambda pair: pair[0]
    )


def test_a_clause_is_in_the_papers_list_of_each_of_its_bits():
    clauses = random_filters(np.random.default_rng(4), 80, 2, 0.1)
    lists = PaperLists.build(clauses)
    plain = unpacked(clauses)
    for place in range(128):
        members = lists.lists[lists.starts[place] : lists.starts[place + 1]].tolist()
        assert members == [row for row in range(80) if place in plain[row]]
    assert lists.default.tolist() == [row for row in range(80) if not plain[row]]
    assert len(lists) == 80
    assert lists.nbytes > clauses.nbytes


def test_one_clause_of_the_largest_filter_is_not_made_into_a_quarter_of_a_gigabyte():
    """What events may look like was imagined by putting the clause together with itself."""
    clause = np.zeros((1, MOST_BITS // 64), np.uint64)
    clause[0, 0] = 1
    tracemalloc.start()
    try:
        Prefilter.build(clause)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
