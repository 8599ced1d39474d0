"""Binds very many literals to a part of a clause at once.

`comparisons` says what a comparison means; this gives the same sets for what most subscriptions
ask: strings, whole numbers and decimals compared with columns of strings, numbers and decimals, by
a sign, BETWEEN or IN. Literals that are not plain (too long, say) are left to `binding`, as are
all other parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Floats, Int32s, Int64s, offsets_of
from caddis.language.columns import (
    Column,
    exact_limits,
    has_byte_keys,
    is_exact,
    is_floating,
    is_text,
    scale_of,
)
from caddis.language.parsing.literal_arrays import MOST_DIGITS, Literals
from caddis.language.parsing.predicate_table import (
    ABOVE_ALL,
    AFTER_KEY,
    BEFORE_KEY,
    BELOW_ALL,
    Int8s,
    Keys,
    ValueSets,
)
from caddis.language.shapes import DECIMAL, INTEGER, TEXT_KINDS
from caddis.language.tree import Slot, Term, Test, Values

_OPPOSITES = {
    Test.LESS: Test.AT_LEAST,
    Test.AT_MOST: Test.MORE,
    Test.MORE: Test.AT_MOST,
    Test.AT_LEAST: Test.LESS,
}
_SIGNS = frozenset((Test.EQUAL, *_OPPOSITES))


class Cuts(NamedTuple):
    """Many cuts of one column; the keys of byte strings are their ranks among all literals."""

    places: Int8s
    keys: Int64s

    def below(self, other: Cuts) -> Bools:
        """Whether each cut lies below the other one."""
        below: Bools = (self.places == BELOW_ALL) & (other.places != BELOW_ALL)
        below |= (other.places == ABOVE_ALL) & (self.places != ABOVE_ALL)
        inner = self.at_key & other.at_key
        same = self.keys == other.keys
        below |= inner & np.where(same, self.places < other.places, self.keys < other.keys)
        return below

    @property
    def at_key(self) -> Bools:
        at_key: Bools = (self.places == BEFORE_KEY) | (self.places == AFTER_KEY)
        return at_key

    def where(self, chosen: Bools, other: Cuts) -> Cuts:
        """These cuts where chosen, and the other ones elsewhere."""
        return Cuts(
            np.where(chosen, self.places, other.places), np.where(chosen, self.keys, other.keys)
        )


class Intervals(NamedTuple):
    """For each combination of literals the values between two cuts."""

    low: Cuts
    high: Cuts
    sound: Bools
    """Whether the literals are plain; what others come to is not said here."""

    def and_(self, other: Intervals) -> Intervals:
        """What is in both."""
        return Intervals(
            other.low.where(self.low.below(other.low), self.low),
            self.high.where(self.high.below(other.high), other.high),
            self.sound & other.sound,
        )


class _Sets(NamedTuple):
    sets: ValueSets
    sound: Bools


def value_sets(part: Values | Term, codes: Int32s, literals: Literals) -> _Sets | None:
    """What a part comes to for each row of literals' numbers; None if it is not done in bulk."""
    if not isinstance(part, Values):
        return None
    if _is_list(part):
        return _listed(part, codes, literals)
    intervals = _intervals(part, codes, literals)
    if intervals is not None:
        return _Sets(_between(part.column, intervals, literals), intervals.sound)
    return None


def _intervals(part: Values | Term, codes: Int32s, literals: Literals) -> Intervals | None:
    """A comparison by a sign, or an AND of such."""
    if isinstance(part, Term):
        return _compared(part, codes, literals)
    if part.joint != "and" and len(part.parts) > 1:
        return None
    result: Intervals | None = None
    for inner in part.parts:
        intervals = _intervals(inner, codes, literals)
        if intervals is None:
            return None
        result = intervals if result is None else result.and_(intervals)
    return result


def _compared(term: Term, codes: Int32s, literals: Literals) -> Intervals | None:
    slot = _plain_slot(term)
    test = term.atom.test
    if slot is None or test not in _SIGNS or (term.negated and test not in _OPPOSITES):
        return None
    around = _equal_range(term.atom.column, slot, codes[:, slot.number], literals)
    if around is None:
        return None
    low, high, sound = around
    test = _OPPOSITES[test] if term.negated else test
    if test is Test.EQUAL:
        return around
    if test in (Test.LESS, Test.AT_MOST):
        below = Cuts(np.full(len(codes), BELOW_ALL, np.int8), np.zeros(len(codes), np.int64))
        return Intervals(below, low if test is Test.LESS else high, sound)
    above = Cuts(np.full(len(codes), ABOVE_ALL, np.int8), np.zeros(len(codes), np.int64))
    return Intervals(high if test is Test.MORE else low, above, sound)


def _plain_slot(term: Term) -> Slot | None:
    """The one literal of an atom, if it is one without a cast."""
    if len(term.atom.operands) != 1:
        return None
    (slot,) = term.atom.operands
    return slot if isinstance(slot, Slot) and slot.cast is None else None


