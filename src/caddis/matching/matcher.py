"""The Matcher: clauses → links, compiled once, immutable, memory-mapped.

    subscriptions ─language─▶ clauses ─packing─▶ codes ─building─▶ access index
    batch ─encoding─▶ codes ─kernels─▶ (row, link) ─texts─▶ what only a pattern decides

A row satisfies a link if any clause of it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa

from caddis.arrays import Anys
from caddis.errors import InvalidSubscriptions, ModelError, SubscriptionError
from caddis.language import ClauseTable, Column, Vocabulary, parse_all
from caddis.matching.index import (
    BatchEncoder,
    ColumnCoder,
    MatcherParts,
    ValueRange,
    build,
    likelihood_by_clauses,
    likelihood_by_sample,
    may_hold,
    pack,
    read_parts,
    split_needs,
    write_parts,
)
from caddis.matching.links import (
    Candidates,
    Matches,
    OnInvalid,
    named_errors,
    subscription_ids_of,
)
from caddis.matching.search import PAIRS_IN_A_SLICE, EncodedBatch, IndexSearch
from caddis.matching.slices import joined

NO_CONCEPTS = Vocabulary()


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

    def __init__(self, parts: MatcherParts, invalid: tuple[SubscriptionError, ...] = ()) -> None:
        self._parts = parts
        self._index = parts.index
        self._encoder = BatchEncoder(parts.coders)
        self._search = IndexSearch(parts)
        self.subscription_ids = parts.subscription_ids
        self.needs = parts.needs
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
        sample: some events, in which the rarest token of each clause is counted.
        on_invalid: "raise" InvalidSubscriptions, or "skip" them and list them in `invalid`.
        concepts: the concepts that subscriptions may call, if models are there to answer them.
        """
        ids = subscription_ids_of(subscriptions)
        clauses = parse_all(subscriptions["where"], schema, timezone=timezone, concepts=concepts)
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
        cheap, needs = split_needs(clauses)
        packed = pack(cheap)
        coders = [
            ColumnCoder.of(*pair) for pair in zip(packed.columns, packed.boundaries, strict=True)
        ]
        if sample is None or sample.num_rows == 0:
            likelihood = likelihood_by_clauses(packed)
        else:
            likelihood = likelihood_by_sample(packed, BatchEncoder(coders).encode(sample))
        counts = np.bincount(packed.owner, minlength=len(subscription_ids))
        several = counts > 1 if np.any(counts > 1) else np.zeros(0, bool)
        several.flags.writeable = False
        parts = MatcherParts(
            build(packed, likelihood),
            coders,
            packed.predicates.texts,
            several,
            subscription_ids,
            needs,
        )
        return cls(parts, invalid)

    def __len__(self) -> int:
        return len(self.subscription_ids)

    def match(self, batch: pa.RecordBatch) -> Matches:
        """Which rows of a batch satisfy which links, if no clause calls a concept."""
        return self.match_encoded(self.encode(batch))

    def match_in_slices(
        self, batch: pa.RecordBatch, most_pairs: int = PAIRS_IN_A_SLICE
    ) -> Iterator[Matches]:
        """Match slice by slice, rows ascending, so that not all pairs are held at once.

        most_pairs: how many pairs of row and clause a slice may have, unless it is a single row.
        """
        self._check_needs()
        return self._search.slices(self.encode(batch), most_pairs)

    def candidates(self, batch: pa.RecordBatch) -> Candidates:
        """Which rows satisfy which clauses, as far as cheap predicates can tell."""
        found = joined(self._search.slices(self.encode(batch), PAIRS_IN_A_SLICE))
        return Candidates(found.rows, found.links, found.report, found.end)

    def may_match(self, ranges: Mapping[Column, ValueRange]) -> bool:
        """Whether any clause may be true of events whose columns have values in these ranges.

        ranges: a column that is missing may have any values.
        """
        return may_hold(self._index, self._encoder.coders, ranges)

    def encode(self, batch: pa.RecordBatch) -> EncodedBatch:
        """The first half of a match: values become codes."""
        return EncodedBatch(self._encoder.encode(batch), batch)

    def match_encoded(self, encoded: EncodedBatch) -> Matches:
        """The second half of a match: codes find their clauses."""
        self._check_needs()
        return joined(self._search.slices(encoded, PAIRS_IN_A_SLICE))

    def _check_needs(self) -> None:
        if self.needs is not None:
            called = ", ".join(sorted({concept.name for concept in self.needs.concepts})[:5])
            raise ModelError(f"these subscriptions call models ({called}); match them with models")

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
        arrays: list[Anys] = [*self._index.arrays, self._parts.several]
        if self.needs is not None:
            arrays += self.needs.arrays
        for coder in self._encoder.coders:
            arrays += [coder.keys, coder.data, coder.slots]
        return sum(array.nbytes for array in arrays) + int(self.subscription_ids.nbytes)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the matcher to a folder that `load` can map into memory."""
        write_parts(Path(folder), self._parts)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Matcher:
        """Map a saved matcher into memory; processes that do so share one copy."""
        return cls(read_parts(Path(folder)))
