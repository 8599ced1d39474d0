"""What a clause is made of once its literals are known.

A predicate is a cheap test of one column; a concept is a question that only a model answers. Both
are true or not true: unknown counts as not true, since NOT has already been pushed into them.
"""

from __future__ import annotations

from dataclasses import dataclass

from caddis.language.columns import Column
from caddis.language.patterns import TextPattern
from caddis.language.values import ValueSet


@dataclass(frozen=True, slots=True)
class InValues:
    """True if the column's value (or null) is in the set."""

    column: Column
    values: ValueSet


@dataclass(frozen=True, slots=True)
class MatchesText:
    """True if the text is known and the pattern is found in it, or is not if `negated`."""

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
    """True if a model says so of the column's value, or says no if `negated`."""

    name: str
    column: Column
    negated: bool = False


Predicate = InValues | MatchesText | Contains


@dataclass(frozen=True, slots=True)
class Clause:
    """A conjunction: true if all its predicates and concepts are."""

    predicates: tuple[Predicate, ...]
    concepts: tuple[Concept, ...] = ()
