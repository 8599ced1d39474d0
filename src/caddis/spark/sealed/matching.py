"""`match_sealed`: sealed events against sealed subscriptions.

Workers get what brokers get: sealed clauses, and the public registry of publishers. No key is
among it.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, DataType, IntegralType, StringType

from caddis.compiling import prepare
from caddis.errors import EventError, SubscriptionTableError
from caddis.matching import OnInvalid
from caddis.sealed.events import ROUTING, sealed_schema
from caddis.sealed.keys import Directory
from caddis.sealed.matcher import NEEDED
from caddis.spark.matching import (
    MatchOperator,
    Report,
    Subscriptions,
    follows,
    matches_of,
    place_of,
    store_address,
    where_to_report,
)
from caddis.spark.places import Place
from caddis.spark.sealed.reader import PUBLISHERS, Sealed
from caddis.spark.store import SubscriptionStore

Publishers: TypeAlias = Directory | str | PathLike[str]
"""The registry of publishers' keys that an authority signed, or its file."""

EVENT_KEY = "event_id"
COMPARED = (EVENT_KEY, "stream", "epoch", "publisher", *ROUTING)
"""The columns that sealed matching reads; a gate reads all."""
SPARK_TYPES: dict[pa.DataType, tuple[type[DataType], ...]] = {
    pa.string(): (StringType,),
    pa.int64(): (IntegralType,),
    pa.binary(): (BinaryType,),
}


def match_sealed(
    events: DataFrame,
    subscriptions: Subscriptions,
    *,
    publishers: Publishers | None = None,
    on_invalid: OnInvalid = "raise",
    index_dir: str | PathLike[str] | None = None,
    grouped: bool = False,
    report: Report | None = None,
) -> DataFrame:
    """Find which sealed event may match which sealed subscription, as `event_id` and
    `subscription_id`.

    Workers need no key: they find what the plain subscriptions match and more, which the
    subscriber's own check drops when it opens the events. It is little more where clauses ask for
    equality and ranges, and much where only LIKE on texts without an order, NOT or IS NULL narrow
    them: those are left to the subscriber.

    events: sealed events, batch or streaming.
    subscriptions: a table with `subscription_id` and a sealed `where`; or a SubscriptionStore that
        was created with sealed=True, whose new versions a streaming match follows.
    publishers: the registry of publishers' keys, or its file. Every task reads the file afresh if
        workers share a folder with the driver, and as it is now if Spark brings it to them. Then
        only events are matched that a registered publisher signed in an accepted epoch, and each
        once a task. An event that is replayed in another task is matched again; an `Inbox` in one
        place notices that, and so does whoever drops duplicates of what `open_events` calls
        sealed_id. A table's subscriptions of other sizes than the registry says are invalid.
        Without it all events are matched whose parts have the right sizes.
    on_invalid: "raise" InvalidSubscriptions, or "skip" the subscriptions that cannot be used;
        `report.invalid` lists them then.
    index_dir: where the compiled subscriptions of a table are kept while this process lives, as in
        `match`.
    grouped: give one row for each event that matches, with the ids of its subscriptions in the
        array `subscription_ids`, rather than one row for each match.
    report: filled with what was matched and refused, once a job has run. Refused events never
        stop the others.
    """
    columns = sealed_columns(events, checked=publishers is not None)
    prepare(NEEDED)
    registry = _read(publishers)
    place = place_of(events, subscriptions, index_dir)
    if isinstance(subscriptions, SubscriptionStore):
        store, invalid = _sealed_store(subscriptions), None
    else:
        store = SubscriptionStore.create(place.new_folder(), sealed=True)
        invalid = store.upsert(subscriptions, on_invalid=on_invalid, publishers=registry)
    reports_to, reports = where_to_report(place) if report is not None else (None, None)
    if report is not None:
        report.begin(reports, invalid)
    registered = _publishers_for(place, publishers, registry)
    authority = None if registry is None else registry.fingerprint
    version = None if follows(events, subscriptions) else store.version
    operator = MatchOperator(
        store_address(place, store),
        EVENT_KEY,
        columns,
        version,
        Sealed(reports_to, registered, authority),
        grouped,
    )
    return matches_of(events, operator, store.id_type, reports)


def sealed_columns(events: DataFrame, *, checked: bool) -> tuple[str, ...]:
    """The columns that workers need, all there and of the right types.

    checked: whether a gate reads them, too.
    """
    schema = sealed_schema(pa.string())
    names = tuple(schema.names) if checked else COMPARED
    for name in names:
        if name not in events.columns:
            raise EventError(
                f"sealed events have a column {name!r}; these have {', '.join(events.columns)}. "
                "Are they sealed?"
            )
        type_ = events.schema[name].dataType
        kinds = (
            (StringType, IntegralType)
            if name == EVENT_KEY
            else SPARK_TYPES[schema.field(name).type]
        )
        if not isinstance(type_, kinds):
            raise EventError(
                f"the column {name!r} of sealed events cannot be {type_.simpleString()}"
            )
    return names


def _read(publishers: Publishers | None) -> Directory | None:
    """The registry as it is now, whose signature fits."""
    if isinstance(publishers, Directory):
        publishers.verify()
        return publishers
    return None if publishers is None else Directory.read(Path(publishers))


def _sealed_store(store: SubscriptionStore) -> SubscriptionStore:
    if not store.sealed:
        raise SubscriptionTableError(
            f"the subscriptions of {store!r} are not sealed; sealed ones need a store that was "
            "created with sealed=True"
        )
    return store


def _publishers_for(
    place: Place, publishers: Publishers | None, registry: Directory | None
) -> str | None:
    """Where workers find the registry: its own file, or a copy that was handed over."""
    if publishers is None or registry is None:
        return None
    if place.shared and not isinstance(publishers, Directory):
        return str(Path(publishers).absolute())
    folder = place.new_folder()
    registry.write(folder / PUBLISHERS)
    return place.hand_over(folder)
