"""The Matcher: clauses → links, compiled once, immutable, memory-mapped.

    subscriptions ─language─▶ clauses ─packing─▶ codes ─building─▶ access index
    batch ─encoding─▶ codes ─kernels─▶ (row, link) ─texts─▶ what only a pattern decides

A row satisfies a link if any clause of it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa

from caddis.arrays import Anys, Bools, Int32s, Int64s, offsets_of, places_in_rows
from caddis.compiling import Need
from caddis.errors import InvalidSubscriptions, ModelError, SubscriptionError
from caddis.language import ClauseTable, Column, Vocabulary, parse_all
from caddis.matching import tables
from caddis.matching.index import (
    BatchEncoder,
    BatchTexts,
    ColumnCoder,
    MatcherParts,
    build,
    likelihood_by_clauses,
    likelihood_by_sample,
    pack,
    read_parts,
    split_needs,
    write_parts,
)
from caddis.matching.kernels import BatchArrays, in_row_order, match_batch
from caddis.matching.links import (
    Candidates,
    Matches,
    MatchReport,
    OnInvalid,
    named_errors,
    subscription_ids_of,
)

NO_CONCEPTS = Vocabulary()


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

    def __init__(self, parts: MatcherParts, invalid: tuple[SubscriptionError, ...] = ()) -> None:
        self._parts = parts
        self._index = parts.index
        self._encoder = BatchEncoder(parts.coders)
        self._texts = parts.texts
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

    def candidates(self, batch: pa.RecordBatch) -> Candidates:
        """Which rows satisfy which clauses, as far as cheap predicates can tell."""
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
        rows, links = in_row_order(found, arrays.codes.shape[1], self._parts.several)
        report = MatchReport(arrays.codes.shape[1], len(rows), int(tried), texts.searches)
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

    def _with_patterns(self, arrays: BatchArrays, texts: BatchTexts) -> BatchArrays:
        """The batch with the rows of each pattern that is an access token."""
        patterns = self._index.patterns
        if not len(patterns):
            return arrays
        numbers = self._index.arrays.predicates[patterns, tables.FIRST]
        rows = [texts.all_rows(self._texts[number]) for number in numbers]
        starts = offsets_of([len(found) for found in rows])
        return arrays._replace(pattern_start=starts, pattern_rows=np.concatenate(rows))

    def _decided(self, found: Int32s, texts: BatchTexts) -> Bools:
        """Which of the found pairs stand, once the patterns in their rests are searched."""
        rest, predicates = self._index.arrays.rest, self._index.arrays.predicates
        keep = np.ones(len(found), bool)
        undecided = np.flatnonzero(found[:, 2] >= 0)
        places = found[undecided, 2].astype(np.int64)
        counts = rest[places].astype(np.int64)
        pairs = np.repeat(undecided, counts)
        members = rest[np.repeat(places + 1, counts) + places_in_rows(counts)]
        on_text = predicates[members, tables.KIND] == tables.TEXT
        for number, some in _grouped(predicates[members[on_text], tables.FIRST], pairs[on_text]):
            keep[some] &= texts.holds(self._texts[number], found[some, 0])
        return keep


NEEDED = Need("caddis.matching")


@cache
def warm_up() -> None:
    """Compile the kernels, if this machine has not yet, by matching one event."""
    schema = pa.schema([("text", pa.string()), ("number", pa.int64()), ("real", pa.float64())])
    wheres = [
        "text = 'a' AND text LIKE '%a' AND number = 1 AND real < 0.5",
        "text = 'b' OR real > 0",
    ]
    table = pa.table({"subscription_id": [0, 1], "where": wheres})
    # A matcher's arrays are read-only whether it was compiled or mapped, so this also compiles what
    # a loaded matcher runs: to numba, an array that may be written is of another type.
    Matcher.compile(table, schema).match(pa.RecordBatch.from_pylist([{}], schema))


def _grouped(keys: Int32s, values: Int64s) -> Iterator[tuple[int, Int64s]]:
    """Each distinct key with the values that stand beside it."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    for start, group in zip(starts, np.split(values, starts)[1:], strict=True):
        yield int(keys[start]), group
