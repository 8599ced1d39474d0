"""Rice codes of the gaps between the bits of filters; each kernel has a plain twin in the tests.

What is decoded comes from strangers: nothing is read or written outside of its row, and a row
takes no more steps than its bytes have bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Bools, Bytes, Int64s, Words
from caddis.sealed.prefilter.filter_kernels import ONE, lowest_place

MOST_PARAMETER = 16
"""Gaps are at most as long as the largest filter has bits."""


@njit(cache=True)
def encode_all(filters: Words, blobs: Bytes) -> Int64s:
    """Put filters' compressed forms in place of the plain ones where shorter; all lengths."""
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


@njit(cache=True)
def list_gaps(filters: Words, row: int, gaps: Int64s) -> int:
    """Write the gaps of a filter, with the one that leads behind its end; how many."""
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


@njit(cache=True)
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


@njit(cache=True)
def write_codes(gaps: Int64s, count: int, parameter: int, blobs: Bytes, row: int) -> None:
    """Write a blob whose bytes are 0."""
    blobs[row, 0] = 1 + parameter
    at = 8
    for i in range(count):
        gap = int(gaps[i])
        at += gap >> parameter
        code = 1 | (gap & ((1 << parameter) - 1)) << 1
        for bit in range(parameter + 1):
            blobs[row, at >> 3] |= ((code >> bit) & 1) << (at & 7)
            at += 1


@njit(cache=True)
def decode_all(data: Bytes, ends: Int64s, filters: Words) -> Bools:
    """Fill filters from their blobs data[ends[row]:ends[row + 1]]; which were well-formed."""
    formed = np.zeros(len(filters), np.bool_)
    for row in range(len(filters)):
        begin, end = ends[row], ends[row + 1]
        if not 0 <= begin < end <= len(data):
            continue
        if data[begin] == 0:
            formed[row] = read_plain(data, begin + 1, end, filters, row)
        elif data[begin] <= 1 + MOST_PARAMETER:
            formed[row] = read_codes(data, begin, end, filters, row)
    return formed


@njit(cache=True)
def read_plain(data: Bytes, begin: int, end: int, filters: Words, row: int) -> bool:
    """Fill a filter from its bytes, if they are as many as it has."""
    if end - begin != 8 * filters.shape[1]:
        return False
    for i in range(end - begin):
        filters[row, i >> 3] |= np.uint64(data[begin + i]) << np.uint64(8 * (i & 7))
    return True


@njit(cache=True)
def read_codes(data: Bytes, begin: int, end: int, filters: Words, row: int) -> bool:
    """Fill a filter from Rice codes behind their parameter; whether they end as they should."""
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
        if place >= size:
            return place == size and only_zeros(data, at, stop)
        filters[row, place >> 6] |= ONE << np.uint64(place & 63)
    return False


@njit(cache=True, forceinline=True)
def bit_at(data: Bytes, at: int) -> int:
    """A bit of the bytes; those of each byte count from its lowest."""
    return (int(data[at >> 3]) >> (at & 7)) & 1


@njit(cache=True)
def only_zeros(data: Bytes, at: int, stop: int) -> bool:
    """Whether less than a byte is left, and nothing in it."""
    if stop - at > 7:
        return False
    for i in range(at, stop):
        if bit_at(data, i):
            return False
    return True
