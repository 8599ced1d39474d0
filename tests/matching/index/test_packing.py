"""Codes answer every predicate as comparing the values themselves would, in every type."""

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caddis.language import (
    ClauseTable,
    Column,
    Contains,
    InValues,
    MatchesText,
    Predicate,
    PredicateTable,
    TextPattern,
    ValueSet,
    has_byte_keys,
)
from caddis.language.columns import float_key
from caddis.language.predicates import ALL_KNOWN, HIGHEST, LOWEST, NOTHING, ONLY_NULL, after, before
from caddis.matching import tables
from caddis.matching.index.encoding import ColumnCoder
from caddis.matching.index.packing import PackedClauses, pack
from caddis.matching.tables import COLUMN, COUNT, FIRST, HIGH, KIND, LOW
from tests.runs import times

EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Kind:
    """A type, some of its values, and the key of each."""

    type: pa.DataType
    values: list[Any]
    key: Callable[[Any], int | bytes]


def micros(moment: dt.datetime) -> int:
    return (moment.replace(tzinfo=None) - EPOCH) // dt.timedelta(microseconds=1)


def unscaled(scale: int) -> Callable[[Decimal], int]:
    return lambda value: int(value.scaleb(scale))


FLOATS = [-math.inf, -1.5, -5e-324, -0.0, 0.0, 0.25, 1.5, math.inf, math.nan]
TEXTS = ["", "a", "a\0", "ab", "b", "é", "\uffff", "😀", "zz" * 40]
DAYS = [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29)]
MOMENTS = [dt.datetime(1969, 12, 31, 23, 59, 59), EPOCH, dt.datetime(2024, 3, 31, 1, 30)]
WIDE = [
    Decimal(-(10**37)),
    Decimal(-1),
    Decimal(0),
    Decimal(2**64),
    Decimal(2**63),
    Decimal(10**37),
]
CENTS = [Decimal("-99999.99"), Decimal("-0.01"), Decimal("0.00"), Decimal("0.01"), Decimal("5.00")]
KINDS = {
    "BOOLEAN": Kind(pa.bool_(), [False, True], int),
    "TINYINT": Kind(pa.int8(), [-128, -1, 0, 1, 127], int),
    "SMALLINT": Kind(pa.int16(), [-32768, 0, 5, 32767], int),
    "INT": Kind(pa.int32(), [-(2**31), -1, 0, 7, 2**31 - 1], int),
    "BIGINT": Kind(pa.int64(), [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1], int),
    "FLOAT": Kind(pa.float32(), FLOATS, lambda v: float_key(float(np.float32(v)))),
    "DOUBLE": Kind(pa.float64(), FLOATS, float_key),
    "narrow DECIMAL": Kind(pa.decimal128(7, 2), CENTS, unscaled(2)),
    "18 digits": Kind(
        pa.decimal128(18, 0), [Decimal(10**18 - 1), Decimal(0), Decimal(1 - 10**18)], unscaled(0)
    ),
    "wide DECIMAL": Kind(pa.decimal128(38, 0), WIDE, unscaled(0)),
    "wide DECIMAL with a scale": Kind(pa.decimal128(38, 2), CENTS, unscaled(2)),
    "STRING": Kind(pa.string(), TEXTS, str.encode),
    "large STRING": Kind(pa.large_string(), TEXTS, str.encode),
    "view of STRING": Kind(pa.string_view(), TEXTS, str.encode),
    "DATE": Kind(pa.date32(), DAYS, lambda v: (v - EPOCH.date()).days),
    "TIMESTAMP": Kind(pa.timestamp("us", "UTC"), MOMENTS, micros),
    "TIMESTAMP_NTZ": Kind(pa.timestamp("us"), MOMENTS, micros),
    "TIMESTAMP of s": Kind(pa.timestamp("s", "UTC"), MOMENTS, micros),
    "TIMESTAMP of ns": Kind(pa.timestamp("ns"), MOMENTS, micros),
}


def table_of(predicates: list[Predicate]) -> ClauseTable:
    """A clause for each predicate."""
    numbers = np.arange(len(predicates), dtype=np.int32)
    return ClauseTable(
        PredicateTable.of(predicates), numbers, np.arange(len(predicates) + 1), numbers
    )


def accepts(packed: PackedClauses, number: int, code: int) -> bool:
    row = packed.predicates.table[number]
    if row[KIND] == tables.INTERVALS:
        parts = packed.predicates.intervals[row[FIRST] : row[FIRST] + row[COUNT]]
        return any(low <= code <= high for low, high in parts)
    return bool(row[LOW] <= code <= row[HIGH])


def coder_of(packed: PackedClauses, column: int = 0) -> ColumnCoder:
    return ColumnCoder.of(packed.columns[column], packed.boundaries[column])


@st.composite
def predicates_on(draw: st.DrawFn, kind: Kind) -> list[ValueSet]:
    """Sets of values whose ends are some of the values' keys; none is empty."""
    keys = st.sampled_from([kind.key(value) for value in kind.values])
    cuts = st.one_of(
        st.sampled_from([LOWEST, HIGHEST]), st.builds(before, keys), st.builds(after, keys)
    )
    simple = st.one_of(
        st.builds(ValueSet.interval, cuts, cuts),
        st.lists(keys, max_size=3).map(lambda some: ValueSet.points(*some)),
        st.just(ONLY_NULL),
    )
    unions = st.builds(lambda a, b: a | b, simple, simple)
    sets = draw(
        st.lists(st.one_of(simple, unions, unions.map(lambda a: ~a)), min_size=1, max_size=5)
    )
    return [values for values in sets if not values.is_nothing]


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=times(15, 100))
@given(data=st.data())
def test_a_code_is_accepted_exactly_if_the_value_is_in_the_set(name, data):
    kind = KINDS[name]
    column = Column(("x",), kind.type)
    sets = data.draw(predicates_on(kind)) or [ALL_KNOWN]
    packed = pack(table_of([InValues(column, values) for values in sets]))
    values = [None, *kind.values]
    codes = coder_of(packed).codes(pa.array(values, kind.type)).tolist()
    for number, accepted in enumerate(sets):
        expected = [(None if v is None else kind.key(v)) in accepted for v in values]
        assert [accepts(packed, number, code) for code in codes] == expected


