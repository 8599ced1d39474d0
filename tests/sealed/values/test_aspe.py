"""Sealed products decide as plain ones, lose nothing, and show as little as they say."""

from fractions import Fraction
from functools import cache
from hashlib import sha256
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caddis.arrays import Bools, Floats
from caddis.errors import SealedError
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys.secrets import Randomness
from caddis.sealed.values import aspe
from caddis.sealed.values.aspe import (
    Transform,
    decide_all,
    margin,
    matrix_of,
    norms,
    point_lengths,
    query_lengths,
    tolerance,
)
from caddis.sealed.values.coordinates import CELLS
from tests.runs import times
from tests.sealed.plain_points import (
    Query,
    Value,
    coordinates_of,
    design_of,
    key_of,
    ordered_places,
    plain_points,
    random_event,
    seeded,
)

DESIGNS = [design_of(0, 1, padding=0), design_of(3, 2), design_of(40, 10), design_of(0, 200)]
UNIT = Fraction(1, 2**53)

EXTREMES: dict[str, Randomness] = {
    "lowest": bytes,
    "highest": lambda size: b"\xff" * size,
    "alternating": lambda size: (bytes(8) + b"\xff" * 8) * (size // 16 + 1),
}


def drawn(name: str) -> Randomness:
    """Extremes of scales and padding, or what a seed draws."""
    return EXTREMES.get(name, seeded(len(name)))


def of_length(randomness: Randomness) -> Randomness:
    return lambda size: randomness(size)[:size]


@cache
def transform_of(design: StreamDesign, epoch: int = 1) -> Transform:
    return Transform.of(key_of(epoch), design)


def decided(
    design: StreamDesign,
    events: list[list[Value]],
    queries: list[Query],
    publisher: Randomness,
    subscriber: Randomness,
) -> Bools:
    """What each event and query give when both are sealed."""
    transform, coordinates = transform_of(design), coordinates_of(design)
    plain = np.array([query.vector(coordinates, subscriber) for query in queries])
    points = transform.points(plain_points(design, events), publisher)
    vectors = transform.queries(plain, subscriber)
    starts = np.arange(len(queries) + 1)
    return decide_all(vectors, starts, points, tolerance(design.dimensions))


def query_of(random: Random, ordered: tuple[bool, ...], event: list[Value]) -> Query:
    """One that the event fulfils, and only just."""
    known = [(at, value) for at, value in enumerate(event) if value is not None]
    at, (_, order) = random.choice(known)
    if ordered[at] and random.random() < 0.6:
        return Query(low=(at, order)) if random.random() < 0.5 else Query(high=(at, order))
    some = random.sample(known, random.randint(1, min(9, len(known))))
    return Query(equal=tuple((column, cell) for column, (cell, _) in some))


def own_queries(random: Random, design: StreamDesign, events: list[list[Value]]) -> Floats:
    """A plain query for each event, which the event just fulfils."""
    coordinates, ordered = coordinates_of(design), ordered_places(design)
    queries = [query_of(random, ordered, event) for event in events]
    return np.array([query.vector(coordinates, random.randbytes) for query in queries])


def nearby(random: Random, event: list[Value], gap: float) -> list[Value]:
    """An event whose cells and orders are next to this one's."""
    return [
        None
        if value is None or random.random() < 0.1
        else (
            min(max(value[0] + random.choice([-1, 0, 0, 1]), 0), CELLS - 1),
            min(max(value[1] + random.choice([-gap, 0.0, gap]), 0.0), 1.0),
        )
        for value in event
    ]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: str(design.dimensions))
