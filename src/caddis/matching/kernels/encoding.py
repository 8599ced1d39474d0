"""Loops that turn Arrow buffers into codes; `packing` says what a code is.

All take the buffers from before the array's offset, and an empty validity bitmap if nothing is
null.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Anys, Bytes, Int32s, Int64s
from caddis.compiling import inner_kernel, kernel

NAN_KEY = np.int64((1 << 63) - 1)
LOW_63_BITS = np.int64((1 << 63) - 1)
INFINITY = np.int64(0x7FF << 52)
"""The bits of infinity: only those of NaN are greater, but for the sign."""


@inner_kernel(forceinline=True)
def is_valid(valid: Bytes, at: int) -> bool:
    """Whether Arrow's validity bit is set."""
    return len(valid) == 0 or (valid[at >> 3] >> (at & 7)) & 1 == 1


@inner_kernel(forceinline=True)
def code_of_int(key: int, keys: Int64s) -> int:
    """The code of a key, by bisection.

    The two choices in the loop become conditional moves, so that nothing but its end is left for
    the processor to mispredict.
    """
    low, count = 0, len(keys)
    while count > 0:
        half = count >> 1
        smaller = keys[low + half] < key
        low = low + half + 1 if smaller else low
        count = count - half - 1 if smaller else half
    return 2 * low + 1 + (low < len(keys) and keys[low] == key)


@kernel
def code_numbers(
    values: Int64s, floating: bool, valid: Bytes, offset: int, keys: Int64s, out: Int32s
) -> None:
    """Codes of whole numbers, days, µs, unscaled decimals and Booleans, or of the bits of doubles.

    floating: the values are the bits of doubles, whose keys are those of `language.float_key`.
    """
    for i in range(len(out)):
        if not is_valid(valid, offset + i):
            out[i] = 0
            continue
        key = values[offset + i]
        if floating:
            size = key & LOW_63_BITS
            if size > INFINITY:
                key = NAN_KEY
            elif key < 0:
                # Without the sign bit -0.0 gets the key of 0.0; the others are ordered backwards.
                key = -size
        out[i] = code_of_int(key, keys)


@inner_kernel(forceinline=True)
def hash_bytes(data: Bytes, begin: int, end: int) -> int:
    """FNV-1a with its high bits folded down: the tables take the low ones."""
    h = np.uint64(14695981039346656037)
    for i in range(begin, end):
        h = (h ^ np.uint64(data[i])) * np.uint64(1099511628211)
    return int((h ^ (h >> np.uint64(29))) & np.uint64(0x7FFFFFFF))


@kernel
def fill_hash_table(starts: Int64s, data: Bytes, slots: Int32s) -> None:
    """Open addressing: key number + 1, or 0 where free."""
    mask = len(slots) - 1
    for key in range(len(starts) - 1):
        slot = hash_bytes(data, starts[key], starts[key + 1]) & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = key + 1


def hash_table(starts: Int64s, data: Bytes) -> Int32s:
    """The hash table of keys, at most half full."""
    size = 2
    # A power of two, so that a mask finds a slot; half of it free, so that searches end soon.
    while size < 2 * (len(starts) - 1):
        size *= 2
    slots = np.zeros(size, np.int32)
    fill_hash_table(starts, data, slots)
    return slots


@inner_kernel(forceinline=True)
def same_bytes(a: Bytes, i: int, b: Bytes, j: int, length: int) -> bool:
    """Whether two stretches are equal."""
    for k in range(length):
        if a[i + k] != b[j + k]:
            return False
    return True


@inner_kernel(forceinline=True)
def find_bytes(text: Bytes, begin: int, end: int, keys: Int64s, data: Bytes, slots: Int32s) -> int:
    """The number of the key that equals the text, or -1."""
    mask, length = len(slots) - 1, end - begin
    slot = hash_bytes(text, begin, end) & mask
    while slots[slot] != 0:
        key = slots[slot] - 1
        if keys[key + 1] - keys[key] == length and same_bytes(text, begin, data, keys[key], length):
            return int(key)
        slot = (slot + 1) & mask
    return -1


@inner_kernel
def place_of_bytes(text: Bytes, begin: int, end: int, keys: Int64s, data: Bytes) -> int:
    """How many keys come before the text."""
    low, high = 0, len(keys) - 1
    while low < high:
        middle = (low + high) // 2
        # Bytes are unsigned: their order is that of Spark's strings.
        at, key = begin, keys[middle]
        while at < end and key < keys[middle + 1] and data[key] == text[at]:
            at += 1
            key += 1
        if at < end and (key == keys[middle + 1] or data[key] < text[at]):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def code_bytes(
    starts: Anys,
    text: Bytes,
    valid: Bytes,
    offset: int,
    keys: Int64s,
    data: Bytes,
    slots: Int32s,
    ordered: bool,
    out: Int32s,
) -> None:
    """Codes of byte strings.

    ordered: whether a value between two boundaries must say between which; if every predicate asks
        for single values, any odd code does, and bisection is saved.
    """
    for i in range(len(out)):
        if not is_valid(valid, offset + i):
            out[i] = 0
            continue
        # One type whatever that of the offsets is, so that what is called is compiled once.
        begin, end = int(np.int64(starts[offset + i])), int(np.int64(starts[offset + i + 1]))
        key = find_bytes(text, begin, end, keys, data, slots)
        if key >= 0:
            out[i] = 2 * key + 2
        elif ordered:
            out[i] = 2 * place_of_bytes(text, begin, end, keys, data) + 1
        else:
            out[i] = 1
