"""The bytes of very many texts, each with its class, and which texts are still plain.

Looking at all bytes at once is what makes `scanning` quick: every step is an operation on whole
arrays. A text in which something is found that the steps do not know is no longer plain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Bytes, Int64s

MOST_BLANKS = 100
"""A text with a longer run of blanks before or after a condition is left alone."""


LETTER, DIGIT, DOT, BLANK, PAREN, QUOTE, SIGN, ODD, ODD_IN_STRING = (
    1 << bit for bit in (0, 1, 2, 3, 4, 5, 6, 7, 8)
)
WORD = LETTER | DIGIT | DOT


def _classes() -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    table = np.full(256, ODD, np.int16)
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for some, kind in (
        (letters + letters.lower() + b"_", LETTER),
        (b"0123456789", DIGIT),
        (b".", DOT),
        (b" \t\r\n", BLANK),
        (b"()", PAREN),
        (b"'", QUOTE),
        (b"=<>!,-", SIGN),
    ):
        table[list(some)] = kind
    # Escapes, what Spark replaces (${...}), and doubled quotes of the other kind.
    table[list(b'\\$"')] |= ODD_IN_STRING
    return table


CLASS = _classes()


class Spans(NamedTuple):
    """Stretches of the bytes, ascending."""

    starts: Int64s
    ends: Int64s

    def only(self, kept: Bools) -> Spans:
        return Spans(self.starts[kept], self.ends[kept])


class TextBytes:
    """Some texts without nulls, one after another."""

    def __init__(self, texts: pa.LargeStringArray) -> None:
        _, offsets, data = texts.buffers()
        starts = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        size = int(starts[-1] - starts[0])
        self.starts = starts - starts[0]
        self.bytes: Bytes = (
            np.frombuffer(data, np.uint8, size, int(starts[0])) if size else np.zeros(0, np.uint8)
        )
        self.plain = np.ones(len(texts), bool)
        self.classes = CLASS[self.bytes]

    def row_of(self, places: Int64s) -> Int64s:
        """The text that each place is in."""
        rows: Int64s = np.searchsorted(self.starts, places, side="right") - 1
        return rows

    def leave(self, places: Int64s) -> None:
        """Leave the texts alone that these places are in."""
        self.plain[self.row_of(places)] = False

    def left(self, places: Int64s) -> Bools:
        """Whether the text of each place is still plain."""
        left: Bools = self.plain[self.row_of(places)]
        return left

    def nonblank_before(self, places: Int64s) -> tuple[Int64s, Bools]:
        """The nearest place before each that is not blank, and whether there is none."""
        starts = self.starts[self.row_of(places)]
        prior = places - 1
        for _ in range(MOST_BLANKS):
            blank = (prior >= starts) & (self.classes[np.maximum(prior, 0)] == BLANK)
            if not blank.any():
                return prior, prior < starts
            prior = prior - blank
        self.leave(places[blank])
        return prior, prior < starts


def among(places: Int64s, known: Int64s) -> Bools:
    """Which places are among the known ones, which ascend."""
    found = np.append(known, -1)[np.searchsorted(known, places)]
    among: Bools = (found == places) & (places >= 0)
    return among


def covered(spans: Spans, length: int) -> Bools:
    """Which places lie in one of some spans, which do not overlap."""
    change = np.zeros(length + 1, np.int8)
    # One after the other: an empty span, or one that begins where another ends, has both there.
    change[spans.starts] += 1
    change[spans.ends] -= 1
    covered: Bools = np.cumsum(change[:-1], dtype=np.int8) > 0
    return covered
