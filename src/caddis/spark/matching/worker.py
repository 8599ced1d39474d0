"""What runs in Spark's Python workers: batches in, matches out.

The operator that is shipped holds names alone. A worker process keeps one reader a store, whose
segments are mapped from files: nothing large is pickled, and nothing is loaded twice.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Int32s
from caddis.errors import EventError
from caddis.spark.matching.model_reader import ModelReader, OnError
from caddis.spark.matching.sealed_folder import Sealed
from caddis.spark.store import StoreReader

if TYPE_CHECKING:
    from caddis.spark.matching.sealed_reader import SealedReader

ROWS_AT_A_TIME = 32_768
BYTES_AT_A_TIME = 64 << 20
"""Batches are joined up to one of these sizes: an index is gone through once for each."""

MODEL_READERS = 8

Matching = Callable[[pa.RecordBatch, pa.Array], Iterable[tuple[Int32s, pa.Array]]]
"""From a batch and its keys to rows and the ids of the subscriptions that they match."""


@dataclass(frozen=True, slots=True)
class Models:
    """How models are used: their folder, the policy's name, and what becomes of failures."""

    folder: str
    policy: str
    on_error: OnError


_readers: dict[str, StoreReader] = {}
_model_readers: OrderedDict[tuple[str, Models], ModelReader] = OrderedDict()


@dataclass(frozen=True, slots=True)
class MatchOperator:
    """Called by `mapInArrow` once a task.

    columns: the names of the columns that arrive; Spark's own names for them are plain.
    version: the version to match with; None to turn to the current one at each task, which is
    how a streaming match follows new versions without a restart.
    means: what it takes beside the subscriptions: models, or what sealed events are checked by;
        None for plain events, if no subscription can call a model.
    """

    store: str
    event_key: str
    columns: tuple[str, ...]
    version: str | None
    means: Models | Sealed | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches of one task's events."""
        store = _readers.setdefault(self.store, StoreReader(Path(self.store)))
        if self.means is None:
            store.use(self.version)
            checked = KeyCheck(self.event_key)
            yield from self._matches(batches, checked, lambda batch, _: store.match(batch))
            return
        keys = None if isinstance(self.means, Sealed) else KeyCheck(self.event_key)
        reader = self._reader(store, self.means)
        reader.begin(self.version)
        yield from self._matches(batches, keys, reader.match)
        reader.finish()

    def _reader(self, store: StoreReader, means: Models | Sealed) -> ModelReader | SealedReader:
        if not isinstance(means, Sealed):
            return _model_reader(self.store, means)
        # Who has no sealed events does without cryptography.
        from caddis.spark.matching.sealed_reader import SealedReader

        return SealedReader(store, means)

    def _matches(
        self, batches: Iterator[pa.RecordBatch], keys: KeyCheck | None, match: Matching
    ) -> Iterator[pa.RecordBatch]:
        """The matches of batches; no check of keys where a bad one must not stop the others."""
        for arrived in joined(batches):
            batch = arrived.rename_columns(list(self.columns))
            key = batch.column(self.event_key)
            if keys is not None:
                keys.see(key)
            for rows, ids in match(batch, key):
                found = {self.event_key: key.take(pa.array(rows)), "subscription_id": ids}
                yield pa.record_batch(found)
        if keys is not None:
            keys.finish()


def _model_reader(store: str, models: Models) -> ModelReader:
    """This process's reader for a match; only those of the last matches are kept."""
    key = (store, models)
    if key not in _model_readers:
        _model_readers[key] = ModelReader(
            _readers[store], Path(models.folder), models.policy, models.on_error
        )
    _model_readers.move_to_end(key)
    while len(_model_readers) > MODEL_READERS:
        _model_readers.popitem(last=False)
    return _model_readers[key]


def joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in larger batches."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS_AT_A_TIME or size >= BYTES_AT_A_TIME:
            yield _one(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield _one(waiting)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


class KeyCheck:
    """Refuses null keys at once, and keys that occur twice in a partition when it ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[pa.Array] = []

    def see(self, keys: pa.Array) -> None:
        if keys.null_count:
            raise EventError(
                f"null keys: {self.name!r} is null in {keys.null_count:,} of the events"
            )
        self.seen.append(keys)

    def finish(self) -> None:
        keys = pa.chunked_array(self.seen) if self.seen else pa.chunked_array([], pa.int64())
        if pc.count_distinct(keys).as_py() == len(keys):
            return
        counts = keys.value_counts()
        repeated = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
        raise EventError(
            f"duplicate keys: {self.name!r} has values that occur more than once, such as "
            f"{repeated[0].as_py()!r} ({len(repeated):,} in this partition)"
        )
