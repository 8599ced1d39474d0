"""Orders of keys rise with the keys, and tell apart what they say they do."""

from bisect import bisect_left
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.language.columns import exact_limits, float_key
from caddis.sealed.values.coordinates import DATES, TIMESTAMPS, orders_of

GAP = 2.0**-38
"""What sealed products tell apart: see `aspe.margin`."""

EXACT = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.decimal128(4, 2), pa.decimal128(10, 0), pa.decimal128(18, 6), pa.decimal128(38, 10)),
    pa.decimal256(76, 2),
]


def numbers(limit: int) -> st.SearchStrategy[int]:
    return st.one_of(
        st.integers(-limit, limit),
        st.integers(-1000, 1000),
        st.sampled_from([-limit, 1 - limit, limit - 1, limit, 2**53, 2**53 + 1, -(2**53) - 1]),
    )


def rises(keys, type_) -> bool:
    orders = orders_of(sorted(keys), type_)
    within = (orders >= 0).all() and (orders <= 1).all()
    return bool(within and (np.diff(orders) >= 0).all())


@given(st.sampled_from(EXACT), st.lists(numbers(10**80), min_size=2))
def test_orders_of_whole_numbers_and_decimals_never_fall(type_, keys):
    assert rises(keys, type_)


@pytest.mark.parametrize("type_", [pa.date32(), pa.timestamp("us", "UTC"), pa.bool_()])
def test_orders_of_days_and_times_never_fall(type_):
    keys = [-(2**63), -(10**17), *TIMESTAMPS, *DATES, -1, 0, 1, 2, 10**15, 10**17, 2**63 - 1]
    assert rises([*keys, *range(10**6, 10**6 + 9)], type_)


@given(st.lists(st.floats(), min_size=2))
def test_orders_of_doubles_never_fall(values):
    assert rises([float_key(value) for value in values], pa.float64())


@given(st.lists(st.binary(max_size=9), min_size=2))
def test_orders_of_texts_never_fall(keys):
    assert rises(keys, pa.string())


@given(st.sampled_from([pa.int8(), pa.int32(), pa.decimal128(9, 2)]), st.data())
def test_neighbours_of_small_types_are_told_apart(type_, data):
    lowest, highest = exact_limits(type_)
    key = data.draw(st.integers(lowest, highest - 1))
    low, high = orders_of([key, key + 1], type_)
    assert high - low > GAP


@given(st.integers(-(2**26), 2**26))
def test_neighbours_of_large_types_are_told_apart_while_they_are_small(key):
    for type_ in (pa.int64(), pa.decimal128(38, 2)):
        low, high = orders_of([key, key + 1], type_)
        assert high - low >= GAP


@given(st.integers(1, 2**62))
def test_one_part_in_2_to_the_26_is_told_of_large_numbers(key):
    low, high = orders_of([key, key + (key >> 26) + 1], pa.int64())
    assert high - low >= GAP


@given(st.floats(1e-300, 1e300))
def test_one_part_in_2_to_the_26_is_told_of_doubles(value):
    keys = [float_key(value), float_key(value * (1 + 2**-25))]
    low, high = orders_of(keys, pa.float64())
    assert high - low >= GAP


def test_days_are_told_apart():
    day = (date(2024, 2, 28) - date(1970, 1, 1)).days
    assert (np.diff(orders_of([day, day + 1, day + 2], pa.date32())) > GAP).all()


def test_a_tenth_of_a_second_is_told_of_times():
    at = int(datetime(2024, 2, 28).timestamp() * 1e6)
    assert (np.diff(orders_of([at, at + 100_000], pa.timestamp("us"))) > GAP).all()


def test_four_bytes_of_texts_are_told_apart():
    assert (np.diff(orders_of([b"Cork", b"Corl", b"Corl\x40"], pa.string())) > GAP).all()


def test_what_lies_outside_has_the_order_of_the_nearer_end():
    assert orders_of([-(2**40), 2**40], pa.int32()).tolist() == [0, 1]
    assert orders_of([TIMESTAMPS[0] - 1, TIMESTAMPS[1] + 1], pa.timestamp("us")).tolist() == [0, 1]


def test_no_keys_have_no_orders():
    for type_ in (pa.int32(), pa.int64(), pa.float64(), pa.string()):
        assert orders_of([], type_).shape == (0,)


@pytest.mark.parametrize("digits", [2, 20])
def test_decimals_are_ordered_as_their_values(digits):
    values = [Decimal(text) for text in ("-12.5", "-0.01", "0", "0.01", "3", "12.49", "12.5")]
    keys = [int(value.scaleb(2)) for value in values]
    orders = orders_of(keys, pa.decimal128(digits + 4, 2)).tolist()
    assert [bisect_left(orders, order) for order in orders] == list(range(len(values)))
