"""Sealed clauses as the brokers of an overlay know them: equalities with an opaque value.

    sealed:AAEC...  ─▶  sealed = X'...'  for each sealed clause of the text

Routing tables, covering and advertisements look at no more than that: two clauses of the same bytes
cover each other, and no others do. `SealedMatcher.from_clauses` takes the bytes out again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from caddis.confidential.clause_groups import misfit
from caddis.confidential.sealed_subscriptions import pack, unpack_all
from caddis.errors import ConfidentialError, SubscriptionError
from caddis.language import Clause, ClauseTable, Column, InValues, ValueSet

SEALED = Column(("sealed",), pa.binary())
EVERYTHING = "TRUE"
"""What publishers of sealed events advertise: nobody is told what they will publish."""


def sealed_clauses_of(where: str) -> tuple[Clause, ...]:
    """The clauses of a sealed subscription's text; a broker's `read`.

    >>> sealed_clauses_of("TRUE")
    (Clause(predicates=(), concepts=()),)
    >>> sealed_clauses_of("city = 'Galway'")
    Traceback (most recent call last):
    caddis.errors.SubscriptionError: this subscription is not sealed; sealed texts begin with ...
    """
    if where == EVERYTHING:
        return (Clause(()),)
    blocks, problems = unpack_all(pa.array([where], pa.string()))
    for problem in problems.values():
        raise SubscriptionError(problem, "")
    for problem in filter(None, map(misfit, blocks)):
        raise SubscriptionError(problem, "")
    singles = [
        one
        for block in blocks
        for one in pack(replace(block, owner=np.arange(len(block), dtype=np.int32)), len(block))
    ]
    return tuple(Clause((InValues(SEALED, ValueSet.points(one)),)) for one in singles)


def sealed_bytes_of(clauses: ClauseTable) -> pa.Array:
    """By predicate of a broker's table: the bytes that it stands for."""
    if len(clauses.starts) > 1 and (clauses.starts[1:] - clauses.starts[:-1]).max() > 1:
        raise ConfidentialError("a broker's sealed clause is one equality, and nothing beside it")
    return pa.array([_bytes(one) for one in clauses.predicates], pa.binary())


def _bytes(predicate: object) -> bytes:
    if isinstance(predicate, InValues) and predicate.column == SEALED:
        [low, high] = predicate.values.cuts
        if len(low) == 3 == len(high) and low[1] == high[1] and isinstance(low[1], bytes):
            return low[1]
    raise ConfidentialError("a broker for sealed events was given a clause that is not sealed")
