"""How likely each predicate is true of an event: the guess that the access index is built on.

With a sample of events, by counting. Without one, a value is taken to be as common among events
as it is among clauses: if that is wrong, the token is common but few clauses stand under it, so
little is lost. Ranges are then judged by their share of the column's codes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from caddis.arrays import Floats, Int32s, Int64s
from caddis.matching.index.packing import PackedClauses
from caddis.matching.kernels import (
    COLUMN,
    CONTAINS,
    COUNT,
    FIRST,
    HIGH,
    INTERVAL,
    INTERVALS,
    KIND,
    LOW,
    BatchArrays,
)

Share = Callable[[Int32s, Int32s], Floats]
"""How likely a value's code lies between low and high, for arrays of both."""


LEAST_RANGE = 0.1
"""Without a sample no range is taken to be rarer: how events lie among its codes is unknown."""


def from_clauses(packed: PackedClauses) -> Floats:
    """Each predicate's likelihood, judged by the clauses alone."""
    table = packed.predicates.table
    uses = np.bincount(packed.members, minlength=len(table)) / max(1, len(packed.owner))
    single = table[:, LOW] == table[:, HIGH]

    def estimate(column: int, mine: Int64s) -> Share:
        codes = packed.boundaries[column].codes
        asked = mine[single[mine]]
        weight = np.bincount(table[asked, LOW], weights=uses[asked], minlength=codes)

        def share(low: Int32s, high: Int32s) -> Floats:
            width = (high - low + 1) / codes
            return np.where(low == high, weight[low], LEAST_RANGE + (1 - LEAST_RANGE) * width)

        return share

    return _estimates(packed, estimate)


def from_sample(packed: PackedClauses, sample: BatchArrays) -> Floats:
    """Each predicate's likelihood, by counting in a batch of events."""
    rows = sample.codes.shape[1]

    def estimate(column: int, _: Int64s) -> Share:
        base, codes = sample.element_base[column], sample.codes[column]
        if base >= 0:
            ends = sample.element_start[[base, base + rows]]
            codes = sample.elements[ends[0] : ends[1]]
        counts = np.bincount(codes, minlength=packed.boundaries[column].codes)
        below = np.concatenate([[0.0], np.cumsum((counts + 0.01) / (rows + 1.0))])
        return lambda low, high: below[high + 1] - below[low]

    return _estimates(packed, estimate)


def _estimates(packed: PackedClauses, estimate: Callable[[int, Int64s], Share]) -> Floats:
    """Column by column, the share of each predicate's codes; 1 for what has none."""
    table = packed.predicates.table
    estimates = np.ones(len(table))
    for column in range(len(packed.columns)):
        mine = np.flatnonzero(table[:, COLUMN] == column)
        share = estimate(column, mine)
        whole = mine[
            np.isin(table[mine, KIND], (INTERVAL, CONTAINS))
            & (table[mine, LOW] <= table[mine, HIGH])
        ]
        estimates[whole] = share(table[whole, LOW], table[whole, HIGH])
        parts = mine[table[mine, KIND] == INTERVALS]
        if len(parts):
            estimates[parts] = _sum_of_intervals(packed, parts, share)
    return np.minimum(estimates, 1.0)


def _sum_of_intervals(packed: PackedClauses, several: Int64s, share: Share) -> Floats:
    first = packed.predicates.table[several, FIRST].astype(np.int64)
    count = packed.predicates.table[several, COUNT].astype(np.int64)
    begin = np.cumsum(count) - count
    pairs = packed.predicates.intervals[np.repeat(first - begin, count) + np.arange(count.sum())]
    return np.add.reduceat(share(pairs[:, 0], pairs[:, 1]), begin)
