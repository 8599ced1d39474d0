"""From rows of sealed events to links: each row goes to the clauses of its stream and epoch.

Where clauses leave much to the subscriber's own check, the pairs of a batch may be very many. So
a batch is gone through in slices, and what the last ones found says how many rows the next has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s
from caddis.matching.kernels import in_row_order
from caddis.sealed.keys import Directory
from caddis.sealed.matcher.event_parts import Key, by_key, parts_of, without_key
from caddis.sealed.matcher.groups import ClauseGroup, Found, every_pair, total

ROWS_AT_A_TIME = 4096
"""Filters, tokens and points of so many events are held at once."""

PAIRS_IN_A_SLICE = 1 << 22
"""A slice has about so many, unless a single row has more."""

FIRST_ROWS = 256
GROWTH = 16


class Slice(NamedTuple):
    """What a slice of a batch found: pairs of row and link, each once, rows ascending."""

    events: int
    rows: Int32s
    links: Int32s
    inspected: int
    tests: int
    products: int
    problems: dict[int, str]
    """By row that is not well made: what is wrong with it."""


class ClauseSearch:
    """Goes through the groups of all streams and epochs.

    everything: the links that every event satisfies.
    links: how many there are.
    """

    def __init__(self, groups: tuple[ClauseGroup, ...], everything: Int32s, links: int) -> None:
        self._everything = everything
        self._by_key: dict[Key, list[ClauseGroup]] = {}
        for group in groups:
            self._by_key.setdefault((group.stream, group.epoch), []).append(group)
        self._several = _several(groups, everything, links)
        certain = [sum(group.untested for group in some) for some in self._by_key.values()]
        self._certain = len(everything) + max(certain, default=0)

    def slices(
        self, batch: pa.RecordBatch, rows: Int32s, publishers: Directory | None
    ) -> Iterator[Slice]:
        """What some rows find, which ascend; one slice at least.

        batch: of `event_parts.checked`.
        publishers: says which sizes the clauses of its streams have; others match nothing then.
        """
        most = max(1, PAIRS_IN_A_SLICE // max(1, self._certain))
        begin, step = 0, min(FIRST_ROWS, most)
        while True:
            found = self._slice(batch, rows[begin : begin + step], publishers)
            begin += step
            yield found
            if begin >= len(rows):
                return
            fitting = PAIRS_IN_A_SLICE * step // max(1, len(found.rows))
            step = max(1, min(fitting, GROWTH * step, most))

    def _slice(self, batch: pa.RecordBatch, rows: Int32s, publishers: Directory | None) -> Slice:
        first, end = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        piece = batch.slice(first, end - first)
        found, problems = self._found(piece, rows - np.int32(first), publishers)
        places, links = in_row_order(found.pairs, piece.num_rows, self._several)
        places += np.int32(first)
        shifted = {first + row: problem for row, problem in problems.items()}
        return Slice(len(rows), places, links, *found[1:], shifted)

    def _found(
        self, batch: pa.RecordBatch, rows: Int32s, publishers: Directory | None
    ) -> tuple[Found, dict[int, str]]:
        """Pairs of row and link, some more than once, and what is wrong with rows."""
        problems = dict.fromkeys(
            without_key(batch, rows).tolist(), "its stream or epoch is missing"
        )
        found = []
        for key, some in by_key(batch, rows):
            groups = self._groups_of(key, publishers)
            for begin in range(0, len(some), ROWS_AT_A_TIME):
                part, wrong = _of_groups(batch, groups, some[begin : begin + ROWS_AT_A_TIME])
                found.append(part)
                problems |= wrong
        good = rows[~np.isin(rows, list(problems))] if problems else rows
        found.append(Found(every_pair(good, self._everything), 0, 0, 0))
        return total(found), problems

    def _groups_of(self, key: Key, publishers: Directory | None) -> list[ClauseGroup]:
        """The groups of a stream and epoch, of the right sizes if these are known."""
        groups = self._by_key.get(key, [])
        if publishers is None or key[0] not in publishers.streams:
            return groups
        outline = publishers.streams[key[0]].outline
        sizes = outline.bits, outline.dimensions
        return [group for group in groups if (group.bits, group.dimensions) == sizes]


def _of_groups(
    batch: pa.RecordBatch, groups: list[ClauseGroup], rows: Int32s
) -> tuple[Found, dict[int, str]]:
    """What rows of one stream and epoch find; wrong is what fits no group."""
    found, wrong = [], []
    for group in groups:
        parts, problems = parts_of(batch, rows, group.bits, group.dimensions)
        found.append(group.find(parts))
        wrong.append(problems)
    everywhere = set(rows.tolist()).intersection(*wrong) if wrong else set()
    return total(found), {row: wrong[0][row] for row in sorted(everywhere)}


def _several(groups: tuple[ClauseGroup, ...], everything: Int32s, links: int) -> Bools:
    """By link: whether several clauses lead to it; nothing if that is so of none."""
    leading = np.concatenate([everything, *(group.links for group in groups)])
    several = np.bincount(leading, minlength=links) > 1
    return several if several.any() else np.zeros(0, bool)
