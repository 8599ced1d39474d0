"""Sealed clauses on their way into a matcher: unpacked, checked for their sizes, led to links.

All filters of a stream have the same number of bits and all points the same number of coordinates;
the directory says how many. Clauses of other sizes can match nothing that was sealed with the
stream's keys, but every additional size would have to be compared with every event. So even without
a directory there is one size for each stream and epoch, that of most subscriptions. A single one
has one vote, however many clauses or sizes it brings. Only a directory stops those who can send
more subscriptions than all others.

The brokers of an overlay know sealed clauses as equalities with an opaque value:

    sealed:AAEC...  ─▶  sealed = X'...'  for each sealed clause of the text

Routing tables, covering and advertisements need no more than that: two clauses of the same bytes
cover each other, and no others do. `SealedMatcher.from_clauses` takes the bytes out again.

The transport decides who may subscribe at a broker. A stranger who may gets every event for the
text TRUE, as for an empty filter; all of it is sealed, and the stranger can open none. Nor can a
broker tell which clauses an event should reach: whoever holds a stream's matching key, as each of
its publishers does, can make an event that reaches everybody in the stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s, Words, offsets_of
from caddis.errors import SealedError, SubscriptionError, SubscriptionTableError
from caddis.language import Clause, ClauseTable, Column, InValues, ValueSet, is_text, sql_type
from caddis.sealed.clauses import ClauseBlock, members_of, pack, unpack_all
from caddis.sealed.design import MOST_BITS, WORD
from caddis.sealed.keys import Directory
from caddis.sealed.matcher.event_parts import by_key, checked, parts_of
from caddis.sealed.values import norms, query_lengths

Size = tuple[int, int]
"""The bits of a filter and the dimensions of a point."""

SEVERAL_SIZES = "the sealed subscription has parts of several sizes for one stream and epoch"
LENGTH = "a vector of the sealed subscription is shorter or longer than any that is sealed"


def size_of(block: ClauseBlock) -> Size:
    """What a block has in common with the events that it may match."""
    return WORD * block.filters.shape[1], block.vectors.shape[1]


def own_problems(blocks: Sequence[ClauseBlock]) -> dict[int, str]:
    """The problems of subscriptions that nobody can have sealed, whatever the stream's sizes."""
    problems: dict[int, str] = {}
    seen: dict[tuple[str, int], set[int]] = {}
    for block in blocks:
        owners = set(block.owner.tolist())
        before = seen.setdefault((block.stream, block.epoch), set())
        problems |= dict.fromkeys(owners & before, SEVERAL_SIZES)
        before |= owners
        bits, _ = size_of(block)
        if bits > MOST_BITS:
            too_large = f"the filters of the sealed subscription have {bits} bits, not {MOST_BITS}"
            problems |= dict.fromkeys(owners, f"{too_large} at most")
        problems |= dict.fromkeys(_with_odd_vectors(block), LENGTH)
    return problems


def unfit_blocks(
    blocks: Sequence[ClauseBlock], voters: Sequence[Int32s], publishers: Directory | None
) -> dict[int, str]:
    """Why the size of a block is not that of its stream, by the number of the block.

    voters: the owners or links that stand for the size of each block; each of them counts once.
    """
    if publishers is not None:
        found = ((number, _misfit(block, publishers)) for number, block in enumerate(blocks))
        return {number: problem for number, problem in found if problem is not None}
    ranks = [(-len(np.unique(mine)), mine.min(initial=0)) for mine in voters]
    best: dict[tuple[str, int], int] = {}
    for number, block in enumerate(blocks):
        rival = best.setdefault((block.stream, block.epoch), number)
        if ranks[number] < ranks[rival]:
            best[block.stream, block.epoch] = number
    return {
        number: _misfit_message(block, size_of(blocks[best[block.stream, block.epoch]]))
        for number, block in enumerate(blocks)
        if best[block.stream, block.epoch] != number
    }


def _misfit(block: ClauseBlock, publishers: Directory) -> str | None:
    stream = publishers.streams.get(block.stream)
    if stream is None:
        return f"the directory has no stream {block.stream[:60]!r}"
    right = stream.outline.bits, stream.outline.dimensions
    return None if size_of(block) == right else _misfit_message(block, right)


def _misfit_message(block: ClauseBlock, right: Size) -> str:
    bits, dimensions = size_of(block)
    return (
        f"the sealed subscription has {bits} bits and {dimensions} dimensions; those of "
        f"{block.stream[:60]!r} have {right[0]} and {right[1]}"
    )


def _with_odd_vectors(block: ClauseBlock) -> set[int]:
    """The owners of vectors of a length that no transform gives."""
    least, most = query_lengths(block.vectors.shape[1])
    lengths = norms(block.vectors)
    odd: Bools = ~((least <= lengths) & (lengths <= most))
    if not odd.any():
        return set()
    clauses = np.repeat(np.arange(len(block)), np.diff(block.vector_starts))
    return set(block.owner[clauses[odd]].tolist())


