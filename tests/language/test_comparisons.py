"""Comparisons as sets of keys against the obvious comparison of every key."""

import datetime as dt
import math
import operator
from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from caddis.language import literals
from caddis.language.columns import exact_limits, float_key
from caddis.language.comparisons import TypeMismatch, compare, listed_together
from caddis.language.literals import Literal
from caddis.language.predicates import ALL_KNOWN, NOTHING

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<=>": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
operators = st.sampled_from(sorted(OPERATORS))
finite = st.floats(allow_nan=False, allow_infinity=False)


def exact(value: int | Decimal) -> Literal:
    text = str(value).removeprefix("-")
    kind = "d" if "." in text or isinstance(value, Decimal) else "i"
    return literals.number(kind, text, negative=value < 0)


def double(value: float) -> Literal:
    return Literal(pa.float64(), value)


def text(value: str) -> Literal:
    return Literal(pa.string(), value)


# -- whole numbers and decimals


@given(operators, st.decimals(-200, 200, allow_nan=False, places=1) | st.integers(-200, 200))
@example("=", Decimal("127.5"))
@example("<", Decimal("-128.5"))
def test_a_tinyint_compares_exactly_with_whole_numbers_and_decimals(sign, value):
    found = compare(pa.int8(), sign, exact(value), "UTC")
    assert [key in found for key in range(-128, 128)] == [
        OPERATORS[sign](key, value) for key in range(-128, 128)
    ]


@given(operators, st.decimals(-12, 12, allow_nan=False, places=3) | st.integers(-12, 12))
def test_a_decimal_column_compares_with_the_literal_scaled(sign, value):
    type_ = pa.decimal128(3, 2)
    found = compare(type_, sign, exact(value), "UTC")
    low, high = exact_limits(type_)
    assert [key in found for key in range(low, high + 1)] == [
        OPERATORS[sign](Fraction(key, 100), Fraction(value)) for key in range(low, high + 1)
    ]


@given(operators, st.integers(10**29, 10**38 - 1), st.integers(-1, 1))
def test_a_wide_decimal_compares_exactly(sign, value, step):
    literal = exact(value)
    assert (value + step in compare(pa.decimal128(38, 0), sign, literal, "UTC")) == OPERATORS[sign](
        value + step, value
    )


@pytest.mark.parametrize(
    ("sign", "everything"), [("<", True), ("<=", True), (">", False), ("=", False)]
)
def test_a_literal_above_the_columns_range_is_above_every_value(sign, everything):
    expected = ALL_KNOWN if everything else NOTHING
    assert compare(pa.int8(), sign, exact(300), "UTC") == expected
    assert compare(pa.decimal128(3, 2), sign, exact(10), "UTC") == expected
    assert compare(pa.int32(), sign, double(1e300), "UTC") == expected


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "="])
def test_a_whole_number_beyond_bigint_is_refused_for_a_whole_column(sign):
    with pytest.raises(TypeMismatch, match="beyond the range of BIGINT"):
        compare(pa.int32(), sign, exact(2**63), "UTC")


NEAR_2_53 = [2**53 - 2, 2**53, 2**53 + 2, 2**54 + 4, -(2**53), 2**62, 2**63 - 1024, 2**63 - 1]


@given(operators, st.sampled_from(NEAR_2_53), st.integers(-3, 3))
def test_a_bigint_is_rounded_to_a_double_before_it_meets_one(sign, near, step):
    value = float(near)
    for _ in range(abs(step)):
        value = math.nextafter(value, math.copysign(math.inf, step))
    found = compare(pa.int64(), sign, double(value), "UTC")
    keys = [key for key in range(near - 20, near + 21) if -(2**63) <= key < 2**63]
    assert [key in found for key in keys] == [OPERATORS[sign](float(key), value) for key in keys]


def test_the_known_case_of_two_bigints_that_equal_one_double():
    found = compare(pa.int64(), "=", double(float(2**53)), "UTC")
    assert [key in found for key in range(2**53 - 1, 2**53 + 3)] == [False, True, True, False]


@given(operators, finite, st.integers(-(2**31), 2**31 - 1))
def test_an_int_compares_with_any_double_as_a_double(sign, value, key):
    assert (key in compare(pa.int32(), sign, double(value), "UTC")) == OPERATORS[sign](key, value)


@given(operators, st.integers(-(10**38) + 1, 10**38 - 1), st.integers(-2, 2))
@example("=", 10**37 + 4, 0)
def test_a_decimal_is_rounded_to_a_double_before_it_meets_one(sign, key, step):
    as_double = float(Decimal(key).scaleb(-37))
    value = as_double
    for _ in range(abs(step)):
        value = math.nextafter(value, math.copysign(math.inf, step))
    found = compare(pa.decimal128(38, 37), sign, double(value), "UTC")
    assert (key in found) == OPERATORS[sign](as_double, value)


