"""Matches that come slice by slice, so that memory is bounded however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from caddis.arrays import Int32s
from caddis.matching.links import Matches, MatchReport

Pairs = tuple[Int32s, Int32s]
"""Rows, ascending, and the links that they match."""


def joined(slices: Iterable[Matches]) -> Matches:
    """All slices of a batch as one."""
    some = list(slices)
    if len(some) == 1:
        return some[0]
    reports = [one.report for one in some]
    return Matches(
        np.concatenate([one.rows for one in some]),
        np.concatenate([one.links for one in some]),
        MatchReport(
            sum(report.events for report in reports),
            sum(report.matches for report in reports),
            sum(report.candidates for report in reports),
            sum(report.searches for report in reports),
        ),
        some[-1].end,
    )


def in_step(matchers: Sequence[Iterator[Matches]]) -> Iterator[list[Pairs]]:
    """Walk through what several matchers find in one batch, so that all are at the same rows.

    Each turn has the pairs of every matcher in the same range of rows: an event's matches are never
    in two turns. No more than one slice of each matcher is held.
    """
    waiting = [next(slices) for slices in matchers]
    begins = [0] * len(waiting)
    while waiting:
        end = min(one.end for one in waiting)
        cuts = [int(np.searchsorted(one.rows, end)) for one in waiting]
        yield [
            (one.rows[begin:cut], one.links[begin:cut])
            for one, begin, cut in zip(waiting, begins, cuts, strict=True)
        ]
        begins = cuts
        for at, slices in enumerate(matchers):
            if waiting[at].end > end:
                continue
            following = next(slices, None)
            # All end with the batch, and so together.
            if following is None:
                return
            waiting[at], begins[at] = following, 0
