"""The rows of a batch by their codes: which rows carry which token.

A column is radix-sorted once a batch; the rows of a token, or of a dyadic interval of codes, are
then one stretch of the result.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Int32s, Int64s
from caddis.matching.kernels.layout import BatchArrays


@njit(cache=True)
def sort_by_code(codes: Int32s, rows: Int32s, limit: int) -> tuple[Int32s, Int32s]:
    """Codes below `limit` and their rows in ascending order of code: radix sort, 11 bits a pass."""
    count = len(codes)
    shift = 0
    while True:
        starts = np.zeros(2049, np.int64)
        for i in range(count):
            starts[((codes[i] >> shift) & 2047) + 1] += 1
        for digit in range(2048):
            starts[digit + 1] += starts[digit]
        next_codes, next_rows = np.empty(count, np.int32), np.empty(count, np.int32)
        for i in range(count):
            digit = (codes[i] >> shift) & 2047
            place = starts[digit]
            starts[digit] = place + 1
            next_codes[place] = codes[i]
            next_rows[place] = rows[i]
        codes, rows = next_codes, next_rows
        shift += 11
        if limit >> shift == 0:
            return codes, rows


@njit(cache=True)
def first_numbers(count: int) -> Int32s:
    """0, 1, 2, ..."""
    numbers = np.empty(count, np.int32)
    for i in range(count):
        numbers[i] = i
    return numbers


@njit(cache=True)
def rows_of_column(batch: BatchArrays, column: int) -> tuple[Int32s, Int32s]:
    """Codes of a column and the rows that carry them; for arrays, of its elements."""
    base, count = batch.element_base[column], batch.codes.shape[1]
    if base < 0:
        return batch.codes[column], first_numbers(count)
    first = batch.element_start[base]
    codes = batch.elements[first : batch.element_start[base + count]]
    rows = np.empty(len(codes), np.int32)
    for row in range(count):
        for e in range(batch.element_start[base + row], batch.element_start[base + row + 1]):
            rows[e - first] = row
    return codes, rows


@njit(cache=True)
def without_repeats(codes: Int32s, rows: Int32s) -> int:
    """Drop in place what equals its predecessor (an element twice in one array); how many stay."""
    kept = 0
    for i in range(len(codes)):
        if kept == 0 or codes[i] != codes[kept - 1] or rows[i] != rows[kept - 1]:
            codes[kept] = codes[i]
            rows[kept] = rows[i]
            kept += 1
    return kept


@njit(cache=True)
def distinct_starts(codes: Int32s, count: int) -> Int64s:
    """Where each distinct code begins in sorted codes, and the end."""
    starts = np.empty(count + 1, np.int64)
    found = 0
    for i in range(count):
        if i == 0 or codes[i] != codes[i - 1]:
            starts[found] = i
            found += 1
    starts[found] = count
    return starts[: found + 1]


@njit(cache=True)
def first_at_least(sorted_codes: Int32s, code: int) -> int:
    """Where the first code that is not below `code` stands."""
    low, high = 0, len(sorted_codes)
    while low < high:
        middle = (low + high) >> 1
        if sorted_codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low
