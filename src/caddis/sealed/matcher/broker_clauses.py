"""Sealed clauses as the brokers of an overlay know them: equalities with an opaque value.

    sealed:AAEC...  ─▶  sealed = X'...'  for each sealed clause of the text

Routing tables, covering and advertisements look at no more than that: two clauses of the same bytes
cover each other, and no others do. `SealedMatcher.from_clauses` takes the bytes out again.

Who may subscribe at a broker is up to the transport: a stranger who may gets every event for the
text TRUE, as it would for a filter that is empty. All that it gets is sealed, and it can open none.
Nor can a broker tell which clauses an event should reach: who holds a topic's matching key, as each
of its publishers does, can make an event that reaches everybody on the topic.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.errors import ConfidentialError, SubscriptionError
from caddis.language import Clause, ClauseTable, Column, InValues, ValueSet
from caddis.sealed.clauses.subscriptions import ClauseBlock, pack
from caddis.sealed.keys.directory import Directory
from caddis.sealed.matcher.blocks import chosen_clauses, sound_blocks
from caddis.sealed.matcher.event_parts import members_of
from caddis.sealed.matcher.sizes import unfit_blocks

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
    blocks, problems = sound_blocks(pa.array([where], pa.string()))
    for problem in problems.values():
        raise SubscriptionError(problem, "")
    singles = [
        one
        for block in blocks
        for one in pack(replace(block, owner=np.arange(len(block), dtype=np.int32)), len(block))
    ]
    return tuple(Clause((InValues(SEALED, ValueSet.points(one)),)) for one in singles)


def leading_blocks(
    clauses: ClauseTable, directory: Directory | None
) -> list[tuple[ClauseBlock, Int32s]]:
    """The sealed clauses of a broker's table, each with the link it leads to.

    Those of other sizes than their topic's are left out: see `clause_sizes`.
    """
    blocks, problems = sound_blocks(_sealed_bytes(clauses))
    for problem in problems.values():
        raise ConfidentialError(f"a broker's clause is no sealed one: {problem}")
    owners = np.repeat(clauses.owner, np.diff(clauses.starts))
    order = np.argsort(clauses.members, kind="stable")
    counts = np.bincount(clauses.members, minlength=len(clauses.predicates))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    leading: list[tuple[ClauseBlock, Int32s]] = []
    for block in blocks:
        places, ends = members_of(starts, block.owner.astype(np.int64))
        repeated = np.repeat(np.arange(len(block)), np.diff(ends))
        leading.append((chosen_clauses(block, repeated), owners[order][places]))
    unfit = unfit_blocks(blocks, [links for _, links in leading], directory)
    return [one for number, one in enumerate(leading) if number not in unfit]


def _sealed_bytes(clauses: ClauseTable) -> pa.Array:
    """By predicate of a broker's table: the bytes that it stands for."""
    if len(clauses.starts) > 1 and (clauses.starts[1:] - clauses.starts[:-1]).max() > 1:
        raise ConfidentialError("a broker's sealed clause is one equality, and nothing beside it")
    return pa.array([_bytes(one) for one in clauses.predicates], pa.large_binary())


def _bytes(predicate: object) -> bytes:
    if isinstance(predicate, InValues) and predicate.column == SEALED:
        [low, high] = predicate.values.cuts
        if len(low) == 3 == len(high) and low[1] == high[1] and isinstance(low[1], bytes):
            return low[1]
    raise ConfidentialError("a broker for sealed events was given a clause that is not sealed")
