"""Subscriptions that come and go: `SubscriptionStore`.

A store is a log of immutable segments, each a compiled Matcher. Adding a subscription to a million
compiles only that one; small segments are merged into larger ones, so their number stays
logarithmic and the cost of a change is amortised. A subscription that is replaced or removed is
only marked dead in its old segment.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from caddis.arrays import Int32s
from caddis.errors import EventError, IndexFolderError, SubscriptionTableError
from caddis.files import is_store
from caddis.language import Concept, Vocabulary
from caddis.matching import LinkMatcher, OnInvalid
from caddis.models import Catalogue, Model
from caddis.spark.base import (
    TEXTS,
    Overtaken,
    Version,
    Versions,
    arrow_schema,
    session_timezone,
    type_in_words,
)
from caddis.spark.places import is_uri, local_path, versions_at
from caddis.spark.store.segments import (
    PlainSegments,
    SealedSegments,
    Segments,
    StoreReader,
    check_without_models,
    invalid_table,
)
from caddis.spark.store.settings import SCHEMA, SETTINGS, Settings, read_schema, schema_content

if TYPE_CHECKING:
    from caddis.sealed.keys import Directory

logger = logging.getLogger(__name__)

T = TypeVar("T")
SubscriptionTable: TypeAlias = DataFrame | pa.Table
"""A table with `subscription_id` and `where`."""

UNWRITTEN = "unwritten"
"""A placeholder for the name of a segment that is not written yet."""
MERGE_RATIO = 4
"""A segment is merged into the one before it unless that one is this many times as large."""


class SubscriptionStore:
    """Versions of subscriptions in a folder or at a URI, which a running match follows.

    >>> import tempfile
    >>> schema = pa.schema([("city", pa.string())])
    >>> store = SubscriptionStore.create(tempfile.mkdtemp() + "/store", schema)
    >>> invalid = store.upsert(pa.table({"subscription_id": ["ann"], "where": ["city = 'Galway'"]}))
    >>> len(store)
    1
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._versions = versions_at(path)
        settings = Settings.read(self._versions)
        self.timezone, self.sealed = settings.timezone, settings.sealed
        self.schema = read_schema(self._versions)

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
        """Create an empty store for events like these; an existing store is not overwritten.

        path: a folder, or a URI such as s3://bucket/subscriptions.
        events: the events' columns: a DataFrame, batch or streaming, or an Arrow schema.
        timezone: the one in which dates and times without a time zone are read; for a DataFrame,
            that of its session is used instead.
        models: models whose concepts subscriptions may call; the concepts are kept, not the models.
        sealed: whether subscriptions and events are sealed; sealed events all have the same
            columns, which need not be given.
        """
        versions = versions_at(path)
        if versions.exists:
            raise IndexFolderError(f"{versions!r} is a subscription store already; open it instead")
        if sealed:
            check_without_models(models)
        if isinstance(events, DataFrame):
            timezone = session_timezone(events)
        schema = SealedSegments().schema if sealed else _schema_of(events, timezone)
        catalogue = Catalogue(models)
        catalogue.check(schema)
        settings = Settings(timezone, catalogue.vocabulary_for(schema), sealed)
        versions.found({SETTINGS: settings.content(), SCHEMA: schema_content(schema)})
        return cls(versions.address)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> SubscriptionStore:
        """Open an existing store."""
        return cls(path)

    @property
    def address(self) -> str:
        """The path or URI by which workers find the store."""
        return self._versions.address

    @property
    def path(self) -> Path:
        """The store's folder; a store at a URI has none."""
        if is_uri(self.address):
            raise IndexFolderError(f"the store {self._versions!r} is not in a folder")
        return Path(self.address)

    @property
    def version(self) -> str:
        """The name of the current version."""
        return self._versions.current_name

    @property
    def vocabulary(self) -> Vocabulary:
        """The concepts that subscriptions may call now; other processes may have allowed more."""
        return Settings.read(self._versions).vocabulary

    def allow(self, models: Sequence[Model]) -> None:
        """Let subscriptions also call the concepts of these models."""
        if self.sealed:
            check_without_models(models)
        catalogue = Catalogue(models)
        catalogue.check(self.schema)

        def allow() -> None:
            version = self._versions.current()
            pairs = [*self.vocabulary.pairs, *catalogue.vocabulary_for(self.schema).pairs]
            settings = Settings(self.timezone, Vocabulary.of(pairs), self.sealed)
            self._versions.replace(version, {SETTINGS: settings.content()})

        self._change(allow)

    def __repr__(self) -> str:
        return f"SubscriptionStore({repr(self._versions)!r})"

    def __len__(self) -> int:
        version, texts = self._versions.current(), _Texts(self._versions)
        return sum(_live_size(version, segment, texts) for segment in version.segments)

    def subscriptions(self) -> pa.Table:
        """All current subscriptions, with their WHERE texts."""
        version, texts = self._versions.current(), _Texts(self._versions)
        types = {"subscription_id": self.id_type, "where": self._segments.where_type}
        empty = pa.schema(types.items()).empty_table()
        live = (self._live(version, segment, texts) for segment in version.segments)
        return pa.concat_tables([empty, *live])

    def upsert(
        self,
        subscriptions: SubscriptionTable,
        *,
        sample: pa.RecordBatch | None = None,
        on_invalid: OnInvalid = "raise",
        publishers: Directory | None = None,
    ) -> pa.Table:
        """Add subscriptions, or replace those with the same id, in one new version.

        Returns the invalid ones as a table, as `caddis.check` does. They change nothing: a
        subscription with the same id stays as it was.

        sample: some events, which show which token of each clause is the rarest.
        on_invalid: "raise" InvalidSubscriptions, or "skip" them and add the others.
        publishers: for sealed subscriptions, the directory of publishers; those of other sizes
            than it says are invalid.
        """
        if publishers is not None and not self.sealed:
            raise SubscriptionTableError("only sealed subscriptions are checked with publishers")
        if on_invalid not in ("raise", "skip"):
            raise SubscriptionTableError(f"on_invalid is 'raise' or 'skip', not {on_invalid!r}")
        table = subscription_table(subscriptions)
        segments = self._segments if publishers is None else SealedSegments(publishers)
        matcher = segments.compile(table, sample, on_invalid)
        ids, texts = matcher.subscription_ids, _Texts(self._versions)
        bad = _places(ids, [error.subscription_id for error in matcher.invalid])
        unwritten = pa.table({"subscription_id": ids, "where": segments.wheres(table)})

        def add() -> None:
            texts[UNWRITTEN] = unwritten
            version = self._versions.current()
            if version.segments and (kept := _id_type(texts[version.segments[0]])) != ids.type:
                raise SubscriptionTableError(
                    f"the store's subscription_ids are {kept}, these are {ids.type}"
                )
            good = ids.filter(pa.array(~np.isin(np.arange(len(ids)), bad)))
            removed = _without(version, good, texts)
            if len(bad):
                removed[UNWRITTEN] = bad
            draft = Version(version.name, (*version.segments, UNWRITTEN), removed)
            self._publish(draft, texts, matcher)

        self._change(add)
        if len(bad):
            logger.warning("%r: %d invalid subscriptions skipped", self._versions, len(bad))
        return invalid_table(matcher.invalid, ids.type)

    def remove(self, subscription_ids: Iterable[object] | SubscriptionTable) -> int:
        """Remove subscriptions in one new version; returns how many there were.

        subscription_ids: the ids, or a table that has them in its column `subscription_id`.
        """
        texts = _Texts(self._versions)

        def take_out() -> int:
            version = self._versions.current()
            ids = _in_type(_ids_of(subscription_ids), self.id_type)
            removed = _without(version, ids, texts)
            gone = sum(map(len, removed.values())) - sum(map(len, version.removed.values()))
            if gone:
                self._publish(Version(version.name, version.segments, removed), texts)
            return gone

        return self._change(take_out)

    def reader(self, version: str | None = None) -> StoreReader:
        """Load a version, or the current one, each of its segments once."""
        reader = StoreReader(self.address)
        reader.use(version)
        return reader

    def concepts(self) -> tuple[Concept, ...]:
        """The concepts that current subscriptions call."""
        return self.reader().concepts

    def _publish(self, draft: Version, texts: _Texts, new: LinkMatcher | None = None) -> None:
        """Merge segments that are small compared with those after them, then write and publish.

        Merging invalidates nothing: sealed subscriptions whose sizes differ are not merged.

        draft: the new version, under the name of the one that it was made from.
        new: the matcher of the unwritten segment, if the draft has one.
        """
        segments, removed, name = draft.segments, dict(draft.removed), None
        for start in range(self._first_to_merge(draft, texts), len(segments) - 1):
            table = pa.concat_tables([self._live(draft, one, texts) for one in segments[start:]])
            merged = self._segments.compile(table, None, "skip")
            if not merged.invalid:
                new, texts[UNWRITTEN] = merged, table
                segments = (*segments[:start], UNWRITTEN)
                removed.pop(UNWRITTEN, None)
                break
        if new is not None:
            name = self._write(new, texts[UNWRITTEN])
            segments = (*segments[:-1], name)
            if UNWRITTEN in removed:
                removed[name] = removed.pop(UNWRITTEN)
        kept = {segment: links for segment, links in removed.items() if segment in segments}
        try:
            version = self._versions.publish(segments, kept, draft)
        except Overtaken:
            if name is not None:
                self._versions.discard(name)
            raise
        logger.info("%r: version %s published", self._versions, version.name)

    def _change(self, change: Callable[[], T]) -> T:
        """Make a change, again and again until nobody else has published in between."""
        while True:
            with self._versions.writing():
                try:
                    return change()
                except Overtaken:
                    logger.info("%r: another writer was first; starting over", self._versions)

    def _first_to_merge(self, draft: Version, texts: _Texts) -> int:
        """The first of the last segments that are small compared with those after them."""
        sizes = [_live_size(draft, segment, texts) for segment in draft.segments]
        total, first = sizes[-1], len(sizes) - 1
        while first and sizes[first - 1] <= MERGE_RATIO * total:
            first -= 1
            total += sizes[first]
        return first

    @property
    def _segments(self) -> Segments:
        if self.sealed:
            return SealedSegments()
        return PlainSegments(self.schema, self.timezone, self.vocabulary)

    def _write(self, matcher: LinkMatcher, table: pa.Table) -> str:
        def write(folder: Path) -> None:
            matcher.save(folder)
            with (
                pa.OSFile(str(folder / TEXTS), "wb") as sink,
                pa.ipc.new_file(sink, table.schema) as out,
            ):
                out.write_table(table)

        return self._versions.add_segment(write)

    def _live(self, version: Version, segment: str, texts: _Texts) -> pa.Table:
        table = texts[segment]
        where = table["where"].cast(self._segments.where_type)
        live = np.ones(len(table), bool)
        live[version.removed.get(segment, np.zeros(0, np.int32))] = False
        return table.set_column(1, "where", where).filter(pa.array(live))

    @property
    def id_type(self) -> pa.DataType:
        """The type of the subscriptions' ids: that of the first that were added."""
        version, texts = self._versions.current(), _Texts(self._versions)
        return _id_type(texts[version.segments[0]]) if version.segments else pa.string()


