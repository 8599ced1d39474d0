"""What clauses need of models, once their cheap predicates hold.

A need is a conjunction of literals: concept c is literal 2c, NOT c is 2c + 1. Clauses that ask for
the same are kept once, however many links they lead to; so are their needs:

    clause ──of_clause──▶ need ──starts──▶ literals
    clause ──link_starts──▶ links

A clause that asks for a concept and its contrary is never true and does not get here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s
from caddis.language import ClauseTable, Concept

NOTHING = -1
"""In place of a need: the clause holds as soon as its predicates do."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of a matcher's clauses, over the concepts that it calls."""

    concepts: list[Concept]
    """By number, none negated."""
    of_clause: Int32s
    """By clause: its need, or NOTHING."""
    link_starts: Int32s
    links: Int32s
    """Clause c leads to `links[link_starts[c]:link_starts[c + 1]]`."""
    starts: Int32s
    literals: Int32s
    """Need n asks for `literals[starts[n]:starts[n + 1]]`, ascending."""

    def __len__(self) -> int:
        return len(self.starts) - 1


def split(table: ClauseTable) -> tuple[ClauseTable, Needs | None]:
    """The clauses without their concepts, and what those concepts were.

    If there are any, equal clauses are joined, and each is its own owner: clause c belongs to c.
    """
    is_concept = np.array([isinstance(p, Concept) for p in table.predicates], bool)
    if not np.any(is_concept):
        return table, None
    concepts, literal_of = _numbered(table, is_concept)
    cheap = (np.cumsum(~is_concept) - 1).astype(np.int64)
    clauses, needs = _Distinct(), _Distinct()
    owners: list[list[int]] = []
    of_clause: list[int] = []
    for link, begin, end in zip(table.owner, table.starts[:-1], table.starts[1:], strict=True):
        members = table.members[begin:end]
        asks = is_concept[members]
        literals = np.unique(literal_of[members[asks]])
        if _contradicts(literals):
            continue
        need = needs.number(literals) if len(literals) else NOTHING
        clause = clauses.number(np.append(np.sort(cheap[members[~asks]]), need))
        if clause == len(owners):
            owners.append([])
            of_clause.append(need)
        owners[clause].append(int(link))
    links = [np.unique(some) for some in owners]
    starts, members = _flat([key[:-1] for key in clauses.keys])
    joined = replace(
        table,
        predicates=[p for p in table.predicates if not isinstance(p, Concept)],
        owner=np.arange(len(owners), dtype=np.int32),
        starts=starts.astype(np.int64),
        members=members,
    )
    return joined, Needs(concepts, np.array(of_clause, np.int32), *_flat(links), *_flat(needs.keys))


class _Distinct:
    """Arrays by number, each once."""

    def __init__(self) -> None:
        self.keys: list[Int64s] = []
        self._numbers: dict[bytes, int] = {}

    def number(self, key: Int64s) -> int:
        number = self._numbers.setdefault(key.tobytes(), len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
        return number


def _numbered(table: ClauseTable, is_concept: Bools) -> tuple[list[Concept], Int64s]:
    """The distinct concepts, and by predicate the literal that it is."""
    numbers: dict[Concept, int] = {}
    literal_of = np.full(len(table.predicates), -1, np.int64)
    for at in map(int, np.flatnonzero(is_concept)):
        concept = table.predicates[at]
        assert isinstance(concept, Concept)
        number = numbers.setdefault(replace(concept, negated=False), len(numbers))
        literal_of[at] = 2 * number + concept.negated
    return list(numbers), literal_of


def _contradicts(literals: Int64s) -> bool:
    """Whether ascending literals hold a concept and its contrary."""
    return bool(np.any(literals[1:] >> 1 == literals[:-1] >> 1))


def _flat(arrays: list[Int64s]) -> tuple[Int32s, Int32s]:
    """Where each array starts, with the end, and all of them in one."""
    starts = np.zeros(len(arrays) + 1, np.int32)
    np.cumsum([len(array) for array in arrays], out=starts[1:])
    flat = np.concatenate([np.zeros(0, np.int64), *arrays]).astype(np.int32)
    for array in (starts, flat):
        array.flags.writeable = False
    return starts, flat
