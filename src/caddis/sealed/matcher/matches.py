"""What sealed matching found, and what it took; of a batch, or of one slice of it after another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from caddis.arrays import Int32s
from caddis.matching import Candidates, Matches, Report
from caddis.sealed.events import Refusal


@dataclass(frozen=True, slots=True)
class SealedMatchReport(Report):
    """What a match did; `candidates` are the pairs that passed the prefilter, as are `tests`."""

    inspected: int
    """(event, clause) pairs whose filters were compared, or that had none to compare."""
    tests: int
    """Pairs that passed the prefilter, each of which took an encrypted test."""
    products: int
    """Scalar products that the tests took."""


@dataclass(frozen=True, slots=True)
class SealedMatches(Matches):
    """Pairs of row and link number, each once, rows ascending; and the events that were refused."""

    report: SealedMatchReport
    refused: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class SealedCandidates(Candidates):
    """The same pairs, as those see them who ask for candidates."""

    report: SealedMatchReport
    refused: tuple[Refusal, ...]


def joined(slices: Iterable[SealedMatches], events: int) -> SealedMatches:
    """The matches of all slices of a batch; each has rows above those of the slice before.

    Of a slice only the links are kept, and how many each row has: there may be very many.
    """
    counts = np.zeros(events, np.int64)
    links: list[Int32s] = [np.zeros(0, np.int32)]
    reports: list[SealedMatchReport] = []
    refused: list[Refusal] = []
    for one in slices:
        if len(one.rows):
            first, last = int(one.rows[0]), int(one.rows[-1])
            counts[first : last + 1] = np.bincount(one.rows - first)
        links.append(one.links)
        reports.append(one.report)
        refused += one.refused
    all_links = np.concatenate(links)
    links.clear()
    rows = np.repeat(np.arange(events, dtype=np.int32), counts)
    took = [
        sum(getattr(report, name) for report in reports)
        for name in ("inspected", "tests", "products")
    ]
    report = SealedMatchReport(events, len(rows), took[1], 0, *took)
    return SealedMatches(rows, all_links, report, tuple(sorted(refused, key=lambda one: one.row)))