@settings(max_examples=times(12, 60))
@given(
    st.integers(0, 2**32),
    st.sampled_from([*EXTREMES, "seed", "other seed"]),
    st.sampled_from([*EXTREMES, "seed", "other seed"]),
)
def test_no_event_is_lost_and_neighbours_are_told_apart(design, seed, publisher, subscriber):
    random = Random(seed)
    columns = len(ordered_places(design))
    longest = np.sqrt(columns * 19 / 16 + 1)
    gap = margin(design.dimensions) * longest * np.sqrt(5 / 4)
    first = random_event(random, columns, random.choice([0, 0.5]))
    first[-1] = (random.randrange(CELLS), random.choice([0.0, 1.0, random.random()]))
    nothing: list[Value] = [None] * columns
    events = [first, nothing, *(nearby(random, first, 2 * gap) for _ in range(6))]
    ordered = ordered_places(design)
    queries = [query_of(random, ordered, first) for _ in range(8)]
    sides = of_length(drawn(publisher)), of_length(drawn(subscriber))
    found = decided(design, events, queries, *sides)
    expected = [[query.holds(event) for query in queries] for event in events]
    assert found.tolist() == expected


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: str(design.dimensions))
def test_thousands_of_events_fulfil_what_they_just_fulfil(design):
    """The errors that occur are far below the bound."""
    random, columns = Random(7), len(ordered_places(design))
    events = [random_event(random, columns, nulls=0) for _ in range(times(400, 1_500))]
    plain = plain_points(design, events)
    points = transform_of(design).points(plain, random.randbytes)
    own = own_queries(random, design, events)
    vectors = transform_of(design).queries(own, random.randbytes)
    products = np.einsum("ij,ij->i", vectors, points) / (norms(vectors) * norms(points))
    assert np.abs(products).max() < tolerance(design.dimensions) / 4


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: str(design.dimensions))
@pytest.mark.parametrize("drawing", [*EXTREMES, "seed"])
def test_whatever_is_sealed_has_a_length_that_brokers_accept(design, drawing):
    random, columns = Random(drawing), len(ordered_places(design))
    events = [random_event(random, columns, nulls) for nulls in (0, 0.5, 0.9) for _ in range(50)]
    for event in events:
        event[-1] = (random.choice([0, CELLS - 1]), random.choice([0.0, 1.0]))
    nothing: list[Value] = [None] * columns
    sealed = transform_of(design).points(
        plain_points(design, [nothing, *events]), of_length(drawn(drawing))
    )
    every = Query(equal=tuple((at, 0) for at in range(columns)))
    plain = [
        *own_queries(random, design, events),
        every.vector(coordinates_of(design), random.randbytes),
    ]
    queries = transform_of(design).queries(np.array(plain), of_length(drawn(drawing)))
    for rows, lengths in ((sealed, point_lengths), (queries, query_lengths)):
        least, most = lengths(design.dimensions)
        assert least < norms(rows).min() <= norms(rows).max() < most


def test_orders_closer_than_the_gap_are_never_lost():
    """The answer may then be too wide, not too narrow."""
    design, random = design_of(3, 2), Random(3)
    orders = [
        min(1.0, abs(0.3 + random.choice([-1, 1]) * 2.0 ** -random.randint(20, 60)))
        for _ in range(300)
    ]
    events: list[list[Value]] = [[None, None, None, None, (0, order)] for order in orders]
    queries = [Query(low=(4, order)) for order in orders[:40]]
    queries += [Query(high=(4, order)) for order in orders[:40]]
    found = decided(design, events, queries, random.randbytes, random.randbytes)
    expected = np.array([[query.holds(event) for query in queries] for event in events])
    assert found[expected].all()


def test_the_margin_is_what_its_docstring_says():
    narrow, wide = design_of(40, 10).dimensions, design_of(0, 200).dimensions
    narrow_length, wide_length = np.sqrt([40 * 5 / 16 + 10 * 19 / 16 + 1, 200 * 19 / 16 + 1])
    of_equality = {k: np.sqrt(8 * k + k * k / 4) for k in (9, 50)}
    assert margin(narrow) * narrow_length * of_equality[50] < 2.0**-32
    assert margin(narrow) * narrow_length * np.sqrt(5 / 4) < 2.0**-39
    assert margin(wide) * wide_length * of_equality[9] < 2.0**-32
    assert margin(wide) * wide_length * np.sqrt(5 / 4) < 2.0**-35


def test_no_points_are_sealed_as_no_points():
    design = design_of(3, 2)
    nothing = coordinates_of(design).null_points(0)
    for seal in (transform_of(design).points, transform_of(design).queries):
        assert seal(nothing, seeded(0)).shape == (0, design.dimensions)


# -- sealing is rounded once


def fractions(matrix: Floats) -> list[list[Fraction]]:
    return [[Fraction(value) for value in row] for row in matrix.tolist()]


def multiplied(left: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    columns = list(zip(*right, strict=True))
    return [
        [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns]
        for row in left
    ]


def square_length(row: list[Fraction]) -> Fraction:
    return sum((value * value for value in row), Fraction(0))


@pytest.mark.parametrize("size", [1, 5, 24])
def test_products_that_seal_have_the_error_that_the_bound_counts_on(size):
    rng = np.random.default_rng(size)
    matrix, _ = aspe._matrices(bytes(32), size)
    rows = rng.normal(size=(20, size)) * np.exp2(rng.integers(-30, 30, (20, 1)))
    exact = multiplied(fractions(rows), fractions(matrix_of(bytes(32), size)))
    most = UNIT + size * size * Fraction(1, 2**21) * UNIT
    for found, row in zip(fractions(aspe._product(rows, matrix)), exact, strict=True):
        error = [a - b for a, b in zip(found, row, strict=True)]
        assert square_length(error) <= most * most * square_length(row)


@pytest.mark.parametrize("size", [1, 5, 24])
def test_the_inverse_is_exact_far_beyond_doubles(size):
    matrix = matrix_of(bytes(32), size)
    _, inverse = aspe._matrices(bytes(32), size)
    high, low = fractions(inverse.high.T), fractions(inverse.low.T)
    whole = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(high, low, strict=True)]
    for at, row in enumerate(multiplied(fractions(matrix), whole)):
        row[at] -= 1
        assert square_length(row) < (UNIT / 8) ** 2


