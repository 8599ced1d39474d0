"""Every kernel of matching against the plain version of what it says."""

from bisect import bisect_left
from itertools import groupby
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Int32s, Int64s
from caddis.matching import tables
from caddis.matching.index.building import AccessIndex, build, post
from caddis.matching.index.packing import PackedClauses
from caddis.matching.kernels import candidates as kernels
from caddis.matching.kernels import deciding as decide_kernels
from caddis.matching.kernels import sorting as sort_kernels
from caddis.matching.kernels.deciding import ACCEPTED, REFUSED, UNDECIDED
from caddis.matching.kernels.layout import BatchArrays, Workspace
from caddis.matching.kernels.sorting import workspace
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


def buffers(index: AccessIndex, rows: int) -> tuple[Workspace, Int32s, Int64s]:
    """Room to match some rows, a buffer that does for all they may find, and a tally."""
    room = int32s(2 * rows * len(index.arrays.entries), 3)
    return workspace(rows, 100, index.most_codes), room, np.zeros(2, np.int64)


def carried(codes: list[int], rows: list[int]) -> Int64s:
    return np.array([code << 32 | row for code, row in zip(codes, rows, strict=True)], np.int64)


def codes_and_rows(carried: Int64s) -> list[Pair]:
    return [(int(one) >> 32, int(one) & 0xFFFFFFFF) for one in carried]


# -- sorting and grouping


def sorted_by_code(codes: list[int], limit: int) -> list[Pair]:
    some = carried(codes, list(range(len(codes))))
    room = workspace(len(codes), 0, 1)
    found = sort_kernels.sorted_by_code(some, len(codes), limit, room.spare, room.digits)
    return codes_and_rows(found[: len(codes)])


@given(st.lists(st.integers(0, 9_000), max_size=60), st.sampled_from([9_001, 2_048 * 2_048 + 5]))
def test_sorting_by_code_keeps_the_order_of_equal_codes(codes, limit):
    assert sorted_by_code(codes, limit) == sorted((code, row) for row, code in enumerate(codes))


def test_sorting_by_code_sorts_large_codes():
    found = sorted_by_code([5_000_000, 3, 4_999_999, 2_048, 0], 5_000_001)
    assert found == [(0, 4), (3, 1), (2_048, 3), (4_999_999, 2), (5_000_000, 0)]


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_a_column_carry_its_codes_or_its_elements(seed):
    random = Random(seed)
    packed = random_clauses(random)
    batch = random_codes(random, packed, 6)
    room = np.zeros(100, np.int64)
    count = sort_kernels.carried_codes(batch, 0, room)
    assert codes_and_rows(room[:count]) == list(zip(batch.codes[0].tolist(), range(6), strict=True))
    count = sort_kernels.carried_codes(batch, ARRAY_COLUMN, room)
    expected = [(e, row) for row in range(6) for e in elements_of(batch, ARRAY_COLUMN, row)]
    assert codes_and_rows(room[:count]) == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12).map(sorted))
def test_distinct_codes_begin_where_they_first_stand_once_repeats_are_dropped(some):
    room, starts = carried(*([pair[at] for pair in some] for at in (0, 1))), np.zeros(13, np.int64)
    found = sort_kernels.distinct_starts(room, len(some), starts)
    kept = [pair for pair, _ in groupby(some)]
    expected = [i for i, pair in enumerate(kept) if i == 0 or pair[0] != kept[i - 1][0]]
    assert starts[: found + 1].tolist() == [*expected, len(kept)]
    assert codes_and_rows(room[: len(kept)]) == kept


@given(sorted_codes, st.integers(-1, 11), st.integers(0, 3))
def test_the_first_code_at_least_as_large_is_where_bisecting_finds_it(codes, code, begin):
    some = carried(codes.tolist(), [0] * len(codes))
    begin = min(begin, len(codes))
    found = kernels.first_at_least(some, begin, len(codes), code)
    assert found == max(begin, bisect_left(codes.tolist(), code))


# -- filters and entries


@given(
    st.lists(st.tuples(small, small), max_size=8),
    st.sampled_from([NO_FILTER, OWN_FILTER, POINT_FILTER, RANGE_FILTER]),
    small,
    st.integers(0, 4),
)
def test_filtered_rows_are_those_whose_code_is_in_the_interval(some, kind, low, span):
    some = sorted(some)
    own, values = ([pair[at] for pair in some] for at in (0, 1))
    rows, hits = carried(own, list(range(len(some)))), int32s(len(some) + 1)
    codes = np.array(values, np.int32)
    found = kernels.filter_rows(kind, low, span, codes, rows, 0, len(rows), hits)
    tested = own if kind == OWN_FILTER else values
    expected = [r for r in range(len(some)) if kind == NO_FILTER or low <= tested[r] <= low + span]
    assert hits[:found].tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_entries_are_tried_on_every_hit_if_there_is_room(seed):
    _, index, batch = built(Random(seed))
    entries, hits = index.arrays.entries, np.array([0, 2, 3, 7], np.int32)
    _, out, tally = buffers(index, 9)
    assert kernels.try_entries(0, len(entries), entries, batch.codes, hits, 4, out, tally)
    expected = [
        (row, entry)
        for entry in range(len(entries))
        for row in hits.tolist()
        if passes_tests(entries[entry], batch.codes, row)
    ]
    assert pairs(out, tally[kernels.USED]) == sorted(expected)
    assert tally[kernels.TRIED] == 4 * len(entries)
    assert not kernels.try_entries(0, 1, entries, batch.codes, hits, 4, out[:3], tally)


