"""Loops that turn Arrow buffers into codes; `packing` says what a code is.

All take the buffers from before the array's offset, and an empty validity bitmap if nothing is
null.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Anys, Bytes, Floats, Int32s, Int64s
from caddis.compiling import kernel

NAN_KEY = np.int64((1 << 63) - 1)
LOW_63_BITS = np.int64((1 << 63) - 1)


@kernel(forceinline=True)
def is_valid(valid: Bytes, at: int) -> bool:
    """Whether Arrow's validity bit is set."""
    return len(valid) == 0 or (valid[at >> 3] >> (at & 7)) & 1 == 1


@kernel(forceinline=True)
def code_of_place(place: int, found: bool) -> int:
    """The code of a key that is, or would be inserted, at a place among the boundaries."""
    return 2 * place + 2 if found else 2 * place + 1


@kernel(forceinline=True)
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
    return code_of_place(low, low < len(keys) and keys[low] == key)


@kernel
def code_presence(valid: Bytes, offset: int, out: Int32s) -> None:
    """Code null as 0 and anything else as 1, for columns that only IS NULL tests."""
    for i in range(len(out)):
        out[i] = 1 if is_valid(valid, offset + i) else 0


@kernel
def code_ints(values: Anys, valid: Bytes, offset: int, keys: Int64s, out: Int32s) -> None:
    """Codes of whole numbers, days, µs, unscaled decimals and Booleans."""
    for i in range(len(out)):
        if is_valid(valid, offset + i):
            out[i] = code_of_int(int(values[offset + i]), keys)
        else:
            out[i] = 0


@kernel
def code_floats(values: Floats, valid: Bytes, offset: int, keys: Int64s, out: Int32s) -> None:
    """Codes of doubles by `language.float_key`, done here on their bits."""
    bits = values.view(np.int64)
    for i in range(len(out)):
        if not is_valid(valid, offset + i):
            out[i] = 0
            continue
        key = bits[offset + i]
        if np.isnan(values[offset + i]):
            key = NAN_KEY
        elif key < 0:
            # Without the sign bit -0.0 gets the key of 0.0; the others are ordered backwards.
            key = -(key & LOW_63_BITS)
        out[i] = code_of_int(key, keys)


@kernel(forceinline=True)
def hash_bytes(data: Bytes, begin: int, end: int) -> int:
    """FNV-1a with its high bits folded down: the tables take the low ones."""
    h = np.uint64(14695981039346656037)
    for i in range(begin, end):
        h = (h ^ np.uint64(data[i])) * np.uint64(1099511628211)
    return int((h ^ (h >> np.uint64(29))) & np.uint64(0x7FFFFFFF))


@kernel(forceinline=True)
def same_bytes(a: Bytes, i: int, b: Bytes, j: int, length: int) -> bool:
    """Whether two stretches are equal."""
    for k in range(length):
        if a[i + k] != b[j + k]:
            return False
    return True


@kernel
def hash_table(starts: Int64s, data: Bytes) -> Int32s:
    """Open addressing, at most half full: key number + 1, or 0 where free."""
    count = len(starts) - 1
    size = 2
    # A power of two, so that a mask finds a slot; half of it free, so that searches end soon.
    while size < 2 * count:
        size *= 2
    slots = np.zeros(size, np.int32)
    for key in range(count):
        slot = hash_bytes(data, starts[key], starts[key + 1]) & (size - 1)
        while slots[slot] != 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = key + 1
    return slots


@kernel(forceinline=True)
def find_bytes(text: Bytes, begin: int, end: int, keys: Int64s, data: Bytes, slots: Int32s) -> int:
    """The number of the key that equals the text, or -1."""
    mask = len(slots) - 1
    slot = hash_bytes(text, begin, end) & mask
    while slots[slot] != 0:
        key = slots[slot] - 1
        length = keys[key + 1] - keys[key]
        if length == end - begin and same_bytes(text, begin, data, keys[key], length):
            return int(key)
        slot = (slot + 1) & mask
    return -1


@kernel
def is_less(a: Bytes, i: int, m: int, b: Bytes, j: int, n: int) -> bool:
    """Whether the key of m bytes at a[i] comes before the text of n bytes at b[j]."""
    # Bytes are unsigned: their order is that of Spark's strings.
    for k in range(min(m, n)):
        if a[i + k] != b[j + k]:
            return bool(a[i + k] < b[j + k])
    return m < n


@kernel
def place_of_bytes(text: Bytes, begin: int, end: int, keys: Int64s, data: Bytes) -> int:
    """How many keys come before the text."""
    low, high = 0, len(keys) - 1
    while low < high:
        middle = (low + high) // 2
        length = keys[middle + 1] - keys[middle]
        if is_less(data, keys[middle], length, text, begin, end - begin):
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
        begin, end = int(starts[offset + i]), int(starts[offset + i + 1])
        key = find_bytes(text, begin, end, keys, data, slots)
        if key >= 0:
            out[i] = code_of_place(key, True)
        elif ordered:
            out[i] = code_of_place(place_of_bytes(text, begin, end, keys, data), False)
        else:
            out[i] = 1
