"""What runs in Spark's Python workers: batches in, matches out.

The operator that is shipped holds only names: where the store is, and what opens a reader on it
(plain, with models, or sealed; this module knows only the plain one). A worker process
keeps the stores that it has read lately, whose segments are mapped from files: nothing large is
pickled, and nothing is loaded twice.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from caddis.errors import EventError
from caddis.spark.matching.grouping import Found, groups, pairs
from caddis.spark.places import is_gone, resident
from caddis.spark.store import StoreReader

logger = logging.getLogger(__name__)

ROWS_AT_A_TIME = 32_768
BYTES_AT_A_TIME = 64 << 20
"""Batches are joined up to one of these sizes, since each one takes a pass over the index."""

KEPT_STORES = 16
"""A worker outlives many matches. Each match on a table has a store of its own, whose mapped files
would otherwise stay for as long as the worker does.
"""


class TaskReader(Protocol):
    """Matches one task after the other: `begin`, `match` its batches, `finish`."""

    def begin(self, version: str | None) -> None:
        """Switch to a version of the store, or to the current one."""

    def match(self, batch: pa.RecordBatch, keys: pa.Array) -> Iterable[Found]:
        """Match a batch in turns, of which no two have the same event; `keys` is its key column."""

    def finish(self) -> None:
        """Report what the task did; not called if it failed."""


class Opening(Protocol):
    """Opens the readers of one match in each worker. It is pickled with every task."""

    @property
    def unique_keys(self) -> bool:
        """Whether null and repeated keys stop the job; otherwise the reader deals with them."""

    def reader(self, store: StoreReader) -> TaskReader:
        """A reader of this process."""


@dataclass(frozen=True, slots=True)
class Plain:
    """Opens readers for subscriptions that call no model."""

    unique_keys = True

    def reader(self, store: StoreReader) -> TaskReader:
        """A reader of this process."""
        return _PlainReader(store)


PLAIN = Plain()


class _PlainReader:
    def __init__(self, store: StoreReader) -> None:
        self._store = store

    def begin(self, version: str | None) -> None:
        self._store.use(version)

    def match(self, batch: pa.RecordBatch, _: pa.Array) -> Iterable[Found]:
        return self._store.match(batch)

    def finish(self) -> None:
        pass


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps the values that were asked for most recently, and forgets the others.

    most: how many it keeps.

    >>> squares = Recent[int, int](2)
    >>> [squares.get(one, lambda one=one: one * one) for one in (2, 3, 2, 4)]
    [4, 9, 4, 16]
    >>> list(squares)
    [2, 4]
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()

    def __iter__(self) -> Iterator[K]:
        return iter(self._kept)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key, made if it is not there."""
        if key not in self._kept:
            self._kept[key] = make()
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return self._kept[key]

    def drop(self, unwanted: Callable[[K], bool]) -> None:
        """Forget the values of unwanted keys."""
        for key in [key for key in self._kept if unwanted(key)]:
            del self._kept[key]


_stores: Recent[str, StoreReader] = Recent(KEPT_STORES)


def store_reader(address: str) -> StoreReader:
    """This process's reader of a store; readers of stores that were deleted are dropped."""
    _stores.drop(is_gone)
    here = resident(address)
    return _stores.get(here, lambda: StoreReader(here))


@dataclass(frozen=True, slots=True)
class MatchOperator:
    """The function that `mapInArrow` calls once for each task.

    store: the address of the store.
    columns: the original names of the columns that arrive, which Spark passes under plain names.
    version: the version to match with; None to switch to the current one at each task, which is
        how a streaming match follows new versions without a restart.
    opening: opens the reader that matches the task's batches.
    grouped: whether an event that matched is one row with all its subscriptions.
    """

    store: str
    event_key: str
    columns: tuple[str, ...]
    version: str | None
    opening: Opening = PLAIN
    grouped: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches of one task's events, which Spark sends."""
        names = list(self.columns)
        return self.matches(batch.rename_columns(names) for batch in joined(batches))

    def matches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches of one task's events, in batches that have the columns' own names."""
        as_wanted = groups if self.grouped else pairs
        reader = self.opening.reader(store_reader(self.store))
        reader.begin(self.version)
        keys = KeyCheck(self.event_key) if self.opening.unique_keys else None
        for batch in batches:
            key = batch.column(self.event_key)
            if keys is not None:
                keys.see(key)
            logger.debug("%s: %d events to match", self.store, batch.num_rows)
            for found in reader.match(batch, key):
                yield from as_wanted(self.event_key, key, found)
        if keys is not None:
            keys.finish()
        reader.finish()


def joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in larger batches."""
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
