"""The Matcher: clauses → links, compiled once, immutable, memory-mapped.

    subscriptions ─language─▶ clauses ─packing─▶ codes ─building─▶ access index
    batch ─encoding─▶ codes ─kernels─▶ (row, link) ─texts─▶ what only a pattern decides

Link i is row i of the table of subscriptions. A row satisfies a link if any clause of it holds.

What all that leads from events to links has in common, whatever it may read of them.

`Matcher` reads columns; others compare what they cannot read. Executors, brokers and stores ask for
no more than this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal as Choice
from typing import Protocol

import numpy as np
import pyarrow as pa

from caddis.arrays import Anys, Bools, Floats, Int32s, Int64s
from caddis.errors import InvalidSubscriptions, ModelError, SubscriptionError
from caddis.language import ClauseTable, Column, MatchesText, Vocabulary, parse_all
from caddis.matching.index import (
    AccessIndex,
    BatchEncoder,
    BatchTexts,
    ColumnCoder,
    Needs,
    PackedClauses,
    build,
    needs,
    pack,
    selectivity,
    storage,
)
from caddis.matching.kernels import FIRST, KIND, TEXT, BatchArrays, in_row_order, match_batch
from caddis.matching.subscription_tables import named_errors, subscription_ids_of

OnInvalid = Choice["raise", "report"]
NO_CONCEPTS = Vocabulary()


@dataclass(frozen=True, slots=True)
class Report:
    """What a match did: how much was looked at for how many matches."""

    events: int
    matches: int
    candidates: int
    """(event, clause) pairs that shared an access token and were looked at."""
    searches: int
    """Texts that a pattern was searched in."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs of row and link number, each once, rows ascending."""

    rows: Int32s
    links: Int32s
    report: Report


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of row and clause whose predicates hold, rows ascending.

    If the matcher has no needs the clauses are links, and the pairs are matches.
    """

    rows: Int32s
    clauses: Int32s
    report: Report


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """A batch in a matcher's codes, with the texts that its patterns may have to look at."""

    arrays: BatchArrays
    batch: pa.RecordBatch


