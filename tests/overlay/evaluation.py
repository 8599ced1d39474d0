"""Clauses evaluated on tiny events, as plainly as can be.

A set of events is an integer with a bit for each event of a small world, so that whole worlds are
forwarded at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from caddis.language.predicates import LOWEST, Clause, Concept, Contains, InValues, Predicate


@dataclass(frozen=True, slots=True)
class Event:
    """Keys of values by column, and what models would answer; on a null column they are silent."""

    values: Mapping[str, Any]
    answers: Mapping[str, bool] = field(default_factory=dict)


def atom_holds(atom: Predicate | Concept, event: Event) -> bool:
    value = event.values[atom.column.name]
    if isinstance(atom, Concept):
        return value is not None and event.answers[atom.name] != atom.negated
    if isinstance(atom, InValues):
        if isinstance(value, tuple):
            return atom.values.cuts[:1] == (LOWEST,)
        return value in atom.values
    if value is None:
        return False
    if isinstance(atom, Contains):
        if atom.negated:
            return all(one is not None and one not in atom.elements for one in value)
        return any(one in atom.elements for one in value)
    return (re.search(atom.pattern.regex, value.decode()) is None) == atom.negated


def holds(clause: Clause, event: Event) -> bool:
    return all(atom_holds(atom, event) for atom in (*clause.predicates, *clause.concepts))


class World:
    """A list of events; sets of them are integers."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self._known: dict[Clause, int] = {}

    def satisfying(self, clauses: Iterable[Clause]) -> int:
        """The events of which any of the clauses is true."""
        found = 0
        for clause in clauses:
            if clause not in self._known:
                self._known[clause] = sum(
                    1 << at for at, event in enumerate(self.events) if holds(clause, event)
                )
            found |= self._known[clause]
        return found
