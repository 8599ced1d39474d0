"""The synthetic workload on which cheap predicates are measured.

Forty string attributes (`c00`..`c39`) of 1,000 Zipf-distributed values each and ten numeric ones
(`n0`..`n4` bigint, `n5`..`n9` double). A subscription is a conjunction of 2-5 predicates on
distinct columns: 70% equality, 20% range, 5% IN, 5% prefix. An event carries 15-20 of the fifty
attributes; the others are null. Which columns and values are popular is the same for events and
subscriptions and for every seed, so that both sides may be drawn apart from each other.

Everything is an interval of whole numbers underneath: a string is its place among the sorted
words, a double is a count of hundredths. `zipf_predicates` gives that packed form, for baselines
that do not parse; `zipf_subscriptions` writes the same subscriptions as WHERE clauses, operator by
operator for all of them at once, since a million take some seconds even so.

The exponents and the widths of the ranges were tuned by brute force. On three draws of 30,000
subscriptions and 3,000 events 0.0113-0.0128% of all pairs match when columns are drawn freely,
0.0116-0.0128% with 300 shapes; other numbers of shapes differ more (100: 0.008%, 500: 0.014%).
"""

from dataclasses import dataclass
from enum import IntEnum
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import offsets_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CATEGORICAL = tuple(f"c{i:02}" for i in range(40))
WHOLE = tuple(f"n{i}" for i in range(5))
FRACTIONAL = tuple(f"n{i}" for i in range(5, 10))
ATTRIBUTES = CATEGORICAL + WHOLE + FRACTIONAL
ZIPF_SCHEMA = pa.schema(
    [pa.field("event_id", pa.int64(), nullable=False)]
    + [pa.field(name, pa.string()) for name in CATEGORICAL]
    + [pa.field(name, pa.int64()) for name in WHOLE]
    + [pa.field(name, pa.float64()) for name in FRACTIONAL]
)

SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "ro", "tu")
WORDS = tuple("".join(parts) for parts in product(SYLLABLES, repeat=3))
"""The thousand values of every string attribute, sorted: a word's place is its code."""

MOST_PREDICATES = 5
MOST_MEMBERS = 5


class Operator(IntEnum):
    """What a predicate asks of its column; from BELOW on they are ranges of numbers."""

    EQUAL = 0
    IN = 1
    PREFIX = 2
    BELOW = 3
    AT_MOST = 4
    ABOVE = 5
    AT_LEAST = 6
    BETWEEN = 7


EQUALITY = 0.7
"""The share of predicates that are equalities; of the others two thirds are ranges."""
VALUE_EXPONENT = 1.0
COLUMN_EXPONENT = 0.5
RANGE_WIDTH = (0.01, 0.26)
"""A range covers between these shares of its column's values."""

_CONSTANTS = np.random.default_rng(20_260_101)
_RANKED = np.array([_CONSTANTS.permutation(len(WORDS)) for _ in CATEGORICAL])
"""_RANKED[column, rank] is the code of the rank-th most popular value."""

SHAPES = 300
_SHAPE_SEED = 2
"""Shapes are the same for every seed. Of a dozen draws this one came close to 0.012% with 300."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """Subscriptions without their literals. Row i: which operator stands on which column.

    size[i] predicates; operator[i, :size[i]], column[i, :size[i]] (an index into ATTRIBUTES)
    and members[i, :size[i]], the length of the IN list.
    """

    size: Ints
    operator: Ints
    column: Ints
    members: Ints


@dataclass(frozen=True, slots=True)
class Predicates:
    """The predicates of all subscriptions, packed.

    Subscription i owns predicates offsets[i]:offsets[i + 1]. A predicate holds when the
    attribute's code is in [low, high], or, for IN, among the non-negative `members`.
    """

    offsets: Ints
    column: Ints
    operator: Ints
    low: Ints
    high: Ints
    members: Ints

    @property
    def subscription(self) -> Ints:
        """The subscription that owns each predicate."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def zipf_predicates(
    n: int, seed: int, shapes: int | None = SHAPES, equality: float = EQUALITY
) -> Predicates:
    """The subscriptions of `zipf_subscriptions`, packed instead of written."""
    rng = np.random.default_rng([seed, 1])
    if shapes is None:
        drawn = _draw_shapes(n, rng, equality)
        choice = np.arange(n)
    else:
        drawn = _draw_shapes(shapes, np.random.default_rng(_SHAPE_SEED), equality)
        choice = rng.integers(0, shapes, n)
    size = drawn.size[choice]
    used = np.arange(MOST_PREDICATES) < size[:, None]
    column, operator = drawn.column[choice][used], drawn.operator[choice][used]
    low, high = _bounds(column, operator, rng)
    members = _members(column, operator, low, drawn.members[choice][used], rng)
    return Predicates(offsets_of(size), column, operator, low, high, members)


