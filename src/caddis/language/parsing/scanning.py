"""Finds the conditions and literals of very many texts, by looking at all their bytes at once.

    city = 'Galway' AND NOT (price < 200 OR sold)

    conditions  city = ⟨s⟩     price < ⟨i⟩     sold          each a template without its literals
    literals    Galway         200
    frame       @&!(@|@)                                     how AND, OR and NOT join them

Only plain texts are scanned: words, numbers, comparison signs, and strings in single quotes without
backslashes. Whatever has comments, quoted names, double quotes or backslashes is left alone, and so
is what does not look like conditions joined by AND, OR and NOT. Being found here decides nothing: a
text is only read in this way if each of its templates turns out to be a condition of a known form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Bytes, Int64s, offsets_of
from caddis.language.parsing.junctions import CONDITION, Junctions
from caddis.language.parsing.text_bytes import (
    BLANK,
    DIGIT,
    DOT,
    LETTER,
    MOST_BLANKS,
    ODD,
    ODD_IN_STRING,
    QUOTE,
    WORD,
    Spans,
    covered,
)
from caddis.language.shapes import DECIMAL, INTEGER, PATTERN, PREFIX, STRING

KINDS = STRING + PREFIX + PATTERN + INTEGER + DECIMAL
"""In a template, the byte 1 stands for a literal of the first of these kinds, and so on."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was found in texts; conditions and literals are in the order of the texts.

    Text t of the plain ones is row `rows[t]`, and its conditions are
    `condition_starts[t]:condition_starts[t + 1]`; condition c has the literals
    `literal_starts[c]:literal_starts[c + 1]`.
    """

    rows: Int64s
    frames: pa.LargeBinaryArray
    condition_starts: Int64s
    templates: pa.LargeBinaryArray
    literal_starts: Int64s
    literals: pa.LargeBinaryArray
    """What stands between the quotes of strings, and numbers."""

    @staticmethod
    def joined(parts: list[Scanned]) -> Scanned:
        """What was found in several stretches of rows, one after another."""
        return Scanned(
            np.concatenate([part.rows for part in parts]),
            pa.concat_arrays([part.frames for part in parts]),
            offsets_of(np.concatenate([np.diff(part.condition_starts) for part in parts])),
            pa.concat_arrays([part.templates for part in parts]),
            offsets_of(np.concatenate([np.diff(part.literal_starts) for part in parts])),
            pa.concat_arrays([part.literals for part in parts]),
        )


def scan(texts: pa.LargeStringArray, first_row: int) -> Scanned:
    """What is found in some texts without nulls; the first is of row `first_row`."""
    return _Scan(texts).found(first_row)


class _Scan(Junctions):
    """One look at the bytes of some texts."""

    def found(self, first_row: int) -> Scanned:
        strings = self.strings()
        words = self.words()
        numbers, decimal = self.numbers(words)
        marks, symbols = self.marks(words)
        conditions = self.conditions(marks)
        literals, kinds = self.literals(strings, numbers, decimal)
        return self.packed(first_row, (marks, symbols), conditions, (literals, kinds))

    def strings(self) -> Spans:
        """The strings with their quotes; what is in them has no class afterwards."""
        quotes = np.flatnonzero(self.classes == QUOTE)
        counts = np.diff(np.searchsorted(quotes, self.starts))
        self.plain &= counts % 2 == 0
        quotes = quotes[self.left(quotes)]
        spans = self.with_doubled(Spans(quotes[0::2], quotes[1::2] + 1))
        inside = covered(Spans(spans.starts + 1, spans.ends - 1), len(self.bytes))
        self.leave(np.flatnonzero(inside & (self.classes & ODD_IN_STRING > 0)))
        self.classes[inside] = 0
        self.leave(np.flatnonzero(self.classes & ODD))
        # What is r'...' or X'...'.
        before = np.maximum(spans.starts - 1, 0)
        same = self.row_of(before) == self.row_of(spans.starts)
        self.leave(spans.starts[same & (self.classes[before] & WORD > 0)])
        return spans

    def with_doubled(self, spans: Spans) -> Spans:
        """The same strings, where two that touch are one with a doubled quote in it."""
        rows = self.row_of(spans.starts)
        goes_on = (spans.starts[1:] == spans.ends[:-1]) & (rows[1:] == rows[:-1])
        return Spans(
            spans.starts[np.append(True, ~goes_on)[: len(rows)]],
            spans.ends[np.append(~goes_on, True)[: len(rows)]],
        )

    def words(self) -> Spans:
        """Runs of letters, digits and dots."""
        is_word = self.classes & WORD > 0
        begins, ends = is_word.copy(), is_word.copy()
        begins[1:] &= ~is_word[:-1]
        ends[:-1] &= ~is_word[1:]
        edges = self.starts[(self.starts > 0) & (self.starts < len(self.bytes))]
        begins[edges] = is_word[edges]
        ends[edges - 1] = is_word[edges - 1]
        return Spans(np.flatnonzero(begins), np.flatnonzero(ends) + 1)

    def numbers(self, words: Spans) -> tuple[Spans, Bools]:
        """The words that begin as numbers, and whether each has a point."""
        spans = words.only(self.classes[words.starts] & (DIGIT | DOT) > 0)
        letters = np.flatnonzero(self.classes & LETTER)
        mixed = np.searchsorted(letters, spans.starts) < np.searchsorted(letters, spans.ends)
        self.leave(spans.starts[mixed])
        dots = np.flatnonzero(self.classes & DOT)
        return spans, np.searchsorted(dots, spans.starts) < np.searchsorted(dots, spans.ends)

    def literals(self, strings: Spans, numbers: Spans, decimal: Bools) -> tuple[Spans, Int64s]:
        """All literals of plain texts with their kinds."""
        special = (self.bytes == ord("%")) | (self.bytes == ord("_")) | (self.bytes == ord("'"))
        wild = np.flatnonzero(special & (self.classes == 0))
        first = np.searchsorted(wild, strings.starts)
        place = np.append(wild, -1)[first]
        has_wild = first < np.searchsorted(wild, strings.ends)
        at_end = (place == strings.ends - 2) & (self.bytes[place] == ord("%"))
        of_strings = np.where(has_wild, np.where(at_end, 2, 3), 1)
        starts = np.concatenate([strings.starts, numbers.starts])
        ends = np.concatenate([strings.ends, numbers.ends])
        kinds = np.concatenate([of_strings, np.where(decimal, 5, 4)])
        order = np.argsort(starts)
        order = order[self.left(starts[order])]
        return Spans(starts[order], ends[order]), kinds[order]

    # -- what lies between the marks

    def conditions(self, marks: Spans) -> Spans:
        """The stretches between marks without the blanks around them, if anything is left."""
        whole = Spans(self.starts[:-1][self.plain], self.starts[1:][self.plain])
        starts = np.sort(np.concatenate([whole.starts, marks.ends]))
        ends = np.sort(np.concatenate([whole.ends, marks.starts]))
        for _ in range(MOST_BLANKS):
            blank = (starts < ends) & (
                self.classes[np.minimum(starts, len(self.bytes) - 1)] == BLANK
            )
            if not blank.any():
                break
            starts = starts + blank
        else:
            self.leave(starts[blank])
        for _ in range(MOST_BLANKS):
            blank = (starts < ends) & (self.classes[ends - 1] == BLANK)
            if not blank.any():
                break
            ends = ends - blank
        else:
            self.leave(starts[blank])
        return Spans(starts, ends).only(starts < ends)

    def packed(
        self,
        first_row: int,
        marks: tuple[Spans, Bytes],
        conditions: Spans,
        literals: tuple[Spans, Int64s],
    ) -> Scanned:
        """Frames, templates and literals as arrays of byte strings."""
        conditions = conditions.only(self.left(conditions.starts))
        kept = self.left(literals[0].starts)
        spans, kinds = literals[0].only(kept), literals[1][kept]
        rows = np.flatnonzero(self.plain)
        per_row = np.bincount(self.row_of(conditions.starts), minlength=len(self.plain))[rows]
        within = np.searchsorted(conditions.starts, spans.starts, side="right") - 1
        return Scanned(
            rows + first_row,
            self.frames(marks, conditions),
            offsets_of(per_row),
            self.templates(conditions, spans, kinds),
            offsets_of(np.bincount(within, minlength=len(conditions.starts))),
            self.bodies(spans, kinds),
        )

    def frames(self, marks: tuple[Spans, Bytes], conditions: Spans) -> pa.LargeBinaryArray:
        left = self.left(marks[0].starts)
        places = np.concatenate([marks[0].starts[left], conditions.starts])
        symbols = np.full(len(places), CONDITION, np.uint8)
        symbols[: left.sum()] = marks[1][left]
        order = np.argsort(places)
        counts = np.bincount(self.row_of(places), minlength=len(self.plain))[self.plain]
        return _byte_strings(offsets_of(counts), symbols[order])

    def templates(self, conditions: Spans, literals: Spans, kinds: Int64s) -> pa.LargeBinaryArray:
        written = self.bytes.copy()
        written[literals.starts] = kinds
        kept = covered(conditions, len(written))
        kept &= ~covered(Spans(literals.starts + 1, literals.ends), len(written))
        shortened = np.append(0, np.cumsum(literals.ends - literals.starts - 1))
        within = np.searchsorted(literals.starts, np.append(conditions.starts, len(written)))
        ends = np.searchsorted(literals.starts, conditions.ends)
        lengths = conditions.ends - conditions.starts
        lengths = lengths - (shortened[ends] - shortened[within[:-1]])
        return _byte_strings(offsets_of(lengths), written[kept])

    def bodies(self, literals: Spans, kinds: Int64s) -> pa.LargeBinaryArray:
        quoted = kinds <= 3
        spans = Spans(literals.starts + quoted, literals.ends - quoted)
        kept = covered(spans, len(self.bytes))
        return _byte_strings(offsets_of(spans.ends - spans.starts), self.bytes[kept])


def _byte_strings(offsets: Int64s, data: Bytes) -> pa.LargeBinaryArray:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
