"""The slow, obvious versions of what the kernels do, and random inputs for both.

Nothing here looks at how the index is laid out but `entries_under`, which walks it node by node
as `kernels` draws it. Everything else says what must come out.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.language import Column, MatchesText, TextPattern
from caddis.matching.index.packing import Boundaries, PackedClauses, PackedPredicates
from caddis.matching.kernels.deciding import ACCEPTED, REFUSED, UNDECIDED
from caddis.matching.kernels.layout import BatchArrays, IndexArrays
from caddis.matching.tables import (
    COLUMN,
    CONTAINS,
    COUNT,
    FIRST,
    GROUP_ENTRIES,
    GROUP_LOW,
    GROUP_SPAN,
    HIGH,
    INTERVAL,
    INTERVALS,
    KIND,
    LACKS,
    LOW,
    NO_FILTER,
    OWN_FILTER,
    RUN_COLUMN,
    RUN_GROUPS,
    RUN_KIND,
    TEXT,
)

ARRAY_COLUMN = 2
COLUMNS = [
    Column(("a",), pa.int64()),
    Column(("b",), pa.int64()),
    Column(("c",), pa.int64(), repeated=True),
    Column(("d",), pa.string()),
]


class Posting(NamedTuple):
    """An entry of the index and the filter before it."""

    entry: int
    kind: int
    column: int
    low: int
    span: int


def int32s(*shape: int) -> Int32s:
    return np.zeros(shape, np.int32)


def frozen(array: Int32s) -> Int32s:
    """Read-only, as the arrays of an index are."""
    array.flags.writeable = False
    return array


# -- random clauses in codes


def random_clauses(random: Random, clauses: int = 12, predicates: int = 14) -> PackedClauses:
    """Clauses over `COLUMNS` with predicates of every kind; clause c belongs to link c."""
    keys = [random.randrange(0, 7) for _ in COLUMNS]
    boundaries = [Boundaries(np.arange(count, dtype=np.int64), ordered=True) for count in keys]
    packed = random_predicates(random, boundaries, predicates)
    chosen = [random.sample(range(predicates), random.randrange(0, 5)) for _ in range(clauses)]
    starts = np.cumsum([0, *map(len, chosen)]).astype(np.int64)
    members = np.array([one for some in chosen for one in some], np.int32)
    owner = np.arange(clauses, dtype=np.int32)
    return PackedClauses(COLUMNS, boundaries, packed, owner, starts, members)


def random_predicates(random: Random, boundaries: list[Boundaries], count: int) -> PackedPredicates:
    table = int32s(count, 6)
    intervals: list[tuple[int, int]] = []
    texts: list[MatchesText] = []
    for row in table:
        column = random.randrange(len(boundaries))
        ends = sorted(random.sample(range(boundaries[column].codes), 2))
        kind = random.choice([INTERVAL, INTERVAL, INTERVALS, TEXT])
        if column == ARRAY_COLUMN:
            kind, ends = random.choice([INTERVAL, CONTAINS, LACKS]), [max(1, end) for end in ends]
        if random.random() < 0.5:
            ends = [ends[0], ends[0]]
        row[[KIND, COLUMN, LOW, HIGH]] = kind, column, *ends
        if kind == INTERVALS:
            parts = random_intervals(random, boundaries[column].codes)
            row[[LOW, HIGH]] = parts[0][0], parts[-1][1]
            row[[FIRST, COUNT]] = len(intervals), len(parts)
            intervals += parts
        elif kind == TEXT:
            row[[LOW, HIGH, FIRST]] = 1, boundaries[column].codes - 1, len(texts)
            texts.append(MatchesText(COLUMNS[column], TextPattern(str(len(texts)))))
    pairs = np.array(intervals, np.int32).reshape(-1, 2)
    return PackedPredicates(frozen(table), frozen(pairs), texts)


def random_intervals(random: Random, codes: int) -> list[tuple[int, int]]:
    """Disjoint and ascending."""
    cuts = sorted(random.sample(range(codes + 1), 2 * random.randrange(1, codes // 2 + 1)))
    return [(low, high - 1) for low, high in zip(cuts[::2], cuts[1::2], strict=True)]


def random_codes(random: Random, packed: PackedClauses, rows: int) -> BatchArrays:
    """A batch in the clauses' codes, without the rows of patterns."""
    codes = int32s(len(packed.columns), rows)
    for column, boundaries in enumerate(packed.boundaries):
        codes[column] = [random.randrange(boundaries.codes) for _ in range(rows)]
    codes[ARRAY_COLUMN] = [random.randrange(2) for _ in range(rows)]
    lengths = [random.randrange(5) * int(known) for known in codes[ARRAY_COLUMN]]
    limit = packed.boundaries[ARRAY_COLUMN].codes
    elements = np.array([random.randrange(limit) for _ in range(sum(lengths))], np.int32)
    base = np.full(len(packed.columns), -1, np.int64)
    base[ARRAY_COLUMN] = 0
    starts = np.cumsum([0, *lengths]).astype(np.int64)
    return BatchArrays(codes, base, starts, elements, np.zeros(1, np.int64), int32s(0))


