"""Names are found as Spark finds them, and keys have the order of Spark's values."""

import math
import struct
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.language.columns import (
    Columns,
    UnknownColumn,
    exact_limits,
    float_key,
    is_comparable,
    scale_of,
    sql_type,
)

SCHEMA = pa.schema(
    [
        ("Price", pa.int32()),
        (
            "seller",
            pa.struct([("Name", pa.string()), ("home", pa.struct([("city", pa.string())]))]),
        ),
        ("tags", pa.list_(pa.string())),
        ("scores", pa.large_list(pa.float64())),
        ("pair", pa.list_(pa.int8(), 2)),
        ("twin", pa.int8()),
        ("Twin", pa.int8()),
        ("a.b", pa.int8()),
    ]
)


@pytest.mark.parametrize(
    ("parts", "name", "type_"),
    [
        (("price",), "Price", pa.int32()),
        (("PRICE",), "Price", pa.int32()),
        (("SELLER", "name"), "seller.Name", pa.string()),
        (("seller", "home", "CITY"), "seller.home.city", pa.string()),
        (("a.b",), "a.b", pa.int8()),
    ],
)
def test_a_column_is_found_regardless_of_case_and_keeps_its_own_name(parts, name, type_):
    column = Columns(SCHEMA).find(parts)
    assert (column.name, column.type, column.repeated) == (name, type_, False)


@pytest.mark.parametrize(
    ("name", "sql"),
    [("tags", "ARRAY<STRING>"), ("scores", "ARRAY<DOUBLE>"), ("pair", "ARRAY<TINYINT>")],
)
def test_every_kind_of_list_is_an_array_of_its_elements(name, sql):
    column = Columns(SCHEMA).find((name,))
    assert column.repeated
    assert column.sql_type == sql


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (("pricee",), "unknown column 'pricee'; did you mean 'Price'?"),
        (("PRISE",), "unknown column 'PRISE'; did you mean 'Price'?"),
        (("seller", "nam"), "unknown column 'seller.nam'; did you mean 'seller.Name'?"),
        (("Price", "x"), "unknown column 'Price.x'; did you mean 'Price'?"),
        (("twin",), "ambiguous column 'twin': it could be 'twin' and 'Twin'"),
        (
            ("zzz",),
            (
                "unknown column 'zzz'; the columns are Price, seller.Name, seller.home.city, tags, "
                "scores, pair, twin, Twin, a.b"
            ),
        ),
    ],
)
def test_a_name_that_is_not_one_column_says_what_would_be_right(parts, message):
    with pytest.raises(UnknownColumn) as problem:
        Columns(SCHEMA).find(parts)
    assert str(problem.value) == message


def test_of_many_columns_a_dozen_are_named():
    schema = pa.schema([(f"column_{i}", pa.int8()) for i in range(13)])
    with pytest.raises(UnknownColumn, match=r"column_11, \.\.\.$"):
        Columns(schema).find(("zzz",))


FLOATS = [
    -math.inf,
    -1.7976931348623157e308,
    -1.0,
    -2.2250738585072014e-308,
    -5e-324,
    0.0,
    5e-324,
    2.2250738585072014e-308,
    1.0,
    math.nextafter(1.0, 2.0),
    1.7976931348623157e308,
    math.inf,
    math.nan,
]


def test_float_keys_ascend_from_minus_infinity_to_nan():
    assert all(low < high for low, high in pairwise(map(float_key, FLOATS)))


def test_minus_zero_is_zero():
    assert float_key(-0.0) == float_key(0.0) == 0


def test_every_nan_is_the_same():
    other = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0001))[0]
    assert float_key(other) == float_key(math.nan)


@given(st.floats(), st.floats())
def test_float_keys_have_sparks_order_of_doubles(a, b):
    spark = (math.isnan(a), a if not math.isnan(a) else 0.0) < (
        math.isnan(b),
        b if not math.isnan(b) else 0.0,
    )
    assert (float_key(a) < float_key(b)) == spark


@given(st.floats())
def test_float_keys_fit_64_bits(a):
    assert -(1 << 63) <= float_key(a) < 1 << 63


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        (pa.bool_(), "BOOLEAN"),
        (pa.int8(), "TINYINT"),
        (pa.int16(), "SMALLINT"),
        (pa.int32(), "INT"),
        (pa.int64(), "BIGINT"),
        (pa.float32(), "FLOAT"),
        (pa.float64(), "DOUBLE"),
        (pa.decimal128(38, 37), "DECIMAL(38,37)"),
        (pa.string(), "STRING"),
        (pa.large_string(), "STRING"),
        (pa.string_view(), "STRING"),
        (pa.date32(), "DATE"),
        (pa.timestamp("us"), "TIMESTAMP_NTZ"),
        (pa.timestamp("ns", "Europe/Dublin"), "TIMESTAMP"),
        (pa.binary(), "BINARY"),
        (pa.struct([("a", pa.int8())]), "STRUCT<a: TINYINT>"),
    ],
)
def test_types_are_named_in_sparks_words(type_, name):
    assert sql_type(type_) == name


@pytest.mark.parametrize(
    "type_", [pa.binary(), pa.struct([]), pa.map_(pa.string(), pa.string()), pa.list_(pa.int8())]
)
def test_what_has_no_order_of_keys_is_not_comparable(type_):
    assert not is_comparable(type_)


@pytest.mark.parametrize(
    ("type_", "lowest", "highest"),
    [
        (pa.int8(), -128, 127),
        (pa.int64(), -(2**63), 2**63 - 1),
        (pa.decimal128(3, 2), -999, 999),
        (pa.decimal128(38, 0), -(10**38) + 1, 10**38 - 1),
    ],
)
def test_exact_types_know_their_limits(type_, lowest, highest):
    assert exact_limits(type_) == (lowest, highest)


def test_the_scale_of_a_whole_number_is_zero():
    assert (scale_of(pa.int64()), scale_of(pa.decimal128(9, 4))) == (0, 4)