@pytest.mark.parametrize("name", KINDS)
def test_null_has_code_zero_and_nothing_else_has(name):
    kind = KINDS[name]
    keys = [kind.key(value) for value in kind.values[::2]]
    packed = pack(table_of([InValues(Column(("x",), kind.type), ValueSet.points(*keys))]))
    codes = coder_of(packed).codes(pa.array([None, *kind.values], kind.type))
    assert codes[0] == 0
    assert all(codes[1:] > 0)
    assert all(codes < packed.boundaries[0].codes)


@pytest.mark.parametrize("name", KINDS)
def test_if_order_matters_codes_ascend_with_the_values(name):
    kind = KINDS[name]
    ordered = sorted(kind.values, key=kind.key)
    middle = kind.key(ordered[len(ordered) // 2])
    packed = pack(
        table_of([InValues(Column(("x",), kind.type), ValueSet.interval(LOWEST, before(middle)))])
    )
    codes = coder_of(packed).codes(pa.array(ordered, kind.type)).tolist()
    assert packed.boundaries[0].ordered
    assert codes == sorted(codes)


X, Y = Column(("x",), pa.int32()), Column(("y",), pa.string())
TAGS = Column(("tags",), pa.string(), repeated=True)


def test_a_column_with_nothing_but_single_values_needs_no_order():
    sets = [ValueSet.points(b"a"), ~ValueSet.points(b"b", b"c") & ALL_KNOWN, ONLY_NULL, ALL_KNOWN]
    packed = pack(table_of([InValues(Y, values) for values in sets]))
    assert not packed.boundaries[0].ordered
    packed = pack(table_of([InValues(Y, values) for values in [*sets, ValueSet.prefix(b"a")]]))
    assert packed.boundaries[0].ordered


def test_a_boundary_that_several_predicates_mention_is_kept_once():
    sets = [ValueSet.points(5), ValueSet.interval(before(5), HIGHEST), ValueSet.points(5, 6)]
    packed = pack(table_of([InValues(X, values) for values in sets]))
    assert packed.boundaries[0].keys.tolist() == [5, 6]


def test_columns_are_told_apart():
    packed = pack(
        table_of([InValues(X, ValueSet.points(1)), InValues(Y, ValueSet.points(b"a"))] * 2)
    )
    assert packed.columns == [X, Y]
    assert packed.predicates.table[:, COLUMN].tolist() == [0, 1, 0, 1]


def test_equal_columns_that_are_different_objects_are_one_column():
    again = Column(("x",), pa.int32())
    packed = pack(table_of([InValues(X, ValueSet.points(1)), InValues(again, ValueSet.points(2))]))
    assert packed.columns == [X]
    assert packed.boundaries[0].keys.tolist() == [1, 2]


def test_a_pattern_accepts_every_known_text_until_it_is_searched():
    test = MatchesText(Y, TextPattern("a"))
    packed = pack(table_of([test, InValues(Y, ValueSet.points(b"k"))]))
    assert packed.predicates.table[0, KIND] == tables.TEXT
    assert packed.predicates.texts == [test]
    assert [accepts(packed, 0, code) for code in range(packed.boundaries[0].codes)] == [
        False,
        True,
        True,
        True,
    ]


def test_arrays_are_tested_by_the_codes_of_their_elements():
    elements = ValueSet.points(b"k")
    packed = pack(table_of([Contains(TAGS, elements), Contains(TAGS, elements, negated=True)]))
    assert packed.predicates.table[:, KIND].tolist() == [tables.CONTAINS, tables.LACKS]
    assert packed.predicates.table[:, [LOW, HIGH]].tolist() == [[2, 2], [2, 2]]


def test_an_array_that_lacks_what_no_element_can_be_lacks_no_code():
    packed = pack(table_of([Contains(TAGS, NOTHING, negated=True)]))
    low, high = packed.predicates.table[0, [LOW, HIGH]]
    assert low > high


@pytest.mark.parametrize(
    ("type_", "wide"),
    [
        (pa.decimal128(18, 3), False),
        (pa.decimal128(19, 3), True),
        (pa.string(), True),
        (pa.string_view(), True),
        (pa.int64(), False),
        (pa.float64(), False),
    ],
)
def test_keys_of_more_than_64_bits_are_bytes(type_, wide):
    assert has_byte_keys(Column(("x",), type_)) is wide


@pytest.mark.parametrize("type_", [pa.binary(), pa.struct([("a", pa.int8())]), pa.list_(pa.int8())])
def test_what_only_is_null_can_test_has_two_codes(type_):
    column = Column(("x",), type_)
    packed = pack(table_of([InValues(column, ONLY_NULL), InValues(column, ALL_KNOWN)]))
    assert packed.boundaries[0].codes == 2
    assert [[accepts(packed, n, code) for code in (0, 1)] for n in (0, 1)] == [
        [True, False],
        [False, True],
    ]


def test_no_predicates_are_no_columns():
    packed = pack(table_of([]))
    assert packed.columns == []
    assert len(packed.predicates) == 0
