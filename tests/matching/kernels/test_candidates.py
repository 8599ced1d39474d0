"""Every kernel of matching against the plain version of what it says."""

from bisect import bisect_left
from itertools import groupby
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Int32s
from caddis.matching import tables
from caddis.matching.index.building import AccessIndex, build, post
from caddis.matching.index.packing import PackedClauses
from caddis.matching.kernels import candidates as kernels
from caddis.matching.kernels import deciding as decide_kernels
from caddis.matching.kernels.deciding import ACCEPTED, REFUSED, UNDECIDED
from caddis.matching.kernels.layout import BatchArrays
from caddis.matching.tables import (
    ENTRY_LINK,
    ENTRY_REST,
    KIND,
    NO_FILTER,
    OWN_FILTER,
    POINT_FILTER,
    RANGE_FILTER,
    TEXT,
)
from tests.matching.twins import (
    ARRAY_COLUMN,
    answer,
    array_answer,
    elements_of,
    entries_under,
    int32s,
    members_of,
    passes_filter,
    passes_tests,
    random_clauses,
    random_codes,
    with_pattern_rows,
)
from tests.runs import seeds

SEEDS = seeds(10, 50)
Pair = tuple[int, int]

small = st.integers(0, 9)
sorted_codes = st.lists(small, max_size=12).map(lambda some: np.array(sorted(some), np.int32))


def pairs(out: Int32s, used: int) -> list[Pair]:
    return sorted((int(row), int(entry)) for row, entry in out[:used, :2])


def built(random: Random) -> tuple[PackedClauses, AccessIndex, BatchArrays]:
    packed = random_clauses(random)
    likelihood = np.array([random.random() for _ in range(len(packed.predicates))])
    index = build(packed, likelihood)
    batch = with_pattern_rows(random, random_codes(random, packed, 9), packed, index.patterns)
    return packed, index, batch


def buffers(index: AccessIndex, rows: int, room: int = 1) -> tuple[Int32s, Int32s, Int32s]:
    """Slots, hits, and a buffer with little room, so that it has to grow."""
    slots = np.full(index.most_codes + 1, -1, np.int32)
    return slots, int32s(100 + rows), int32s(room, 3)


# -- sorting and grouping


@given(st.lists(st.integers(0, 9_000), max_size=60), st.sampled_from([9_001, 2_048 * 2_048 + 5]))
def test_sorting_by_code_keeps_the_order_of_equal_codes(codes, limit):
    rows = list(range(len(codes)))
    found = decide_kernels.sort_by_code(np.array(codes, np.int32), np.array(rows, np.int32), limit)
    expected = sorted(zip(codes, rows, strict=True))
    assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == expected


def test_sorting_by_code_sorts_large_codes():
    codes = np.array([5_000_000, 3, 4_999_999, 2_048, 0], np.int32)
    found, rows = decide_kernels.sort_by_code(codes, np.arange(5, dtype=np.int32), 5_000_001)
    assert found.tolist() == [0, 3, 2_048, 4_999_999, 5_000_000]
    assert rows.tolist() == [4, 1, 3, 2, 0]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_first_numbers_count_from_zero(count):
    assert decide_kernels.first_numbers(count).tolist() == list(range(count))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_a_column_carry_its_codes_or_its_elements(seed):
    random = Random(seed)
    packed = random_clauses(random)
    batch = random_codes(random, packed, 6)
    codes, rows = decide_kernels.rows_of_column(batch, 0)
    assert (codes.tolist(), rows.tolist()) == (batch.codes[0].tolist(), list(range(6)))
    codes, rows = decide_kernels.rows_of_column(batch, ARRAY_COLUMN)
    expected = [(e, row) for row in range(6) for e in elements_of(batch, ARRAY_COLUMN, row)]
    assert list(zip(codes.tolist(), rows.tolist(), strict=True)) == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_what_equals_its_predecessor_is_dropped(some):
    codes, rows = (np.array([pair[at] for pair in some], np.int32) for at in (0, 1))
    kept = decide_kernels.without_repeats(codes, rows)
    found = list(zip(codes[:kept].tolist(), rows[:kept].tolist(), strict=True))
    assert found == [pair for pair, _ in groupby(some)]


@given(sorted_codes)
def test_distinct_codes_begin_where_they_first_stand(codes):
    starts = [i for i, code in enumerate(codes) if i == 0 or code != codes[i - 1]]
    assert decide_kernels.distinct_starts(codes, len(codes)).tolist() == [*starts, len(codes)]


