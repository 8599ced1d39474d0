"""Asymmetric scalar-product-preserving encryption: brokers multiply what they cannot read.

A point p is sealed as p' = a·Mᵀ p and a query q as q' = b·M⁻¹ q, where M is the secret matrix of
an epoch and a, b > 0 are fresh: q' · p' = a·b·(q · p), whose sign tells whether p fulfils q (Wong
et al., "Secure kNN computation on encrypted databases", SIGMOD 2009; for publish/subscribe Choi,
Ghinita and Bertino, DEXA 2010; behind Bloom filters Barazzutti et al., "Thrifty privacy", DEBS
2012). Padding makes points and queries longer by random coordinates that meet zeros.

M is not orthogonal on purpose: if it were, products of two sealed points would be those of the
plain ones, up to a. Singular values between 1/2 and 2 and the padding blur them; they do not wipe
out that events which are much alike have sealed points at a small angle. Nor do a and b hide how
the products of two points with two queries relate. And whoever knows some plain points beside the
sealed ones can solve for all others: tests/sealed/values/test_known_plaintext.py does it.

Each kernel has a twin in plain Python or numpy in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from caddis.arrays import Bools, Bytes, Floats, Int32s, Int64s
from caddis.compiling import kernel
from caddis.errors import SealedError
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys import MatchingKey, Randomness

ROUNDING = 2.0**-53
"""u: how much of a double is lost at most when it is rounded to the nearest."""

SCALES = 8
"""a and b are between 2^-8 and 2^8, log-uniform."""

HIGH_BITS = 25
"""Products of two numbers of so many bits, and sums of them, fit into a double: see `_parts`."""

LARGEST_RESIDUAL = 2.0**-30
"""How far M times its computed inverse may be from the identity: see `tolerance`, point 4."""

MATRICES_KEPT = 4

SUMMANDS = 12
"""Sums of twelve uniform numbers are normal for all purposes here."""

SLICE = 1024
"""`decide_all` holds the products of this many points and vectors at a time."""


@dataclass(frozen=True, slots=True)
class Transform:
    """Seals points and queries of a stream in an epoch.

    Everybody with the key gets the same matrix, to the last bit.

    >>> import os, pyarrow as pa
    >>> from caddis.sealed.values.coordinates import Coordinates
    >>> design = StreamDesign.of("homes", pa.schema([("price", pa.int32())]))
    >>> coordinates, key = Coordinates(design), MatchingKey.of(bytes(32), "homes", 1)
    >>> plain = coordinates.null_points(2)
    >>> coordinates.put_orders(plain, 0, np.array([0, 1]), np.array([0.25, 0.75]))
    >>> transform = Transform.of(key, design)
    >>> points = transform.points(plain, os.urandom)
    >>> query = transform.queries(coordinates.at_least(0, 0.5)[None], os.urandom)
    >>> decide_all(query, np.array([0, 1]), points, tolerance(design.dimensions)).tolist()
    [[False], [True]]
    """

    padding: int
    _matrix: _Split = field(repr=False)
    _inverse: _Split = field(repr=False)

    @classmethod
    def of(cls, key: MatchingKey, design: StreamDesign) -> Transform:
        """The transform of a stream and epoch. A few are cached, as drawing one takes a while."""
        return cls(design.padding, *_matrices(key.transform_secret, design.dimensions))

    def points(self, plain: Floats, randomness: Randomness) -> Floats:
        """Seal plain points, a row each; equal ones look different afterwards."""
        half = self.padding // 2
        draws = uniforms(randomness, len(plain), half + 1)
        blank = np.zeros((len(plain), half))
        padded = np.hstack([plain, _noise(plain, draws[:, 1:]), blank])
        return _scales(draws) * _product(padded, self._matrix)

    def queries(self, plain: Floats, randomness: Randomness) -> Floats:
        """Seal plain queries, a row each; equal ones look different afterwards."""
        half = self.padding // 2
        draws = uniforms(randomness, len(plain), half + 1)
        blank = np.zeros((len(plain), half))
        padded = np.hstack([plain, blank, _noise(plain, draws[:, 1:])])
        return _scales(draws) * _product(padded, self._inverse)


def tolerance(dimensions: int) -> float:
    """How far below 0, in parts of |q'|·|p'|, rounding may bring the product of a fulfilled query.

    Let u = 2^-53, n = dimensions, and a query be fulfilled: q · p >= 0 for the plain vectors as
    they should be. Norms are Euclidean, |A| of a matrix is that of its absolute values. Then

    1. Plain vectors are exact (`coordinates`), but for the constant of an equality, rounded once:
       u |q| |p|. As M has singular values in [1/2, 2], that is at most 4u |q'| |p'|.
    2. M is the same everywhere bit by bit (`rotate`), so no error comes of it.
    3. p M is computed in parts (`_parts`): that of the high 25 bits of both without any rounding,
       the rest with an error of at most 2n·u (|p_low| |M| + |p| |M_low|) <= 2n·u · 3n·2^-26 for
       |p| in [1/2, 1), which is n²·2^-21 u of |p'| >= |p|/2. Their sum and a round once each.
       So p' has a relative error of 2u + n²·2^-21 u; and q', too, but for the next point.
    4. The inverse is N + N·R with R = I - M N, in parts again: R's own error is at most
       2n·u · 4n^1.5·2^-26, and |R|² < 2^-60 (checked, not trusted). That adds
       4 (n^2.5·2^-23 + 2^-7) u to the relative error of q'.
    5. A product of doubles has an error of at most n·u Σ|q'_i p'_i| <= n·u |q'| |p'|, in whatever
       order it is added up, with fused operations or without; with the tolerance as one more
       coordinate (`decide_all`), it is at most (n + 1)·u (1 + tolerance) |q'| |p'|.

    All in all (n + 9 + 2^-20·n^2.5) u; what is of the order of n²u², as from the norms that are
    computed, too, is far below the 7u that are put on top. No fulfilled query is ever lost.

    The other way round, a query is surely found unfulfilled if q · p < -margin(n)·|q|·|p|.

    >>> tolerance(133) < 2**-45, tolerance(809) < 2**-43
    (True, True)
    """
    return float(dimensions + 16 + 2.0**-20 * dimensions**2.5) * ROUNDING


def margin(dimensions: int) -> float:
    """How far below 0, in parts of |q|·|p| of the plain vectors, q · p is surely found negative.

    It is 16 tolerances: one for the threshold and one for the errors; |q'|·|p'| is at most 4 times
    its plain counterpart for the matrix and 2 times for the padding.

    |p|² is at most 5/16 by column or 19/16 by ordered column, and 1; |q|² is at most 5/4 of a bound
    of a range, and 8k + k²/4 of an equality of k columns. So with 50 columns, 10 of them ordered,
    cells side by side (2^-32) are always told apart, and orders from 2^-39 on; with 200 ordered
    columns, cells in equalities of up to 9 of them, and orders from 2^-35 on. What is nearer may
    seem equal, and is left to the subscriber's own check.
    """
    return 16 * tolerance(dimensions)


def norms(rows: Floats) -> Floats:
    """The Euclidean length of each row; infinite if its square is too large for a double."""
    squares: Floats = np.einsum("ij,ij->i", rows, rows)
    return np.sqrt(squares)


def point_lengths(dimensions: int) -> tuple[float, float]:
    """The least and the greatest length of a sealed point.

    A plain one has a coordinate 1, and each other one is at most 3/4: its length is from 1 to √n.
    Padding makes it up to √2 times as long, M and a up to 2·2^SCALES times longer or shorter; all
    of that is doubled for rounding.
    """
    factor = 2.0 ** (SCALES + 2)
    return 1 / factor, factor * (2 * dimensions) ** 0.5


def query_lengths(dimensions: int) -> tuple[float, float]:
    """The least and the greatest length of a sealed query.

    A plain one has a coordinate of 1 or more. The square of its length is at most 5/4 of a bound of
    a range, and 8k + k²/4 of an equality of k columns (see `margin`), where k <= n/2: at most 9n².
    """
    factor = 2.0 ** (SCALES + 2)
    return 1 / factor, factor * 2**0.5 * 3 * dimensions


# -- decisions

# Products may be added up in any order and fused: the bound of `tolerance` holds for every order.


@kernel(fastmath={"reassoc", "contract"})
def product(left: Floats, right: Floats) -> float:
    """The scalar product; NaN and infinity stay what they are."""
    total = 0.0
    for i in range(len(left)):
        total += left[i] * right[i]
    return total


@kernel
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
    """Whether the point of each pair fulfils all vectors of its clause; how many products it took.

    vector_starts: clause c has the vectors from vector_starts[c] to vector_starts[c + 1]. A clause
        without vectors is fulfilled.
    Points and vectors whose norms are infinite or NaN fulfil nothing.
    """
    fulfilled = np.ones(len(rows), np.bool_)
    products = 0
    for pair in range(len(rows)):
        row, clause = rows[pair], clauses[pair]
        allowed = tolerance * point_norms[row]
        for vector in range(vector_starts[clause], vector_starts[clause + 1]):
            products += 1
            slack = allowed * vector_norms[vector]
            # Written so that NaN fails: every comparison with it is false.
            if not (slack < np.inf and product(vectors[vector], points[row]) + slack >= 0):
                fulfilled[pair] = False
                break
    return fulfilled, products


@kernel
def none_negative(products: Floats, starts: Int64s, decided: Bools) -> None:
    """Decide whether the products of each row and clause, from starts[c] on, are 0 or above."""
    for row in range(len(products)):
        for clause in range(len(starts) - 1):
            fulfilled = True
            for vector in range(starts[clause], starts[clause + 1]):
                fulfilled &= products[row, vector] >= 0
            decided[row, clause] = fulfilled


def decide_all(vectors: Floats, vector_starts: Int64s, points: Floats, tolerance: float) -> Bools:
    """Whether each point (a row) fulfils all vectors of each clause (a column).

    vector_starts: as for `decide_pairs`, which decides the same of single pairs.
    The tolerance is one more coordinate of both sides, so that BLAS adds it. It is NaN where a norm
    is NaN or infinite, and then nothing is fulfilled.
    """
    count = len(vector_starts) - 1
    decided = np.empty((len(points), count), np.bool_)
    longer = np.column_stack([points, tolerance * _finite_norms(points)])
    first = 0
    while first < count:
        most = vector_starts[first] + SLICE
        last = max(first + 1, int(np.searchsorted(vector_starts, most, "right")) - 1)
        starts = vector_starts[first : last + 1]
        mine = vectors[starts[0] : starts[-1]]
        turned = np.column_stack([mine, _finite_norms(mine)]).T
        for row in range(0, len(points), SLICE):
            rows = slice(row, row + SLICE)
            with np.errstate(invalid="ignore", over="ignore"):
                products = longer[rows] @ turned
            none_negative(products, starts - starts[0], decided[rows, first:last])
        first = last
    return decided


def _finite_norms(rows: Floats) -> Floats:
    """Norms, with NaN in place of infinity."""
    lengths = norms(rows)
    return np.where(np.isfinite(lengths), lengths, np.nan)


# -- random numbers


def uniforms(randomness: Randomness, rows: int, columns: int) -> Floats:
    """Random doubles from 0 up to, but not including, 1."""
    return _uniforms(randomness(8 * rows * columns)).reshape(rows, columns)


def _uniforms(data: bytes) -> Floats:
    return (np.frombuffer(data, "<u8") >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _scales(draws: Floats) -> Floats:
    """The scale of each row, a positive number made from the first column of the draws."""
    return np.exp2(SCALES * (2 * draws[:, :1] - 1))


def _noise(plain: Floats, draws: Floats) -> Floats:
    """Random coordinates that are together no longer than the vector itself, often half as long."""
    widest = norms(plain) / np.sqrt(max(1, draws.shape[1]))
    noise: Floats = (2 * draws - 1) * widest[:, None]
    return noise


# -- products that are rounded once


class _Split(NamedTuple):
    """A matrix as the sum of its high bits, which are multiples of 2^-25, and the rest."""

    high: Floats
    low: Floats


def _high(values: Floats) -> Floats:
    return np.rint(values * 2.0**HIGH_BITS) * 2.0**-HIGH_BITS


def _split(matrix: Floats) -> _Split:
    high = _high(matrix)
    return _Split(high, matrix - high)


def _parts(rows: Floats, matrix: _Split) -> tuple[Floats, Floats]:
    """rows · matrix as an exact part and a small one.

    For rows and columns no longer than 2, products of high bits are multiples of 2^-50 and every
    sum of them is below 8: 53 bits hold them, so nothing is rounded in whatever order.
    """
    high = _high(rows)
    return high @ matrix.high, (rows - high) @ matrix.high + rows @ matrix.low


def _product(rows: Floats, matrix: _Split) -> Floats:
    """rows · matrix, with the rows brought to a length from 1/2 to 1 meanwhile."""
    exponents = np.frexp(norms(rows))[1][:, None]
    exact, small = _parts(np.ldexp(rows, -exponents), matrix)
    return np.ldexp(exact + small, exponents)


# -- the secret matrix

# Publishers and subscribers must come to the same bits on whatever machine they are. So `rotate`
# adds, multiplies, divides and takes roots in a fixed order, which IEEE 754 rounds alike
# everywhere; no BLAS and no fused operation may take part.


@lru_cache(MATRICES_KEPT)
def _matrices(secret: bytes, dimensions: int) -> tuple[_Split, _Split]:
    """The matrix, and the transpose of its inverse, which is refined once: see `tolerance`."""
    matrix = matrix_of(secret, dimensions)
    split = _split(matrix)
    inverse: Floats = np.linalg.inv(matrix).astype(np.float64)
    exact, small = _parts(matrix, _split(inverse))
    residual = (np.eye(dimensions) - exact) - small
    if not np.linalg.norm(residual) < LARGEST_RESIDUAL:
        raise SealedError("the matrix of this key cannot be inverted")
    high, low = _split(inverse)
    low += inverse @ residual
    return split, _Split(np.ascontiguousarray(high.T), np.ascontiguousarray(low.T))


def matrix_of(secret: bytes, dimensions: int) -> Floats:
    """The matrix that a secret stands for: random rotations around a random diagonal matrix.

    Rotations are drawn as in `rotate`, from sums of twelve 16-bit numbers, which are normal for all
    purposes here and whole: no logarithm, whose last bit another machine rounds differently. The
    singular values are uniform in [1/2, 2], up to rounding.
    """
    square = dimensions * dimensions
    keystream = _keystream(secret, dimensions, 8 * dimensions + 2 * SUMMANDS * 2 * square)
    values = 0.5 + 1.5 * _uniforms(keystream[: 8 * dimensions].tobytes())
    summands = keystream[8 * dimensions :].view("<u2").reshape(2, dimensions, dimensions, SUMMANDS)
    normal = summands.sum(axis=3, dtype=np.int64) - SUMMANDS * 65_535 / 2
    matrix = np.diag(values)
    rotate(matrix, normal[0])
    matrix = np.ascontiguousarray(matrix.T)
    rotate(matrix, normal[1])
    return matrix


@kernel
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
        # The sign that makes the k-th axis go to the direction itself, not to its opposite.
        for j in range(width):
            matrix[k, j] *= -sign
        square = 0.0
        for i in range(k, count):
            square += directions[k, i] * directions[k, i]
        length = np.sqrt(square)
        scale = length * (length + abs(first))
        # A direction of zeros, which nobody draws, is no reflection.
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


def _keystream(secret: bytes, dimensions: int, size: int) -> Bytes:
    nonce = bytes(8) + dimensions.to_bytes(8, "little")
    encryptor = Cipher(ChaCha20(secret, nonce), mode=None).encryptor()
    return np.frombuffer(encryptor.update(bytes(size)), np.uint8)
