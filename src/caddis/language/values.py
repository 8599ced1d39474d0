"""Sets of column values for which a predicate is true, closed under AND, OR and NOT.

A column's values are ordered keys (see `columns`): Python integers or bytes. A set is a list of
half-open intervals between *cuts*; a cut lies just before or just after a key, so that `<`,
`<=`, equality and prefixes need no special cases. `null` says whether the predicate is true of
null: three-valued logic ends here, since only "is it true?" is ever asked after NOT has been
pushed down to the atoms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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

    def __or__(self, other: ValueSet) -> ValueSet:
        return self._combine(other, lambda a, b: a or b)

    def __and__(self, other: ValueSet) -> ValueSet:
        return self._combine(other, lambda a, b: a and b)

    def __invert__(self) -> ValueSet:
        """The complement, null included."""
        return self._combine(NOTHING, lambda a, _: not a)

    def __contains__(self, key: Key | None) -> bool:
        if key is None:
            return self.null
        return sum(cut <= before(key) for cut in self.cuts) % 2 == 1

    def of_known_values(self) -> ValueSet:
        """The same set without null."""
        return ValueSet(self.cuts)

    @property
    def is_everything(self) -> bool:
        """True of every value and of null: such a predicate tests nothing."""
        return self.null and self.cuts == (LOWEST, HIGHEST)

    @property
    def is_nothing(self) -> bool:
        """True of no value: a clause with such a predicate never matches."""
        return not self.null and not self.cuts

    def point_keys(self) -> tuple[Key, ...] | None:
        """The keys, if the set is a list of single values; None if it has a wider interval."""
        keys = []
        for low, high in zip(self.cuts[::2], self.cuts[1::2], strict=True):
            if len(low) == 1 or len(high) == 1 or low[1] != high[1]:
                return None
            keys.append(low[1])
        return tuple(keys)

    def _combine(self, other: ValueSet, rule: Callable[[bool, bool], bool]) -> ValueSet:
        inside = [False, False]
        toggles = sorted({*self.cuts, *other.cuts, LOWEST})
        mine, others = set(self.cuts), set(other.cuts)
        cuts: list[Cut] = []
        for cut in toggles:
            inside[0] ^= cut in mine
            inside[1] ^= cut in others
            if cut != HIGHEST and rule(*inside) != bool(len(cuts) % 2):
                cuts.append(cut)
        if len(cuts) % 2:
            cuts.append(HIGHEST)
        return ValueSet(tuple(cuts), rule(self.null, other.null))


NOTHING = ValueSet()
ALL_KNOWN = ValueSet((LOWEST, HIGHEST))
ONLY_NULL = ValueSet((), null=True)
