"""Literals have the types and values that Spark gives them, or are refused with a reason."""

import datetime as dt
import math
from decimal import Decimal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.language import literals
from caddis.language.literals import Literal, LiteralProblem
from caddis.language.shapes import lift

HOUR = 3_600_000_000
DAY = 24 * HOUR


def number(text: str, *, negative: bool = False) -> Literal:
    shape, (lifted,) = lift(f"x = {text}")
    assert lifted == text
    return literals.number(shape.kinds, text, negative=negative)


def string(text: str) -> str:
    shape, (lifted,) = lift(f"x = {text}")
    assert lifted == text
    return literals.string(shape.kinds, text)


def refusal(make, *arguments) -> str:
    with pytest.raises(LiteralProblem) as problem:
        make(*arguments)
    return str(problem.value)


# -- numbers


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("0", pa.int32(), 0),
        ("2147483647", pa.int32(), 2**31 - 1),
        ("2147483648", pa.int64(), 2**31),
        ("9223372036854775807", pa.int64(), 2**63 - 1),
        ("9223372036854775808", pa.decimal128(19, 0), Decimal(2**63)),
        ("5L", pa.int64(), 5),
        ("5l", pa.int64(), 5),
        ("5S", pa.int16(), 5),
        ("5Y", pa.int8(), 5),
        ("1.5", pa.decimal128(2, 1), Decimal("1.5")),
        ("0.5", pa.decimal128(1, 1), Decimal("0.5")),
        (".5", pa.decimal128(1, 1), Decimal("0.5")),
        ("0.05", pa.decimal128(2, 2), Decimal("0.05")),
        ("5.", pa.decimal128(1, 0), Decimal(5)),
        ("1.50", pa.decimal128(3, 2), Decimal("1.50")),
        ("1.5BD", pa.decimal128(2, 1), Decimal("1.5")),
        ("5bd", pa.decimal128(1, 0), Decimal(5)),
        ("1e3BD", pa.decimal128(4, 0), Decimal("1e3")),
        ("1e3", pa.float64(), 1000.0),
        ("1.5E-3", pa.float64(), 0.0015),
        ("1D", pa.float64(), 1.0),
        (".5d", pa.float64(), 0.5),
        ("1e-40D", pa.float64(), 1e-40),
        ("3.4e+38d", pa.float64(), 3.4e38),
        ("0.5F", pa.float32(), 0.5),
        ("0.1f", pa.float32(), 0.10000000149011612),
        ("1e-60", pa.float64(), 1e-60),
    ],
)
def test_a_number_has_sparks_type(text, type_, value):
    assert number(text) == Literal(type_, value)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("2147483648", pa.int32()),
        ("9223372036854775808", pa.int64()),
        ("128Y", pa.int8()),
        ("32768S", pa.int16()),
        ("9223372036854775808L", pa.int64()),
    ],
)
def test_the_sign_belongs_to_the_literal_so_the_lowest_number_fits(text, type_):
    found = number(text, negative=True)
    assert found.type == type_
    assert found.value == -int(text.rstrip("YSL"))


def test_a_negative_decimal_keeps_its_digits():
    assert number("1.50", negative=True) == Literal(pa.decimal128(3, 2), Decimal("-1.50"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("128Y", "128Y is out of range for its suffix"),
        ("32768S", "32768S is out of range for its suffix"),
        ("9223372036854775808L", "9223372036854775808L is out of range for its suffix"),
        ("1e400", "1e400 is too large for a DOUBLE"),
        ("1e400D", "1e400 is too large for a DOUBLE"),
        ("1e40F", "1e40 is too large for a FLOAT"),
        ("1.5L", "'1.5L' has a suffix for whole numbers but is not one"),
        ("9" * 39, f"{'9' * 39} has 39 digits; a DECIMAL holds 38"),
        ("0." + "1" * 39, f"0.{'1' * 39} has 39 digits; a DECIMAL holds 38"),
        (
            "1_000",
            (
                "'1_000' is not a number; a column name that starts with a digit is written in "
                "backquotes"
            ),
        ),
        (
            "0x1F",
            (
                "'0x1F' is not a number; a column name that starts with a digit is written in "
                "backquotes"
            ),
        ),
    ],
)
def test_a_number_that_spark_refuses_is_refused(text, reason):
    assert refusal(number, text) == reason


def test_the_longest_decimal_has_38_digits():
    assert number("9" * 38).type == pa.decimal128(38, 0)
    assert number("0." + "1" * 38).type == pa.decimal128(38, 38)


