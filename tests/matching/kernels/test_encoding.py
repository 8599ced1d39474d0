"""The loops over Arrow buffers against Python's own bisection, hashing and comparison."""

import math
from bisect import bisect_left
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from caddis.arrays import Bytes, Int32s, Int64s
from caddis.language.columns import float_key
from caddis.matching.kernels import encoding as encode_kernels
from caddis.matching.kernels.encoding import code_of_int

int64s = st.integers(-(2**63), 2**63 - 1)
near_ints = st.integers(-20, 20) | int64s
byte_strings = st.binary(max_size=4) | st.sampled_from([b"", b"a", b"a\0", b"\xff", b"\xff\xff"])


def code(value: Any, keys: list[Any]) -> int:
    """What `packing` says: 2i + 2 for the boundary i, odd numbers for what lies between."""
    if value is None:
        return 0
    place = bisect_left(keys, value)
    return 2 * place + 2 if place < len(keys) and keys[place] == value else 2 * place + 1


def bitmap(valid: list[bool]) -> Bytes:
    return np.packbits(np.array(valid, bool), bitorder="little")


def packed_bytes(texts: list[bytes]) -> tuple[Int64s, Bytes]:
    starts = np.array([0, *accumulate(map(len, texts))], np.int64)
    return starts, np.frombuffer(b"".join(texts), np.uint8)


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_validity_is_a_bitmap_from_the_lowest_bit(valid):
    bits = bitmap(valid)
    assert [encode_kernels.is_valid(bits, at) for at in range(len(valid))] == valid


def test_without_a_bitmap_everything_is_valid():
    assert encode_kernels.is_valid(np.zeros(0, np.uint8), 1_000)


@given(near_ints, st.sets(near_ints, max_size=12))
@example(-(2**63), {-(2**63), 2**63 - 1})
def test_the_code_of_a_whole_number_is_its_place_among_the_keys(value, keys):
    ordered = sorted(keys)
    assert code_of_int(value, np.array(ordered, np.int64)) == code(value, ordered)


@given(st.lists(st.tuples(st.integers(-128, 127), st.booleans()), max_size=10), st.integers(0, 3))
def test_whole_numbers_are_coded_from_the_offset_on(items, offset):
    keys = [-128, -5, 0, 3, 127]
    values = np.array([value for value, _ in items], np.int64)
    valid = [known for _, known in items]
    out = np.full(max(0, len(items) - offset), -1, np.int32)
    boundaries = np.array(keys, np.int64)
    encode_kernels.code_numbers(values, False, bitmap(valid), offset, boundaries, out)
    expected = [code(value if known else None, keys) for value, known in items[offset:]]
    assert out.tolist() == expected


floats = st.floats() | st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 0.5])


@given(st.lists(floats, max_size=8), st.sets(floats.map(float_key), max_size=6))
def test_doubles_are_coded_by_their_keys(values, keys):
    ordered = sorted(keys)
    out = np.full(len(values), -1, np.int32)
    bits, boundaries = np.array(values, np.float64).view(np.int64), np.array(ordered, np.int64)
    encode_kernels.code_numbers(bits, True, np.zeros(0, np.uint8), 0, boundaries, out)
    assert out.tolist() == [code(float_key(value), ordered) for value in values]


@given(byte_strings, byte_strings)
def test_equal_bytes_have_equal_hashes_wherever_they_stand(a, b):
    alone = encode_kernels.hash_bytes(np.frombuffer(a, np.uint8), 0, len(a))
    inside = np.frombuffer(b + a + b, np.uint8)
    assert encode_kernels.hash_bytes(inside, len(b), len(b) + len(a)) == alone
    assert 0 <= alone < 2**31


def test_hashes_spread_similar_texts():
    texts = [f"v{i}".encode() for i in range(4_096)]
    hashes = {
        encode_kernels.hash_bytes(np.frombuffer(t, np.uint8), 0, len(t)) & 8_191 for t in texts
    }
    assert len(hashes) > 2_500


@given(byte_strings, byte_strings, st.integers(0, 2), st.integers(0, 2))
def test_stretches_are_the_same_if_their_bytes_are(a, b, before_a, before_b):
    length = min(len(a), len(b))
    left = np.frombuffer(b"x" * before_a + a, np.uint8)
    right = np.frombuffer(b"y" * before_b + b, np.uint8)
    found = encode_kernels.same_bytes(left, before_a, right, before_b, length)
    assert found == (a[:length] == b[:length])


@given(st.sets(byte_strings, max_size=10))
def test_a_hash_table_holds_every_key_once_and_is_at_most_half_full(keys):
    starts, data = packed_bytes(sorted(keys))
    slots = encode_kernels.hash_table(starts, data)
    assert sorted(slots[slots > 0].tolist()) == list(range(1, len(keys) + 1))
    assert 2 * len(keys) <= len(slots)
    assert len(slots) & (len(slots) - 1) == 0


def tables(keys: set[bytes]) -> tuple[list[bytes], Int64s, Bytes, Int32s]:
    ordered = sorted(keys)
    starts, data = packed_bytes(ordered)
    return ordered, starts, data, encode_kernels.hash_table(starts, data)


@given(byte_strings, st.sets(byte_strings, max_size=10))
def test_a_text_is_found_among_the_keys_or_not_at_all(text, keys):
    ordered, starts, data, slots = tables(keys)
    found = encode_kernels.find_bytes(
        np.frombuffer(text, np.uint8), 0, len(text), starts, data, slots
    )
    assert found == (ordered.index(text) if text in keys else -1)


@given(byte_strings, st.sets(byte_strings, max_size=10))
def test_the_place_of_a_text_is_how_many_keys_come_before(text, keys):
    ordered, starts, data, _ = tables(keys)
    found = encode_kernels.place_of_bytes(np.frombuffer(text, np.uint8), 0, len(text), starts, data)
    assert found == bisect_left(ordered, text)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("ordered", [True, False])
@given(
    st.lists(byte_strings | st.none(), min_size=1, max_size=8),
    st.sets(byte_strings, max_size=8),
    st.integers(0, 3),
)
def test_byte_strings_are_coded_from_the_offset_on(dtype, ordered, texts, keys, offset):
    boundaries, starts, data, slots = tables(keys)
    begins, text = packed_bytes([text or b"" for text in texts])
    valid = bitmap([text is not None for text in texts])
    out = np.full(max(0, len(texts) - offset), -1, np.int32)
    encode_kernels.code_bytes(
        begins.astype(dtype), text, valid, offset, starts, data, slots, ordered, out
    )
    for found, value in zip(out.tolist(), texts[offset:], strict=True):
        if ordered or value is None or value in keys:
            assert found == code(value, boundaries)
        else:
            assert found % 2 == 1
