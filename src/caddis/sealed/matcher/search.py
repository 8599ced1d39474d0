"""From rows of sealed events to links, and what was found: `SealedMatches`.

Each row goes to the clauses of its stream and epoch. Where clauses leave much to the subscriber's
own check, the pairs of a batch may be very many. So a batch is gone through in slices, and what the
last slice found says how many rows the next one has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s
from caddis.errors import TruncatedEvent
from caddis.matching import Candidates, Matches, MatchReport
from caddis.matching.kernels import in_row_order
from caddis.sealed.events import Admission, Refusal
from caddis.sealed.keys import Directory
from caddis.sealed.matcher.event_parts import Key, by_key, checked, parts_of, without_key
from caddis.sealed.matcher.groups import ClauseGroup, SearchResult, every_pair, total

ROWS_AT_A_TIME = 4096
"""The filters, tokens and points of this many events are held at once."""

PAIRS_IN_A_SLICE = 1 << 22
"""About how many pairs a slice has, unless a single row has more."""

FIRST_ROWS = 256
"""The first slice is small: nobody knows yet how many links a row leads to."""

GROWTH = 16
"""The next slice has at most this many times the rows: the last one may have been exceptional."""


@dataclass(frozen=True, slots=True)
class SealedMatchReport(MatchReport):
    """What a match took. Here `candidates` and `tests` are the same: pairs behind the prefilter."""

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
    """The same pairs, for callers that ask for candidates."""

    report: SealedMatchReport
    refused: tuple[Refusal, ...]


def joined(slices: Iterable[SealedMatches], events: int) -> SealedMatches:
    """The matches of all slices of a batch, each of which has rows above those of the one before.

    Only a slice's links are kept, and how many each row has: there may be very many pairs.
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
    in_order = tuple(sorted(refused, key=lambda one: one.row))
    return SealedMatches(rows, all_links, report, events, in_order)


class ClauseSearch:
    """Goes through the groups of all streams and epochs.

    everything: the links that every event satisfies.
    links: how many links there are.
    """

    def __init__(self, groups: tuple[ClauseGroup, ...], everything: Int32s, links: int) -> None:
        self._everything = everything
        self._by_key: dict[Key, list[ClauseGroup]] = {}
        for group in groups:
            self._by_key.setdefault((group.stream, group.epoch), []).append(group)
        self._several = _several(groups, everything, links)
        certain = [sum(group.untested for group in some) for some in self._by_key.values()]
        self._certain = len(everything) + max(certain, default=0)

    def slices(self, batch: pa.RecordBatch, admission: Admission) -> Iterator[SealedMatches]:
        """What the admitted rows of a batch find, slice by slice; there is at least one slice.

        Clauses of other sizes than the admission's directory says match nothing. The first slice
        has the refusals of the admission.
        """
        compared, rows, refused = checked(batch), admission.rows, admission.refused
        most = max(1, PAIRS_IN_A_SLICE // max(1, self._certain))
        begin, step = 0, min(FIRST_ROWS, most)
        while True:
            found, problems = self._slice(
                compared, rows[begin : begin + step], admission.publishers
            )
            refused += _refusals(problems, batch)
            begin += step
            last = begin >= len(rows)
            end = batch.num_rows if last else found.end
            in_order = tuple(sorted(refused, key=lambda one: one.row))
            yield replace(found, end=end, refused=in_order)
            if last:
                return
            refused = ()
            fitting = PAIRS_IN_A_SLICE * step // max(1, len(found.rows))
            step = max(1, min(fitting, GROWTH * step, most))

    def _slice(
        self, batch: pa.RecordBatch, rows: Int32s, publishers: Directory | None
    ) -> tuple[SealedMatches, dict[int, str]]:
        """What some rows find, and what is wrong with rows that are not well made."""
        first, end = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        piece = batch.slice(first, end - first)
        found, problems = self._found(piece, rows - np.int32(first), publishers)
        places, links = in_row_order(found.pairs, piece.num_rows, self._several)
        places += np.int32(first)
        report = SealedMatchReport(len(rows), len(places), found.tests, 0, *found[1:])
        shifted = {first + row: problem for row, problem in problems.items()}
        return SealedMatches(places, links, report, end, ()), shifted

    def _found(
        self, batch: pa.RecordBatch, rows: Int32s, publishers: Directory | None
    ) -> tuple[SearchResult, dict[int, str]]:
        """Pairs of row and link, some more than once, and the problems of rows."""
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
        found.append(SearchResult(every_pair(good, self._everything), 0, 0, 0))
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
) -> tuple[SearchResult, dict[int, str]]:
    """What rows of one stream and epoch find; a row is wrong if it fits none of the groups."""
    found, wrong = [], []
    for group in groups:
        parts, problems = parts_of(batch, rows, group.bits, group.dimensions)
        found.append(group.find(parts))
        wrong.append(problems)
    everywhere = set(rows.tolist()).intersection(*wrong) if wrong else set()
    return total(found), {row: wrong[0][row] for row in sorted(everywhere)}


def _refusals(problems: Mapping[int, str], batch: pa.RecordBatch) -> tuple[Refusal, ...]:
    ids = batch.column("event_id") if "event_id" in batch.schema.names else None
    return tuple(
        Refusal(row, None if ids is None else ids[row].as_py(), TruncatedEvent(problem))
        for row, problem in problems.items()
    )


def _several(groups: tuple[ClauseGroup, ...], everything: Int32s, links: int) -> Bools:
    """Whether several clauses lead to each link; empty if that holds for none."""
    leading = np.concatenate([everything, *(group.links for group in groups)])
    several = np.bincount(leading, minlength=links) > 1
    return several if several.any() else np.zeros(0, bool)
