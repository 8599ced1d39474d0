"""The distinct literals of very many texts as arrays, and rows of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.language.shapes import DECIMAL, INTEGER

MOST_DIGITS = 18
"""Numbers of at most this many characters fit into 64 bits."""


@dataclass(frozen=True)
class Literals:
    """Distinct literals: what stands between the quotes of strings, and numbers."""

    bodies: pa.LargeBinaryArray

    @cached_property
    def ranks(self) -> Int64s:
        """Each literal's place in the order of their bytes."""
        ranks = np.empty(len(self.bodies), np.int64)
        ranks[self._order] = np.arange(len(ranks))
        return ranks

    @cached_property
    def ordered(self) -> pa.LargeBinaryArray:
        """The literals by their ranks."""
        return self.bodies.take(pa.array(self._order))

    @cached_property
    def _order(self) -> Int64s:
        order: Int64s = pc.sort_indices(self.bodies).to_numpy().astype(np.int64)
        return order

    @cached_property
    def is_verbatim(self) -> Bools:
        """Whether each stands for itself: no quote in it is doubled."""
        texts = self.bodies.cast(pa.large_string())
        found: Bools = pc.invert(pc.match_substring(texts, "'")).to_numpy(zero_copy_only=False)
        return found

    @cached_property
    def is_number(self) -> Bools:
        """Whether each is a number of at most MOST_DIGITS characters."""
        texts = self.bodies.cast(pa.large_string())
        plain = pc.match_substring_regex(texts, r"^([0-9]+\.?[0-9]*|\.[0-9]+)$")
        short = pc.less_equal(pc.binary_length(self.bodies), MOST_DIGITS)
        found: Bools = pc.and_(plain, short).to_numpy(zero_copy_only=False)
        return found

    @cached_property
    def _numbers(self) -> pa.LargeStringArray:
        texts = self.bodies.cast(pa.large_string())
        return pc.if_else(pa.array(self.is_number), texts, "0")

    @cached_property
    def digits(self) -> Int64s:
        """The digits of each number as a whole number; see `scales`."""
        whole = pc.replace_substring(self._numbers, ".", "", max_replacements=1)
        digits: Int64s = whole.cast(pa.int64()).to_numpy()
        return digits

    @cached_property
    def scales(self) -> Int64s:
        """How many of a number's digits are after the point."""
        point = pc.find_substring(self._numbers, ".").to_numpy().astype(np.int64)
        length = pc.binary_length(self._numbers).to_numpy().astype(np.int64)
        scales: Int64s = np.where(point < 0, 0, length - point - 1)
        return scales

    @cached_property
    def floats(self) -> Floats:
        """Each number as a DOUBLE."""
        floats: Floats = self._numbers.cast(pa.float64()).to_numpy()
        return floats


def distinct_rows(codes: Int32s, most: int) -> tuple[Int32s, Int64s]:
    """The distinct rows of a matrix of numbers below `most`, and each row's place among them."""
    place = np.zeros(len(codes), np.int64)
    for column in codes.T:
        _, place = np.unique(place * most + column, return_inverse=True)
    first = np.zeros(int(place.max(initial=-1)) + 1, np.int64)
    first[place[::-1]] = np.arange(len(codes))[::-1]
    return codes[first], place


def texts_of(codes: Int32s, kinds: Sequence[str], literals: Literals) -> list[tuple[str, ...]]:
    """The literals of each row as they stand in a text; kinds: that of each literal."""
    columns = []
    for kind, column in zip(kinds, codes.T, strict=True):
        bodies = literals.bodies.take(pa.array(column)).cast(pa.large_string()).to_pylist()
        quoted = kind not in (INTEGER, DECIMAL)
        columns.append([f"'{body}'" for body in bodies] if quoted else bodies)
    return list(zip(*columns, strict=True)) if columns else [()] * len(codes)
