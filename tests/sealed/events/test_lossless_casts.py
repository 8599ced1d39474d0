"""What is sealed is what was published: a type changes only where no value does."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.sealed.events.payloads import cast_losslessly

NOON = dt.datetime(2024, 2, 29, 12)
NTZ, ZONED = pa.timestamp("us"), pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (pa.array([5, None], pa.int64()), pa.int8()),
        (pa.array([5], pa.uint64()), pa.int64()),
        (pa.array([5, 2**53], pa.int64()), pa.float64()),
        (pa.array([2.0, -0.0]), pa.int32()),
        (pa.array([1.5, math.nan, math.inf, -0.0, None]), pa.float32()),
        (pa.array([0.1], pa.float32()), pa.float64()),
        (pa.array([Decimal("1.50")]), pa.decimal128(9, 1)),
        (pa.array([7], pa.int16()), pa.decimal128(9, 1)),
        (pa.array(["a", None]), pa.large_string()),
        (pa.array(["a", None], pa.string_view()), pa.string()),
        (pa.array([7, None]).dictionary_encode(), pa.int8()),
        (pa.array([b"a"], pa.large_binary()), pa.binary()),
        (pa.array([NOON], pa.timestamp("s")), NTZ),
        (pa.array([NOON], pa.timestamp("ms", "Europe/Dublin")), ZONED),
        (pa.array([NOON.date()], pa.date64()), pa.date32()),
        (pa.nulls(2), pa.timestamp("us")),
        (pa.array([[1.5, math.nan], None, []]), pa.list_(pa.float32())),
        (pa.array([[1.5, 2.0]]), pa.list_(pa.float32(), 2)),
        (pa.array([{"a": 1.5}, None]), pa.struct([("a", pa.float32())])),
        (pa.array([{"b": 1}]), pa.struct([("a", pa.string()), ("b", pa.int8())])),
    ],
    ids=str,
)
def test_types_that_hold_the_same_values_are_changed(array: pa.Array, wanted: pa.DataType):
    found = cast_losslessly(array, wanted)
    assert found is not None
    assert found.type == wanted
    if not pa.types.is_struct(wanted):
        assert repr(found.to_pylist()) == repr(array.cast(wanted, safe=False).to_pylist())


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (pa.array([200], pa.int64()), pa.int8()),
        (pa.array([2**53 + 1], pa.int64()), pa.float64()),
        (pa.array([1.5]), pa.int32()),
        (pa.array([0.1]), pa.float32()),
        (pa.array([1e300]), pa.float32()),
        (pa.array([1.5]), pa.decimal128(9, 1)),
        (pa.array([Decimal("1.25")]), pa.decimal128(9, 1)),
        (pa.array([Decimal("0.1")]), pa.float64()),
        (pa.array([[1e300]]), pa.list_(pa.float32())),
        (pa.array([{"a": 0.1}]), pa.struct([("a", pa.float32())])),
        (pa.array([{"a": 1, "b": 2}]), pa.struct([("a", pa.int64())])),
        (pa.array([10**14], pa.timestamp("s")), NTZ),
        (pa.array([[10**14]], pa.list_(pa.timestamp("s"))), pa.list_(NTZ)),
        (pa.array([10**17], pa.timestamp("ms", "UTC")), ZONED),
        (pa.array([NOON]), pa.date32()),
        (pa.array([dt.datetime(2024, 2, 29)]), pa.date32()),
        (pa.array([NOON.date()]), NTZ),
        (pa.array([NOON]), ZONED),
        (pa.array([5]), NTZ),
        (pa.array([12]), pa.string()),
        (pa.array(["12"]), pa.int32()),
        (pa.array([True]), pa.int32()),
        (pa.array([1]), pa.bool_()),
        (pa.array(["a"]), pa.binary()),
        (pa.array([10], pa.time64("us")), pa.time32("s")),
        (pa.array([bytes(16)], pa.uuid()), pa.binary(16)),
    ],
    ids=str,
)
def test_what_would_change_a_value_or_its_meaning_is_refused(array, wanted):
    assert cast_losslessly(array, wanted) is None


def test_what_is_below_a_microsecond_is_cut_off():
    times = pa.array([1_999, -1_999, None], pa.timestamp("ns"))
    found = cast_losslessly(times, NTZ)
    assert found is not None
    assert found.equals(pa.array([1, -1, None], NTZ))


TEXT, WIDE, WORD = pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.map_(WIDE, pa.int32()), pa.map_(TEXT, pa.int32())),
        (pa.map_(TEXT, pa.int64()), pa.map_(TEXT, pa.int8())),
        (pa.map_(TEXT, pa.float64()), pa.map_(TEXT, pa.float32())),
        (pa.map_(WIDE, pa.list_(pa.float64())), pa.map_(TEXT, pa.list_(pa.float32()))),
        (pa.list_(pa.map_(WIDE, pa.int64())), pa.list_(pa.map_(TEXT, pa.int16()))),
    ],
    ids=str,
)
def test_maps_are_changed_as_are_their_keys_and_values(found, wanted):
    value: object = 1
    if pa.types.is_map(found) and pa.types.is_list(found.item_type):
        value = [1, None]
    maps: list[object] = [[("a", value), ("b", None)], None, []]
    rows = maps if pa.types.is_map(found) else [maps, None]
    changed = cast_losslessly(pa.array(rows, found), wanted)
    assert changed is not None
    assert changed.equals(pa.array(rows, wanted))


def test_keys_of_maps_may_be_dictionaries():
    plain = pa.array([[("a", 1), ("b", 2)], []], pa.map_(TEXT, pa.int64()))
    encoded = pa.MapArray.from_arrays(plain.offsets, plain.keys.cast(WORD), plain.items)
    changed = cast_losslessly(encoded, plain.type)
    assert changed is not None
    assert changed.equals(plain)


@pytest.mark.parametrize(
    ("found", "wanted", "value"),
    [
        (pa.map_(TEXT, pa.int64()), pa.map_(TEXT, pa.int8()), 200),
        (pa.map_(TEXT, pa.float64()), pa.map_(TEXT, pa.float32()), 0.1),
        (pa.map_(TEXT, pa.int64()), pa.map_(pa.binary(), pa.int64()), 1),
        (pa.map_(TEXT, pa.int64()), pa.map_(TEXT, TEXT), 1),
        (pa.map_(TEXT, pa.int64()), pa.list_(TEXT), 1),
    ],
    ids=str,
)
def test_maps_whose_values_would_change_are_refused(found, wanted, value):
    maps = pa.array([[("a", value)], None], found)
    assert cast_losslessly(maps, wanted) is None


def test_rows_that_are_cut_off_do_not_hold_up_a_map():
    maps = pa.array([[("a", 1.5)], [("b", 0.1)]], pa.map_(TEXT, pa.float64()))
    assert cast_losslessly(maps[:1], pa.map_(TEXT, pa.float32())) is not None
    assert cast_losslessly(maps[1:], pa.map_(TEXT, pa.float32())) is None


@given(st.lists(st.none() | st.floats()))
def test_doubles_become_floats_only_if_they_are_some(values: list[float | None]):
    exact = all(
        value is None or math.isnan(value) or pa.scalar(value, pa.float32()).as_py() == value
        for value in values
    )
    assert (cast_losslessly(pa.array(values, pa.float64()), pa.float32()) is not None) == exact