@pytest.mark.parametrize(
    ("type_", "literal"),
    [
        (pa.decimal128(38, 0), exact(Decimal("0.5"))),
        (pa.decimal128(38, 37), exact(123456)),
        (pa.int32(), exact(Decimal("0." + "9" * 38))),
    ],
)
def test_what_spark_would_round_to_38_digits_is_refused(type_, literal):
    with pytest.raises(TypeMismatch, match="together they need more than DECIMAL's 38 digits"):
        compare(type_, "=", literal, "UTC")


def test_a_narrow_whole_number_is_as_wide_as_its_digits():
    assert 10**37 in compare(pa.decimal128(38, 37), "=", exact(1), "UTC")


# -- floats

FLOATS = [-math.inf, -1.5, -1e-300, -0.0, 0.0, 0.1, float(np.float32(0.1)), 1.5, math.inf, math.nan]


def sparks_order(value: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(value) else (False, value)


@given(operators, st.floats() | st.sampled_from(FLOATS), st.floats() | st.sampled_from(FLOATS))
def test_doubles_compare_with_nan_above_all_and_one_zero(sign, value, key):
    found = compare(pa.float64(), sign, double(value), "UTC")
    assert (float_key(key) in found) == OPERATORS[sign](sparks_order(key), sparks_order(value))


def test_a_float_column_meets_a_decimal_and_a_double_as_doubles():
    key = float_key(float(np.float32(0.1)))
    assert key not in compare(pa.float32(), "=", exact(Decimal("0.1")), "UTC")
    assert key not in compare(
        pa.float32(), "=", literals.number("D", "0.1D", negative=False), "UTC"
    )
    assert key in compare(pa.float32(), "=", literals.number("F", "0.1F", negative=False), "UTC")
    assert float_key(0.1) in compare(pa.float64(), "=", exact(Decimal("0.1")), "UTC")


# -- texts and Booleans


@given(operators, st.text(max_size=4), st.text(max_size=4))
@example("<", "\uffff", "😀")
@example("=", "a ", "a")
def test_texts_compare_by_their_bytes(sign, value, key):
    found = compare(pa.string(), sign, text(value), "UTC")
    assert (key.encode() in found) == OPERATORS[sign](key.encode(), value.encode())


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("value", [False, True])
def test_false_is_below_true(sign, value):
    found = compare(pa.bool_(), sign, Literal(pa.bool_(), value), "UTC")
    assert [key in found for key in (0, 1)] == [OPERATORS[sign](key, value) for key in (0, 1)]


# -- dates and times

DAYS = [dt.date(2024, 3, 30), dt.date(2024, 3, 31), dt.date(2024, 4, 1), dt.date(2018, 11, 4)]
ZONES = ["UTC", "Europe/Dublin", "America/Sao_Paulo", "Asia/Kolkata"]


def midnight(key: int, zone: str) -> dt.datetime:
    """The first moment of a day, by looking for it minute by minute."""
    day = dt.date(1970, 1, 1) + dt.timedelta(days=key)
    moment = dt.datetime.combine(day, dt.time(), dt.UTC) - dt.timedelta(hours=15)
    while moment.astimezone(ZoneInfo(zone)).date() < day:
        moment += dt.timedelta(minutes=15)
    return moment


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("day", DAYS, ids=str)
@pytest.mark.parametrize("minutes", [-1, 0, 1, 60, 720])
def test_a_date_column_meets_a_timestamp_at_its_midnight_in_the_zone(zone, day, minutes):
    around = (day - dt.date(1970, 1, 1)).days
    moment = midnight(around, zone) + dt.timedelta(minutes=minutes)
    literal = literals.timestamp(moment.strftime("%Y-%m-%d %H:%M:%SZ"), zone)
    keys = range(around - 3, around + 4)
    for sign, holds in OPERATORS.items():
        found = compare(pa.date32(), sign, literal, zone)
        assert [key in found for key in keys] == [
            holds(midnight(key, zone), moment) for key in keys
        ]


def test_a_day_that_a_zone_left_out_begins_with_the_next():
    keys = range(15_336, 15_341)
    assert dt.date(1970, 1, 1) + dt.timedelta(days=15_338) == dt.date(2011, 12, 30)
    literal = literals.timestamp("2011-12-31 00:00:00", "Pacific/Apia")
    found = compare(pa.date32(), "=", literal, "Pacific/Apia")
    assert [key in found for key in keys] == [False, False, True, True, False]


@pytest.mark.parametrize("moment", ["0001-01-01 00:00:00", "9999-12-31 23:59:59"])
def test_a_date_column_meets_the_first_and_the_last_timestamp(moment):
    literal = literals.timestamp(moment, "UTC")
    assert 0 in compare(pa.date32(), "<" if moment > "1970" else ">", literal, "UTC")


def test_a_date_column_meets_a_text_as_a_date_without_its_time():
    assert 1 in compare(pa.date32(), "=", text("1970-01-02 23:00"), "UTC")


def test_a_timestamp_column_meets_a_date_at_its_midnight():
    type_ = pa.timestamp("us", "Europe/Dublin")
    found = compare(type_, "=", literals.date("2024-07-01"), "Europe/Dublin")
    moment = dt.datetime(2024, 6, 30, 23, tzinfo=dt.UTC)
    assert int(moment.timestamp()) * 1_000_000 in found


def test_a_wall_clock_column_meets_a_date_at_its_midnight_in_no_zone():
    assert 86_400_000_000 in compare(
        pa.timestamp("us"), "=", literals.date("1970-01-02"), "Europe/Dublin"
    )


def test_a_timestamp_column_reads_a_text_in_the_zone_and_a_wall_clock_column_does_not():
    literal = text("1970-01-01 01:00:00")
    assert 0 in compare(pa.timestamp("us", "UTC"), "=", literal, "Europe/Paris")
    assert 3_600_000_000 in compare(pa.timestamp("us"), "=", literal, "Europe/Paris")


# -- what does not fit

ONE, HALF, NAME, YES = exact(1), double(0.5), text("x"), Literal(pa.bool_(), True)
NEW_YEAR = literals.date("2024-01-01")
MOMENT, WALL = literals.timestamp("2024-01-01", "UTC"), literals.timestamp_ntz("2024-01-01")


@pytest.mark.parametrize(
    ("type_", "literal", "message"),
    [
        (pa.int32(), NAME, "the column is INT, the literal STRING"),
        (pa.int8(), YES, "the column is TINYINT, the literal BOOLEAN"),
        (pa.decimal128(9, 2), NEW_YEAR, "the column is DECIMAL(9,2), the literal DATE"),
        (pa.float32(), NAME, "the column is FLOAT, the literal STRING"),
        (pa.float64(), YES, "the column is DOUBLE, the literal BOOLEAN"),
        (pa.string(), ONE, "the column is STRING, the literal INT"),
        (pa.string(), NEW_YEAR, "the column is STRING, the literal DATE"),
        (pa.bool_(), ONE, "the column is BOOLEAN, the literal INT"),
        (pa.bool_(), NAME, "the column is BOOLEAN, the literal STRING"),
        (pa.date32(), HALF, "the column is DATE, the literal DOUBLE"),
        (pa.date32(), WALL, "the column is DATE, the literal TIMESTAMP_NTZ"),
        (pa.timestamp("us", "UTC"), ONE, "the column is TIMESTAMP, the literal INT"),
        (
            pa.timestamp("us", "UTC"),
            WALL,
            "the column is TIMESTAMP, the literal TIMESTAMP_NTZ; write TIMESTAMP '...'",
        ),
        (
            pa.timestamp("us"),
            MOMENT,
            "the column is TIMESTAMP_NTZ, the literal TIMESTAMP; write TIMESTAMP_NTZ '...'",
        ),
    ],
)
def test_types_without_a_common_one_are_refused_and_both_named(type_, literal, message):
    with pytest.raises(TypeMismatch) as problem:
        compare(type_, "=", literal, "UTC")
    assert str(problem.value) == f"type mismatch: {message}"


# -- lists


def test_one_double_in_a_list_makes_all_of_it_doubles():
    items = listed_together(pa.int64(), [exact(2**53), HALF], in_array=False)
    assert items == [double(float(2**53)), HALF]


def test_in_a_list_whole_numbers_have_the_width_of_their_type():
    with pytest.raises(TypeMismatch, match="38 digits"):
        listed_together(pa.decimal128(38, 37), [exact(1)], in_array=False)


def test_a_list_of_exact_numbers_stays_exact():
    items = [exact(1), exact(Decimal("2.5"))]
    assert listed_together(pa.int64(), items, in_array=False) == items


def test_only_in_casts_texts_to_dates():
    items = [text("2024-01-01")]
    assert listed_together(pa.date32(), items, in_array=False) == items
    with pytest.raises(TypeMismatch, match="the column is DATE, the literal STRING"):
        listed_together(pa.date32(), items, in_array=True)


@pytest.mark.parametrize(
    ("type_", "literal"), [(pa.float32(), ONE), (pa.int32(), Literal(pa.float32(), 0.5))]
)
def test_array_contains_refuses_what_spark_would_compare_as_float(type_, literal):
    with pytest.raises(TypeMismatch, match="give it the elements' type, as in 5F or 5D"):
        listed_together(type_, [literal], in_array=True)
    assert listed_together(type_, [literal], in_array=False)


def test_dates_and_timestamps_are_not_mixed_in_one_list():
    with pytest.raises(TypeMismatch, match="do not mix it with other types in one list"):
        listed_together(pa.date32(), [NEW_YEAR, MOMENT], in_array=False)


@given(st.decimals(-1000, 1000, places=2))
def test_floor_of_the_literal_decides_what_a_whole_column_can_equal(value):
    found = compare(pa.int32(), "<=", exact(value), "UTC")
    floor = int(value.to_integral_value(ROUND_FLOOR))
    assert (floor in found, floor + 1 in found) == (True, False)