@given(sorted_codes, st.integers(-1, 11))
def test_the_first_code_at_least(codes, code):
    assert decide_kernels.first_at_least(codes, code) == bisect_left(codes.tolist(), code)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_within_is_between_both_ends(code, low, span):
    assert kernels.within(code, low, span) == (low <= code <= low + span)


def test_an_enlarged_buffer_keeps_what_was_used():
    out = np.arange(12, dtype=np.int32).reshape(4, 3)
    larger = kernels.enlarged(out, 3, 7)
    assert len(larger) >= 3 + 7
    assert larger[:3].tolist() == out[:3].tolist()


# -- filters and entries


@given(
    st.lists(st.tuples(small, small), max_size=8),
    st.sampled_from([NO_FILTER, OWN_FILTER, POINT_FILTER, RANGE_FILTER]),
    small,
    st.integers(0, 4),
)
def test_filtered_rows_are_those_whose_code_is_in_the_interval(some, kind, low, span):
    some = sorted(some)
    own = np.array([pair[0] for pair in some], np.int32)
    values = np.array([pair[1] for pair in some], np.int32)
    rows = np.arange(len(some), dtype=np.int32)
    hits = int32s(len(some) + 1)
    found = kernels.filter_rows(kind, low, span, own, values, rows, hits)
    tested = own if kind == OWN_FILTER else values
    expected = [r for r in range(len(some)) if kind == NO_FILTER or low <= tested[r] <= low + span]
    assert hits[:found].tolist() == expected


