"""Loops that read sealed subscriptions, whose bytes anybody may have written.

Nothing is read before it is known to lie within the subscription, and no product is taken of sizes
that are not bounded yet. `sealed_subscriptions` draws the layout.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Bytes, Int64s

VERSION = 1
MOST_PARTS = 256
MOST_WORDS = 1 << 16
MOST_DIMENSIONS = 1 << 16
SIZE_BYTES = 4
HEAD_BYTES = 24
COUNT_BYTES = 4

SOUND, NO_VERSION, CUT_OFF, NO_PART, MISFIT, NO_NUMBER, UNSORTED, MANY_PARTS = range(8)
"""What is wrong with a subscription, if anything."""

FIELDS = 10
ROW, STREAM, STREAM_END, EPOCH, WORDS, DIMENSIONS, CLAUSES, TOKENS, VECTORS, BODY = range(FIELDS)
"""What is known of a part. STREAM and BODY, the begin of its counts, are places in the bytes."""


@njit(cache=True)
def whole(data: Bytes, at: int, size: int) -> int:
    """A whole number of so many bytes, the lowest first; 8 bytes are signed."""
    number = np.int64(0)
    for i in range(size):
        number |= np.int64(data[at + i]) << np.int64(8 * i)
    return int(number)


@njit(cache=True)
def read_part(data: Bytes, at: int, end: int, part: Int64s) -> int:
    """Read the sizes of the part at a place; what is wrong with it, or SOUND."""
    if end - at < HEAD_BYTES:
        return CUT_OFF
    part[EPOCH] = whole(data, at, 8)
    part[WORDS] = whole(data, at + 8, 4)
    part[DIMENSIONS] = whole(data, at + 12, 4)
    part[CLAUSES] = whole(data, at + 16, 4)
    stream = whole(data, at + 20, 4)
    part[STREAM] = at + HEAD_BYTES
    part[STREAM_END] = part[STREAM] + stream
    part[BODY] = part[STREAM_END]
    if part[STREAM_END] > end or COUNT_BYTES * part[CLAUSES] > end - part[BODY]:
        return CUT_OFF
    if not (0 < part[WORDS] <= MOST_WORDS and 0 < part[DIMENSIONS] <= MOST_DIMENSIONS):
        return MISFIT
    part[TOKENS], part[VECTORS] = 0, 0
    for clause in range(part[CLAUSES]):
        place = part[BODY] + COUNT_BYTES * clause
        part[TOKENS] += whole(data, place, 2)
        part[VECTORS] += whole(data, place + 2, 2)
    if max(part[TOKENS], part[VECTORS]) > end - at:
        return CUT_OFF
    numbers = part[CLAUSES] * part[WORDS] + part[TOKENS] + part[VECTORS] * part[DIMENSIONS]
    fits = part[BODY] + COUNT_BYTES * part[CLAUSES] + 8 * numbers == end
    return check_numbers(data, part) if fits else MISFIT


@njit(cache=True)
def check_numbers(data: Bytes, part: Int64s) -> int:
    """Whether the tokens of each clause ascend, and all of the vectors' numbers are finite."""
    at = part[BODY] + part[CLAUSES] * (COUNT_BYTES + 8 * part[WORDS])
    for clause in range(part[CLAUSES]):
        count = whole(data, part[BODY] + COUNT_BYTES * clause, 2)
        for i in range(1, count):
            last = np.uint64(whole(data, at + 8 * (i - 1), 8))
            if np.uint64(whole(data, at + 8 * i, 8)) <= last:
                return UNSORTED
        at += 8 * count
    for i in range(part[VECTORS] * part[DIMENSIONS]):
        if data[at + 8 * i + 7] & 0x7F == 0x7F and data[at + 8 * i + 6] & 0xF0 == 0xF0:
            return NO_NUMBER
    return SOUND


@njit(cache=True)
def read_parts(data: Bytes, starts: Int64s, problems: Bytes, parts: Int64s) -> int:
    """Read all parts of all subscriptions that have no problem yet; how many there are.

    They are put down as far as there is room, so that one call can count and another one list.
    A subscription of which one part is wrong gets a problem, and none of its parts counts.
    """
    used = 0
    part = np.zeros(FIELDS, np.int64)
    for row in range(len(starts) - 1):
        if problems[row] != SOUND:
            continue
        at, end, before = starts[row], starts[row + 1], used
        problem = SOUND if end > at and data[at] == VERSION else NO_VERSION
        if problem == SOUND and end == at + 1:
            problem = NO_PART
        at += 1
        while problem == SOUND and at < end:
            size = whole(data, at, SIZE_BYTES) if end - at >= SIZE_BYTES else end
            if size > end - at - SIZE_BYTES or used - before == MOST_PARTS:
                problem = MANY_PARTS if used - before == MOST_PARTS else CUT_OFF
                break
            problem = read_part(data, at + SIZE_BYTES, at + SIZE_BYTES + size, part)
            if used < len(parts):
                part[ROW] = row
                parts[used] = part
            used += 1
            at += SIZE_BYTES + size
        if problem != SOUND:
            problems[row] = problem
            used = before
    return used


@njit(cache=True)
def copy_parts(
    data: Bytes, parts: Int64s, counts: Int64s, filters: Bytes, tokens: Bytes, vectors: Bytes
) -> None:
    """Put parts of the same sizes together; counts: by clause, of tokens and of vectors."""
    clause, at_filter, at_token, at_vector = 0, 0, 0, 0
    for number in range(len(parts)):
        part = parts[number]
        at = part[BODY]
        for _ in range(part[CLAUSES]):
            counts[clause, 0] = whole(data, at, 2)
            counts[clause, 1] = whole(data, at + 2, 2)
            clause += 1
            at += COUNT_BYTES
        size = 8 * part[CLAUSES] * part[WORDS]
        filters[at_filter : at_filter + size] = data[at : at + size]
        at, at_filter = at + size, at_filter + size
        size = 8 * part[TOKENS]
        tokens[at_token : at_token + size] = data[at : at + size]
        at, at_token = at + size, at_token + size
        size = 8 * part[VECTORS] * part[DIMENSIONS]
        vectors[at_vector : at_vector + size] = data[at : at + size]
        at_vector += size
