"""The access index: where clauses are posted, and that nothing of them is lost."""

from random import Random

import numpy as np
import pytest

from caddis.arrays import Floats
from caddis.matching.index.building import build, post
from caddis.matching.index.packing import PackedClauses
from caddis.matching.kernels import posting as post_kernels
from caddis.matching.kernels.posting import EVERY_EVENT, NONE
from caddis.matching.tables import (
    COLUMN,
    CONTAINS,
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


def test_the_level_of_a_range_is_the_lowest_at_which_two_nodes_cover_it(random):
    low = random.randrange(300)
    high = low + random.randrange(300)
    predicates, posted = np.array([[0, 0, low, high, 0, 0]], np.int32), int32s(2, 5)
    access = np.zeros(1, np.int32)
    used = post_kernels.post_clauses(access, predicates, int32s(0, 2), posted)
    nodes = [sorted({code >> level for code in range(low, high + 1)}) for level in range(12)]
    level = next(i for i, some in enumerate(nodes) if len(some) <= 2)
    assert posted[:used].tolist() == [[0, low, high, level, node] for node in nodes[level]]


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


def on_codes(packed: PackedClauses, members: list[int]) -> list[int]:
    return [m for m in members if packed.predicates.table[m, KIND] <= INTERVALS]


def test_the_filter_is_the_least_likely_predicate_of_a_single_value_if_there_is_one(
    random,
):
    packed = random_clauses(random)
    likelihood = random_likelihood(random, packed)
    postings, table = post(packed, likelihood), packed.predicates.table
    for clause, members in enumerate(members_by_likelihood(packed, likelihood)):
        access = int(postings.access[clause])
        left = [m for m in on_codes(packed, members) if m != access]
        singles = [m for m in left if table[m, LOW] == table[m, HIGH]]
        begin, end = packed.starts[clause : clause + 2].tolist()
        found = post_kernels.filter_predicate(begin, end, postings.ordered, table, access)
        assert found == [*singles, *left, NONE][0]


def test_two_predicates_go_into_an_entry_and_the_others_into_the_rest(random):
    packed = random_clauses(random)
    likelihood = random_likelihood(random, packed)
    ordered, table = post(packed, likelihood).ordered, packed.predicates.table
    for clause, members in enumerate(members_by_likelihood(packed, likelihood)):
        access, chosen = ([*random.sample(members, min(2, len(members))), NONE, NONE])[:2]
        entry, rest = np.full(ENTRY_WIDTH, -1, np.int32), int32s(20)
        begin, end = packed.starts[clause : clause + 2].tolist()
        used = post_kernels.fill_entry(begin, end, ordered, table, access, chosen, entry, rest, 2)
        tests = [m for m in on_codes(packed, members) if m not in (access, chosen)][:2]
        for predicate, at in zip(tests, (FIRST_TEST, SECOND_TEST), strict=False):
            _, column, low, high = table[predicate, :4].tolist()
            assert entry[at : at + 3].tolist() == [column, low, high - low]
        hulls = [m for m in (chosen, *tests) if table[m, KIND] == INTERVALS]
        left = [m for m in members if m not in (access, chosen, *tests) or m in hulls]
        assert rest[2:used].tolist() == ([len(left), *left] if left else [])
        assert entry[ENTRY_REST] == (2 if left else -1)


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
