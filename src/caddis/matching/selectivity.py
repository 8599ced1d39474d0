"""How likely each predicate is true of an event: the guess that the access index is built on.

With a sample of events, by counting. Without one, a value is taken to be as common among events
as it is among clauses: if that is wrong, the token is common but few clauses stand under it, so
little is lost. Ranges are then judged by their share of the column's codes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
from caddis.matching.packing import PackedClauses

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]


def from_clauses(packed: PackedClauses) -> Floats:
    """Each predicate's likelihood, judged by the clauses alone."""
    predicates = packed.predicates
    uses = np.bincount(packed.members, minlength=len(predicates))
    total = max(1, len(packed.owner))
    estimates = np.ones(len(predicates))
    for column, boundaries in enumerate(packed.boundaries):
        mine = np.flatnonzero(predicates.table[:, COLUMN] == column)
        low, high = predicates.table[mine, LOW], predicates.table[mine, HIGH]
        single = low == high
        weight = np.bincount(
            low[single], weights=uses[mine[single]], minlength=boundaries.codes
        )
        shares = np.maximum(weight / total, 1.0 / (4.0 * boundaries.codes))
        estimates[mine] = _accepted_share(packed, mine, shares / max(1.0, shares.sum()))
    return estimates


def from_sample(packed: PackedClauses, sample: BatchArrays) -> Floats:
    """Each predicate's likelihood, by counting in a batch of events."""
    predicates = packed.predicates
    estimates = np.ones(len(predicates))
    rows = sample.codes.shape[1]
    for column, boundaries in enumerate(packed.boundaries):
        mine = np.flatnonzero(predicates.table[:, COLUMN] == column)
        base = sample.element_base[column]
        codes = sample.codes[column]
        if base >= 0:
            ends = sample.element_start[[base, base + rows]]
            codes = sample.elements[ends[0] : ends[1]]
        counts = np.bincount(codes, minlength=boundaries.codes)
        estimates[mine] = _accepted_share(packed, mine, (counts + 0.01) / (rows + 1.0))
    return estimates


def _accepted_share(packed: PackedClauses, mine: Int64s, shares: Floats) -> Floats:
    """The summed share of the codes that each of these predicates accepts."""
    predicates = packed.predicates
    below = np.concatenate([[0.0], np.cumsum(shares)])
    low, high = predicates.table[mine, LOW], predicates.table[mine, HIGH]
    accepted = below[high + 1] - below[low]
    kinds = predicates.table[mine, KIND]
    exact = np.isin(kinds, (INTERVAL, CONTAINS))
    several = kinds == INTERVALS
    first = predicates.table[mine[several], FIRST].astype(np.int64)
    count = predicates.table[mine[several], COUNT].astype(np.int64)
    if len(first):
        place = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
        pairs = predicates.intervals[place]
        parts = below[pairs[:, 1] + 1] - below[pairs[:, 0]]
        accepted[several] = np.add.reduceat(parts, np.cumsum(count) - count)
    return np.where(exact | several, np.minimum(accepted, 1.0), 1.0)
