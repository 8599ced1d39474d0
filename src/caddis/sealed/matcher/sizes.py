"""Which sizes sealed clauses may have, for a broker whom anybody may send some.

All filters of a topic have as many bits, and all points as many coordinates: the directory says how
many. Clauses of other sizes can match nothing that was sealed with the topic's keys, but each size
more would have to be compared with every event. So without a directory, too, there is one size a
topic and epoch, that of most subscriptions. A single one has one vote, however many clauses or
sizes it brings; who can send more subscriptions than all others is stopped by a directory alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caddis.arrays import Bools, Int32s
from caddis.sealed.clauses.subscriptions import ClauseBlock
from caddis.sealed.design import MOST_BITS, WORD
from caddis.sealed.keys.directory import Directory
from caddis.sealed.values.aspe import norms, query_lengths

Size = tuple[int, int]
"""The bits of a filter and the dimensions of a point."""

SEVERAL_SIZES = "the sealed subscription has parts of several sizes for one topic and epoch"
LENGTH = "a vector of the sealed subscription is shorter or longer than any that is sealed"


def size_of(block: ClauseBlock) -> Size:
    """What a block has in common with the events that it may match."""
    return WORD * block.filters.shape[1], block.vectors.shape[1]


def own_problems(blocks: Sequence[ClauseBlock]) -> dict[int, str]:
    """By subscription: what nobody can have sealed, whatever the topic's sizes are."""
    problems: dict[int, str] = {}
    seen: dict[tuple[str, int], set[int]] = {}
    for block in blocks:
        owners = set(block.owner.tolist())
        before = seen.setdefault((block.topic, block.epoch), set())
        problems |= dict.fromkeys(owners & before, SEVERAL_SIZES)
        before |= owners
        bits, _ = size_of(block)
        if bits > MOST_BITS:
            too_large = f"the filters of the sealed subscription have {bits} bits, not {MOST_BITS}"
            problems |= dict.fromkeys(owners, f"{too_large} at most")
        problems |= dict.fromkeys(_with_odd_vectors(block), LENGTH)
    return problems


def unfit_blocks(
    blocks: Sequence[ClauseBlock], voters: Sequence[Int32s], directory: Directory | None
) -> dict[int, str]:
    """By number of a block: why its size is not that of its topic.

    voters: by block, who stands for its size; each of them once.
    """
    if directory is not None:
        found = ((number, _misfit(block, directory)) for number, block in enumerate(blocks))
        return {number: problem for number, problem in found if problem is not None}
    ranks = [(-len(np.unique(mine)), mine.min(initial=0)) for mine in voters]
    best: dict[tuple[str, int], int] = {}
    for number, block in enumerate(blocks):
        rival = best.setdefault((block.topic, block.epoch), number)
        if ranks[number] < ranks[rival]:
            best[block.topic, block.epoch] = number
    return {
        number: _told(block, size_of(blocks[best[block.topic, block.epoch]]))
        for number, block in enumerate(blocks)
        if best[block.topic, block.epoch] != number
    }


def _misfit(block: ClauseBlock, directory: Directory) -> str | None:
    topic = directory.topics.get(block.topic)
    if topic is None:
        return f"the directory has no topic {block.topic[:60]!r}"
    right = topic.outline.bits, topic.outline.dimensions
    return None if size_of(block) == right else _told(block, right)


def _told(block: ClauseBlock, right: Size) -> str:
    bits, dimensions = size_of(block)
    return (
        f"the sealed subscription has {bits} bits and {dimensions} dimensions; those of "
        f"{block.topic[:60]!r} have {right[0]} and {right[1]}"
    )


def _with_odd_vectors(block: ClauseBlock) -> set[int]:
    """The owners of vectors that no transform gives."""
    least, most = query_lengths(block.vectors.shape[1])
    lengths = norms(block.vectors)
    odd: Bools = ~((least <= lengths) & (lengths <= most))
    if not odd.any():
        return set()
    clauses = np.repeat(np.arange(len(block)), np.diff(block.vector_starts))
    return set(block.owner[clauses[odd]].tolist())