@given(st.integers(0, 10**38 - 1), st.integers(0, 38))
def test_a_decimal_is_the_number_that_was_written(unscaled, scale):
    digits = str(unscaled).rjust(scale, "0")
    text = f"{digits[: len(digits) - scale]}.{digits[len(digits) - scale :]}"
    assert number(text).value == Decimal(text)


@given(st.floats(min_value=0, allow_infinity=False, allow_nan=False))
def test_a_double_is_the_number_that_was_written(value):
    found = number(f"{value!r}D").value
    assert isinstance(found, float)
    assert math.copysign(1, found) == 1
    assert found == value


# -- strings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ('"a ""b"""', 'a "b"'),
        ('"it\'s"', "it's"),
        (r"'it\'s'", "it's"),
        (r"'a\nb\tc\rd\be\0f\Zg'", "a\nb\tc\rd\be\0f\x1ag"),
        (r"'\\n'", r"\n"),
        (r"'50\% a\_b'", r"50\% a\_b"),
        (r"'\u00e9\U0001F600'", "é😀"),
        (r"'\101\18\377\400'", "A18377400"),
        (r"'\a\f\v\x41\q'", "afvx41q"),
        ("'a\\\nb'", "a\nb"),
        (r"r'raw\n\%'", r"raw\n\%"),
        (r'R"raw\q"', r"raw\q"),
        ("''", ""),
        ("''''", "'"),
        ("'é😀'", "é😀"),
        (r"'\\''x'", r"\'x"),
        (r"'\''''", "''"),
    ],
)
def test_a_string_has_sparks_value(text, value):
    assert string(text) == value


def test_a_pair_of_escaped_surrogates_is_one_character():
    assert string(r"'\uD83D\uDE00'") == "😀"


@pytest.mark.parametrize("text", [r"'\U00110000'", r"'\uD800'", r"'\uDE00\uD83D'", r"'a\uD83D'"])
def test_an_escape_that_is_no_character_is_refused(text):
    assert refusal(string, text)


def test_a_variable_is_refused_since_spark_would_replace_it():
    assert refusal(string, "'a ${b}'") == (
        "Spark replaces ${...} in SQL texts, so it cannot stand in a string"
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
def test_a_text_with_doubled_quotes_and_backslashes_is_read_back(text):
    if "${" not in text:
        escaped = text.replace("\\", "\\\\").replace("'", "''")
        assert string(f"'{escaped}'").replace("\\%", "%") == text.replace("\\%", "%")


# -- dates and times


def date_key(year: int, month: int, day: int) -> int:
    return (dt.date(year, month, day) - dt.date(1970, 1, 1)).days


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-01-31", (2024, 1, 31)),
        ("2024-1-3", (2024, 1, 3)),
        ("2024-05", (2024, 5, 1)),
        ("2024", (2024, 1, 1)),
        ("2024-02-29", (2024, 2, 29)),
        (" \t2024-01-31\n", (2024, 1, 31)),
        ("2024-01-31 10:00", (2024, 1, 31)),
        ("2024-01-31T", (2024, 1, 31)),
        ("2024-01-31 nonsense", (2024, 1, 31)),
        ("0001-01-01", (1, 1, 1)),
        ("9999-12-31", (9999, 12, 31)),
    ],
)
def test_a_date_may_be_short_and_its_time_is_thrown_away(text, day):
    assert literals.date(text) == Literal(pa.date32(), date_key(*day))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "24-01-01",
        "20240101",
        "2024/01/01",
        "2024-01-",
        "2024-01-01Z",
        "2024-02-30",
        "2023-02-29",
        "2024-13-01",
        "2024-00-01",
        "\xa02024-01-01",
        "today",
        "٢٠٢٤-01-01",
    ],
)
def test_what_is_no_date_is_refused(text):
    assert refusal(literals.date, text) == f"{text!r} is not a date; write it as 'YYYY-MM-DD'"


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01", 0),
        ("1970-01-02 00:00:00", DAY),
        ("1970-01-01T1", HOUR),
        ("1970-01-01 1:2", HOUR + 120_000_000),
        ("1970-01-01 01:00:00.5", HOUR + 500_000),
        ("1970-01-01 01:00:00.", HOUR),
        ("1970-01-01 00:00:00.123456789", 123_456),
        ("1970-01-01 01:00:00Z", HOUR),
        ("1970-01-01 01:00:00 Z", HOUR),
        ("1970-01-01 01:00:00UTC", HOUR),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1970-01-01 01:00:00 -1", 2 * HOUR),
        ("1970-01-01 01:00:00+18:00", -17 * HOUR),
        ("1970-01-01 01:00:00 UTC+1", 0),
        ("1970-01-01 01:00:00 GMT-01:30", 2 * HOUR + HOUR // 2),
        ("1970-07-01 01:00:00 America/New_York", 181 * DAY + 5 * HOUR),
        ("1969-12-31 23:59:59.999999", -1),
    ],
)
def test_a_timestamp_may_name_its_zone(text, micros):
    assert literals.timestamp(text, "UTC") == Literal(pa.timestamp("us", "UTC"), micros)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10:00",
        "now",
        "2024-01-01T",
        "2024-01-01 10:",
        "2024-01-01 10:60",
        "2024-01-01 24:00:00",
        "2024-01-01  10:00",
        "2024-01-01t10",
        "2024-01-01 10:00Z",
        "2024-01-01 10:00 +01:00",
        "2024-01-01 10:00:60",
        "2024-01-01 10:00:00z",
        "2024-01-01 10:00:00 Foo/Bar",
        "2024-01-01 10:00:00+18:01",
        "2024-01-01 10:00:00+1:60",
        "2024-01-01 10:00:00 ../UTC",
    ],
)
def test_what_is_no_timestamp_is_refused(text):
    expected = (
        f"{text!r} is not a timestamp; write it as 'YYYY-MM-DD HH:MM:SS', with a zone after it "
        "if it is not the session's"
    )
    assert refusal(literals.timestamp, text, "UTC") == expected
    assert refusal(literals.timestamp_ntz, text) == expected


