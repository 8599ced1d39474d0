"""Every kernel of sealed products against the plain version of what it says."""

import math
from itertools import pairwise

import numpy as np
import pytest

from caddis.arrays import Floats, Int64s
from caddis.sealed.values import aspe
from caddis.sealed.values.aspe import (
    decide_all,
    decide_pairs,
    none_negative,
    norms,
    product,
    rotate,
)
from tests.runs import seeds

SEEDS = seeds(4, 20)
TOLERANCE = 1e-13


def random_clauses(rng: np.random.Generator, clauses: int) -> tuple[Int64s, Floats]:
    starts = np.concatenate([[0], rng.integers(0, 4, clauses).cumsum()])
    vectors = rng.normal(size=(starts[-1], 9))
    vectors[:, 0] += 2
    return starts, vectors


def random_points(rng: np.random.Generator, rows: int) -> Floats:
    points = rng.normal(size=(rows, 9))
    points[:, 0] += 2
    return points


def plain_decision(starts: Int64s, vectors: Floats, point: Floats, clause: int) -> tuple[bool, int]:
    """Whether all vectors of the clause are fulfilled, and how many were looked at."""
    for count, vector in enumerate(vectors[starts[clause] : starts[clause + 1]], 1):
        length = math.hypot(*vector) * math.hypot(*point)
        if not math.fsum(vector * point) >= -TOLERANCE * length:
            return False, count
    return True, int(starts[clause + 1] - starts[clause])


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_are_decided_as_one_by_one(seed):
    rng = np.random.default_rng(seed)
    starts, vectors = random_clauses(rng, 20)
    points = random_points(rng, 15)
    rows = np.sort(rng.integers(0, 15, 80)).astype(np.int32)
    clauses = rng.integers(0, 20, 80).astype(np.int32)
    found, products = decide_pairs(
        rows, clauses, starts, vectors, norms(vectors), points, norms(points), TOLERANCE
    )
    expected = [
        plain_decision(starts, vectors, points[row], clause)
        for row, clause in zip(rows, clauses, strict=True)
    ]
    assert found.tolist() == [decision for decision, _ in expected]
    assert products == sum(count for _, count in expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_where_lengths_overflow_both_decide_alike(seed):
    """No such numbers get here, but products of 1e200 are decided in both ways all the same."""
    rng = np.random.default_rng(seed)
    starts, vectors = random_clauses(rng, 20)
    points = random_points(rng, 15)
    vectors *= rng.choice([0, 1, 1e200], (len(vectors), 1))
    points *= rng.choice([0, 1, 1e200], (15, 1))
    with np.errstate(all="ignore"):
        every = decide_all(vectors, starts, points, TOLERANCE)
    rows, clauses = (one.ravel().astype(np.int32) for one in np.indices((15, 20)))
    found, _ = decide_pairs(
        rows, clauses, starts, vectors, norms(vectors), points, norms(points), TOLERANCE
    )
    assert found.tolist() == every.ravel().tolist()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("slice_", [1, 3, 1024])
def test_all_pairs_are_decided_as_single_ones(seed, slice_, monkeypatch):
    monkeypatch.setattr(aspe, "SLICE", slice_)
    rng = np.random.default_rng(seed)
    starts, vectors = random_clauses(rng, 12)
    points = random_points(rng, 7)
    rows, clauses = (places.ravel().astype(np.int32) for places in np.indices((7, 12)))
    single, _ = decide_pairs(
        rows, clauses, starts, vectors, norms(vectors), points, norms(points), TOLERANCE
    )
    found = decide_all(vectors, starts, points, TOLERANCE)
    assert found.tolist() == single.reshape(7, 12).tolist()


def test_nothing_is_decided_of_nothing():
    starts = np.zeros(1, np.int64)
    assert decide_all(np.empty((0, 3)), starts, np.ones((2, 3)), TOLERANCE).shape == (2, 0)
    starts = np.array([0, 1])
    assert decide_all(np.ones((1, 3)), starts, np.empty((0, 3)), TOLERANCE).shape == (0, 1)


def test_a_clause_without_vectors_is_fulfilled():
    starts = np.zeros(3, np.int64)
    assert decide_all(np.empty((0, 3)), starts, np.ones((2, 3)), TOLERANCE).all()


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_point_with_a_coordinate_that_is_no_number_fulfils_no_vector(odd):
    starts, vectors = np.array([0, 1]), np.ones((1, 3))
    points = np.array([[1.0, odd, -odd]])
    one = np.zeros(1, np.int32)
    found, _ = decide_pairs(
        one, one, starts, vectors, norms(vectors), points, norms(points), TOLERANCE
    )
    assert not found.any()
    assert not decide_all(vectors, starts, points, TOLERANCE).any()


@pytest.mark.parametrize("size", [0, 1, 7, 64, 133])
def test_a_product_is_within_the_bound_of_every_order_of_summation(size):
    rng = np.random.default_rng(size)
    for _ in range(100):
        left, right = rng.normal(size=(2, size)) * np.exp2(rng.integers(-20, 20, (2, size)))
        exact = math.fsum(left * right)
        assert abs(product(left, right) - exact) <= (size + 1) * 2.0**-53 * abs(left) @ abs(right)


@pytest.mark.parametrize("seed", SEEDS)
def test_clauses_hold_where_none_of_their_products_is_negative(seed):
    rng = np.random.default_rng(seed)
    starts, _ = random_clauses(rng, 8)
    products = rng.choice(
        [0.0, 1.0, 2.0, -1e-300, math.nan], (6, starts[-1]), p=[0.3, 0.3, 0.2, 0.1, 0.1]
    )
    decided = np.zeros((6, 9), np.bool_)
    none_negative(products, starts, decided[:, 1:])
    spans = list(pairwise(starts))
    expected = [[all(value >= 0 for value in row[a:b]) for a, b in spans] for row in products]
    assert decided[:, 1:].tolist() == expected
    assert not decided[:, 0].any()


# -- rotations


def plain_rotation(matrix: Floats, directions: Floats) -> list[list[float]]:
    """The same in Python's doubles, which no compiler fuses or reorders."""
    rows: list[list[float]] = matrix.tolist()
    count = len(rows)
    for k in reversed(range(count)):
        x: list[float] = directions[k, k:].tolist()
        sign = -1.0 if x[0] < 0 else 1.0
        rows[k] = [-sign * value for value in rows[k]]
        square = 0.0
        for value in x:
            square += value * value
        length = math.sqrt(square)
        scale = length * (length + abs(x[0]))
        x[0] += sign * length
        sums = [0.0] * len(rows[0])
        for weight, row in zip(x, rows[k:], strict=True):
            sums = [total + weight * value for total, value in zip(sums, row, strict=True)]
        for i, weight in enumerate(x):
            rows[k + i] = [
                value - weight / scale * total
                for value, total in zip(rows[k + i], sums, strict=True)
            ]
    return rows


@pytest.mark.parametrize("size", [1, 2, 5, 30])
def test_a_rotation_has_the_bits_of_plain_python(size):
    rng = np.random.default_rng(size)
    matrix, directions = rng.normal(size=(2, size, size))
    expected = plain_rotation(matrix, directions)
    rotate(matrix, directions)
    assert matrix.tolist() == expected


@pytest.mark.parametrize("size", [1, 2, 5, 30])
def test_a_rotation_is_orthogonal_and_begins_with_its_first_direction(size):
    rng = np.random.default_rng(size)
    directions = rng.normal(size=(size, size))
    rotation = np.eye(size)
    rotate(rotation, directions)
    assert np.abs(rotation.T @ rotation - np.eye(size)).max() < 1e-14
    first = directions[0] / norms(directions[:1])
    assert np.abs(rotation[:, 0] - first).max() < 1e-14


def test_a_direction_that_is_zero_is_left_out():
    rotation = np.eye(3)
    rotate(rotation, np.zeros((3, 3)))
    assert np.abs(rotation).tolist() == np.eye(3).tolist()
