"""What a clause is made of: predicates, the sets of values that they accept, and concepts.

A predicate is a cheap test of one column; a concept is a question that only a model answers. Both
are true or not true: unknown counts as not true, since NOT has already been pushed into them.

A column's values are ordered keys (see `columns`): Python integers or bytes. A `ValueSet` is a list
of half-open intervals between *cuts*; a cut lies just before or just after a key, so that `<`,
`<=`, equality and prefixes need no special cases. `null` says whether the predicate is true of
null: three-valued logic ends here, since only "is it true?" is ever asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from caddis.language.columns import Column

Key = int | bytes
Cut = tuple[int] | tuple[int, Key, int]

LOWEST: Cut = (-1,)
HIGHEST: Cut = (1,)


def before(key: Key) -> Cut:
    """The cut below a key: the key itself lies above it."""
    return (0, key, 0)


def after(key: Key) -> Cut:
    """The cut above a key: the key itself lies below it."""
    return (0, key, 1)


@dataclass(frozen=True, slots=True)
class ValueSet:
    """Intervals between `cuts[0]` and `cuts[1]`, `cuts[2]` and `cuts[3]`, ..., ascending.

    >>> young = ValueSet.interval(LOWEST, before(30))
    >>> 29 in (young & ~ValueSet.points(7)), 7 in (young & ~ValueSet.points(7))
    (True, False)
    """

    cuts: tuple[Cut, ...] = ()
    null: bool = False

    @staticmethod
    def interval(low: Cut, high: Cut) -> ValueSet:
        """The values between two cuts."""
        return ValueSet((low, high)) if low < high else NOTHING

    @staticmethod
    def points(*keys: Key) -> ValueSet:
        """Exactly these values."""
        return ValueSet(
            tuple(cut for key in sorted(set(keys)) for cut in (before(key), after(key)))
        )

    @staticmethod
    def prefix(prefix: bytes) -> ValueSet:
        """All byte strings that begin so."""
        stem = prefix.rstrip(b"\xff")
        end = before(stem[:-1] + bytes([stem[-1] + 1])) if stem else HIGHEST
        return ValueSet.interval(before(prefix), end)

    @staticmethod
    def union(sets: Iterable[ValueSet]) -> ValueSet:
        """What is in any of the sets."""
        null = False
        pairs: list[tuple[Cut, Cut]] = []
        for one in sets:
            null |= one.null
            pairs += zip(one.cuts[::2], one.cuts[1::2], strict=True)
        cuts: list[Cut] = []
        for low, high in sorted(pairs):
            if not cuts or cuts[-1] < low:
                cuts += (low, high)
            elif cuts[-1] < high:
                cuts[-1] = high
        return ValueSet(tuple(cuts), null)

    def __or__(self, other: ValueSet) -> ValueSet:
        return ValueSet.union((self, other))

    def __and__(self, other: ValueSet) -> ValueSet:
        if len(self.cuts) == len(other.cuts) == 2:
            low, high = max(self.cuts[0], other.cuts[0]), min(self.cuts[1], other.cuts[1])
            return ValueSet((low, high) if low < high else (), self.null and other.null)
        return ~(~self | ~other)

    def __invert__(self) -> ValueSet:
        """The complement, null included."""
        cuts = self.cuts
        cuts = cuts[1:] if cuts[:1] == (LOWEST,) else (LOWEST, *cuts)
        cuts = cuts[:-1] if cuts[-1:] == (HIGHEST,) else (*cuts, HIGHEST)
        return ValueSet(cuts, not self.null)

    def __contains__(self, key: Key | None) -> bool:
        if key is None:
            return self.null
        return sum(cut <= before(key) for cut in self.cuts) % 2 == 1

    @property
    def is_everything(self) -> bool:
        """True of every value and of null: such a predicate tests nothing."""
        return self.null and self.cuts == (LOWEST, HIGHEST)

    @property
    def is_nothing(self) -> bool:
        """True of no value: a clause with such a predicate never matches."""
        return not self.null and not self.cuts


NOTHING = ValueSet()
ALL_KNOWN = ValueSet((LOWEST, HIGHEST))
ONLY_NULL = ValueSet((), null=True)


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A Python regular expression that is searched in a text.

    fold: whether the text is lower-cased first.
    """

    regex: str
    fold: bool = False


@dataclass(frozen=True, slots=True)
class InValues:
    """True if the column's value is in the set; null may be, too."""

    column: Column
    values: ValueSet


@dataclass(frozen=True, slots=True)
class MatchesText:
    """True if the text is known and the pattern is found in it.

    If `negated`: true if the text is known and the pattern is not found.
    """

    column: Column
    pattern: TextPattern
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Contains:
    """True if an element of the array is in the set.

    If `negated`: true if the array and all its elements are known and none is in the set.
    """

    column: Column
    elements: ValueSet
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Concept:
    """True if a model answers yes about the column's value, or no if `negated`."""

    name: str
    column: Column
    negated: bool = False


Predicate = InValues | MatchesText | Contains


@dataclass(frozen=True, slots=True)
class Clause:
    """A conjunction: true if all its predicates and concepts are."""

    predicates: tuple[Predicate, ...]
    concepts: tuple[Concept, ...] = ()
