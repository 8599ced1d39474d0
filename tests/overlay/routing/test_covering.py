"""Covering, overlap and the index of both, against evaluation on all events of a small world."""

from itertools import permutations, product
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.language import Column, TextPattern, ValueSet
from caddis.language.predicates import (
    ALL_KNOWN,
    HIGHEST,
    LOWEST,
    ONLY_NULL,
    Clause,
    Concept,
    Contains,
    InValues,
    MatchesText,
    Predicate,
    after,
    before,
)
from caddis.overlay.routing.covering import (
    Change,
    Cover,
    EveryClause,
    covers,
    implies,
    is_subset,
    overlap,
)
from tests.overlay.evaluation import Event, atom_holds, holds
from tests.runs import seeds

NUMBER = Column(("number",), pa.int64())
TEXT = Column(("text",), pa.string())
ARRAY = Column(("array",), pa.int64(), repeated=True)
PHOTO = Column(("photo",), pa.binary())

EVENTS = [
    Event({"number": n, "text": t, "array": a, "photo": p}, {"beach": b, "dog": d})
    for n, t, a, p, b, d in product(
        (None, 0, 1, 2, 3),
        (None, b"", b"ab", b"b"),
        (None, (), (1,), (None, 0), (0, 1, 2)),
        (None, b"jpeg"),
        (False, True),
        (False, True),
    )
]

keys = st.integers(0, 3)
ends = st.one_of(st.just(LOWEST), st.just(HIGHEST), keys.map(before), keys.map(after))
sets = st.one_of(
    st.lists(keys, min_size=1, max_size=3).map(lambda some: ValueSet.points(*some)),
    st.builds(ValueSet.interval, ends, ends),
    st.sampled_from([ALL_KNOWN, ONLY_NULL, ALL_KNOWN | ONLY_NULL]),
)
number_sets = st.one_of(sets, sets.map(lambda one: ~one), st.builds(lambda a, b: a | b, sets, sets))
text_sets = st.sampled_from(
    [ValueSet.points(b"ab"), ValueSet.prefix(b"a"), ALL_KNOWN, ONLY_NULL, ~ValueSet.points(b"")]
)
patterns = st.sampled_from([TextPattern("b"), TextPattern("a.*b"), TextPattern("z")])
predicates = st.one_of(
    st.builds(InValues, st.just(NUMBER), number_sets),
    st.builds(InValues, st.just(TEXT), text_sets),
    st.builds(InValues, st.just(ARRAY), st.sampled_from([ALL_KNOWN, ONLY_NULL])),
    st.builds(MatchesText, st.just(TEXT), patterns, st.booleans()),
    st.builds(Contains, st.just(ARRAY), number_sets, st.booleans()),
)
concepts = st.builds(Concept, st.sampled_from(["beach", "dog"]), st.just(PHOTO), st.booleans())
clauses = st.builds(
    Clause,
    st.lists(predicates, max_size=2).map(tuple),
    st.lists(concepts, max_size=2).map(tuple),
)


def numbers(*some: int) -> InValues:
    return InValues(NUMBER, ValueSet.points(*some))


def below(number: int) -> InValues:
    return InValues(NUMBER, ValueSet.interval(LOWEST, before(number)))


BEACH, NO_BEACH = Concept("beach", PHOTO), Concept("beach", PHOTO, negated=True)
DOG = Concept("dog", PHOTO)


# -- one atom, one clause


@given(number_sets, number_sets)
def test_a_subset_has_nothing_that_the_other_lacks(some, others):
    assert is_subset(some, others) == (some & ~others).is_nothing


@given(st.one_of(predicates, concepts), st.one_of(predicates, concepts))
def test_what_is_implied_is_true_whenever_the_other_is(one, other):
    if implies(one, other):
        assert all(atom_holds(other, event) for event in EVENTS if atom_holds(one, event))