class _Texts(dict[str, pa.Table]):
    """The ids and WHERE texts of segments, each opened when it is first asked for."""

    def __init__(self, versions: Versions) -> None:
        super().__init__()
        self._versions = versions

    def __missing__(self, segment: str) -> pa.Table:
        with pa.memory_map(str(self._versions.texts(segment))) as source:
            self[segment] = pa.ipc.open_file(source).read_all()
        return self[segment]


def subscription_table(subscriptions: SubscriptionTable) -> pa.Table:
    """Subscriptions in Arrow; those of a DataFrame are collected."""
    if isinstance(subscriptions, pa.Table):
        return subscriptions
    if not isinstance(subscriptions, DataFrame):
        raise SubscriptionTableError(
            "subscriptions must be a Spark DataFrame or an Arrow table, not "
            f"{type_in_words(subscriptions)}"
        )
    missing = {"subscription_id", "where"} - set(subscriptions.columns)
    if missing:
        names = ", ".join(subscriptions.columns)
        raise SubscriptionTableError(
            f"subscriptions need a column {min(missing)!r}; they have {names}"
        )
    return subscriptions.select("subscription_id", "where").toArrow()


def open_store(path: str | PathLike[str]) -> SubscriptionStore | None:
    """Open the store in a folder or at a URI; None if a folder is not a store."""
    if is_uri(str(path)) or is_store(local_path(path)):
        return SubscriptionStore.open(path)
    return None