@given(st.lists(small, min_size=1, max_size=8), small, st.integers(0, 4), st.integers(0, 3))
def test_pairs_that_pass_a_test_are_kept_in_place(values, low, span, begin):
    out = int32s(begin + len(values), 3)
    out[begin:, 0], out[begin:, 1] = np.arange(len(values)), 7
    end = kernels.keep_passing(out, begin, len(out), np.array(values, np.int32), low, span)
    expected = [(row, 7) for row, value in enumerate(values) if low <= value <= low + span]
    assert [tuple(pair) for pair in out[begin:end, :2].tolist()] == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_entries_are_tried_on_every_hit(seed):
    _, index, batch = built(Random(seed))
    entries, hits = index.arrays.entries, np.array([0, 2, 3, 7], np.int32)
    out, used = kernels.try_entries(
        0, len(entries), entries, batch.codes, hits, len(hits), int32s(1, 3), 0
    )
    expected = [
        (row, entry)
        for entry in range(len(entries))
        for row in hits.tolist()
        if passes_tests(entries[entry], batch.codes, row)
    ]
    assert pairs(out, used) == sorted(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_entry_passes_if_both_its_tests_do(seed):
    _, index, batch = built(Random(seed))
    entries = index.arrays.entries
    for entry in range(len(entries)):
        for row in range(batch.codes.shape[1]):
            found = kernels.passes(entries, entry, batch.codes, row)
            assert found == passes_tests(entries[entry], batch.codes, row)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_join_finds_what_trying_each_group_finds_and_leaves_no_slot_behind(seed):
    _, index, batch = built(Random(seed))
    arrays = index.arrays
    slots, _, out = buffers(index, 9)
    rows = np.arange(9, dtype=np.int32)
    for run in range(len(arrays.runs) - 1):
        kind, column, first = map(int, arrays.runs[run])
        if kind != POINT_FILTER:
            continue
        last, values = int(arrays.runs[run + 1, 2]), batch.codes[column]
        out, used = kernels.join_points(
            first, last, arrays.groups, arrays.entries, values, batch.codes, rows, slots, out, 0
        )
        expected = [
            (row, entry)
            for group in range(first, last)
            for entry in range(arrays.groups[group, 2], arrays.groups[group + 1, 2])
            for row in range(9)
            if values[row] == arrays.groups[group, 0]
            and passes_tests(arrays.entries[entry], batch.codes, row)
        ]
        assert pairs(out, used) == sorted(expected)
        assert set(slots.tolist()) == {-1}


def under_node(index: AccessIndex, batch: BatchArrays, node: int, rows: list[Pair]) -> list[Pair]:
    """The pairs of (row, entry) that a node gives for rows, each with the code that it carries."""
    return [
        (row, posting.entry)
        for posting in entries_under(index.arrays, node)
        for own, row in rows
        if passes_filter(posting, batch.codes, own, row)
        and passes_tests(index.arrays.entries[posting.entry], batch.codes, row)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_visited_node_gives_every_entry_that_passes(seed):
    random = Random(seed)
    _, index, batch = built(random)
    arrays = index.arrays
    slots, hits, out = buffers(index, 9)
    for node in range(len(arrays.node_runs) - 1):
        rows = sorted((random.randrange(index.most_codes), row) for row in range(9))
        first, last = arrays.node_runs[node : node + 2]
        out, used = kernels.visit_node(
            first,
            last,
            arrays.runs,
            arrays.groups,
            arrays.entries,
            batch.codes,
            np.array([own for own, _ in rows], np.int32),
            np.array([row for _, row in rows], np.int32),
            slots,
            hits,
            out,
            0,
        )
        assert pairs(out, used) == sorted(under_node(index, batch, node, rows))


def carried(batch: BatchArrays, column: int) -> list[Pair]:
    """The (code, row) pairs of a column, an element once an array."""
    rows = range(batch.codes.shape[1])
    if batch.element_base[column] < 0:
        return sorted((int(batch.codes[column, row]), row) for row in rows)
    return sorted({(e, row) for row in rows for e in elements_of(batch, column, row)})


def under_column(index: AccessIndex, batch: BatchArrays, column: int) -> list[Pair]:
    found = []
    for level, base in enumerate(index.arrays.node_base[column]):
        if base >= 0:
            for code, row in carried(batch, column):
                found += under_node(index, batch, int(base) + (code >> level), [(code, row)])
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_visited_column_gives_the_entries_of_all_tokens_that_its_rows_carry(seed):
    _, index, batch = built(Random(seed))
    for column in range(batch.codes.shape[0]):
        slots, hits, out = buffers(index, 9)
        out, used = kernels.visit_column(index.arrays, batch, column, slots, hits, out, 0)
        assert pairs(out, used) == sorted(under_column(index, batch, column))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_column_has_nodes_if_a_level_of_it_has(seed):
    _, index, _ = built(Random(seed))
    bases = index.arrays.node_base
    found = [kernels.has_nodes(bases, column) for column in range(len(bases))]
    assert found == [any(base >= 0 for base in row) for row in bases]


# -- predicates


@given(st.lists(st.integers(0, 4), max_size=5), st.integers(1, 4), st.integers(0, 2))
def test_an_array_has_an_element_has_none_or_might_have_one(elements, low, span):
    found = decide_kernels.has_element(
        low, low + span, np.array(elements, np.int32), 0, len(elements)
    )
    if any(low <= element <= low + span for element in elements):
        assert found == 1
    else:
        assert found == (-1 if 0 in elements else 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_predicate_holds_of_the_codes_that_it_accepts(seed):
    random = Random(seed)
    packed = random_clauses(random)
    batch = random_codes(random, packed, 9)
    for number, predicate in enumerate(packed.predicates.table):
        for row in range(9):
            found = decide_kernels.predicate_holds(
                predicate,
                row,
                packed.predicates.intervals,
                batch.codes,
                batch.element_base,
                batch.element_start,
                batch.elements,
            )
            assert found == answer(packed.predicates, number, batch, row)


def test_a_null_array_neither_contains_nor_lacks():
    for kind in (tables.CONTAINS, tables.LACKS):
        assert array_answer(kind, range(1, 2), 0, []) == REFUSED


def rest_answer(index: AccessIndex, packed: PackedClauses, batch: BatchArrays, pair: Pair) -> int:
    row, entry = pair
    place = int(index.arrays.entries[entry, ENTRY_REST])
    if place < 0:
        return ACCEPTED
    count = int(index.arrays.rest[place])
    rest = index.arrays.rest[place + 1 : place + 1 + count]
    answers = {answer(packed.predicates, int(number), batch, row) for number in rest}
    return REFUSED if REFUSED in answers else UNDECIDED if UNDECIDED in answers else ACCEPTED


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_are_decided_by_their_rest(seed):
    packed, index, batch = built(Random(seed))
    every = [(row, entry) for row in range(9) for entry in range(len(index.arrays.entries))]
    out = int32s(len(every), 3)
    out[:, :2] = every
    kept = decide_kernels.decide(index.arrays, batch, out, len(every))
    expected = []
    for row, entry in every:
        found = rest_answer(index, packed, batch, (row, entry))
        link, place = index.arrays.entries[entry, [ENTRY_LINK, ENTRY_REST]].tolist()
        if found != REFUSED:
            expected.append([row, link, place if found == UNDECIDED else -1])
    assert out[:kept].tolist() == expected


def truths(packed: PackedClauses, batch: BatchArrays, index: AccessIndex) -> list[list[int]]:
    """Rows of (row, clause, whether a text is left to be decided), straight from the clauses."""
    access = post_access(packed, index)
    found = []
    for clause in range(len(packed.owner)):
        for row in range(batch.codes.shape[1]):
            texts = [
                m for m in members_of(packed, clause) if packed.predicates.table[m, KIND] == TEXT
            ]
            answers = [answer(packed.predicates, m, batch, row) for m in members_of(packed, clause)]
            pattern = access[clause] if access[clause] in texts else None
            if REFUSED in answers or (
                pattern is not None and row not in rows_of(index, batch, pattern)
            ):
                continue
            found.append([row, clause, int(any(text != pattern for text in texts))])
    return sorted(found)


def post_access(packed: PackedClauses, index: AccessIndex) -> list[int]:
    """The access predicate of each clause; only that of pattern nodes matters here."""
    by_link = {}
    for at, pattern in enumerate(index.patterns):
        for posting in entries_under(index.arrays, index.first_pattern + at):
            by_link[int(index.arrays.entries[posting.entry, ENTRY_LINK])] = int(pattern)
    return [by_link.get(clause, -1) for clause in range(len(packed.owner))]


def rows_of(index: AccessIndex, batch: BatchArrays, pattern: int) -> list[int]:
    at = index.patterns.tolist().index(pattern)
    rows: list[int] = batch.pattern_rows[
        batch.pattern_start[at] : batch.pattern_start[at + 1]
    ].tolist()
    return rows


@pytest.mark.parametrize("seed", seeds(25, 200))
def test_a_batch_matches_each_clause_that_is_true_of_a_row_once(seed):
    packed, index, batch = built(Random(seed))
    found, tried = kernels.match_batch(
        index.arrays, batch, index.most_codes, index.first_pattern, index.everything
    )
    expected = truths(packed, batch, index)
    assert sorted([row, link, int(rest >= 0)] for row, link, rest in found.tolist()) == expected
    assert tried >= len(expected)


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_a_large_batch_makes_the_buffer_grow(seed):
    random = Random(seed)
    packed = random_clauses(random, clauses=400)
    index = build(packed, np.ones(len(packed.predicates)))
    batch = with_pattern_rows(random, random_codes(random, packed, 40), packed, index.patterns)
    found, tried = kernels.match_batch(
        index.arrays, batch, index.most_codes, index.first_pattern, index.everything
    )
    assert tried > 1024 + 8 * 40
    expected = truths(packed, batch, index)
    assert sorted([row, link, int(rest >= 0)] for row, link, rest in found.tolist()) == expected


def test_the_postings_use_every_kind_of_run():
    kinds = set()
    for seed in range(60):
        _, index, _ = built(Random(seed))
        kinds |= set(index.arrays.runs[:-1, 0].tolist())
    assert kinds == {NO_FILTER, OWN_FILTER, POINT_FILTER, RANGE_FILTER}


def test_the_random_clauses_use_every_kind_of_predicate_as_access_and_as_rest():
    access, rest = set(), set()
    for seed in range(60):
        packed, index, _ = built(Random(seed))
        table = packed.predicates.table
        used = post(packed, np.ones(len(table))).access
        access |= set(table[used[used >= 0], KIND].tolist())
        place = 0
        while place < len(index.arrays.rest):
            count = index.arrays.rest[place]
            rest |= set(table[index.arrays.rest[place + 1 : place + 1 + count], KIND].tolist())
            place += 1 + count
    assert access == {tables.INTERVAL, tables.INTERVALS, TEXT, tables.CONTAINS}
    assert rest == {tables.INTERVAL, tables.INTERVALS, TEXT, tables.CONTAINS, tables.LACKS}


# -- the last step


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=20),
    st.sets(st.integers(0, 3)),
)
def test_pairs_come_in_the_order_of_rows_and_of_links_with_several_clauses_once(found, several):
    flags = np.array([link in several for link in range(4)])
    triples = np.array([(row, link, -1) for row, link in found], np.int32).reshape(-1, 3)
    rows, links = decide_kernels.in_row_order(triples, 5, flags)
    expected, seen = [], set()
    for row, link in sorted(found, key=lambda pair: pair[0]):
        if link not in several or (row, link) not in seen:
            expected.append((row, link))
        seen.add((row, link))
    assert list(zip(rows.tolist(), links.tolist(), strict=True)) == expected


def test_without_links_of_several_clauses_nothing_is_dropped():
    triples = np.array([(1, 0, -1), (0, 0, -1), (1, 0, -1)], np.int32)
    rows, links = decide_kernels.in_row_order(triples, 2, np.zeros(0, bool))
    assert (rows.tolist(), links.tolist()) == ([0, 1, 1], [0, 0, 0])