@given(clauses, clauses)
def test_a_covering_clause_is_true_whenever_the_covered_one_is(general, special):
    if covers(general, special):
        assert all(holds(general, event) for event in EVENTS if holds(special, event))


@given(clauses, clauses)
def test_no_event_satisfies_clauses_that_do_not_overlap(one, other):
    assert overlap(one, other) == overlap(other, one)
    if not overlap(one, other):
        assert not any(holds(one, event) and holds(other, event) for event in EVENTS)


@given(clauses)
def test_every_clause_covers_itself_and_is_covered_by_the_one_without_atoms(clause):
    assert covers(clause, clause)
    assert covers(Clause(()), clause)


@given(clauses, clauses, clauses)
def test_covering_is_transitive(one, other, third):
    for a, b, c in permutations((one, other, third)):
        if covers(a, b) and covers(b, c):
            assert covers(a, c)


@given(clauses, clauses, clauses)
def test_what_covers_overlaps_all_that_the_covered_one_overlaps(one, other, third):
    for general, special, third_one in permutations((one, other, third)):
        if covers(general, special) and overlap(special, third_one):
            assert overlap(general, third_one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (numbers(1), numbers(1, 2)),
        (numbers(1), below(2)),
        (below(2), below(3)),
        (below(2), InValues(NUMBER, ALL_KNOWN)),
        (MatchesText(TEXT, TextPattern("b")), InValues(TEXT, ALL_KNOWN)),
        (MatchesText(TEXT, TextPattern("b")), MatchesText(TEXT, TextPattern("b"))),
        (Contains(ARRAY, ValueSet.points(1)), Contains(ARRAY, ValueSet.points(1, 2))),
        (Contains(ARRAY, ValueSet.points(1, 2), True), Contains(ARRAY, ValueSet.points(1), True)),
        (Contains(ARRAY, ValueSet.points(1)), InValues(ARRAY, ALL_KNOWN)),
    ],
)
def test_a_narrower_atom_implies_the_wider_one(one, other):
    assert implies(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (numbers(1, 2), numbers(1)),
        (InValues(NUMBER, ONLY_NULL), InValues(NUMBER, ALL_KNOWN)),
        (InValues(TEXT, ALL_KNOWN), MatchesText(TEXT, TextPattern("b"))),
        (MatchesText(TEXT, TextPattern("b")), MatchesText(TEXT, TextPattern("b"), True)),
        (Contains(ARRAY, ValueSet.points(1)), Contains(ARRAY, ValueSet.points(1, 2), True)),
        (Contains(ARRAY, ValueSet.points(1), True), Contains(ARRAY, ValueSet.points(1, 2), True)),
        (BEACH, DOG),
        (BEACH, NO_BEACH),
        (BEACH, InValues(PHOTO, ONLY_NULL)),
    ],
)
def test_another_atom_is_not_implied(one, other):
    assert not implies(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (numbers(1), numbers(2)),
        (InValues(TEXT, ONLY_NULL), MatchesText(TEXT, TextPattern("b"), True)),
        (MatchesText(TEXT, TextPattern("b")), MatchesText(TEXT, TextPattern("b"), True)),
        (Contains(ARRAY, ValueSet.points(1)), Contains(ARRAY, ValueSet.points(1, 2), True)),
    ],
)
def test_predicates_that_exclude_each_other_keep_clauses_apart(one, other):
    assert not overlap(Clause((one,)), Clause((other,), (DOG,)))


def test_a_concept_and_its_contrary_keep_clauses_apart():
    assert not overlap(Clause((), (DOG, BEACH)), Clause((), (NO_BEACH,)))
    assert overlap(Clause((), (DOG, BEACH)), Clause((), (DOG,)))


# -- the index


def test_the_first_of_equal_clauses_is_asked_for_until_it_leaves():
    cover = Cover[str]()
    assert cover.add("first", Clause((), (BEACH, DOG))) == Change(("first",), ())
    assert cover.add("second", Clause((), (DOG, BEACH))) == Change()
    assert cover.remove("first") == Change(("second",), ("first",))
    assert cover.remove("second") == Change((), ("second",))


