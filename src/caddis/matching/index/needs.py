"""What clauses need of models, once their cheap predicates hold.

A need is a conjunction of literals: concept c is literal 2c, NOT c is 2c + 1. Clauses that ask for
the same are kept once, however many links they lead to; so are their needs:

    clause ──of_clause──▶ need ──starts──▶ literals
    clause ──link_starts──▶ links

A clause that asks for a concept and its contrary is never true and does not get here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np

from caddis.arrays import Bools, Int32s
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
    cheap_of = (np.cumsum(~is_concept) - 1).tolist()
    # Python's own small sets and tuples are several times as quick here as arrays of two or three.
    clauses: dict[tuple[int, ...], int] = {}
    needs: dict[tuple[int, ...], int] = {}
    owners: list[set[int]] = []
    of_clause: list[int] = []
    members, starts = table.members.tolist(), table.starts.tolist()
    for link, begin, end in zip(table.owner.tolist(), starts[:-1], starts[1:], strict=True):
        asked = sorted({literal_of[one] for one in members[begin:end] if literal_of[one] >= 0})
        if _contradicts(asked):
            continue
        need = needs.setdefault(tuple(asked), len(needs)) if asked else NOTHING
        cheap = sorted(cheap_of[one] for one in members[begin:end] if literal_of[one] < 0)
        clause = clauses.setdefault((need, *cheap), len(clauses))
        if clause == len(owners):
            owners.append(set())
            of_clause.append(need)
        owners[clause].add(link)
    first, flat = _flat([key[1:] for key in clauses])
    joined = replace(
        table,
        predicates=[p for p in table.predicates if not isinstance(p, Concept)],
        owner=np.arange(len(owners), dtype=np.int32),
        starts=first.astype(np.int64),
        members=flat,
    )
    links = [sorted(some) for some in owners]
    return joined, Needs(
        concepts, np.array(of_clause, np.int32), *_flat(links), *_flat(list(needs))
    )


def _numbered(table: ClauseTable, is_concept: Bools) -> tuple[list[Concept], list[int]]:
    """The distinct concepts, and by predicate the literal that it is, or -1."""
    numbers: dict[Concept, int] = {}
    literal_of = [-1] * len(table.predicates)
    for at in np.flatnonzero(is_concept).tolist():
        concept = table.predicates[at]
        assert isinstance(concept, Concept)
        number = numbers.setdefault(replace(concept, negated=False), len(numbers))
        literal_of[at] = 2 * number + concept.negated
    return list(numbers), literal_of


def _contradicts(literals: list[int]) -> bool:
    """Whether ascending literals hold a concept and its contrary."""
    return any(one >> 1 == other >> 1 for one, other in pairwise(literals))


def _flat(rows: Sequence[Sequence[int]]) -> tuple[Int32s, Int32s]:
    """Where each row starts, with the end, and all of them in one."""
    starts = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    flat = np.array(list(chain.from_iterable(rows)), np.int32)
    for array in (starts, flat):
        array.flags.writeable = False
    return starts, flat