def _schema_of(events: pa.Schema | DataFrame | None, timezone: str) -> pa.Schema:
    if events is None:
        raise EventError("a store needs the events' schema, unless they are sealed")
    return events if isinstance(events, pa.Schema) else arrow_schema(events.schema, timezone)


def _ids_of(given: Iterable[object] | SubscriptionTable) -> Iterable[object]:
    if isinstance(given, str | bytes):
        # A text is iterable, too: its characters would be taken for ids.
        raise SubscriptionTableError(f"subscription_ids must be a list of ids, not {given!r}")
    if isinstance(given, DataFrame):
        given = given.select("subscription_id").toArrow()
    return given["subscription_id"].to_pylist() if isinstance(given, pa.Table) else given


def _id_type(table: pa.Table) -> pa.DataType:
    return table.schema.field("subscription_id").type


def _in_type(ids: Iterable[object], type_: pa.DataType) -> pa.Array:
    try:
        return pa.array(list(ids), type_)
    except pa.ArrowException:
        raise SubscriptionTableError(
            f"the store's subscription_ids are {type_}, and these are not"
        ) from None


def _without(version: Version, ids: pa.Array, texts: _Texts) -> dict[str, Int32s]:
    """The dead links of each segment, once these ids are removed."""
    removed = {}
    for segment in version.segments:
        dead = version.removed.get(segment, np.zeros(0, np.int32))
        dead = np.union1d(dead, _places(texts[segment]["subscription_id"], ids))
        if len(dead):
            removed[segment] = dead.astype(np.int32)
    return removed


def _live_size(version: Version, segment: str, texts: _Texts) -> int:
    return len(texts[segment]) - len(version.removed.get(segment, ()))


def _places(ids: pa.Array | pa.ChunkedArray, wanted: pa.Array | list[object]) -> Int32s:
    """The positions of the wanted ids among `ids`."""
    if not isinstance(wanted, pa.Array):
        wanted = pa.array(wanted, ids.type)
    is_wanted = pc.is_in(ids, wanted.cast(ids.type)).to_numpy(zero_copy_only=False)
    return np.flatnonzero(is_wanted).astype(np.int32)
