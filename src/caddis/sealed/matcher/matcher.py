"""The SealedMatcher: sealed clauses → links, for a broker that has no key.

    sealed subscriptions ─unpacked─▶ groups of clauses, one a stream and epoch
    sealed events ─gate─▶ admitted rows ─▶ rows by stream and epoch ─▶ their group
                     prefilter ─▶ candidates ─encrypted test─▶ (row, link)

It has the Matcher's interface. It finds all that the plain Matcher would, and more where a clause
asks what cannot be tested under seal (LIKE, NOT, IS NULL): the subscriber opens what it gets and
decides for itself. Nothing here needs a secret.

Compiles the kernels of sealed matching before worker processes start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.errors import (
    InvalidSubscriptions,
    SubscriptionError,
    TruncatedEvent,
)
from caddis.language import ClauseTable, Column
from caddis.matching import Needs, OnInvalid, checked_ids, named_errors
from caddis.sealed.clauses import ClauseBlock, pack
from caddis.sealed.events import Admission, Gate, Refusal
from caddis.sealed.keys import Directory
from caddis.sealed.matcher import storage
from caddis.sealed.matcher.blocks import (
    leading_blocks,
    sample_filters,
    sealed_column,
    sizes_of,
    usable_blocks,
)
from caddis.sealed.matcher.event_parts import COMPARED, checked
from caddis.sealed.matcher.groups import ClauseGroup, Sifting
from caddis.sealed.matcher.matches import SealedCandidates, SealedMatches, SealedMatchReport, joined
from caddis.sealed.matcher.search import ClauseSearch
from caddis.sealed.prefilter import encode

__all__ = ["OnRefused", "SealedCandidates", "SealedMatchReport", "SealedMatcher", "SealedMatches"]

OnRefused = Callable[[tuple[Refusal, ...]], None]
"""Is told which events of a batch were refused, if any were."""


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
        self._search = ClauseSearch(groups, everything, len(subscription_ids))
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
        gate: its directory says, too, which streams there are, and how large what is sealed for
            them must be; without one, it is as large as in most subscriptions of a stream.
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
        stream's match nothing; how large those are says the gate, or else most links.
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
        found = joined(self._slices(batch, directory), batch.num_rows)
        self._tell(found.refused)
        return found

    def match_in_slices(
        self, batch: pa.RecordBatch, directory: Directory | None = None
    ) -> Iterator[SealedMatches]:
        """The same, for who does not want to hold all pairs at once; one slice at least.

        Rows ascend from slice to slice, but not those of the events that were refused.
        """
        for found in self._slices(batch, directory):
            self._tell(found.refused)
            yield found

    def _slices(
        self, batch: pa.RecordBatch, directory: Directory | None
    ) -> Iterator[SealedMatches]:
        compared = checked(batch)
        admission = self._admit(batch)
        if directory is None and self._gate is not None:
            directory = self._gate.directory
        refused = admission.refused
        for one in self._search.slices(compared, admission.rows, directory):
            refused += _refusals(one.problems, batch)
            counts = one.inspected, one.tests, one.products
            report = SealedMatchReport(one.events, len(one.rows), one.tests, 0, *counts)
            by_row = tuple(sorted(refused, key=lambda refusal: refusal.row))
            yield SealedMatches(one.rows, one.links, report, by_row)
            refused = ()

    def _tell(self, refused: tuple[Refusal, ...]) -> None:
        if refused and self._on_refused is not None:
            self._on_refused(refused)

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

    @property
    def columns(self) -> list[Column]:
        """The columns of sealed events that are compared; a gate reads all."""
        types = {"stream": pa.string(), "epoch": pa.int64()}
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


def _refusals(problems: Mapping[int, str], batch: pa.RecordBatch) -> tuple[Refusal, ...]:
    ids = batch.column("event_id") if "event_id" in batch.schema.names else None
    return tuple(
        Refusal(row, None if ids is None else ids[row].as_py(), TruncatedEvent(problem))
        for row, problem in problems.items()
    )


DIMENSIONS = 3


@cache
def warm_up() -> None:
    """Compile the kernels, if this machine has not yet: some seconds once, then milliseconds.

    Workers then find them on disk, instead of each compiling their own.
    """
    starts = np.arange(4)
    tokens = np.array([1, 1, 2], np.uint64)
    block = ClauseBlock(
        stream="any",
        epoch=1,
        owner=np.array([0, 0, 1], np.int32),
        filters=np.array([[1], [3], [0]], np.uint64),
        token_starts=starts,
        tokens=tokens,
        vector_starts=starts,
        vectors=np.ones((3, DIMENSIONS)),
    )
    table = pa.table({"subscription_id": [0, 1], "where": pa.array(pack(block, 2), pa.binary())})
    with TemporaryDirectory() as folder:
        SealedMatcher.compile(table).save(folder)
        SealedMatcher.load(folder).match(_events())


def _events() -> pa.RecordBatch:
    filters = encode(np.array([[3], [1]], np.uint64), compressed=False)
    tokens = np.array([1, 2], "<u8").tobytes()
    point = np.ones(DIMENSIONS, "<f8").tobytes()
    data = pa.binary()
    return pa.record_batch(
        {
            "stream": ["any", "any"],
            "epoch": [1, 1],
            "filter": pa.array(filters, data),
            "tokens": pa.array([tokens, tokens], data),
            "point": pa.array([point, point], data),
        }
    )
