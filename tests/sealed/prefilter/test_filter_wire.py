"""Filters come back from the wire as they were; what no sender would send is reported by row."""

from __future__ import annotations

from math import log2

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import FilterError
from caddis.sealed.prefilter.wire import decode, encode
from tests.sealed.plain_filters import Places, packed, random_filters, unpacked

PLACES = st.sets(st.integers(0, 191), max_size=100)
FILTERS = st.lists(PLACES, max_size=8)


def rice(places: Places, size: int, parameter: int) -> bytes:
    """A plain twin: a text of bits, the first of them the lowest."""
    bits, before = "", -1
    for place in [*sorted(places), size]:
        gap = place - before - 1
        lowest = format(gap % (1 << parameter), f"0{parameter}b")[::-1] if parameter else ""
        bits += "0" * (gap >> parameter) + "1" + lowest
        before = place
    bits += "0" * (-len(bits) % 8)
    codes = bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, len(bits), 8))
    return bytes([1 + parameter]) + codes


def binary(blobs: list[bytes] | list[bytes | None]) -> pa.BinaryArray:
    return pa.array(blobs, pa.binary())


@given(FILTERS, st.booleans())
def test_filters_come_back(rows, compressed):
    filters = packed(rows, 3)
    again, formed = decode(binary(encode(filters, compressed=compressed)), 192)
    assert formed.all()
    assert unpacked(again) == rows


@given(FILTERS)
def test_a_compressed_filter_is_the_shortest_of_all_forms(rows):
    for places, blob in zip(rows, encode(packed(rows, 3), compressed=True), strict=True):
        forms = [rice(places, 192, parameter) for parameter in range(17)]
        assert len(blob) == min(25, *map(len, forms))
        assert blob[0] == 0 or blob == forms[blob[0] - 1]


@given(PLACES, st.integers(0, 16))
def test_every_parameter_can_be_read(places, parameter):
    again, formed = decode(binary([rice(places, 192, parameter)]), 192)
    assert formed.all()
    assert unpacked(again) == [places]


@given(FILTERS, st.booleans(), st.data())
def test_a_part_of_a_filter_is_no_filter(rows, compressed, data):
    blobs = encode(packed(rows, 3), compressed=compressed)
    cut = [blob[: data.draw(st.integers(0, len(blob) - 1))] for blob in blobs]
    filters, formed = decode(binary(cut), 192)
    assert not formed.any()
    assert not filters.any()


@given(FILTERS, st.booleans(), st.binary(min_size=1, max_size=3))
def test_what_follows_a_filter_is_refused(rows, compressed, more):
    blobs = [blob + more for blob in encode(packed(rows, 3), compressed=compressed)]
    assert not decode(binary(blobs), 192)[1].any()


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_strange_bytes_are_refused_or_a_filter(blobs):
    filters, formed = decode(binary(blobs), 192)
    for blob, places, well in zip(blobs, unpacked(filters), formed, strict=True):
        if not well:
            assert places == set()
        elif blob[0]:
            assert blob == rice(places, 192, blob[0] - 1)
        else:
            assert blob[1:] == packed([places], 3).tobytes()


@pytest.mark.parametrize(
    "blob",
    [b"", b"\x00", b"\x01", b"\x12" + bytes(9), b"\xff" * 30, b"\x01" + bytes(1000), b"\x11\xff"],
)
def test_hostile_bytes_are_refused(blob):
    assert not decode(binary([blob]), 64)[1].any()


def test_a_refused_row_does_not_touch_its_neighbours():
    good = encode(packed([{5}, {60}], 1), compressed=True)
    filters, formed = decode(binary([good[0], b"\x01\x00", None, good[1]]), 64)
    assert formed.tolist() == [True, False, False, True]
    assert unpacked(filters) == [{5}, set(), set(), {60}]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_a_slice_of_an_array_is_read_from_where_it_begins(kind):
    rows = [{1}, {2}, {3}, {4}]
    blobs = pa.array(encode(packed(rows, 1), compressed=True), kind)
    filters, formed = decode(blobs.slice(1, 2), 64)
    assert formed.all()
    assert unpacked(filters) == rows[1:3]


def test_offsets_that_point_elsewhere_are_not_followed():
    ends = np.array([0, 9, 900, 9, 9], np.int32)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(bytes(9))]
    damaged = pa.Array.from_buffers(pa.binary(), 4, buffers)
    assert decode(damaged, 64)[1].tolist() == [True, False, False, False]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_no_rows_are_no_filters(kind):
    filters, formed = decode(pa.array([], kind), 128)
    assert filters.shape == (0, 2)
    assert formed.tolist() == []
    assert encode(filters, compressed=True) == []


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_rice_codes_are_within_a_tenth_of_the_entropy(share):
    rng = np.random.default_rng(0)
    bits = rng.random((200, 2048)) < share
    filters = np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    size = np.mean([len(blob) for blob in encode(filters, compressed=True)])
    entropy = -share * log2(share) - (1 - share) * log2(1 - share)
    assert 0.95 * 256 * entropy < size < 1.1 * 256 * entropy + 2


def test_a_half_full_filter_is_sent_as_it_is():
    filters = random_filters(np.random.default_rng(0), 20, 9, 0.5)
    assert {len(blob) for blob in encode(filters, compressed=True)} == {73}


def test_filters_on_the_wire_have_whole_words():
    with pytest.raises(FilterError, match="multiple of 64"):
        decode(binary([]), 100)
