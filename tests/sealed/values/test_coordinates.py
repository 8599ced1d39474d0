"""Plain vectors: q · p >= 0 says what the query says, without any rounding."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Floats
from caddis.errors import SealedError
from caddis.sealed.values.coordinates import CELLS, Coordinates
from tests.sealed.plain_points import Query, Value, design_of, plain_points, random_event, seeded

DESIGN = design_of(2, 2)
COORDINATES = Coordinates(DESIGN)

cells = st.one_of(st.integers(0, CELLS - 1), st.sampled_from([0, 1, CELLS // 2, CELLS - 1]))
orders = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 2.0**-60, 0.5, 1 - 2.0**-53, 1.0]))
values = st.one_of(st.none(), st.tuples(cells, orders))
events = st.tuples(values, values, values, values)


def exact(left: Floats, right: Floats) -> Fraction:
    """The scalar product of the doubles as they are."""
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))


def fulfils(event: tuple[Value, ...], query: Query) -> bool:
    point = plain_points(DESIGN, [event])[0]
    return exact(query.vector(COORDINATES, seeded(0)), point) >= 0


@given(events, st.lists(st.tuples(st.integers(0, 3), cells), min_size=1, max_size=4))
def test_an_equality_is_fulfilled_if_all_its_cells_are(event, terms):
    query = Query(equal=tuple(terms))
    assert fulfils(event, query) == query.holds(event)


@given(events.filter(any), st.sets(st.integers(0, 3), min_size=1))
def test_an_event_fulfils_the_equality_with_its_own_cells(event, columns):
    known = [at for at in columns if event[at] is not None]
    assert fulfils(event, Query(equal=tuple((at, event[at][0]) for at in known)))


@given(events, st.sampled_from([2, 3]), orders)
def test_bounds_are_fulfilled_by_the_orders_on_their_side(event, column, order):
    """Up to what subtracting 1/2 rounds, the same way on both sides."""
    for query in (Query(low=(column, order)), Query(high=(column, order))):
        if query.holds(event):
            assert fulfils(event, query)
        if not query.holds(event, slack=2.0**-53):
            assert not fulfils(event, query)


def test_a_null_fails_by_a_quarter():
    nothing = COORDINATES.null_points(1)[0]
    for cell in (0, CELLS // 2, CELLS - 1):
        assert COORDINATES.equality([(0, cell)], seeded(cell)) @ nothing <= -0.25
    for order in (0.0, 0.5, 1.0):
        assert COORDINATES.at_least(2, order) @ nothing <= -0.25
        assert COORDINATES.at_most(2, order) @ nothing <= -0.25


@pytest.mark.parametrize("columns", [1, 16, 64])
def test_no_equality_of_up_to_64_columns_is_rounded(columns):
    random = Random(columns)
    design = design_of(columns, 0)
    for _ in range(20):
        event = random_event(random, columns, nulls=0)
        terms = tuple((at, value[0]) for at, value in enumerate(event) if value is not None)
        query = Coordinates(design).equality(terms, random.randbytes)
        assert exact(query, plain_points(design, [event])[0]) == 0


def test_no_more_than_the_constant_of_a_wider_equality_is_rounded():
    random, design = Random(1), design_of(200, 0)
    event = random_event(random, 200, nulls=0)
    terms = [(at, value[0]) for at, value in enumerate(event) if value is not None]
    query = Coordinates(design).equality(terms, random.randbytes)
    error = exact(query, plain_points(design, [event])[0])
    assert abs(error) <= Fraction(abs(float(query[-1]))) * Fraction(1, 2**53)


def test_the_lengths_that_the_margin_counts_on():
    random = Random(2)
    some = [random_event(random, 4, nulls) for nulls in (0, 0.5, 1) for _ in range(200)]
    squares = (plain_points(DESIGN, some) ** 2).sum(axis=1)
    assert squares.max() <= 2 * 5 / 16 + 2 * 19 / 16 + 1
    for k in (1, 2, 4):
        terms = [(at, random.choice([0, random.randrange(CELLS)])) for at in range(k)]
        query = COORDINATES.equality(terms, random.randbytes)
        assert query @ query <= 8 * k + k * k / 4
    for order in (0.0, 1.0):
        assert (COORDINATES.at_least(3, order) ** 2).sum() <= 5 / 4


def test_weights_are_drawn_anew():
    first, second = (COORDINATES.equality([(0, 5), (1, 6)], seeded(seed)) for seed in (1, 2))
    assert first[1] != second[1]
    assert first[1] / first[3] != second[1] / second[3]


def test_tokens_leave_points_to_orders():
    coordinates = Coordinates(design_of(2, 2, scheme="tokens"))
    assert coordinates.size == 5
    with pytest.raises(SealedError, match="do not carry the value of 'text0'"):
        coordinates.equality([(0, 1)], seeded(0))
    with pytest.raises(SealedError, match="do not carry the value of 'text0'"):
        coordinates.put_cells(coordinates.null_points(1), 0, np.array([0]), np.array([1]))


def test_a_column_without_an_order_has_no_ranges():
    with pytest.raises(SealedError, match="do not carry the order of 'text1'"):
        COORDINATES.at_most(1, 0.5)
