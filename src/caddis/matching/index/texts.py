"""Tests that codes cannot decide: patterns in texts.

A pattern is searched in the distinct values only, and only in those that got so far.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Bools, Int32s, Int64s
from caddis.language import Column, MatchesText
from caddis.matching.index.encoding import values_of


class BatchTexts:
    """The texts of one batch, and the answers about them that are already known."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.searches = 0
        self._columns: dict[Column, tuple[list[str | None], Int64s]] = {}
        self._answers: dict[MatchesText, npt.NDArray[np.int8]] = {}

    def holds(self, test: MatchesText, rows: Int32s) -> Bools:
        """Whether the test is true of each of these rows."""
        values, places = self._texts(test.column)
        answers = self._answers.setdefault(test, np.full(len(values), -1, np.int8))
        needed = places[rows]
        unknown = np.unique(needed[answers[needed] < 0])
        search = _searcher(test)
        for place in unknown:
            answers[place] = search(values[place])
        self.searches += len(unknown)
        found: Bools = answers[needed] == 1
        return found

    def all_rows(self, test: MatchesText) -> Int32s:
        """The rows of which the test is true."""
        rows = np.arange(self.batch.num_rows, dtype=np.int32)
        return rows[self.holds(test, rows)]

    def _texts(self, column: Column) -> tuple[list[str | None], Int64s]:
        """The column's distinct values, null last, and each row's place among them."""
        if column not in self._columns:
            array = values_of(self.batch, column)
            if array is None:
                array = pa.nulls(self.batch.num_rows, pa.string())
            coded = array if pa.types.is_dictionary(array.type) else pc.dictionary_encode(array)
            values = [*coded.dictionary.to_pylist(), None]
            places = coded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
            self._columns[column] = values, places.astype(np.int64)
        return self._columns[column]


def _searcher(test: MatchesText) -> Callable[[str | None], bool]:
    search, fold, wanted = (
        re.compile(test.pattern.regex, re.ASCII).search,
        test.pattern.fold,
        not test.negated,
    )

    def holds(text: str | None) -> bool:
        """Unknown satisfies neither a pattern nor its negation."""
        if text is None:
            return False
        found = search(text.lower() if fold else text) is not None
        return found is wanted

    return holds
