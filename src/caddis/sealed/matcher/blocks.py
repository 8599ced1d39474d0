"""Blocks of sealed clauses on their way into a matcher: unpacked, looked through, parted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from caddis.arrays import Int64s, Words
from caddis.errors import SubscriptionTableError
from caddis.language.columns import is_text, sql_type
from caddis.sealed.clauses.subscriptions import ClauseBlock, unpack_all
from caddis.sealed.keys.directory import Directory
from caddis.sealed.matcher.event_parts import by_key, checked, members_of, parts_of
from caddis.sealed.matcher.sizes import own_problems, size_of, unfit_blocks

Sizes = tuple[str, int, int, int]
"""Topic and epoch, the bits of a filter and the dimensions of a point."""


def sealed_column(subscriptions: pa.Table) -> pa.ChunkedArray:
    """The column of sealed clauses."""
    where = subscriptions["where"]
    is_bytes = pa.types.is_binary(where.type) or pa.types.is_large_binary(where.type)
    if not (is_bytes or is_text(where.type) or pa.types.is_null(where.type)):
        raise SubscriptionTableError(
            "the column 'where' of sealed subscriptions is BINARY or STRING, not "
            f"{sql_type(where.type)}"
        )
    return where if not pa.types.is_null(where.type) else where.cast(pa.binary())


def sound_blocks(wheres: pa.Array | pa.ChunkedArray) -> tuple[list[ClauseBlock], dict[int, str]]:
    """The clauses of subscriptions, and what is wrong with others; those have no clauses."""
    blocks, problems = unpack_all(wheres)
    problems |= own_problems(blocks)
    return _without(blocks, problems), problems


def usable_blocks(
    wheres: pa.Array | pa.ChunkedArray, directory: Directory | None
) -> tuple[list[ClauseBlock], dict[int, str]]:
    """The same, of one size a topic and epoch: see `clause_sizes`."""
    blocks, problems = sound_blocks(wheres)
    unfit = unfit_blocks(blocks, [block.owner for block in blocks], directory)
    for number, problem in unfit.items():
        problems |= dict.fromkeys(blocks[number].owner.tolist(), problem)
    return _without(blocks, problems), problems


def _without(blocks: list[ClauseBlock], problems: Mapping[int, str]) -> list[ClauseBlock]:
    """Those clauses whose subscriptions have no problem."""
    wrong = np.array(sorted(problems), np.int64)
    left = []
    for block in blocks:
        kept = np.isin(block.owner, wrong, invert=True)
        if kept.any():
            whole = bool(kept.all())
            left.append(block if whole else chosen_clauses(block, np.flatnonzero(kept)))
    return left


def sizes_of(block: ClauseBlock) -> Sizes:
    """What a block has in common with the events that it may match."""
    return block.topic, block.epoch, *size_of(block)


def sample_filters(
    blocks: list[ClauseBlock], sample: pa.RecordBatch | None
) -> Mapping[Sizes, Words]:
    """By topic, epoch and sizes: the filters of sample events."""
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


def chosen_clauses(block: ClauseBlock, chosen: Int64s) -> ClauseBlock:
    """The chosen clauses of a block, some of them several times."""
    tokens, token_starts = members_of(block.token_starts, chosen)
    vectors, vector_starts = members_of(block.vector_starts, chosen)
    return ClauseBlock(
        block.topic,
        block.epoch,
        block.owner[chosen],
        block.filters[chosen],
        token_starts,
        block.tokens[tokens],
        vector_starts,
        block.vectors[vectors],
    )