@pytest.mark.parametrize("room", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_join_finds_what_trying_each_group_finds_and_leaves_no_slot_behind(seed, room):
    _, index, batch = built(Random(seed))
    arrays = index.arrays
    work, out, tally = buffers(index, 9)
    rows = carried([0] * 9, list(range(9)))
    for run in range(len(arrays.runs) - 1):
        kind, column, first = map(int, arrays.runs[run])
        if kind != POINT_FILTER:
            continue
        last, values = int(arrays.runs[run + 1, 2]), batch.codes[column]
        expected = [
            (row, entry)
            for group in range(first, last)
            for entry in range(arrays.groups[group, 2], arrays.groups[group + 1, 2])
            for row in range(9)
            if values[row] == arrays.groups[group, 0]
            and passes_tests(arrays.entries[entry], batch.codes, row)
        ]
        tally[:] = 0
        fits = kernels.join_points(
            first,
            last,
            arrays.groups,
            arrays.entries,
            values,
            batch.codes,
            rows,
            0,
            len(rows),
            work.slots,
            work.hits,
            out if room else out[:0],
            tally,
        )
        assert set(work.slots.tolist()) == {-1}
        if room:
            assert fits
            assert pairs(out, tally[kernels.USED]) == sorted(expected)
        elif expected:
            assert not fits


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
    work, out, tally = buffers(index, 9)
    for node in range(len(arrays.node_runs) - 1):
        rows = sorted((random.randrange(index.most_codes), row) for row in range(9))
        first, last = arrays.node_runs[node : node + 2].tolist()
        tally[:] = 0
        assert kernels.visit_node(
            first,
            last,
            arrays.runs,
            arrays.groups,
            arrays.entries,
            batch.codes,
            carried(*([pair[at] for pair in rows] for at in (0, 1))),
            0,
            len(rows),
            work.slots,
            work.hits,
            out,
            tally,
        )
        assert pairs(out, tally[kernels.USED]) == sorted(under_node(index, batch, node, rows))


def carried_by(batch: BatchArrays, column: int) -> list[Pair]:
    """The (code, row) pairs of a column, an element once an array."""
    rows = range(batch.codes.shape[1])
    if batch.element_base[column] < 0:
        return sorted((int(batch.codes[column, row]), row) for row in rows)
    return sorted({(e, row) for row in rows for e in elements_of(batch, column, row)})


def under_column(index: AccessIndex, batch: BatchArrays, column: int) -> list[Pair]:
    found = []
    for level, base in enumerate(index.arrays.node_base[column]):
        if base >= 0:
            for code, row in carried_by(batch, column):
                found += under_node(index, batch, int(base) + (code >> level), [(code, row)])
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_visited_column_gives_the_entries_of_all_tokens_that_its_rows_carry(seed):
    _, index, batch = built(Random(seed))
    for column in range(batch.codes.shape[0]):
        work, out, tally = buffers(index, 9)
        assert kernels.visit_column(column, index.arrays, batch, work, out, tally)
        assert pairs(out, tally[kernels.USED]) == sorted(under_column(index, batch, column))


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
    kept = decide_kernels.decide(index.arrays, batch, out)
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
    work, out, tally = buffers(index, 9)
    numbers = index.first_pattern, index.everything
    assert kernels.match_batch(index.arrays, batch, *numbers, work, out, tally)
    used, tried = tally.tolist()
    found = out[: decide_kernels.decide(index.arrays, batch, out[:used])]
    expected = truths(packed, batch, index)
    assert sorted([row, link, int(rest >= 0)] for row, link, rest in found.tolist()) == expected
    assert tried >= used >= len(expected)
    # Where there is less room than pairs are found, the match stops.
    tally[:] = 0
    fits = kernels.match_batch(index.arrays, batch, *numbers, work, out[: max(0, used - 1)], tally)
    assert fits == (used == 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_finds_no_entry_twice(seed):
    _, index, batch = built(Random(seed))
    work, out, tally = buffers(index, 9)
    kernels.match_batch(
        index.arrays, batch, index.first_pattern, index.everything, work, out, tally
    )
    found = pairs(out, tally[kernels.USED])
    assert len(set(found)) == len(found)


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
    rows, links = sort_kernels.in_row_order(triples, 5, flags)
    expected, seen = [], set()
    for row, link in sorted(found, key=lambda pair: pair[0]):
        if link not in several or (row, link) not in seen:
            expected.append((row, link))
        seen.add((row, link))
    assert list(zip(rows.tolist(), links.tolist(), strict=True)) == expected


def test_without_links_of_several_clauses_nothing_is_dropped():
    triples = np.array([(1, 0, -1), (0, 0, -1), (1, 0, -1)], np.int32)
    rows, links = sort_kernels.in_row_order(triples, 2, np.zeros(0, bool))
    assert (rows.tolist(), links.tolist()) == ([0, 1, 1], [0, 0, 0])
