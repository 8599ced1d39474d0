"""The SealedMatcher: sealed clauses → links, for a broker that has no key.

    sealed subscriptions ─unpacked─▶ groups of clauses, one a topic and epoch
    sealed events ─gate─▶ admitted rows ─▶ rows by topic and epoch ─▶ their group
                     prefilter ─▶ candidates ─encrypted test─▶ (row, link)

It has the Matcher's interface. What it finds is what the plain Matcher would, and a little more:
the subscriber opens what it gets and decides for itself. Nothing here needs a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s
from caddis.confidential import storage
from caddis.confidential.broker_clauses import leading_blocks
from caddis.confidential.clause_blocks import (
    sample_filters,
    sealed_column,
    sizes_of,
    usable_blocks,
)
from caddis.confidential.clause_groups import ClauseGroup, Found, Sifting, total
from caddis.confidential.directory import Directory
from caddis.confidential.event_parts import (
    COMPARED,
    Key,
    by_key,
    checked,
    parts_of,
    without_key,
)
from caddis.confidential.gate import Admission, Gate, Refusal
from caddis.errors import (
    InvalidSubscriptions,
    SubscriptionError,
    TruncatedEvent,
)
from caddis.language import ClauseTable, Column
from caddis.matching import Candidates, Matches, Needs, OnInvalid, Report
from caddis.matching.decide_kernels import in_row_order
from caddis.matching.subscription_tables import checked_ids, named_errors

ROWS_AT_A_TIME = 4096

OnRefused = Callable[[tuple[Refusal, ...]], None]
"""Is told which events of a batch were refused, if any were."""


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


class SealedMatcher:
    """Decides which links sealed events may satisfy.

    gate: admits events before they are matched; without one, any that are well made are matched.
    on_refused: told of refused events by `match` and `candidates`, beside what they return.
    """

    def __init__(
        self,
        groups: tuple[ClauseGroup, ...],
        everything: Int32s,
        subscription_ids: pa.Array,
        invalid: tuple[SubscriptionError, ...] = (),
        *,
        gate: Gate | None = None,
        on_refused: OnRefused | None = None,
    ) -> None:
        self._groups = groups
        self._everything = everything
        self._by_key: dict[Key, list[ClauseGroup]] = {}
        for group in groups:
            self._by_key.setdefault((group.topic, group.epoch), []).append(group)
        self._several = _several(groups, everything, len(subscription_ids))
        self._gate, self._on_refused = gate, on_refused
        self._admitted: tuple[pa.RecordBatch, Directory, Admission] | None = None
        self.subscription_ids = subscription_ids
        self.needs: Needs | None = None
        self.invalid = invalid

    @classmethod
    def compile(
        cls,
        subscriptions: pa.Table,
        schema: pa.Schema | None = None,
        *,
        gate: Gate | None = None,
        sample: pa.RecordBatch | None = None,
        on_invalid: OnInvalid = "raise",
        prefilter: Sifting = "rarest-bit",
        on_refused: OnRefused | None = None,
    ) -> SealedMatcher:
        """Compile a table of `subscription_id` and a sealed `where`, in bytes or as text.

        schema: is not needed; it is there since other matchers have one.
        sample: some sealed events, by which the rarest bit of each clause is chosen.
        gate: its directory says, too, which topics there are, and how large what is sealed for
            them must be; without one, it is as large as in most subscriptions of a topic.
        on_invalid: "raise" InvalidSubscriptions, or "report" them in `invalid` and go on.
        prefilter: how clauses are discarded by their filters; only what a match costs depends on
            it: "rarest-bit", "paper" or None.
        """
        del schema
        ids = checked_ids(subscriptions)
        directory = None if gate is None else gate.directory
        blocks, problems = usable_blocks(sealed_column(subscriptions), directory)
        told = {row: SubscriptionError(problem, "") for row, problem in sorted(problems.items())}
        errors = named_errors(told, ids)
        if errors and on_invalid == "raise":
            raise InvalidSubscriptions(errors)
        filters = sample_filters(blocks, sample)
        groups = tuple(
            ClauseGroup.of(block, block.owner, prefilter, filters.get(sizes_of(block)))
            for block in blocks
        )
        none = np.zeros(0, np.int32)
        return cls(groups, none, ids, errors, gate=gate, on_refused=on_refused)

    @classmethod
    def from_clauses(
        cls,
        clauses: ClauseTable,
        subscription_ids: pa.Array,
        *,
        gate: Gate | None = None,
        prefilter: Sifting = "rarest-bit",
        on_refused: OnRefused | None = None,
    ) -> SealedMatcher:
        """Compile clauses as brokers know them: see `broker_clauses`.

        A clause without a predicate is true of every event. Clauses of other sizes than their
        topic's match nothing; how large those are says the gate, or else most links.
        """
        leading = leading_blocks(clauses, None if gate is None else gate.directory)
        groups = [ClauseGroup.of(block, links, prefilter, None) for block, links in leading]
        everything = clauses.owner[np.diff(clauses.starts) == 0]
        return cls(tuple(groups), everything, subscription_ids, gate=gate, on_refused=on_refused)

    def __len__(self) -> int:
        return len(self.subscription_ids)

    def match(self, batch: pa.RecordBatch, directory: Directory | None = None) -> SealedMatches:
        """Which rows of a batch of sealed events may satisfy which links.

        directory: says how large the parts of events are; by default the gate's. Subscriptions of
            other sizes match nothing then, whoever made them up, and no event is refused for them.
        """
        compared = checked(batch)
        admission = self._admit(batch)
        if directory is None and self._gate is not None:
            directory = self._gate.directory
        found, problems = self._found(compared, admission.rows, directory)
        refused = _by_row(admission.refused, _refusals(problems, batch))
        if refused and self._on_refused is not None:
            self._on_refused(refused)
        rows, links = in_row_order(found.pairs, batch.num_rows, self._several)
        counts = found.inspected, found.tests, found.products
        report = SealedMatchReport(batch.num_rows, len(rows), found.tests, 0, *counts)
        return SealedMatches(rows, links, report, refused)

    def candidates(self, batch: pa.RecordBatch) -> SealedCandidates:
        """The same: there is nothing that models could decide."""
        found = self.match(batch)
        return SealedCandidates(found.rows, found.links, found.report, found.refused)

    def _admit(self, batch: pa.RecordBatch) -> Admission:
        """Ask the gate; who asks again of the same batch and directory is no replay."""
        if self._gate is None:
            return Admission(np.arange(batch.num_rows, dtype=np.int32), ())
        directory = self._gate.directory
        if self._admitted is not None:
            last_batch, last_directory, admission = self._admitted
            if last_batch is batch and last_directory is directory:
                return admission
        admission = self._gate.admit(batch)
        self._admitted = batch, directory, admission
        return admission

    def _found(
        self, batch: pa.RecordBatch, rows: Int32s, directory: Directory | None
    ) -> tuple[Found, dict[int, str]]:
        """Pairs of row and link, some more than once, and what is wrong with rows."""
        problems = dict.fromkeys(without_key(batch, rows).tolist(), "its topic or epoch is missing")
        found = []
        for key, some in by_key(batch, rows):
            groups = self._groups_of(key, directory)
            for begin in range(0, len(some), ROWS_AT_A_TIME):
                part, wrong = _slice(batch, groups, some[begin : begin + ROWS_AT_A_TIME])
                found.append(part)
                problems |= wrong
        good = rows[~np.isin(rows, list(problems))] if problems else rows
        found.append(self._of_everything(good))
        return total(found), problems

    def _groups_of(self, key: Key, directory: Directory | None) -> list[ClauseGroup]:
        """The groups of a topic and epoch, of the right sizes if these are known."""
        groups = self._by_key.get(key, [])
        if directory is None or key[0] not in directory.topics:
            return groups
        outline = directory.topics[key[0]].outline
        sizes = outline.bits, outline.dimensions
        return [group for group in groups if (group.bits, group.dimensions) == sizes]

    def _of_everything(self, rows: Int32s) -> Found:
        """The links that every event satisfies."""
        links = self._everything
        pairs = np.stack([np.repeat(rows, len(links)), np.tile(links, len(rows))], axis=1)
        return Found(pairs.astype(np.int32), 0, 0, 0)

    @property
    def columns(self) -> list[Column]:
        """The columns of sealed events that are compared; a gate reads all."""
        types = {"topic": pa.string(), "epoch": pa.int64()}
        return [Column((name,), types.get(name, pa.binary())) for name in COMPARED]

    @property
    def tests_columns(self) -> bool:
        """Events are always looked at."""
        return True

    @property
    def nbytes(self) -> int:
        """Bytes of all clauses, their prefilters and the subscriptions' ids."""
        arrays = [array for group in self._groups for array in group.arrays]
        return sum(array.nbytes for array in arrays) + int(self.subscription_ids.nbytes)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the matcher to a folder that `load` can map into memory; the gate stays here."""
        storage.save(Path(folder), self._groups, self._everything, self.subscription_ids)

    @classmethod
    def load(
        cls,
        folder: str | PathLike[str],
        *,
        gate: Gate | None = None,
        on_refused: OnRefused | None = None,
    ) -> SealedMatcher:
        """Map a saved matcher into memory; processes that do so share one copy."""
        return cls(*storage.load(Path(folder)), gate=gate, on_refused=on_refused)


def _slice(
    batch: pa.RecordBatch, groups: list[ClauseGroup], rows: Int32s
) -> tuple[Found, dict[int, str]]:
    """What rows of one topic and epoch find; wrong is what fits no group."""
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


def _refusals(problems: Mapping[int, str], batch: pa.RecordBatch) -> tuple[Refusal, ...]:
    ids = batch.column("event_id") if "event_id" in batch.schema.names else None
    return tuple(
        Refusal(row, None if ids is None else ids[row].as_py(), TruncatedEvent(problem))
        for row, problem in problems.items()
    )


def _by_row(*refused: tuple[Refusal, ...]) -> tuple[Refusal, ...]:
    return tuple(sorted((one for some in refused for one in some), key=lambda one: one.row))
