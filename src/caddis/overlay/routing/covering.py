"""When one clause asks for everything that another asks for.

A clause covers another if it is true whenever the other is: whoever asks a neighbour for the
covering one gets what the covered one wants as well. The tests are sound, not complete: `covers`
and `implies` say True, and `overlap` says False, only when that is sure; each answers from the
atoms alone. `covers` is transitive, which the forest of `cover` relies on.
"""

from __future__ import annotations

from bisect import bisect_right

from caddis.language.predicates import Clause, Concept, Contains, InValues, MatchesText, Predicate
from caddis.language.values import ALL_KNOWN, ValueSet

Atom = Predicate | Concept


def implies(one: Atom, other: Atom) -> bool:
    """Whether `other` is surely true of every event of which `one` is.

    >>> from caddis.language.columns import Column
    >>> age = Column(("age",), None)
    >>> implies(InValues(age, ValueSet.points(7)), InValues(age, ValueSet.points(7, 8)))
    True
    """
    if isinstance(one, Concept) or isinstance(other, Concept):
        return _is_same_answer(one, other)
    if one.column != other.column:
        return False
    if isinstance(other, InValues):
        return is_subset(_values(one), other.values)
    if isinstance(one, Contains) and isinstance(other, Contains):
        return _contains_implies(one, other)
    return one == other


def covers(general: Clause, special: Clause) -> bool:
    """Whether `general` is surely true of every event of which `special` is.

    >>> beach, crowded = Concept("beach", None), Concept("crowded", None)
    >>> covers(Clause((), (beach,)), Clause((), (crowded, beach)))
    True
    """
    return all(
        any(implies(theirs, concept) for theirs in special.concepts) for concept in general.concepts
    ) and all(
        any(implies(theirs, predicate) for theirs in special.predicates)
        for predicate in general.predicates
    )


def overlap(one: Clause, other: Clause) -> bool:
    """Whether some event may satisfy both: False only if surely none does.

    >>> beach, no_beach = Concept("beach", None), Concept("beach", None, negated=True)
    >>> overlap(Clause((), (beach,)), Clause((), (no_beach,)))
    False
    """
    return not any(
        _exclude(mine, theirs) for mine in one.concepts for theirs in other.concepts
    ) and not any(_exclude(mine, theirs) for mine in one.predicates for theirs in other.predicates)


def is_subset(some: ValueSet, others: ValueSet) -> bool:
    """Whether all values of one set, null included, are in the other.

    >>> is_subset(ValueSet.points(1, 3), ValueSet.points(1, 2, 3)), is_subset(ALL_KNOWN, ~ALL_KNOWN)
    (True, False)
    """
    if some.null and not others.null:
        return False
    for low, high in zip(some.cuts[::2], some.cuts[1::2], strict=True):
        end = bisect_right(others.cuts, low)
        if end % 2 == 0 or others.cuts[end] < high:
            return False
    return True


def _is_same_answer(one: Atom, other: Atom) -> bool:
    return (
        isinstance(one, Concept)
        and isinstance(other, Concept)
        and one.name == other.name
        and one.negated == other.negated
        and one.column == other.column
    )


def _values(predicate: Predicate) -> ValueSet:
    """What the column's value may be if the predicate is true; patterns need a value at least."""
    return predicate.values if isinstance(predicate, InValues) else ALL_KNOWN


def _contains_implies(one: Contains, other: Contains) -> bool:
    """Having one of few is having one of more; having none of more is having none of few."""
    if one.negated != other.negated:
        return False
    fewer, more = (other, one) if one.negated else (one, other)
    return is_subset(fewer.elements, more.elements)


def _exclude(one: Atom, other: Atom) -> bool:
    """Whether the two are surely never true of the same event."""
    if isinstance(one, Concept) or isinstance(other, Concept):
        return _are_contrary(one, other)
    if one.column != other.column:
        return False
    return (_values(one) & _values(other)).is_nothing or _are_contrary(one, other)


def _are_contrary(one: Atom, other: Atom) -> bool:
    """Whether one denies what the other implies."""
    if isinstance(one, InValues) or isinstance(other, InValues) or one.negated == other.negated:
        return False
    yes, no = (other, one) if one.negated else (one, other)
    if isinstance(yes, Concept) and isinstance(no, Concept):
        return yes.name == no.name and yes.column == no.column
    if isinstance(yes, MatchesText) and isinstance(no, MatchesText):
        return yes.pattern == no.pattern
    if isinstance(yes, Contains) and isinstance(no, Contains):
        return is_subset(yes.elements, no.elements)
    return False