def test_a_covered_clause_that_leaves_passes_what_it_covers_to_its_coverer():
    cover = Cover[str]()
    cover.add("narrow", Clause((), (BEACH, DOG)))
    cover.add("wide", Clause((), (BEACH,)))
    cover.add("all", Clause(()))
    assert cover.remove("wide") == Change()
    assert cover.remove("all") == Change(("narrow",), ("all",))


def test_what_another_clause_covers_too_is_not_announced():
    cover = Cover[str]()
    cover.add("beach", Clause((), (BEACH,)))
    cover.add("dog", Clause((), (DOG,)))
    cover.add("both", Clause((), (BEACH, DOG)))
    assert cover.remove("beach") == Change((), ("beach",))
    assert cover.remove("dog") == Change(("both",), ("dog",))


def test_without_covering_every_clause_is_asked_for():
    every = EveryClause[str]()
    assert every.add("all", Clause(())) == Change(("all",), ())
    assert every.add("beach", Clause((), (BEACH,))) == Change(("beach",), ())
    assert every.remove("all") == Change((), ("all",))
    assert "all" not in every


def small_clause(random: Random) -> Clause:
    """From a pool so small that clauses often cover each other, or are equal."""
    made: list[Predicate] = []
    for column in (NUMBER, Column(("other",), pa.int64())):
        values = random.choice(
            [
                None,
                None,
                ValueSet.points(random.randrange(4)),
                ValueSet.points(random.randrange(4), random.randrange(4)),
                ValueSet.interval(LOWEST, before(random.randrange(1, 5))),
                ALL_KNOWN,
            ]
        )
        made += [InValues(column, values)] if values else []
    if random.random() < 0.3:
        made.append(MatchesText(TEXT, TextPattern("b"), random.random() < 0.5))
    names = random.sample("abcd", random.randrange(3))
    return Clause(tuple(made), tuple(Concept(name, PHOTO, random.random() < 0.3) for name in names))


@pytest.mark.parametrize("seed", seeds(20, 200))
def test_after_any_adds_and_removes_exactly_the_uncovered_clauses_are_asked_for(seed):
    random = Random(seed)
    cover, kept, asked = Cover[int](), dict[int, Clause](), dict[int, None]()
    for key in range(120):
        if kept and random.random() < 0.4:
            gone = random.choice(list(kept))
            del kept[gone]
            change = cover.remove(gone)
        else:
            kept[key] = small_clause(random)
            change = cover.add(key, kept[key])
        assert not set(change.announced) & set(asked)
        asked |= dict.fromkeys(change.announced)
        for withdrawn in change.withdrawn:
            del asked[withdrawn]
        assert dict(cover.uncovered()) == {one: kept[one] for one in asked}
        assert_maximal(kept, list(asked))
    assert len(cover) == len(kept)


def assert_maximal(kept: dict[int, Clause], asked: list[int]) -> None:
    """No asked clause covers another one, and every other clause is covered by an asked one."""
    for one, other in permutations(asked, 2):
        assert not covers(kept[one], kept[other])
    for key, clause in kept.items():
        assert key in asked or any(covers(kept[one], clause) for one in asked)


def test_an_emptied_index_holds_nothing():
    random, cover = Random(1), Cover[int]()
    for key in range(50):
        cover.add(key, small_clause(random))
    for key in random.sample(range(50), 50):
        cover.remove(key)
    assert (len(cover), cover._filed, cover._posted) == (0, {}, {})


def test_the_same_calls_give_the_same_changes():
    def changes() -> list[Change[int]]:
        random, cover = Random(3), Cover[int]()
        added = [cover.add(key, small_clause(random)) for key in range(60)]
        return added + [cover.remove(key) for key in random.sample(range(60), 60)]

    assert changes() == changes()
