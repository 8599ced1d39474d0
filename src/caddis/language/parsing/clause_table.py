"""The clauses of very many subscriptions as arrays, and how they are put together.

A way of reading texts hands in `pieces`: rows of subscriptions, and for each a clause of as many
predicates as the piece is wide. Among their numbers stand NEVER, ALWAYS and INVALID.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from caddis.arrays import Anys, Int32s, Int64s, offsets_of
from caddis.errors import SubscriptionError
from caddis.language.binding import ALWAYS, INVALID, NEVER
from caddis.language.parsing.predicate_table import PredicateTable
from caddis.language.predicates import Clause, Concept

Piece = tuple[Int32s, Int32s]
"""The rows of some subscriptions, and the numbers of the predicates of a clause of each."""


@dataclass(frozen=True, slots=True)
class ClauseTable:
    """The clauses of many subscriptions.

    Clause c belongs to subscription `owner[c]` and is the conjunction of
    `predicates[m]` for m in `members[starts[c]:starts[c + 1]]`. `errors` says, by subscription,
    which texts could not be used; those have no clauses.
    """

    predicates: PredicateTable
    owner: Int32s
    starts: Int64s
    members: Int32s
    errors: dict[int, SubscriptionError] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        predicates: PredicateTable,
        pieces: Sequence[Piece],
        errors: dict[int, SubscriptionError],
    ) -> ClauseTable:
        """A table of the pieces' clauses, without those that are never true or belong to errors."""
        refused = np.fromiter(errors, dtype=np.int32, count=len(errors))
        owners, members, counts = [], [], []
        for rows, numbers in pieces:
            usable = ~np.any((numbers == NEVER) | (numbers == INVALID), axis=1)
            if len(refused):
                usable &= ~np.isin(rows, refused)
            kept = numbers[usable]
            owners.append(rows[usable])
            members.append(kept[kept != ALWAYS])
            counts.append(np.count_nonzero(kept != ALWAYS, axis=1))
        starts = offsets_of(_joined(counts, np.int64))
        kept_predicates, numbered = _only_used(predicates, _joined(members, np.int32))
        ordered = dict(sorted(errors.items()))
        return cls(kept_predicates, _joined(owners, np.int32), starts, numbered, ordered)

    def clause(self, number: int) -> Clause:
        """One clause as an object."""
        found = [
            self.predicates[m] for m in self.members[self.starts[number] : self.starts[number + 1]]
        ]
        concepts = tuple(one for one in found if isinstance(one, Concept))
        return Clause(tuple(one for one in found if not isinstance(one, Concept)), concepts)


def _only_used(predicates: PredicateTable, members: Int32s) -> tuple[PredicateTable, Int32s]:
    """Drop the predicates that no clause uses any more."""
    used = np.zeros(len(predicates), bool)
    used[members] = True
    if used.all():
        return predicates, members
    return predicates.only(used), (np.cumsum(used) - 1)[members].astype(np.int32)


def _joined(arrays: Sequence[Anys], dtype: type[np.generic]) -> Anys:
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype, copy=False)