def with_pattern_rows(
    random: Random, batch: BatchArrays, packed: PackedClauses, patterns: Int32s
) -> BatchArrays:
    """The batch with some rows of which each pattern is true: rows whose text is known."""
    columns = packed.predicates.table[patterns, COLUMN]
    rows = [
        [row for row, code in enumerate(batch.codes[column]) if code and random.random() < 0.5]
        for column in columns
    ]
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    flat = np.array([row for some in rows for row in some], np.int32)
    return batch._replace(pattern_start=starts, pattern_rows=flat)


# -- twins


def elements_of(batch: BatchArrays, column: int, row: int) -> list[int]:
    base = batch.element_base[column] + row
    return [
        int(e) for e in batch.elements[batch.element_start[base] : batch.element_start[base + 1]]
    ]


def answer(predicates: PackedPredicates, number: int, batch: BatchArrays, row: int) -> int:
    """REFUSED, ACCEPTED or, of a known text, UNDECIDED."""
    kind, column, low, high, first, count = map(int, predicates.table[number])
    code = int(batch.codes[column, row])
    if kind in (CONTAINS, LACKS):
        return array_answer(kind, range(low, high + 1), code, elements_of(batch, column, row))
    if kind == INTERVALS:
        accepted = any(a <= code <= b for a, b in predicates.intervals[first : first + count])
    else:
        accepted = low <= code <= high
    if not accepted:
        return REFUSED
    return UNDECIDED if kind == TEXT else ACCEPTED


def array_answer(kind: int, wanted: range, code: int, elements: list[int]) -> int:
    contains = any(element in wanted for element in elements if element != 0)
    lacks = not contains and 0 not in elements
    return ACCEPTED if code != 0 and (contains if kind == CONTAINS else lacks) else REFUSED


def members_of(packed: PackedClauses, clause: int) -> list[int]:
    return [int(m) for m in packed.members[packed.starts[clause] : packed.starts[clause + 1]]]


def entries_under(index: IndexArrays, node: int) -> Iterator[Posting]:
    """Every entry of a node, with its filter."""
    for run in range(index.node_runs[node], index.node_runs[node + 1]):
        kind, column = index.runs[run, RUN_KIND], index.runs[run, RUN_COLUMN]
        for group in range(index.runs[run, RUN_GROUPS], index.runs[run + 1, RUN_GROUPS]):
            low, span = index.groups[group, GROUP_LOW], index.groups[group, GROUP_SPAN]
            begin, end = index.groups[group : group + 2, GROUP_ENTRIES]
            for entry in range(begin, end):
                yield Posting(entry, int(kind), int(column), int(low), int(span))


def passes_filter(posting: Posting, codes: Int32s, own: int, row: int) -> bool:
    if posting.kind == NO_FILTER:
        return True
    code = own if posting.kind == OWN_FILTER else int(codes[posting.column, row])
    return posting.low <= code <= posting.low + posting.span


def passes_tests(entry: Int32s, codes: Int32s, row: int) -> bool:
    """The two tests that stand in an entry: column (-1: none), low, span."""
    tests = [tuple(map(int, entry[at : at + 3])) for at in (0, 3)]
    return all(
        column < 0 or low <= int(codes[column, row]) <= low + span for column, low, span in tests
    )