def test_a_timestamp_without_a_zone_is_in_the_sessions():
    assert literals.timestamp("1970-01-01 01:00:00", "Europe/Paris").value == 0
    assert literals.timestamp("1970-01-01 01:00:00Z", "Europe/Paris").value == HOUR


def test_a_wall_clock_time_ignores_the_zone_in_it():
    expected = Literal(pa.timestamp("us"), HOUR)
    for text in (
        "1970-01-01 01:00:00",
        "1970-01-01 01:00:00+05:00",
        "1970-01-01 01:00:00 Asia/Tokyo",
    ):
        assert literals.timestamp_ntz(text) == expected


def micros(utc: str) -> int:
    return int(dt.datetime.fromisoformat(f"{utc}+00:00").timestamp()) * 1_000_000


def test_a_time_that_the_zone_skips_moves_forward():
    skipped = literals.timestamp("2024-03-31 01:30:00", "Europe/Dublin").value
    assert skipped == literals.timestamp("2024-03-31 02:30:00", "Europe/Dublin").value
    assert skipped == micros("2024-03-31 01:30")


def test_a_time_that_the_zone_has_twice_is_the_first():
    assert literals.timestamp("2024-10-27 01:30:00", "Europe/Dublin").value == micros(
        "2024-10-27 00:30"
    )


def test_before_the_railways_a_zone_is_its_local_mean_time():
    noon = literals.timestamp("1800-01-01 12:00:00", "Europe/Dublin").value
    assert noon == literals.timestamp_ntz("1800-01-01 12:25:21").value


@given(
    st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),
    st.sampled_from(["Europe/Dublin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]),
)
def test_an_instant_written_in_local_time_is_read_back(moment, zone):
    instant = moment.replace(tzinfo=dt.UTC)
    local = instant.astimezone(ZoneInfo(zone))
    found = literals.timestamp(local.strftime("%Y-%m-%d %H:%M:%S.%f"), zone).value
    first = local.replace(fold=0).astimezone(dt.UTC)
    assert found == (first - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def test_midnight_is_where_the_day_begins_in_the_zone():
    day = date_key(2024, 7, 1)
    assert literals.midnight(day, "UTC") == day * DAY
    assert literals.midnight(day, "Europe/Dublin") == day * DAY - HOUR


def test_a_midnight_that_the_zone_skips_is_the_first_moment_of_the_day():
    assert literals.midnight(date_key(2018, 11, 4), "America/Sao_Paulo") == micros(
        "2018-11-04 03:00"
    )


def test_an_unknown_session_zone_is_a_problem_that_names_it():
    with pytest.raises(Exception, match="Mars/Olympus"):
        literals.timestamp("2024-01-01", "Mars/Olympus")
