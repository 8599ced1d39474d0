"""Finds what joins conditions in very many texts: AND, OR, NOT, and the parentheses around them.

An AND between the bounds of BETWEEN, the NOT of NOT IN and the parentheses of a list or a call
belong to a condition. Misjudging that does no harm: what is left is then not a condition of a
known form, and the text is left to be read by shape.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Bytes, Int64s
from caddis.language.parsing.text_bytes import PAREN, Spans, TextBytes, among

CONDITION, AND, OR, NOT, OPEN, CLOSE = b"@&|!()"
"""What a frame is made of."""


class Junctions(TextBytes):
    """Texts in which what joins conditions can be found."""

    def marks(self, words: Spans) -> tuple[Spans, Bytes]:
        """What joins conditions in plain texts, and the symbol of each."""
        lengths = words.ends - words.starts
        ands, nots = (self.spelt(words, lengths, word) for word in (b"and", b"not"))
        ors, betweens = (self.spelt(words, lengths, word) for word in (b"or", b"between"))
        ands &= ~self.between_bounds(words, ands, betweens)
        parens = np.flatnonzero(self.classes == PAREN)
        parens = parens[self.left(parens)]
        parens, partner = self.paired(parens)
        joins = ands | ors
        prior, is_start = self.nonblank_before(words.starts[nots])
        nots[nots] = is_start | self.ends_mark(prior, words.only(joins), parens)
        outer = self.around_conditions(parens, partner, words.only(joins | nots))
        joined = words.only(joins | nots)
        symbols = np.full(len(words.starts), NOT, np.uint8)
        symbols[ands], symbols[ors] = AND, OR
        starts = np.concatenate([joined.starts, parens[outer]])
        ends = np.concatenate([joined.ends, parens[outer] + 1])
        symbol = np.concatenate([symbols[joins | nots], self.bytes[parens[outer]]])
        order = np.argsort(starts)
        order = order[self.left(starts[order])]
        return Spans(starts[order], ends[order]), symbol[order]

    def spelt(self, words: Spans, lengths: Int64s, word: bytes) -> Bools:
        """Which words are this one, in capitals or not."""
        found = np.flatnonzero(lengths == len(word))
        for at, letter in enumerate(word):
            found = found[self.bytes[words.starts[found] + at] | 0x20 == letter]
        is_word = np.zeros(len(lengths), bool)
        is_word[found] = True
        return is_word

    def between_bounds(self, words: Spans, ands: Bools, betweens: Bools) -> Bools:
        """Which ANDs stand between the bounds of BETWEEN: the first ones after it."""
        some = np.flatnonzero(ands | betweens)
        rows = self.row_of(words.starts[some])
        bound = np.zeros(len(ands), bool)
        follows = ands[some[1:]] & betweens[some[:-1]] & (rows[1:] == rows[:-1])
        bound[some[1:][follows]] = True
        return bound

    def paired(self, parens: Int64s) -> tuple[Int64s, Int64s]:
        """The parentheses of texts in which they pair up, and the number of each one's partner."""
        step = np.where(self.bytes[parens] == OPEN, 1, -1)
        rows = self.row_of(parens)
        level = np.cumsum(step)
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        before = (level - step)[first]
        level = level - np.repeat(before, np.diff(np.append(first, len(rows))))
        last = np.append(first[1:], len(rows)) - 1
        self.leave(parens[level < 0])
        self.leave(parens[last[level[last] != 0]] if len(parens) else parens)
        kept = self.plain[rows]
        parens, step, rows = parens[kept], step[kept], rows[kept]
        depth = level[kept] + (step < 0)
        order = np.lexsort((depth, rows))
        partner = np.empty(len(parens), np.int64)
        partner[order[0::2]], partner[order[1::2]] = order[1::2], order[0::2]
        return parens, partner

    def ends_mark(self, places: Int64s, words: Spans, parens: Int64s) -> Bools:
        """Whether one of these words ends at each place, or a parenthesis opens there."""
        opens = self.bytes[np.maximum(places, 0)] == OPEN
        ends: Bools = among(places, words.ends - 1) | (opens & among(places, parens))
        return ends

    def around_conditions(self, parens: Int64s, partner: Int64s, words: Spans) -> Bools:
        """Which parentheses stand around conditions: behind AND, OR, NOT, or another such one."""
        opens = self.bytes[parens] == OPEN
        prior, is_start = self.nonblank_before(parens)
        outer: Bools = opens & (is_start | among(prior, words.ends - 1))
        inner = np.searchsorted(parens, prior)
        follows = opens & (np.append(parens, -1)[np.minimum(inner, len(parens))] == prior)
        inner[~follows] = 0
        while True:
            more = follows & ~outer & outer[inner] if len(parens) else follows
            if not more.any():
                break
            outer |= more
        closes = ~opens
        outer[closes] = outer[partner[closes]]
        return outer