def _equal_range(column: Column, slot: Slot, codes: Int32s, literals: Literals) -> Intervals | None:
    """The cuts around the keys that equal each literal, as `comparisons.equal_range` gives them."""
    if is_text(column.type) and slot.kind in TEXT_KINDS:
        return _around(literals.ranks[codes], literals.is_verbatim[codes])
    if slot.kind not in (INTEGER, DECIMAL):
        return None
    if is_floating(column.type):
        values = literals.floats[codes]
        keys = _float_keys(-values if slot.negative else values)
        return _around(keys, literals.is_number[codes])
    if is_exact(column.type) and not has_byte_keys(column):
        return _exact(column, slot, codes, literals)
    return None


def _around(keys: Int64s, sound: Bools) -> Intervals:
    before, after = (np.full(len(keys), place, np.int8) for place in (BEFORE_KEY, AFTER_KEY))
    return Intervals(Cuts(before, keys), Cuts(after, keys), sound)


def _float_keys(values: Floats) -> Int64s:
    """What `float_key` gives, for numbers that are finite."""
    bits = (values + 0.0).view(np.int64)
    return np.where(bits >= 0, bits, -(bits & np.int64((1 << 63) - 1)))


def _exact(column: Column, slot: Slot, codes: Int32s, literals: Literals) -> Intervals:
    digits = literals.digits[codes]
    digits = -digits if slot.negative else digits
    behind = scale_of(column.type) - literals.scales[codes]
    up, down = (np.clip(sign * behind, 0, MOST_DIGITS) for sign in (1, -1))
    ten = np.int64(10)
    sound = literals.is_number[codes] & (np.abs(digits) < ten ** (MOST_DIGITS - up))
    floor = np.where(sound, digits, 0) * ten**up // ten**down
    whole = np.where(sound, digits, 0) % ten**down == 0
    low = np.where(whole, BEFORE_KEY, AFTER_KEY).astype(np.int8)
    high = np.full(len(codes), AFTER_KEY, np.int8)
    limits = exact_limits(column.type)
    return Intervals(_clamped(low, floor, limits), _clamped(high, floor, limits), sound)


def _clamped(places: Int8s, keys: Int64s, limits: tuple[int, int]) -> Cuts:
    """The same cuts, below or above all where no value of the column lies beyond."""
    low, high = limits
    below = (keys < low) | ((keys == low) & (places == BEFORE_KEY))
    above = (keys > high) | ((keys == high) & (places == AFTER_KEY))
    places = np.where(below, BELOW_ALL, np.where(above, ABOVE_ALL, places)).astype(np.int8)
    return Cuts(places, keys)


def _between(column: Column, intervals: Intervals, literals: Literals) -> ValueSets:
    """The values between each two cuts; nothing if the upper one is not above the lower."""
    some = intervals.low.below(intervals.high)
    places = np.stack([intervals.low.places, intervals.high.places], axis=1)[some].ravel()
    keys = np.stack([intervals.low.keys, intervals.high.keys], axis=1)[some].ravel()
    inner = keys[(places == BEFORE_KEY) | (places == AFTER_KEY)]
    nulls = np.zeros(len(some), bool)
    return ValueSets(offsets_of(2 * some), places, _keys(column, inner, literals), nulls)


def _keys(column: Column, keys: Int64s, literals: Literals) -> Keys:
    return literals.ordered.take(pa.array(keys)) if has_byte_keys(column) else keys


def _is_list(part: Values) -> bool:
    """Whether the part is one IN."""
    (first, *more) = part.parts
    return not more and isinstance(first, Term) and first.atom.test is Test.IN


def _listed(part: Values, codes: Int32s, literals: Literals) -> _Sets | None:
    """IN and NOT IN, for strings and whole numbers."""
    (term,) = part.parts
    assert isinstance(term, Term)
    keys: list[Int64s] = []
    sound = np.ones(len(codes), bool)
    for operand in term.atom.operands:
        if not isinstance(operand, Slot) or operand.cast is not None:
            return None
        if is_exact(part.column.type) and (
            operand.kind != INTEGER or not pa.types.is_integer(part.column.type)
        ):
            return None
        around = _equal_range(part.column, operand, codes[:, operand.number], literals)
        if around is None:
            return None
        keys.append(around.low.keys)
        sound &= around.sound & around.low.at_key & around.high.at_key
    sets = _points(part.column, np.sort(np.stack(keys, axis=1), axis=1), term.negated, literals)
    return _Sets(sets, sound)


def _points(column: Column, keys: Int64s, negated: bool, literals: Literals) -> ValueSets:
    """Each row's distinct keys, ascending, or all other values but null."""
    distinct = np.ones(keys.shape, bool)
    distinct[:, 1:] = keys[:, 1:] != keys[:, :-1]
    counts = 2 * distinct.sum(axis=1)
    flat = np.repeat(keys[distinct], 2)
    places = np.tile(np.array([BEFORE_KEY, AFTER_KEY], np.int8), len(flat) // 2)
    if negated:
        ends = np.cumsum(counts)
        places = np.insert(places, np.concatenate([ends - counts, ends]), 0)
        counts = counts + 2
        ends = np.cumsum(counts)
        places[ends - counts], places[ends - 1] = BELOW_ALL, ABOVE_ALL
    nulls = np.zeros(len(keys), bool)
    return ValueSets(offsets_of(counts), places, _keys(column, flat, literals), nulls)
