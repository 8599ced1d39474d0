"""From a batch in codes to rows and their links, slice by slice.

What a batch finds has no bound but rows times clauses, and the memory to hold it must have one. So
the kernels write into a buffer of fixed size. If it does not do for the rows at hand, they are
tried again with half as many; what a slice found says how many rows the next one has, in this batch
and in the next. A single row always has room: it finds no entry of the index twice.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s, Int64s, offsets_of, places_in_rows
from caddis.matching import tables
from caddis.matching.index import BatchTexts, MatcherParts
from caddis.matching.kernels import (
    TRIED,
    USED,
    BatchArrays,
    Workspace,
    decide,
    in_row_order,
    match_batch,
    workspace,
)
from caddis.matching.links import Matches, MatchReport

PAIRS_IN_A_SLICE = 1 << 22
"""How many pairs of row and clause are held at once, unless a single row has more: 50 MB."""

GROWTH = 16
"""The next slice has at most this many times the rows: the last one may have been exceptional."""

EXPECTED_SHARE = 0.85
"""How much of the buffer the next slice should fill: a slice that does not fit is repeated."""


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """A batch in a matcher's codes, with the texts that its patterns may have to look at."""

    arrays: BatchArrays
    batch: pa.RecordBatch


class IndexSearch:
    """Goes through the parts of a matcher."""

    def __init__(self, parts: MatcherParts) -> None:
        self._index, self._texts, self._several = parts.index, parts.texts, parts.several
        # Only how a batch is cut depends on it, so threads may share it.
        self._pairs_a_row = 0.0

    def slices(self, encoded: EncodedBatch, most_pairs: int) -> Iterator[Matches]:
        """What the rows of a batch find, slice by slice; there is at least one slice.

        Links are clauses if the clauses have needs.
        """
        count, entries = encoded.batch.num_rows, len(self._index.arrays.entries)
        texts = BatchTexts(encoded.batch)
        arrays = self._with_patterns(encoded.arrays, texts)
        size = min(count * entries, max(most_pairs, entries))
        work = workspace(count, len(arrays.elements), self._index.most_codes)
        begin, step, searched = 0, self._fitting(count, most_pairs), 0
        while True:
            piece, out = _rows_of(arrays, begin, begin + step), _BUFFER.of(size)
            used, tried = self._fill(piece, work, out[:most_pairs] if step > 1 else out)
            if used is None:
                step //= 2
                continue
            end, self._pairs_a_row = begin + step, used / max(1, step)
            rows, links = self._decided(out[:used], piece, texts, begin)
            report = MatchReport(step, len(rows), tried, texts.searches - searched)
            searched = texts.searches
            yield Matches(rows, links, report, end)
            if end >= count:
                return
            begin, step = end, min(GROWTH * step, self._fitting(count - end, most_pairs))

    def _fitting(self, rows: int, most_pairs: int) -> int:
        """How many rows the next slice has, given how many are left."""
        expected = rows * self._pairs_a_row
        if expected <= most_pairs:
            return rows
        return ceil(rows / ceil(expected / (EXPECTED_SHARE * most_pairs)))

    def _fill(self, arrays: BatchArrays, work: Workspace, out: Int32s) -> tuple[int | None, int]:
        """Fill a buffer with (row, entry), if there is room: how many, and how many were tried."""
        index, tally = self._index, np.zeros(2, np.int64)
        room = match_batch(
            index.arrays, arrays, index.first_pattern, index.everything, work, out, tally
        )
        return int(tally[USED]) if room else None, int(tally[TRIED])

    def _decided(
        self, found: Int32s, arrays: BatchArrays, texts: BatchTexts, first: int
    ) -> tuple[Int32s, Int32s]:
        """Rows and links of those of the found pairs that stand, sorted by row.

        first: the row of the whole batch that is row 0 here.
        """
        found = found[: decide(self._index.arrays, arrays, found)]
        if self._texts:
            found = found[self._searched(found, texts, first)]
        rows, links = in_row_order(found, arrays.codes.shape[1], self._several)
        rows += np.int32(first)
        return rows, links

    def _searched(self, found: Int32s, texts: BatchTexts, first: int) -> Bools:
        """Which of the found pairs hold, once the patterns in their rests are searched."""
        rest, predicates = self._index.arrays.rest, self._index.arrays.predicates
        keep = np.ones(len(found), bool)
        undecided = np.flatnonzero(found[:, 2] >= 0)
        places = found[undecided, 2].astype(np.int64)
        counts = rest[places].astype(np.int64)
        pairs = np.repeat(undecided, counts)
        members = rest[np.repeat(places + 1, counts) + places_in_rows(counts)]
        on_text = predicates[members, tables.KIND] == tables.TEXT
        for number, some in _grouped(predicates[members[on_text], tables.FIRST], pairs[on_text]):
            keep[some] &= texts.holds(self._texts[number], found[some, 0] + np.int32(first))
        return keep

    def _with_patterns(self, arrays: BatchArrays, texts: BatchTexts) -> BatchArrays:
        """The batch with the rows of each pattern that is an access token."""
        patterns = self._index.patterns
        if not len(patterns):
            return arrays
        numbers = self._index.arrays.predicates[patterns, tables.FIRST]
        rows = [texts.all_rows(self._texts[number]) for number in numbers]
        starts = offsets_of([len(found) for found in rows])
        return arrays._replace(pattern_start=starts, pattern_rows=np.concatenate(rows))


class _Buffer(threading.local):
    """Room for pairs, kept by each thread: the system takes its time to clear fresh memory.

    Nothing in it is needed once a slice is handed over, so all matchers share it.
    """

    def __init__(self) -> None:
        self._pairs: Int32s = np.empty((0, 3), np.int32)

    def of(self, size: int) -> Int32s:
        """A buffer of this many rows; memory that is not written to takes no room."""
        if len(self._pairs) < size:
            self._pairs = np.empty((size, 3), np.int32)
        return self._pairs[:size]


_BUFFER = _Buffer()


def _rows_of(arrays: BatchArrays, begin: int, end: int) -> BatchArrays:
    """Some rows of a batch, numbered from 0."""
    if begin == 0 and end == arrays.codes.shape[1]:
        return arrays
    inside = (begin <= arrays.pattern_rows) & (arrays.pattern_rows < end)
    base = arrays.element_base
    return arrays._replace(
        codes=np.ascontiguousarray(arrays.codes[:, begin:end]),
        element_base=np.where(base < 0, base, base + begin),
        pattern_start=offsets_of(inside)[arrays.pattern_start],
        pattern_rows=arrays.pattern_rows[inside] - np.int32(begin),
    )


def _grouped(keys: Int32s, values: Int64s) -> Iterator[tuple[int, Int64s]]:
    """Each distinct key with its values."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    for start, group in zip(starts, np.split(values, starts)[1:], strict=True):
        yield int(keys[start]), group
