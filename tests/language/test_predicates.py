"""ValueSet against Python's sets over a small domain, null included."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from caddis.language.predicates import (
    ALL_KNOWN,
    HIGHEST,
    LOWEST,
    NOTHING,
    ONLY_NULL,
    Cut,
    Key,
    ValueSet,
    after,
    before,
)

DOMAIN: tuple[Key | None, ...] = (None, *range(-1, 8))
BYTES = (
    b"",
    b"\x00",
    b"a",
    b"a\x00",
    b"ab",
    b"a\xfe",
    b"a\xff",
    b"a\xff\x00",
    b"a\xff\xff",
    b"b",
    b"\xfe",
    b"\xff",
    b"\xff\xff",
    b"\xff\xff\xff",
)

keys = st.integers(0, 6)
cuts = st.one_of(st.just(LOWEST), st.just(HIGHEST), st.builds(before, keys), st.builds(after, keys))
simple_sets = st.one_of(
    st.builds(ValueSet.interval, cuts, cuts),
    st.lists(keys, max_size=4).map(lambda some: ValueSet.points(*some)),
    st.sampled_from([NOTHING, ALL_KNOWN, ONLY_NULL]),
)
value_sets = st.recursive(
    simple_sets,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a: ~a, inner),
    ),
    max_leaves=6,
)


def members(values: ValueSet) -> set[Key | None]:
    return {key for key in DOMAIN if key in values}


@given(value_sets, value_sets)
def test_or_is_union(a, b):
    assert members(a | b) == members(a) | members(b)


@given(value_sets, value_sets)
def test_and_is_intersection(a, b):
    assert members(a & b) == members(a) & members(b)


@given(value_sets)
def test_not_is_the_complement_with_null(a):
    assert members(~a) == set(DOMAIN) - members(a)


@given(value_sets)
def test_twice_not_is_the_very_same_set(a):
    assert ~~a == a


@given(value_sets, value_sets)
def test_equal_members_are_equal_cuts_so_sets_are_canonical(a, b):
    both = (a | b) & (a | ~b)
    assert both == a


@given(value_sets)
def test_cuts_are_strictly_ascending_and_in_pairs(a):
    assert len(a.cuts) % 2 == 0
    assert all(low < high for low, high in pairwise(a.cuts))


@given(value_sets)
def test_everything_and_nothing_know_themselves(a):
    assert (a | ~a).is_everything
    assert (a & ~a).is_nothing
    assert a.is_everything == (a == ALL_KNOWN | ONLY_NULL)
    assert a.is_nothing == (a == NOTHING)


@given(cuts, cuts)
def test_an_interval_that_is_not_ascending_is_nothing(low: Cut, high: Cut):
    assert ValueSet.interval(low, high).is_nothing == (low >= high)


@given(st.sampled_from(BYTES), st.sampled_from(BYTES))
def test_a_prefix_has_the_byte_strings_that_begin_so(prefix, text):
    assert (text in ValueSet.prefix(prefix)) == text.startswith(prefix)


@given(st.binary(max_size=3), st.binary(max_size=4))
def test_a_prefix_of_any_bytes_has_what_begins_so(prefix, text):
    assert (text in ValueSet.prefix(prefix)) == text.startswith(prefix)
    assert prefix + text in ValueSet.prefix(prefix)


def test_the_empty_prefix_is_every_known_value():
    assert b"" in ValueSet.prefix(b"")
    assert b"\xff" * 9 in ValueSet.prefix(b"")
    assert None not in ValueSet.prefix(b"")


def test_a_prefix_of_the_highest_bytes_has_no_upper_end():
    assert ValueSet.prefix(b"\xff\xff").cuts == (before(b"\xff\xff"), HIGHEST)