Sizes = tuple[str, int, int, int]
"""Stream and epoch, the bits of a filter and the dimensions of a point."""


def sealed_column(subscriptions: pa.Table) -> pa.ChunkedArray:
    """The column of sealed clauses; SubscriptionTableError if it has another type."""
    where = subscriptions["where"]
    is_bytes = pa.types.is_binary(where.type) or pa.types.is_large_binary(where.type)
    if not (is_bytes or is_text(where.type) or pa.types.is_null(where.type)):
        raise SubscriptionTableError(
            "the column 'where' of sealed subscriptions is BINARY or STRING, not "
            f"{sql_type(where.type)}"
        )
    return where if not pa.types.is_null(where.type) else where.cast(pa.binary())


def sound_blocks(wheres: pa.Array | pa.ChunkedArray) -> tuple[list[ClauseBlock], dict[int, str]]:
    """The clauses of sound subscriptions, and what is wrong with the others."""
    blocks, problems = unpack_all(wheres)
    problems |= own_problems(blocks)
    return _without(blocks, problems), problems


def usable_blocks(
    wheres: pa.Array | pa.ChunkedArray, publishers: Directory | None
) -> tuple[list[ClauseBlock], dict[int, str]]:
    """The clauses of sound subscriptions, of one size for each stream and epoch."""
    blocks, problems = sound_blocks(wheres)
    unfit = unfit_blocks(blocks, [block.owner for block in blocks], publishers)
    for number, problem in unfit.items():
        problems |= dict.fromkeys(blocks[number].owner.tolist(), problem)
    return _without(blocks, problems), problems


def _without(blocks: list[ClauseBlock], problems: Mapping[int, str]) -> list[ClauseBlock]:
    """The clauses of subscriptions without a problem."""
    wrong = np.array(sorted(problems), np.int64)
    left = []
    for block in blocks:
        kept = np.isin(block.owner, wrong, invert=True)
        if kept.any():
            whole = bool(kept.all())
            left.append(block if whole else block.take(np.flatnonzero(kept)))
    return left


def sizes_of(block: ClauseBlock) -> Sizes:
    """What a block has in common with the events that it may match."""
    return block.stream, block.epoch, *size_of(block)


def sample_filters(
    blocks: list[ClauseBlock], sample: pa.RecordBatch | None
) -> Mapping[Sizes, Words]:
    """The filters of sample events, by stream, epoch and sizes."""
    if sample is None or not sample.num_rows:
        return {}
    compared, found = checked(sample), {}
    keys = dict(by_key(compared, np.arange(sample.num_rows, dtype=np.int32)))
    for block in blocks:
        sizes = sizes_of(block)
        if sizes[:2] in keys:
            parts, _ = parts_of(compared, keys[sizes[:2]], *sizes[2:])
            found[sizes] = parts.filters
    return found


SEALED = Column(("sealed",), pa.binary())
EVERYTHING = "TRUE"
"""What publishers of sealed events advertise: nobody is told what they will publish."""


def sealed_clauses_of(where: str) -> tuple[Clause, ...]:
    """The clauses of a sealed subscription's text, as a broker of an overlay reads them.

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
    clauses: ClauseTable, publishers: Directory | None
) -> list[tuple[ClauseBlock, Int32s]]:
    """The sealed clauses of a broker's table, each with the link it leads to.

    Clauses of other sizes than their stream's are left out.
    """
    blocks, problems = sound_blocks(_sealed_bytes(clauses))
    for problem in problems.values():
        raise SealedError(f"a broker's clause is not sealed: {problem}")
    owners = np.repeat(clauses.owner, np.diff(clauses.starts))
    order = np.argsort(clauses.members, kind="stable")
    counts = np.bincount(clauses.members, minlength=len(clauses.predicates))
    starts = offsets_of(counts)
    leading: list[tuple[ClauseBlock, Int32s]] = []
    for block in blocks:
        places, ends = members_of(starts, block.owner.astype(np.int64))
        repeated = np.repeat(np.arange(len(block)), np.diff(ends))
        leading.append((block.take(repeated), owners[order][places]))
    unfit = unfit_blocks(blocks, [links for _, links in leading], publishers)
    return [one for number, one in enumerate(leading) if number not in unfit]


def _sealed_bytes(clauses: ClauseTable) -> pa.Array:
    """The bytes that each predicate of a broker's table stands for."""
    if len(clauses.starts) > 1 and (clauses.starts[1:] - clauses.starts[:-1]).max() > 1:
        raise SealedError("a broker's sealed clause is one equality, and nothing beside it")
    return pa.array([_bytes(one) for one in clauses.predicates], pa.large_binary())


def _bytes(predicate: object) -> bytes:
    if isinstance(predicate, InValues) and predicate.column == SEALED:
        [low, high] = predicate.values.cuts
        if len(low) == 3 == len(high) and low[1] == high[1] and isinstance(low[1], bytes):
            return low[1]
    raise SealedError("a broker for sealed events was given a clause that is not sealed")