class Matcher:
    """Decides which links a batch's rows satisfy.

    >>> schema = pa.schema([("city", pa.string()), ("price", pa.int32())])
    >>> wheres = ["city = 'Galway' AND price < 200", "price >= 100"]
    >>> table = pa.table({"subscription_id": ["ann", "bo"], "where": wheres})
    >>> matcher = Matcher.compile(table, schema)
    >>> events = pa.record_batch({"city": ["Galway", "Cork"], "price": [150, 90]}, schema)
    >>> matches = matcher.match(events)
    >>> [
    ...     (int(row), matcher.subscription_ids[link].as_py())
    ...     for row, link in zip(matches.rows, matches.links)
    ... ]
    [(0, 'ann'), (0, 'bo')]
    """

    def __init__(
        self,
        index: AccessIndex,
        coders: list[ColumnCoder],
        texts: list[MatchesText],
        several: Bools,
        subscription_ids: pa.Array,
        needs: Needs | None = None,
        invalid: tuple[SubscriptionError, ...] = (),
    ) -> None:
        self._index = index
        self._encoder = BatchEncoder(coders)
        self._texts = texts
        self._several = several
        self.subscription_ids = subscription_ids
        self.needs = needs
        self.invalid = invalid

    @classmethod
    def compile(
        cls,
        subscriptions: pa.Table,
        schema: pa.Schema,
        *,
        timezone: str = "UTC",
        sample: pa.RecordBatch | None = None,
        on_invalid: OnInvalid = "raise",
        concepts: Vocabulary = NO_CONCEPTS,
    ) -> Matcher:
        """Compile a table of `subscription_id` and `where` for events of a schema.

        timezone: the session's time zone, in which dates and times without one are read.
        sample: some events, by which the rarest token of each clause is chosen.
        on_invalid: "raise" InvalidSubscriptions, or "report" them in `invalid` and go on.
        concepts: those that subscriptions may call, if there are models to answer them.
        """
        ids = subscription_ids_of(subscriptions)
        wheres = subscriptions["where"].to_pylist()
        clauses = parse_all(wheres, schema, timezone=timezone, concepts=concepts)
        errors = named_errors(clauses.errors, ids)
        if errors and on_invalid == "raise":
            raise InvalidSubscriptions(errors)
        return cls.from_clauses(clauses, ids, sample=sample, invalid=errors)

    @classmethod
    def from_clauses(
        cls,
        clauses: ClauseTable,
        subscription_ids: pa.Array,
        *,
        sample: pa.RecordBatch | None = None,
        invalid: tuple[SubscriptionError, ...] = (),
    ) -> Matcher:
        """Build the index of clauses that are already parsed."""
        cheap, needed = needs.split(clauses)
        packed = pack(cheap)
        coders = [
            ColumnCoder.of(*pair) for pair in zip(packed.columns, packed.boundaries, strict=True)
        ]
        index = build(packed, _likelihood(packed, coders, sample))
        counts = np.bincount(packed.owner, minlength=len(subscription_ids))
        several = counts > 1 if np.any(counts > 1) else np.zeros(0, bool)
        texts = packed.predicates.texts
        return cls(index, coders, texts, several, subscription_ids, needed, invalid)

    def __len__(self) -> int:
        return len(self.subscription_ids)

    def match(self, batch: pa.RecordBatch) -> Matches:
        """Which rows of a batch satisfy which links, if no clause calls a concept."""
        return self.match_encoded(self.encode(batch))

    def candidates(self, batch: pa.RecordBatch) -> Candidates:
        """Which rows satisfy which links as far as predicates can tell, and what models decide."""
        found = self._found(self.encode(batch))
        return Candidates(found.rows, found.links, found.report)

    def encode(self, batch: pa.RecordBatch) -> EncodedBatch:
        """The first half of a match: values become codes."""
        return EncodedBatch(self._encoder.encode(batch), batch)

    def match_encoded(self, encoded: EncodedBatch) -> Matches:
        """The second half of a match: codes find their clauses."""
        if self.needs is not None:
            called = ", ".join(sorted({concept.name for concept in self.needs.concepts})[:5])
            raise ModelError(f"these subscriptions call models ({called}); match them with models")
        return self._found(encoded)

    def _found(self, encoded: EncodedBatch) -> Matches:
        """Rows and their links, or their clauses if these have needs."""
        index, texts = self._index, BatchTexts(encoded.batch)
        arrays = self._with_patterns(encoded.arrays, texts)
        found, tried = match_batch(
            index.arrays, arrays, index.most_codes, index.first_pattern, index.everything
        )
        if self._texts:
            found = found[self._decided(found, texts)]
        rows, links = in_row_order(found, arrays.codes.shape[1], self._several)
        report = Report(arrays.codes.shape[1], len(rows), int(tried), texts.searches)
        return Matches(rows, links, report)

    @property
    def columns(self) -> list[Column]:
        """The columns that some predicate tests, or some concept is asked of."""
        asked = [] if self.needs is None else [one.column for one in self.needs.concepts]
        return list(dict.fromkeys([coder.column for coder in self._encoder.coders] + asked))

    @property
    def tests_columns(self) -> bool:
        """Whether any predicate tests a column; else every row is a candidate of all clauses."""
        return bool(self._encoder.coders)

    @property
    def nbytes(self) -> int:
        """Bytes of the index, its columns' boundaries and the subscriptions' ids."""
        arrays: list[Anys] = [*self._index.arrays, self._several]
        if self.needs is not None:
            needs_ = self.needs
            arrays += [needs_.of_clause, needs_.link_starts, needs_.links]
            arrays += [needs_.starts, needs_.literals]
        for coder in self._encoder.coders:
            arrays += [coder.keys, coder.data, coder.slots]
        return sum(array.nbytes for array in arrays) + int(self.subscription_ids.nbytes)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the matcher to a folder that `load` can map into memory."""
        storage.save(
            Path(folder),
            self._index,
            self._encoder.coders,
            self._texts,
            self._several,
            self.subscription_ids,
            self.needs,
        )

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Matcher:
        """Map a saved matcher into memory; processes that do so share one copy."""
        return cls(*storage.load(Path(folder)))

    def _with_patterns(self, arrays: BatchArrays, texts: BatchTexts) -> BatchArrays:
        """The batch with the rows of each pattern that is an access token."""
        patterns = self._index.patterns
        if not len(patterns):
            return arrays
        numbers = self._index.arrays.predicates[patterns, FIRST]
        rows = [texts.all_rows(self._texts[number]) for number in numbers]
        starts = np.concatenate([[0], np.cumsum([len(found) for found in rows])]).astype(np.int64)
        return arrays._replace(pattern_start=starts, pattern_rows=np.concatenate(rows))

    def _decided(self, found: Int32s, texts: BatchTexts) -> Bools:
        """Which of the found pairs stand, once the patterns in their rests are searched."""
        rest, predicates = self._index.arrays.rest, self._index.arrays.predicates
        keep = np.ones(len(found), bool)
        undecided = np.flatnonzero(found[:, 2] >= 0)
        places = found[undecided, 2].astype(np.int64)
        counts = rest[places].astype(np.int64)
        nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        pairs, members = np.repeat(undecided, counts), rest[np.repeat(places + 1, counts) + nth]
        on_text = predicates[members, KIND] == TEXT
        for number, some in _grouped(predicates[members[on_text], FIRST], pairs[on_text]):
            keep[some] &= texts.holds(self._texts[number], found[some, 0])
        return keep


@cache
def warm_up() -> None:
    """Compile the kernels, if this machine has not yet: some seconds once, then milliseconds.

    Called before worker processes start, so that they find the compiled kernels on disk instead
    of each compiling their own.
    """
    schema = pa.schema([("text", pa.string()), ("number", pa.int64()), ("real", pa.float64())])
    wheres = [
        "text = 'a' AND text LIKE '%a' AND number = 1 AND real < 0.5",
        "text = 'b' OR real > 0",
    ]
    table = pa.table({"subscription_id": [0, 1], "where": wheres})
    with TemporaryDirectory() as folder:
        Matcher.compile(table, schema).save(folder)
        Matcher.load(folder).match(pa.RecordBatch.from_pylist([], schema))


def _likelihood(
    packed: PackedClauses, coders: list[ColumnCoder], sample: pa.RecordBatch | None
) -> Floats:
    if sample is None or sample.num_rows == 0:
        return selectivity.from_clauses(packed)
    return selectivity.from_sample(packed, BatchEncoder(coders).encode(sample))


def _grouped(keys: Int32s, values: Int64s) -> Iterator[tuple[int, Int64s]]:
    """Each distinct key with the values that stand beside it."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    for start, group in zip(starts, np.split(values, starts)[1:], strict=True):
        yield int(keys[start]), group


class LinkMatcher(Protocol):
    """Decides which links a batch's rows satisfy; link i is row i of `subscription_ids`."""

    @property
    def subscription_ids(self) -> pa.Array:
        """By link."""

    @property
    def needs(self) -> Needs | None:
        """What its clauses need of models; None if nothing."""

    @property
    def invalid(self) -> tuple[SubscriptionError, ...]:
        """What is wrong with subscriptions that were left out."""

    @property
    def columns(self) -> list[Column]:
        """The columns of events that it reads."""

    @property
    def tests_columns(self) -> bool:
        """Whether it looks at events at all; else every row is a candidate of all clauses."""

    def __len__(self) -> int: ...

    def match(self, batch: pa.RecordBatch) -> Matches:
        """Which rows satisfy which links."""

    def candidates(self, batch: pa.RecordBatch) -> Candidates:
        """Which rows satisfy which links as far as no model is needed."""

    def save(self, folder: str | PathLike[str]) -> None:
        """Write it to a folder from which its class can load it."""
