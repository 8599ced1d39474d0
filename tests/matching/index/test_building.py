"""The access index: where clauses are posted, and that nothing of them is lost."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Floats
from caddis.matching.index.building import build, post
from caddis.matching.index.packing import PackedClauses
from caddis.matching.kernels import posting as post_kernels
from caddis.matching.kernels.posting import EVERY_EVENT, NONE, ClauseArrays
from caddis.matching.tables import (
    COLUMN,
    CONTAINS,
    COUNT,
    ENTRY_LINK,
    ENTRY_REST,
    ENTRY_WIDTH,
    FIRST_TEST,
    HIGH,
    INTERVALS,
    KIND,
    LOW,
    NO_FILTER,
    OWN_FILTER,
    SECOND_TEST,
    TEXT,
)
from tests.matching.twins import (
    entries_under,
    int32s,
    members_of,
    random_clauses,
)
from tests.runs import seeds

SEEDS = seeds(10, 50)


def random_likelihood(random: Random, packed: PackedClauses) -> Floats:
    """Likelihoods with many ties."""
    return np.array([random.randrange(4) / 4 for _ in range(len(packed.predicates))])


@pytest.fixture(params=SEEDS)
def random(request: pytest.FixtureRequest) -> Random:
    return Random(request.param)


def members_by_likelihood(packed: PackedClauses, likelihood: Floats) -> list[list[int]]:
    clauses = range(len(packed.owner))
    return [sorted(members_of(packed, c), key=lambda m: float(likelihood[m])) for c in clauses]


def test_the_least_likely_member_of_a_clause_comes_first(random):
    packed = random_clauses(random)
    likelihood = random_likelihood(random, packed)
    found = post_kernels.ordered_members(packed.starts, packed.members, likelihood)
    expected = members_by_likelihood(packed, likelihood)
    assert found.tolist() == [member for clause in expected for member in clause]


def obvious_access(packed: PackedClauses, members: list[int]) -> int:
    """The first member on values; else the first on a text; else none."""
    table = packed.predicates.table
    texts = [m for m in members if table[m, KIND] == TEXT]
    for m in members:
        on_array = packed.columns[table[m, COLUMN]].repeated
        if table[m, KIND] <= INTERVALS and not on_array:
            return m
        if table[m, KIND] == CONTAINS and table[m, LOW] == table[m, HIGH]:
            return m
    return texts[0] if texts else EVERY_EVENT


def test_a_clause_is_posted_under_its_least_likely_predicate_that_is_a_token(random):
    packed = random_clauses(random)
    likelihood = random_likelihood(random, packed)
    expected = [obvious_access(packed, m) for m in members_by_likelihood(packed, likelihood)]
    assert post(packed, likelihood).access.tolist() == expected


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_level_of_a_range_is_the_lowest_at_which_two_nodes_cover_it(low, width):
    high = low + width
    nodes = [len({code >> level for code in range(low, high + 1)}) for level in range(12)]
    assert post_kernels.covering_level(low, high) == next(i for i, n in enumerate(nodes) if n <= 2)


def accepted_codes(packed: PackedClauses, predicate: int) -> set[int]:
    kind, _, low, high, first, count = packed.predicates.table[predicate].tolist()
    if kind != INTERVALS:
        return set(range(low, high + 1))
    pairs = packed.predicates.intervals[first : first + count].tolist()
    return {code for a, b in pairs for code in range(a, b + 1)}


def test_every_code_that_the_access_predicate_accepts_leads_to_the_clause_once(random):
    packed = random_clauses(random)
    postings = post(packed, random_likelihood(random, packed))
    for clause, predicate in enumerate(postings.access.tolist()):
        rows = [row for row in postings.rows.tolist() if row[0] == clause]
        if predicate == EVERY_EVENT or packed.predicates.table[predicate, KIND] == TEXT:
            assert [row[3:] for row in rows] == [[-1, predicate]]
            continue
        codes = packed.boundaries[packed.predicates.table[predicate, COLUMN]].codes
        for code in range(codes):
            hits = [r for r in rows if code >> r[3] == r[4] and r[1] <= code <= r[2]]
            assert len(hits) == (code in accepted_codes(packed, predicate))


def test_there_is_room_for_all_postings(random):
    packed = random_clauses(random)
    table = packed.predicates.table
    access = post(packed, random_likelihood(random, packed)).access
    obvious = [2 * table[p, COUNT] if p >= 0 and table[p, KIND] == INTERVALS else 2 for p in access]
    assert post_kernels.count_postings(access, table) == sum(obvious)


@given(st.integers(-2, 5), st.lists(st.integers(-2, 5), max_size=4))
def test_a_predicate_is_one_of_a_short_list(predicate, done):
    assert post_kernels.is_one_of(predicate, np.array(done, np.int32)) == (predicate in done)


def clause_arrays(packed: PackedClauses, likelihood: Floats) -> ClauseArrays:
    return ClauseArrays(packed.starts, post(packed, likelihood).ordered, packed.owner)


def on_codes(packed: PackedClauses, members: list[int]) -> list[int]:
    return [m for m in members if packed.predicates.table[m, KIND] <= INTERVALS]


@pytest.mark.parametrize("single", [False, True])
def test_the_next_predicate_on_codes_is_the_least_likely_that_is_not_done(random, single):
    packed = random_clauses(random)
    likelihood = random_likelihood(random, packed)
    clauses, table = clause_arrays(packed, likelihood), packed.predicates.table
    done = np.array([random.randrange(len(table)), NONE, NONE, NONE], np.int32)
    for clause, members in enumerate(members_by_likelihood(packed, likelihood)):
        left = [m for m in on_codes(packed, members) if m not in done]
        singles = [m for m in left if table[m, LOW] == table[m, HIGH]]
        preferred = singles if single and singles else left
        found = post_kernels.next_inline(clause, clauses, table, done, single)
        assert found == (preferred[0] if preferred else NONE)


def test_two_predicates_go_into_an_entry_and_are_done_then(random):
    packed = random_clauses(random)
    likelihood = random_likelihood(random, packed)
    clauses, table = clause_arrays(packed, likelihood), packed.predicates.table
    for clause, members in enumerate(members_by_likelihood(packed, likelihood)):
        done, entry = np.full(4, NONE, np.int32), np.full(ENTRY_WIDTH, -1, np.int32)
        post_kernels.fill_tests(clause, clauses, table, done, entry)
        expected = on_codes(packed, members)[:2]
        assert done.tolist() == [NONE, NONE, *expected, *[NONE] * (2 - len(expected))]
        for predicate, at in zip(expected, (FIRST_TEST, SECOND_TEST), strict=False):
            _, column, low, high = table[predicate, :4].tolist()
            assert entry[at : at + 3].tolist() == [column, low, high - low]


def test_the_rest_is_what_is_not_done_and_what_has_several_intervals(random):
    packed = random_clauses(random)
    likelihood = random_likelihood(random, packed)
    clauses, table = clause_arrays(packed, likelihood), packed.predicates.table
    for clause, members in enumerate(members_by_likelihood(packed, likelihood)):
        done = np.array(
            [*random.sample(members, min(3, len(members))), NONE, NONE, NONE][:4], np.int32
        )
        rest = int32s(20)
        end = post_kernels.fill_rest(clause, clauses, table, done, rest, 2)
        expected = [
            m for m in members if m != done[0] and (m not in done or table[m, KIND] == INTERVALS)
        ]
        if expected:
            assert rest[2:end].tolist() == [len(expected), *expected]
        else:
            assert end == 2


def predicates_of_entry(
    packed: PackedClauses, entry: list[int], rest: list[int]
) -> set[tuple[int, ...]]:
    """The conditions in an entry and its rest, as (column, low, high) or predicate numbers."""
    found: set[tuple[int, ...]] = set()
    for at in (FIRST_TEST, SECOND_TEST):
        if entry[at] >= 0:
            found.add((entry[at], entry[at + 1], entry[at + 1] + entry[at + 2]))
    place = entry[ENTRY_REST]
    if place >= 0:
        found |= {(number,) for number in rest[place + 1 : place + 1 + rest[place]]}
    return found


def test_every_predicate_of_a_clause_stands_in_its_access_filter_entry_or_rest(random):
    packed = random_clauses(random)
    likelihood = random_likelihood(random, packed)
    index, access = build(packed, likelihood), post(packed, likelihood).access
    arrays, table = index.arrays, packed.predicates.table
    rest, posted = arrays.rest.tolist(), 0
    for node in range(index.everything + 1):
        for posting in entries_under(arrays, node):
            posted += 1
            entry = arrays.entries[posting.entry].tolist()
            found = predicates_of_entry(packed, entry, rest)
            if posting.kind not in (NO_FILTER, OWN_FILTER):
                found.add((posting.column, posting.low, posting.low + posting.span))
            for m in members_of(packed, entry[ENTRY_LINK]):
                hull = tuple(table[m, [COLUMN, LOW, HIGH]].tolist())
                exact = table[m, KIND] <= INTERVALS and table[m, KIND] != INTERVALS
                assert m == access[entry[ENTRY_LINK]] or (m,) in found or (exact and hull in found)
    assert posted == len(arrays.entries)


def test_the_index_holds_every_posting_once(random):
    packed = random_clauses(random)
    likelihood = random_likelihood(random, packed)
    links = build(packed, likelihood).arrays.entries[:, ENTRY_LINK]
    assert sorted(links.tolist()) == sorted(post(packed, likelihood).rows[:, 0].tolist())


def test_the_arrays_of_an_index_are_read_only(random):
    packed = random_clauses(random)
    index = build(packed, random_likelihood(random, packed))
    assert not any(array.flags.writeable for array in index.arrays)


def test_patterns_are_listed_once_and_ascend(random):
    packed = random_clauses(random)
    likelihood = random_likelihood(random, packed)
    access = post(packed, likelihood).access
    texts = {p for p in access.tolist() if p >= 0 and packed.predicates.table[p, KIND] == TEXT}
    assert build(packed, likelihood).patterns.tolist() == sorted(texts)


def test_no_clauses_make_an_index_without_entries():
    packed = random_clauses(Random(0), clauses=0)
    index = build(packed, np.ones(len(packed.predicates)))
    assert len(index.arrays.entries) == 0
    assert index.everything == 0