def zipf_events(n: int, seed: int) -> pa.Table:
    """`n` events with the columns of ZIPF_SCHEMA; event ids count from 0."""
    codes = zipf_event_codes(n, seed)
    words = pa.array(WORDS)
    columns = [pa.array(np.arange(n, dtype=np.int64))]
    for i, name in enumerate(ATTRIBUTES):
        absent = codes[i] < 0
        if name in CATEGORICAL:
            columns.append(words.take(pa.array(codes[i], mask=absent)))
        elif name in WHOLE:
            columns.append(pa.array(codes[i], mask=absent))
        else:
            columns.append(pa.array(codes[i] / 100.0, mask=absent))
    return pa.Table.from_arrays(columns, schema=ZIPF_SCHEMA)


def zipf_event_codes(n: int, seed: int) -> Ints:
    """The events of `zipf_events` as codes[attribute, event]; -1 where the event has none."""
    rng = np.random.default_rng([seed, 2])
    codes = np.full((len(ATTRIBUTES), n), -1)
    present = _present(n, rng)
    for i in range(len(ATTRIBUTES)):
        rows = np.flatnonzero(present[:, i])
        codes[i, rows] = _values(np.full(len(rows), i), rng)
    return codes


def _weights(count: int, exponent: float) -> Floats:
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    shares: Floats = weights / weights.sum()
    return shares


def _distinct(n: int, weights: Floats, rng: np.random.Generator) -> Ints:
    """Every row: all columns in a random order that favours the heavy (Gumbel's trick)."""
    order = np.empty((n, len(weights)), dtype=np.int64)
    for start in range(0, n, 100_000):
        stop = min(start + 100_000, n)
        keys = rng.gumbel(size=(stop - start, len(weights))) + np.log(weights)
        order[start:stop] = np.argsort(-keys, axis=1)
    return order


