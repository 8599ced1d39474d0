"""Bloom filters on the wire: compressed where that is shorter, and never trusted.

    0, the words in little-endian bytes                           plain
    1 + parameter, the gaps between the bits that are set         Rice-coded

A gap is how many bits lie between two that are set, or before the first. Its code is gap >>
parameter zeros, a one, and the lowest bits of the gap, as many as the parameter says; codes follow
each other from the lowest bit of each byte on. The last gap leads to one bit behind the filter's
last, so that it shows if something was cut off. Zeros fill the last byte.

A filter that is half full cannot be made shorter. But a larger one with fewer hashes is emptier, so
it compresses, and errs less often at the same length (Mitzenmacher, Compressed Bloom filters,
2001).

What is decoded comes from strangers: nothing is read or written outside of its row, and a row takes
no more steps than its bytes have bits. Each kernel has a plain twin in the tests.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Bytes, Int64s, Words
from caddis.compiling import inner_kernel, kernel
from caddis.sealed.design import WORD
from caddis.sealed.prefilter.kernels import ONE, lowest_place
from caddis.sealed.prefilter.prefilter import check_bits, read_only

MOST_PARAMETER = 16
"""Gaps are at most as long as the largest filter has bits."""


@kernel
def encode_all(filters: Words, blobs: Bytes) -> Int64s:
    """Replace plain forms by compressed ones where those are shorter; returns all lengths."""
    lengths = np.full(len(filters), blobs.shape[1], np.int64)
    gaps = np.empty(64 * filters.shape[1] + 1, np.int64)
    for row in range(len(filters)):
        count = list_gaps(filters, row, gaps)
        parameter, bits = best_parameter(gaps, count)
        length = 1 + (bits + 7) // 8
        if length < blobs.shape[1]:
            blobs[row, :length] = 0
            write_codes(gaps, count, parameter, blobs, row)
            lengths[row] = length
    return lengths


@inner_kernel(borrows=True)
def list_gaps(filters: Words, row: int, gaps: Int64s) -> int:
    """Write the gaps of a filter and the one that leads behind its end; returns how many."""
    count, before = 0, -1
    for word in range(filters.shape[1]):
        rest = filters[row, word]
        while rest:
            place = 64 * word + int(lowest_place(rest))
            gaps[count] = place - before - 1
            before = place
            count += 1
            rest &= rest - ONE
    gaps[count] = 64 * filters.shape[1] - before - 1
    return count + 1


@inner_kernel(borrows=True)
def best_parameter(gaps: Int64s, count: int) -> tuple[int, int]:
    """The parameter under which the codes are shortest, and how many bits they take."""
    best, fewest = 0, 1 << 62
    for parameter in range(MOST_PARAMETER + 1):
        bits = count * (1 + parameter)
        for i in range(count):
            bits += int(gaps[i]) >> parameter
        if bits < fewest:
            best, fewest = parameter, bits
    return best, fewest


@inner_kernel(borrows=True)
def write_codes(gaps: Int64s, count: int, parameter: int, blobs: Bytes, row: int) -> None:
    """Write the codes of gaps into a blob whose bytes are all 0, so only ones are set."""
    blobs[row, 0] = 1 + parameter
    at = 8
    for i in range(count):
        gap = int(gaps[i])
        at += gap >> parameter
        code = 1 | (gap & ((1 << parameter) - 1)) << 1
        for bit in range(parameter + 1):
            blobs[row, at >> 3] |= ((code >> bit) & 1) << (at & 7)
            at += 1


@kernel
def decode_all(data: Bytes, ends: Int64s, filters: Words) -> Bools:
    """Fill filters from their blobs data[ends[row]:ends[row + 1]]; returns which were sound."""
    formed = np.zeros(len(filters), np.bool_)
    for row in range(len(filters)):
        begin, end = ends[row], ends[row + 1]
        # Offsets come from strangers, too.
        if not 0 <= begin < end <= len(data):
            continue
        if data[begin] == 0:
            formed[row] = read_plain(data, begin + 1, end, filters, row)
        elif data[begin] <= 1 + MOST_PARAMETER:
            formed[row] = read_codes(data, begin, end, filters, row)
    return formed


@inner_kernel(borrows=True)
def read_plain(data: Bytes, begin: int, end: int, filters: Words, row: int) -> bool:
    """Fill a filter from its bytes, if their number is right."""
    if end - begin != 8 * filters.shape[1]:
        return False
    for i in range(end - begin):
        filters[row, i >> 3] |= np.uint64(data[begin + i]) << np.uint64(8 * (i & 7))
    return True


@inner_kernel(borrows=True)
def read_codes(data: Bytes, begin: int, end: int, filters: Words, row: int) -> bool:
    """Fill a filter from Rice codes behind their parameter; returns whether they end well."""
    parameter, size = int(data[begin]) - 1, 64 * filters.shape[1]
    at, stop, place = 8 * (begin + 1), 8 * end, -1
    while at < stop:
        if not bit_at(data, at):
            place += 1 << parameter
            at += 1
            if place >= size:
                return False
            continue
        at += 1
        if at + parameter > stop:
            return False
        place += 1
        for bit in range(parameter):
            place += bit_at(data, at + bit) << bit
        at += parameter
        # Only the last gap leads behind the filter, and by exactly one bit.
        if place >= size:
            return place == size and only_zeros(data, at, stop)
        filters[row, place >> 6] |= ONE << np.uint64(place & 63)
    return False


@inner_kernel(borrows=True, forceinline=True)
def bit_at(data: Bytes, at: int) -> int:
    """A bit of the bytes, each of which begins with its lowest bit."""
    return (int(data[at >> 3]) >> (at & 7)) & 1


@inner_kernel(borrows=True)
def only_zeros(data: Bytes, at: int, stop: int) -> bool:
    """Whether less than a byte is left, and only zeros in it."""
    if stop - at > 7:
        return False
    left = 0
    for i in range(at, stop):
        left |= bit_at(data, i)
    return left == 0


def encode(filters: Words, *, compressed: bool) -> list[bytes]:
    r"""The bytes of each filter; compressed if that is asked for and shorter.

    >>> encode(np.array([[1 << 40]], np.uint64), compressed=False)
    [b'\x00\x00\x00\x00\x00\x00\x01\x00\x00']
    >>> encode(np.array([[1 << 40]], np.uint64), compressed=True)
    [b'\x05D\x0f']
    """
    rows, words = filters.shape
    plain = np.zeros((rows, 1 + 8 * words), np.uint8)
    plain[:, 1:] = np.ascontiguousarray(filters, "<u8").view(np.uint8).reshape(rows, 8 * words)
    if not compressed:
        return [row.tobytes() for row in plain]
    lengths = encode_all(read_only(np.ascontiguousarray(filters)), plain)
    return [plain[row, : lengths[row]].tobytes() for row in range(rows)]


def decode(blobs: pa.BinaryArray, bits: int) -> tuple[Words, Bools]:
    r"""The filters of `bits` bits, and whether each row's bytes were well-formed.

    A row that was not, or that is null, becomes an empty filter.

    >>> decode(pa.array([b"\x05D\x0f", b"\x05D"], pa.binary()), bits=64)
    (array([[1099511627776],
           [            0]], dtype=uint64), array([ True, False]))
    """
    check_bits(bits)
    filters = np.zeros((len(blobs), bits // WORD), np.uint64)
    data, ends = bytes_of(blobs)
    formed = decode_all(data, ends, filters)
    formed &= np.asarray(blobs.is_valid())
    filters[~formed] = 0
    return filters, formed


def bytes_of(blobs: pa.BinaryArray | pa.LargeBinaryArray) -> tuple[Bytes, Int64s]:
    """The bytes of all rows, and their offsets: row i is data[offsets[i]:offsets[i + 1]].

    Both are read-only, as kernels ask. Nothing is copied but offsets of 32 bits.
    """
    _, offsets, data = blobs.buffers()
    width = np.dtype(np.int64 if pa.types.is_large_binary(blobs.type) else np.int32)
    if offsets is None or not len(blobs):
        return read_only(np.zeros(0, np.uint8)), read_only(np.zeros(len(blobs) + 1, np.int64))
    begin = blobs.offset * width.itemsize
    found = np.frombuffer(offsets, width, len(blobs) + 1, begin).astype(np.int64, copy=False)
    return read_only(np.frombuffer(data or b"", np.uint8)), read_only(found)