def test_the_high_parts_multiply_without_rounding():
    """The longest rows and columns there can be, all of one sign, in any order of summation."""
    size = 809
    row = np.full((1, size), 2 / np.sqrt(size))
    matrix = np.full((size, 1), 2 / np.sqrt(size))
    exact, _ = aspe._parts(row, aspe._split(matrix))
    high = Fraction(float(aspe._high(row)[0, 0]))
    assert Fraction(float(exact[0, 0])) == size * high * high


# -- the matrix


def test_the_matrix_has_the_same_bits_everywhere():
    """Publishers and subscribers draw it on machines of their own."""
    data = matrix_of(bytes(range(32)), 21).astype("<f8").tobytes()
    assert sha256(data).hexdigest()[:16] == "302baccac529ec4d"


@pytest.mark.parametrize("size", [1, 2, 21, 129])
def test_singular_values_are_between_a_half_and_two(size):
    values = np.linalg.svd(matrix_of(bytes(32), size), compute_uv=False)
    assert values.min() > 0.5 - 1e-12
    assert values.max() < 2 + 1e-12


def test_matrices_of_other_keys_and_sizes_have_nothing_in_common():
    one, other = matrix_of(bytes(32), 60), matrix_of(b"\1" + bytes(31), 60)
    larger = matrix_of(bytes(32), 61)[:60, :60]
    for unlike in (other, larger):
        assert abs(np.corrcoef(one.ravel(), unlike.ravel())[0, 1]) < 0.1


def test_a_matrix_that_cannot_be_inverted_is_refused(monkeypatch):
    monkeypatch.setattr(aspe, "LARGEST_RESIDUAL", 0.0)
    with pytest.raises(SealedError, match="cannot be inverted"):
        Transform.of(key_of(99), design_of(1, 1))


# -- what sealing hides


def test_a_point_that_is_sealed_twice_has_no_coordinate_in_common():
    design = design_of(3, 2)
    plain = plain_points(design, [random_event(Random(1), 5, nulls=0)] * 2)
    first, second = transform_of(design).points(plain, seeded(1))
    ratios = first / second
    assert (first != second).all()
    assert len(set(ratios.round(9))) == len(ratios)


def test_a_query_that_is_sealed_twice_has_no_coordinate_in_common():
    design = design_of(3, 2)
    plain = np.tile(coordinates_of(design).at_least(3, 0.25), (2, 1))
    first, second = transform_of(design).queries(plain, seeded(1))
    assert (first != second).all()
    assert len(set((first / second).round(9))) == len(first)


@pytest.mark.parametrize("padding", [0, 8])
def test_angles_of_sealed_points_are_not_those_of_plain_ones(padding):
    design, random = design_of(5, 5, padding=padding), Random(4)
    plain = plain_points(design, [random_event(random, 10, nulls=0.2) for _ in range(40)])
    points = transform_of(design).points(plain, random.randbytes)
    cosines = [
        (some / norms(some)[:, None]) @ (some / norms(some)[:, None]).T for some in (plain, points)
    ]
    apart = np.abs(cosines[0] - cosines[1])[np.triu_indices(40, 1)]
    assert np.median(apart) > 0.01


def test_lengths_of_sealed_points_say_nothing_about_plain_ones():
    design, random = design_of(5, 5), Random(4)
    plain = plain_points(design, [random_event(random, 10, nulls=0.5) for _ in range(400)])
    points = transform_of(design).points(plain, random.randbytes)
    assert abs(np.corrcoef(np.log(norms(plain)), np.log(norms(points)))[0, 1]) < 0.15


def test_scales_do_not_hide_how_products_relate():
    """A weakness: the cross-ratio of two points and two queries is that of the plain ones."""
    design, random = design_of(3, 2), Random(6)
    plain = plain_points(design, [random_event(random, 5, nulls=0) for _ in range(2)])
    asked = np.array([coordinates_of(design).at_least(at, 0.1 * at) for at in (3, 4)])
    points = transform_of(design).points(plain, random.randbytes)
    queries = transform_of(design).queries(asked, random.randbytes)
    ratios = [
        (found[0, 0] * found[1, 1]) / (found[0, 1] * found[1, 0])
        for found in (plain @ asked.T, points @ queries.T)
    ]
    assert ratios[0] == pytest.approx(ratios[1])


def test_points_of_another_epoch_decide_nothing():
    design, random = design_of(3, 2), Random(5)
    events = [random_event(random, 5, nulls=0) for _ in range(400)]
    own = own_queries(random, design, events)
    vectors = transform_of(design, 1).queries(own, random.randbytes)
    points = transform_of(design, 2).points(plain_points(design, events), random.randbytes)
    share = np.diag(
        decide_all(vectors, np.arange(401), points, tolerance(design.dimensions))
    ).mean()
    assert 0.3 < share < 0.7


def test_a_transform_does_not_show_its_matrix():
    assert repr(transform_of(design_of(3, 2))) == "Transform(padding=8)"
