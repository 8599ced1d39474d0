"""Loops of the sealed scalar products: pairs of points and clauses, and the drawing of a matrix.

`decide_pairs` may add up in any order and fuse: the bound of `aspe.tolerance` holds for every
order. `rotate` may not, since publishers and subscribers have to come to the same bits on whatever
machine they are: it adds, multiplies, divides and takes roots in a fixed order, which IEEE 754
rounds alike everywhere. Each kernel has a twin in plain Python or numpy in the tests.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Bools, Floats, Int32s, Int64s


@njit(cache=True, fastmath={"reassoc", "contract"})
def product(left: Floats, right: Floats) -> float:
    """The scalar product; NaN and infinity stay what they are."""
    total = 0.0
    for i in range(len(left)):
        total += left[i] * right[i]
    return total


@njit(cache=True)
def decide_pairs(
    rows: Int32s,
    clauses: Int32s,
    vector_starts: Int64s,
    vectors: Floats,
    vector_norms: Floats,
    points: Floats,
    point_norms: Floats,
    tolerance: float,
) -> tuple[Bools, int]:
    """By pair: whether the point fulfils all vectors of the clause; and how many products it took.

    vector_starts: clause c has the vectors from vector_starts[c] to vector_starts[c + 1]; without
        any, it is fulfilled.
    Points and vectors whose norms are infinite or no numbers fulfil nothing.
    """
    fulfilled = np.ones(len(rows), np.bool_)
    products = 0
    for pair in range(len(rows)):
        row, clause = rows[pair], clauses[pair]
        allowed = tolerance * point_norms[row]
        for vector in range(vector_starts[clause], vector_starts[clause + 1]):
            products += 1
            slack = allowed * vector_norms[vector]
            if not (slack < np.inf and product(vectors[vector], points[row]) + slack >= 0):
                fulfilled[pair] = False
                break
    return fulfilled, products


@njit(cache=True)
def none_negative(products: Floats, starts: Int64s, decided: Bools) -> None:
    """By row and clause: whether its products, from starts[c] to starts[c + 1], are 0 or above."""
    for row in range(len(products)):
        for clause in range(len(starts) - 1):
            fulfilled = True
            for vector in range(starts[clause], starts[clause + 1]):
                fulfilled &= products[row, vector] >= 0
            decided[row, clause] = fulfilled


@njit(cache=True)
def rotate(matrix: Floats, directions: Floats) -> None:
    """Multiply from the left, in place, by a random orthogonal matrix.

    It is the one whose first column is directions[0] scaled to length 1, whose second column is
    drawn by directions[1, 1:] among those orthogonal to the first, and so on (Stewart 1980): a
    product of n reflections, that on coordinates from k on taking the k-th axis to directions[k].
    With normal directions all orthogonal matrices are equally likely, as with QR of a normal
    matrix and its signs fixed, but no small pivot can make rounding worse.
    """
    count, width = matrix.shape
    sums = np.empty(width)
    for k in range(count - 1, -1, -1):
        first = directions[k, k]
        sign = -1.0 if first < 0 else 1.0
        for j in range(width):
            matrix[k, j] *= -sign
        square = 0.0
        for i in range(k, count):
            square += directions[k, i] * directions[k, i]
        length = np.sqrt(square)
        scale = length * (length + abs(first))
        if scale == 0.0:
            continue
        sums[:] = 0.0
        for i in range(k, count):
            weight = directions[k, i] + (sign * length if i == k else 0.0)
            for j in range(width):
                sums[j] += weight * matrix[i, j]
        for i in range(k, count):
            weight = (directions[k, i] + (sign * length if i == k else 0.0)) / scale
            for j in range(width):
                matrix[i, j] -= weight * sums[j]
