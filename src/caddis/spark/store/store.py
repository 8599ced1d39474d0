"""Subscriptions that come and go: `SubscriptionStore`.

A store is a log of immutable segments, each a compiled Matcher. Adding a subscription to a million
compiles one; small segments are merged into larger ones, so that their number stays logarithmic
and the cost of a change is amortised. A subscription that is replaced or removed is only marked
dead in its old segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from caddis.arrays import Int32s
from caddis.errors import (
    EventError,
    IndexFolderError,
    SubscriptionError,
    SubscriptionTableError,
)
from caddis.files import is_store
from caddis.language import Concept, Vocabulary
from caddis.matching import LinkMatcher, OnInvalid
from caddis.models import Catalogue, Model
from caddis.ordering import Demand
from caddis.spark.base import Version, VersionFolder, arrow_schema, session_timezone
from caddis.spark.store.reader import StoreReader
from caddis.spark.store.segments import (
    PlainSegments,
    SealedSegments,
    Segments,
    check_without_models,
    load_segment,
)
from caddis.spark.store.settings import Settings, read_schema, write_schema

if TYPE_CHECKING:
    from caddis.sealed.keys import Directory

TEXTS = "subscriptions.arrow"
MERGE_RATIO = 4
"""A segment is merged into the one before it unless that one is this many times as large."""


class SubscriptionStore:
    """A versioned folder of subscriptions that a running match follows.

    >>> import tempfile
    >>> schema = pa.schema([("city", pa.string())])
    >>> store = SubscriptionStore.create(tempfile.mkdtemp() + "/store", schema)
    >>> added = store.add(pa.table({"subscription_id": ["ann"], "where": ["city = 'Galway'"]}))
    >>> len(store)
    1
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._folder = VersionFolder(self.path)
        settings = Settings.read(self.path)
        self.timezone, self.sealed = settings.timezone, settings.sealed
        self.schema = read_schema(self.path)

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        events: pa.Schema | DataFrame | None = None,
        *,
        timezone: str = "UTC",
        models: Sequence[Model] = (),
        sealed: bool = False,
    ) -> SubscriptionStore:
        """A new, empty store for events like these. An existing store is not overwritten.

        events: a DataFrame, batch or streaming, whose session's time zone is taken over; or an
            Arrow schema, with the time zone in which dates and times without one are read.
        models: those whose concepts subscriptions may call; their names are kept, not the models.
        sealed: whether subscriptions and events are sealed; events are then all alike, and need
            not be given.
        """
        root = Path(path).absolute()
        if (root / "CURRENT").exists():
            raise IndexFolderError(f"{root} is a subscription store already; open it instead")
        if sealed:
            check_without_models(models)
        if isinstance(events, DataFrame):
            timezone = session_timezone(events)
        schema = SealedSegments().schema if sealed else _schema_of(events, timezone)
        catalogue = Catalogue(models)
        catalogue.check(schema)
        (root / "segments").mkdir(parents=True)
        write_schema(root, schema)
        Settings(timezone, catalogue.vocabulary_for(schema), sealed).write(root)
        VersionFolder(root).publish((), {})
        return cls(root)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> SubscriptionStore:
        """An existing store."""
        return cls(path)

    @property
    def version(self) -> str:
        """The name of the current version."""
        return self._folder.current_name

    @property
    def vocabulary(self) -> Vocabulary:
        """The concepts that subscriptions may call now, whoever allowed them."""
        return Settings.read(self.path).vocabulary

    def allow(self, models: Sequence[Model]) -> None:
        """Let subscriptions call the concepts of these models, too."""
        if self.sealed:
            check_without_models(models)
        catalogue = Catalogue(models)
        catalogue.check(self.schema)
        with self._folder.writing():
            pairs = [*self.vocabulary.pairs, *catalogue.vocabulary_for(self.schema).pairs]
            Settings(self.timezone, Vocabulary.of(pairs), self.sealed).write(self.path)

    def __len__(self) -> int:
        version = self._folder.current()
        return sum(self._live_size(version, segment) for segment in version.segments)

    def subscriptions(self) -> pa.Table:
        """All current subscriptions, with their WHERE texts."""
        version = self._folder.current()
        types = {"subscription_id": self.id_type, "where": self._segments.where_type}
        empty = pa.schema(types.items()).empty_table()
        return pa.concat_tables([empty, *(self._live(version, s) for s in version.segments)])

    def add(
        self,
        subscriptions: pa.Table,
        *,
        sample: pa.RecordBatch | None = None,
        on_invalid: OnInvalid = "raise",
        directory: Directory | None = None,
    ) -> tuple[SubscriptionError, ...]:
        """Add subscriptions, or replace those of the same id, in one new version.

        With on_invalid="report" the bad ones are returned and change nothing; the good are added.

        directory: of a key authority, for sealed ones: refuses those of other sizes than it says.
        """
        if directory is not None and not self.sealed:
            raise SubscriptionTableError("a directory tells about sealed subscriptions")
        segments = self._segments if directory is None else SealedSegments(directory)
        matcher = segments.compile(subscriptions, sample, on_invalid)
        ids = matcher.subscription_ids
        bad = _places(ids, [error.subscription_id for error in matcher.invalid])
        with self._folder.writing():
            version = self._folder.current()
            self._check_id_type(version, ids.type)
            good = ids.filter(pa.array(~np.isin(np.arange(len(ids)), bad)))
            removed = self._without(version, good)
            name = self._write(matcher, subscriptions)
            if len(bad):
                removed[name] = bad
            self._publish((*version.segments, name), removed)
        return matcher.invalid

    def remove(self, subscription_ids: Iterable[object]) -> int:
        """Remove subscriptions by their ids, in one new version; how many there were."""
        with self._folder.writing():
            version = self._folder.current()
            ids = _in_type(subscription_ids, self.id_type)
            removed = self._without(version, ids)
            gone = sum(map(len, removed.values())) - sum(map(len, version.removed.values()))
            if gone:
                self._publish(version.segments, removed)
        return gone

    def columns(self, version_name: str | None = None) -> list[str]:
        """The events' columns that matching reads: of one version, or of any that may come."""
        if version_name is None:
            return [field.name for field in self.schema]
        used = set()
        for segment in self._folder.version(version_name).segments:
            matcher = load_segment(self._folder.segment(segment))
            used |= {column.path[0] for column in matcher.columns}
        return [field.name for field in self.schema if field.name in used]

    def has_needs(self) -> bool:
        """Whether a clause of the current version asks for models, be it alive or not."""
        segments = self._folder.current().segments
        return any(load_segment(self._folder.segment(one)).needs is not None for one in segments)

    def concepts(self) -> tuple[Concept, ...]:
        """The concepts that current subscriptions call."""
        reader = StoreReader(self.path)
        reader.use(None)
        matchers, alive = [matcher for matcher, _ in reader.parts], [one for _, one in reader.parts]
        return Demand.of(matchers, alive).concepts

    def _publish(self, segments: tuple[str, ...], removed: dict[str, Int32s]) -> None:
        """Merge what has become small against its successors, then publish.

        What was accepted stays so: sealed subscriptions whose sizes differ are not merged.
        """
        draft = Version("", segments, removed)
        sizes = [self._live_size(draft, segment) for segment in segments]
        total, kept = sizes[-1], len(segments) - 1
        while kept and sizes[kept - 1] <= MERGE_RATIO * total:
            kept -= 1
            total += sizes[kept]
        while kept < len(segments) - 1:
            table = pa.concat_tables([self._live(draft, segment) for segment in segments[kept:]])
            matcher = self._segments.compile(table, None, "report")
            if not matcher.invalid:
                segments = (*segments[:kept], self._write(matcher, table))
            kept += 1
        self._folder.publish(segments, {s: links for s, links in removed.items() if s in segments})

    @property
    def _segments(self) -> Segments:
        if self.sealed:
            return SealedSegments()
        return PlainSegments(self.schema, self.timezone, self.vocabulary)

    def _write(self, matcher: LinkMatcher, subscriptions: pa.Table) -> str:
        name = self._folder.new_segment()
        folder = self._folder.segment(name)
        matcher.save(folder)
        where = self._segments.wheres(subscriptions)
        table = pa.table({"subscription_id": matcher.subscription_ids, "where": where})
        with (
            pa.OSFile(str(folder / TEXTS), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as out,
        ):
            out.write_table(table)
        return name

    def _without(self, version: Version, ids: pa.Array) -> dict[str, Int32s]:
        """The dead links of each segment, if these ids die."""
        removed = {}
        for segment in version.segments:
            dead = version.removed.get(segment, np.zeros(0, np.int32))
            dead = np.union1d(dead, _places(self._texts(segment)["subscription_id"], ids))
            if len(dead):
                removed[segment] = dead.astype(np.int32)
        return removed

    def _live(self, version: Version, segment: str) -> pa.Table:
        table = self._texts(segment)
        where = table["where"].cast(self._segments.where_type)
        live = np.ones(len(table), bool)
        live[version.removed.get(segment, np.zeros(0, np.int32))] = False
        return table.set_column(1, "where", where).filter(pa.array(live))

    def _live_size(self, version: Version, segment: str) -> int:
        return len(self._texts(segment)) - len(version.removed.get(segment, ()))

    def _texts(self, segment: str) -> pa.Table:
        with pa.memory_map(str(self._folder.segment(segment) / TEXTS)) as source:
            return pa.ipc.open_file(source).read_all()

    @property
    def id_type(self) -> pa.DataType:
        """The type of the subscriptions' ids: that of the first that were added."""
        segments = self._folder.current().segments
        return self._texts(segments[0]).schema.field(0).type if segments else pa.string()

    def _check_id_type(self, version: Version, type_: pa.DataType) -> None:
        if version.segments and self.id_type != type_:
            raise SubscriptionTableError(
                f"the store's subscription_ids are {self.id_type}, these are {type_}"
            )


def _schema_of(events: pa.Schema | DataFrame | None, timezone: str) -> pa.Schema:
    if events is None:
        raise EventError("a store needs the events' schema, unless they are sealed")
    return arrow_schema(events.schema, timezone) if isinstance(events, DataFrame) else events


def _in_type(ids: Iterable[object], type_: pa.DataType) -> pa.Array:
    try:
        return pa.array(list(ids), type_)
    except pa.ArrowException:
        raise SubscriptionTableError(
            f"the store's subscription_ids are {type_}, and these are not"
        ) from None


def _places(ids: pa.Array | pa.ChunkedArray, wanted: pa.Array | list[object]) -> Int32s:
    """Where the wanted ids stand among ids."""
    if not isinstance(wanted, pa.Array):
        wanted = pa.array(wanted, ids.type)
    found = pc.is_in(ids, wanted.cast(ids.type))
    return np.flatnonzero(
        found.to_numpy(zero_copy_only=False) if isinstance(found, pa.Array) else found.to_numpy()
    ).astype(np.int32)


def open_store(path: Path) -> SubscriptionStore | None:
    """The store, if the folder is one."""
    return SubscriptionStore.open(path) if is_store(path) else None
