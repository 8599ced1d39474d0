"""What a prefilter is made of, and loops over the words of Bloom filters.

Filters stand in lists, one behind the other, each under its rarest place. A clause with an empty
filter is in no list, every other one in exactly one.

    filters   [filter, word]   the clauses' filters, sorted by their keys
    keys      [filter, key]    places that are set in it, chosen one after the other: first the one
                               that the fewest events of a sample have, and so on among the rest
    shared    [filter]         how many of its first keys are those of the filter before
    starts    [place]          filters starts[place]:starts[place + 1] have it as their first key
    clauses   [filter]         the clause that the filter belongs to
    default   [n]              the clauses with empty filters, which may match every event

A block of rows is turned on its side, so that each place of a filter has a bitmap of the rows that
have it set. The bitmaps of a filter's first places, the rarest, are intersected. Few rows are left
then, and only their words are compared. Each kernel has a twin in plain Python in the tests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bytes, Int32s, Int64s, Words
from caddis.compiling import inner_kernel, kernel

Places = npt.NDArray[np.uint16]
"""A filter has at most 2^16 bits, so a place fits into 16 bits."""


class PrefilterArrays(NamedTuple):
    """All that a prefilter is made of; see the module."""

    filters: Words
    keys: Places
    shared: Bytes
    starts: Int64s
    clauses: Int32s
    default: Int32s


ONE = np.uint64(1)
PAIRS = np.uint64(0x5555555555555555)
FOURS = np.uint64(0x3333333333333333)
EIGHTS = np.uint64(0x0F0F0F0F0F0F0F0F)
SUM = np.uint64(0x0101010101010101)


@inner_kernel(borrows=True, forceinline=True)
def ones_of(word: np.uint64) -> np.int64:
    """How many bits are set; LLVM knows this form and makes one instruction of it."""
    word = word - ((word >> ONE) & PAIRS)
    word = (word & FOURS) + ((word >> np.uint64(2)) & FOURS)
    word = (word + (word >> np.uint64(4))) & EIGHTS
    return np.int64((word * SUM) >> np.uint64(56))


@inner_kernel(borrows=True, forceinline=True)
def lowest_place(word: np.uint64) -> np.int64:
    """The place of the lowest bit that is set; 64 if none is."""
    # word - 1 flips the lowest set bit and the zeros below it: count those zeros.
    return np.int64(ones_of(~word & (word - ONE)))


@kernel
def set_places(filters: Words, places: Int32s, starts: Int64s) -> None:
    """Set the places of each row; those of row r lie from starts[r] to starts[r + 1]."""
    for row in range(len(filters)):
        for i in range(starts[row], starts[row + 1]):
            place = places[i]
            filters[row, place >> 6] |= ONE << np.uint64(place & 63)


@inner_kernel
def enlarged(pairs: Int32s) -> Int32s:
    """A copy with twice the room."""
    larger = np.empty((2 * len(pairs), 2), np.int32)
    # As in `copy_bytes`: to assign all at once is slow to compile.
    for pair in range(len(pairs)):
        larger[pair, 0], larger[pair, 1] = pairs[pair, 0], pairs[pair, 1]
    return larger


MASKS = (
    np.uint64(0x00000000FFFFFFFF),
    np.uint64(0x0000FFFF0000FFFF),
    np.uint64(0x00FF00FF00FF00FF),
    np.uint64(0x0F0F0F0F0F0F0F0F),
    np.uint64(0x3333333333333333),
    np.uint64(0x5555555555555555),
)


@inner_kernel(borrows=True)
def turn_square(square: Words) -> None:
    """Bit j of word i becomes bit i of word j (Hacker's Delight, 7-3).

    The two off-diagonal quarters of the square change places, then those of each quarter, and so on
    in six steps, where bit by bit would take 4,096.
    """
    width = 32
    for mask in MASKS:
        shift = np.uint64(width)
        for begin in range(0, 64, 2 * width):
            for i in range(begin, begin + width):
                changed = ((square[i] >> shift) ^ square[i + width]) & mask
                square[i] ^= changed << shift
                square[i + width] ^= changed
        width >>= 1


@kernel
def turned(events: Words) -> Words:
    """A bitmap of rows for each place of a filter: which rows have it set."""
    rows, words = events.shape
    bitmaps = np.empty((64 * words, (rows + 63) // 64), np.uint64)
    square = np.empty(64, np.uint64)
    for group in range(bitmaps.shape[1]):
        for word in range(words):
            for i in range(64):
                row = 64 * group + i
                square[i] = events[row, word] if row < rows else np.uint64(0)
            turn_square(square)
            for i in range(64):
                bitmaps[64 * word + i, group] = square[i]
    return bitmaps


@kernel
def choose_keys(filters: Words, chosen: Int32s, sample: Words, count: int) -> Places:
    """The `count` keys of each of the chosen filters: see `pick`.

    A filter with fewer places repeats its last one, which changes no intersection.

    sample: a bitmap of events for each place, as `turned` gives it.
    """
    keys = np.zeros((len(chosen), count), np.uint16)
    places = np.empty(len(sample), np.uint16)
    left = np.empty(sample.shape[1], np.uint64)
    for i in range(len(chosen)):
        ones = list_places(filters, chosen[i], places)
        left[:] = ~np.uint64(0)
        for key in range(count):
            if key < ones:
                pick(places, key, ones, sample, left)
            keys[i, key] = places[min(key, ones - 1)]
    return keys


@inner_kernel(borrows=True)
def list_places(filters: Words, row: int, places: Places) -> int:
    """Write the places that are set in a filter, ascending; returns how many there are."""
    used = 0
    for word in range(filters.shape[1]):
        rest = filters[row, word]
        while rest:
            places[used] = 64 * word + lowest_place(rest)
            used += 1
            rest &= rest - ONE
    return used


@inner_kernel(borrows=True)
def pick(places: Places, begin: int, end: int, sample: Words, left: Words) -> None:
    """Bring to the front of places[begin:end] the place that the fewest events have.

    left: the events that have all places picked before; when none are left, all events again, since
        zero tells nothing about the places that are still to be picked.
    """
    best, fewest = begin, np.int64(64 * len(left) + 1)
    for i in range(begin, end):
        events = np.int64(0)
        for group in range(len(left)):
            events += ones_of(left[group] & sample[places[i], group])
        if events < fewest:
            best, fewest = i, events
    places[begin], places[best] = places[best], places[begin]
    for group in range(len(left)):
        left[group] &= sample[places[begin], group]
    if fewest == 0:
        left[:] = ~np.uint64(0)


@kernel
def find_pairs(
    index: PrefilterArrays, events: Words, bitmaps: Words, pairs: Int32s
) -> tuple[Int32s, int, int]:
    """The pairs (row, filter) where the filter is included in the row's.

    Returns an array that begins with the pairs, how many there are, and how many were compared.

    bitmaps: the events, `turned`.
    pairs: room for the pairs; a larger array is made if it does not suffice.
    """
    filters, keys, shared, starts = index.filters, index.keys, index.shared, index.starts
    depth, rows = keys.shape[1], len(events)
    levels = np.full((depth + 1, bitmaps.shape[1]), ~np.uint64(0))
    used, inspected = 0, 0
    for place in range(len(bitmaps)):
        alive = depth
        for i in range(starts[place], starts[place + 1]):
            # No row has the first alive + 1 keys of the last filter, and this one shares them.
            if shared[i] > alive:
                continue
            alive = intersect(keys, i, shared[i], bitmaps, levels)
            # No row has the first key, which all filters of this list share.
            if alive == 0:
                break
            if alive == depth:
                while used + rows > len(pairs):
                    pairs = enlarged(pairs)
                used, seen = compare(filters, i, events, levels, pairs, used)
                inspected += seen
    return pairs, used, inspected


@inner_kernel(borrows=True)
def intersect(keys: Places, row: int, first: int, bitmaps: Words, levels: Words) -> int:
    """Fill the levels behind `first`; returns the last level that still has rows.

    levels: levels[i] is a bitmap of the rows that have the first i keys.
    """
    for level in range(first, len(levels) - 1):
        place = keys[row, level]
        seen = np.uint64(0)
        for group in range(levels.shape[1]):
            common = bitmaps[place, group] & levels[level, group]
            levels[level + 1, group] = common
            seen |= common
        if not seen:
            return level
    return len(levels) - 1


@inner_kernel(borrows=True)
def compare(
    filters: Words, row: int, events: Words, levels: Words, pairs: Int32s, used: int
) -> tuple[int, int]:
    """Append the rows of the last level that include a filter.

    Returns where the pairs end now, and how many rows were compared.

    pairs: with room for all rows. Each row is written first and counted only if it includes the
        filter, so that the loop has no branch; the next row overwrites one that does not.
    """
    words, last, seen = filters.shape[1], len(levels) - 1, 0
    for group in range(levels.shape[1]):
        rest = levels[last, group]
        while rest:
            event = 64 * group + lowest_place(rest)
            rest &= rest - ONE
            missing = np.uint64(0)
            for word in range(words):
                missing |= filters[row, word] & ~events[event, word]
            pairs[used, 0] = event
            pairs[used, 1] = row
            used += missing == 0
            seen += 1
    return used, seen


@kernel
def in_row_order(
    pairs: Int32s, clauses: Int32s, default: Int32s, rows: int
) -> tuple[Int32s, Int32s]:
    """Rows, ascending, and clauses of the pairs (row, filter) and of the default clauses.

    It is a counting sort: pairs come list by list, so their rows are mixed.
    """
    counts = np.full(rows, len(default), np.int64)
    for i in range(len(pairs)):
        counts[pairs[i, 0]] += 1
    total = counts.sum()
    found_rows, found_clauses = np.empty(total, np.int32), np.empty(total, np.int32)
    places, end = np.empty(rows, np.int64), 0
    for row in range(rows):
        places[row] = end + len(default)
        for i in range(len(default)):
            found_clauses[end + i] = default[i]
        found_rows[end : end + counts[row]] = row
        end += counts[row]
    for i in range(len(pairs)):
        row = pairs[i, 0]
        found_clauses[places[row]] = clauses[pairs[i, 1]]
        places[row] += 1
    return found_rows, found_clauses