def _present(n: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Which of the fifty attributes each event carries; every fifth of them is numeric."""
    ranked = np.array([i // 5 + 40 if i % 5 == 2 else i - (i + 2) // 5 for i in range(50)])
    weights = np.empty(len(ATTRIBUTES))
    weights[ranked] = _weights(len(ATTRIBUTES), COLUMN_EXPONENT)
    order = _distinct(n, weights, rng)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(len(ATTRIBUTES))[None, :], axis=1)
    kept: npt.NDArray[np.bool_] = place < rng.integers(15, 21, n)[:, None]
    return kept


def _draw_shapes(n: int, rng: np.random.Generator, equality: float) -> Shapes:
    """`n` shapes; the kinds of predicates have exactly the stated proportions."""
    size = rng.permutation(np.resize(np.arange(2, MOST_PREDICATES + 1), n))
    used = np.arange(MOST_PREDICATES) < size[:, None]
    operator = np.full((n, MOST_PREDICATES), Operator.EQUAL)
    operator[used] = rng.permutation(_deck(int(size.sum()), equality))
    numeric = operator == Operator.BETWEEN
    operator[numeric] = rng.integers(Operator.BELOW, Operator.BETWEEN + 1, int(numeric.sum()))
    members = rng.integers(2, MOST_MEMBERS + 1, (n, MOST_PREDICATES))
    return Shapes(size, operator, _columns(numeric, rng), members)


def _deck(total: int, equality: float) -> Ints:
    """Equalities, ranges, INs and prefixes: by default 70%, 20%, 5% and 5%."""
    rest = 1 - equality
    ends = [round(total * share) for share in (equality, 1 - rest / 3, 1 - rest / 6)]
    kinds = [Operator.EQUAL, Operator.BETWEEN, Operator.IN, Operator.PREFIX]
    return np.repeat(np.array(kinds), np.diff([0, *ends, total]))


def _columns(numeric: npt.NDArray[np.bool_], rng: np.random.Generator) -> Ints:
    """Distinct columns for each row's predicates, numeric ones where asked."""
    n = len(numeric)
    strings = _distinct(n, _weights(len(CATEGORICAL), COLUMN_EXPONENT), rng)
    numbers = _distinct(n, _weights(10, COLUMN_EXPONENT), rng) + len(CATEGORICAL)
    rows = np.arange(n)[:, None]
    nth_number = np.maximum(np.cumsum(numeric, axis=1) - 1, 0)
    nth_string = np.maximum(np.cumsum(~numeric, axis=1) - 1, 0)
    column: Ints = np.where(numeric, numbers[rows, nth_number], strings[rows, nth_string])
    return column


def _values(column: Ints, rng: np.random.Generator) -> Ints:
    """A value of each column, drawn by popularity."""
    uniform = rng.random(len(column))
    cumulative = np.cumsum(_weights(len(WORDS), VALUE_EXPONENT))
    rank = np.minimum(np.searchsorted(cumulative, uniform), len(WORDS) - 1)
    strings = _RANKED[np.minimum(column, len(CATEGORICAL) - 1), rank]
    return np.where(column < len(CATEGORICAL), strings, _quantile(column, uniform))


def _quantile(column: Ints, share: Floats) -> Ints:
    """The value below which `share` of a numeric column lies, in units.

    Even columns are spread evenly (a year, a percentage), odd ones have a long tail (a price).
    """
    number = np.maximum(column - len(CATEGORICAL), 0)
    scale = np.array([100, 2_000, 10_000, 50_000, 1_000_000] * 2)[number]
    scale = scale * np.where(number >= len(WHOLE), 100, 1)
    tail = -np.log1p(-np.clip(share, 0.0, 0.999999)) / 4
    return (scale * np.where(number % 2 == 0, share, tail)).astype(np.int64)


def _bounds(column: Ints, operator: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The closed interval of each predicate; for IN, twice its first member."""
    low = _values(column, rng)
    high = low.copy()
    span = rng.choice([10, 100], len(column))
    prefix = operator == Operator.PREFIX
    low[prefix] = (low // span * span)[prefix]
    high[prefix] = (low + span - 1)[prefix]
    ranged = np.flatnonzero(operator >= Operator.BELOW)
    low[ranged], high[ranged] = _ranges(column[ranged], operator[ranged], rng)
    return low, high


def _ranges(column: Ints, operator: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Intervals that cover a RANGE_WIDTH share of their column, open on one side but BETWEEN."""
    width = rng.uniform(*RANGE_WIDTH, len(column))
    start = rng.random(len(column)) * (1 - width)
    downward = operator <= Operator.AT_MOST
    upward = ~downward & (operator <= Operator.AT_LEAST)
    start[downward] = 0.0
    start[upward] = (1 - width)[upward]
    low, high = _quantile(column, start), _quantile(column, start + width)
    low[downward] = np.iinfo(np.int64).min
    high[upward] = np.iinfo(np.int64).max
    return low, high


def _members(
    column: Ints, operator: Ints, first: Ints, count: Ints, rng: np.random.Generator
) -> Ints:
    """The codes of each IN list, distinct and padded with -1; the first is `first`."""
    members = np.full((len(column), MOST_MEMBERS), -1)
    of = np.flatnonzero(operator == Operator.IN)
    rank_of = np.argsort(_RANKED, axis=1)
    steps = np.cumsum(rng.integers(1, 40, (len(of), MOST_MEMBERS)), axis=1)
    steps -= steps[:, :1]
    ranks = (rank_of[column[of], first[of]][:, None] + steps) % len(WORDS)
    drawn = _RANKED[column[of][:, None], ranks]
    members[of] = np.where(np.arange(MOST_MEMBERS) < count[of][:, None], drawn, -1)
    return members


def zipf_subscriptions(
    n: int, seed: int, shapes: int | None = SHAPES, equality: float = EQUALITY
) -> pa.Table:
    """`n` subscriptions as a table (subscription_id, where).

    Their texts share `shapes` shapes, that is, differ in literals only. With None each predicate
    chooses its column freely: then a million subscriptions have some 700,000 shapes. `equality` is
    the share of predicates that are equalities; the others keep their proportions.

    >>> print(zipf_subscriptions(1, seed=3)["where"][0])
    c11 = 'nibani' AND c15 = 'gucefo' AND n6 < 473.28
    """
    predicates = zipf_predicates(n, seed, shapes, equality)
    ids = pa.array(np.arange(n, dtype=np.int64))
    return pa.table({"subscription_id": ids, "where": _texts(predicates)})


def _texts(predicates: Predicates) -> pa.Array:
    """Each subscription's predicates joined by AND."""
    parts = [np.flatnonzero(predicates.operator == operator) for operator in Operator]
    written = [_written(*part, predicates) for part in zip(Operator, parts, strict=True)]
    place = pa.array(np.argsort(np.concatenate(parts)))
    offsets = pa.array(predicates.offsets.astype(np.int32))
    lists = pa.ListArray.from_arrays(offsets, pa.concat_arrays(written).take(place))
    return pc.binary_join(lists, " AND ")


def _written(operator: Operator, rows: Ints, predicates: Predicates) -> pa.Array:
    """The text of those predicates, which all have this operator."""
    column, low, high = predicates.column[rows], predicates.low[rows], predicates.high[rows]
    name = pa.array(ATTRIBUTES).take(pa.array(column))
    match operator:
        case Operator.EQUAL:
            return _glued(name, " = '", _word(low), "'")
        case Operator.IN:
            return _glued(name, " IN (", _listed(predicates.members[rows]), ")")
        case Operator.PREFIX:
            return _glued(name, " LIKE '", _prefix(low, high), "%'")
        case Operator.BELOW:
            return _glued(name, " < ", _number(column, high + 1))
        case Operator.AT_MOST:
            return _glued(name, " <= ", _number(column, high))
        case Operator.ABOVE:
            return _glued(name, " > ", _number(column, low - 1))
        case Operator.AT_LEAST:
            return _glued(name, " >= ", _number(column, low))
        case _:
            return _glued(name, " BETWEEN ", _number(column, low), " AND ", _number(column, high))


def _glued(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _word(code: Ints) -> pa.Array:
    return pa.array(WORDS).take(pa.array(code))


def _prefix(low: Ints, high: Ints) -> pa.Array:
    """What all words from low to high begin with: one syllable or two."""
    word = _word(low)
    one, two = (pc.utf8_slice_codeunits(word, 0, letters) for letters in (2, 4))
    return pc.if_else(pa.array(high - low > 10), one, two)


def _listed(members: Ints) -> pa.Array:
    """`'a', 'b'` of each row's members."""
    quoted = pa.array([f"'{word}'" for word in WORDS])
    columns = [quoted.take(pa.array(codes, mask=codes < 0)) for codes in members.T]
    return pc.binary_join_element_wise(*columns, ", ", null_handling="skip")


def _number(column: Ints, units: Ints) -> pa.Array:
    """Units as a literal: whole for bigint columns, with two decimals for double ones."""
    whole = pc.cast(pa.array(units), pa.string())
    euros, cents = np.divmod(np.abs(units), 100)
    tail = pc.utf8_lpad(pc.cast(pa.array(cents), pa.string()), 2, "0")
    sign = pc.if_else(pa.array(units < 0), "-", "")
    decimal = _glued(sign, pc.cast(pa.array(euros), pa.string()), ".", tail)
    return pc.if_else(pa.array(column >= len(CATEGORICAL) + len(WHOLE)), decimal, whole)
