"""`match`: a DataFrame of events against subscriptions, batch or streaming.

Everything happens in one Arrow operator over a versioned folder (`store`), so the call is the same
on a laptop, on a cluster and through Spark Connect: no jar, no SparkContext, no JVM object.
"""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, TypeVar, overload
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from caddis.errors import EventError, ModelError, SubscriptionError, SubscriptionTableError
from caddis.language import UTF8_BINARY, collation_of, sql_type
from caddis.matching import OnInvalid, warm_up
from caddis.models import Catalogue, Model
from caddis.ordering import POLICIES
from caddis.ordering import warm_up as prepare_models
from caddis.spark.base import arrow_schema, new_folder, plainly_named, session_timezone, spark_type
from caddis.spark.matching.model_folder import ModelFolder
from caddis.spark.matching.model_reader import OnError
from caddis.spark.matching.model_reports import ModelReport
from caddis.spark.matching.sealed_folder import Sealed
from caddis.spark.matching.sealed_matching import (
    DirectoryOrPath,
    check_kind,
    read_directory,
    sealed_columns,
    sealed_means,
)
from caddis.spark.matching.sealed_reports import SealedReport
from caddis.spark.matching.worker import MatchOperator, Models
from caddis.spark.store import SubscriptionStore, check_without_models

Subscriptions: TypeAlias = "DataFrame | pa.Table | SubscriptionStore"


class MatchResult(NamedTuple):
    """What `match` returns with on_invalid="report"."""

    matches: DataFrame
    """The event's key and `subscription_id`."""
    invalid: DataFrame
    """`subscription_id` and `error`, for each subscription that could not be used."""


@overload
def match(
    events: DataFrame,
    subscriptions: Subscriptions,
    *,
    models: Sequence[Model] = ...,
    event_key: str = ...,
    on_invalid: Literal["raise"] = ...,
    index_dir: str | PathLike[str] | None = ...,
    policy: str = ...,
    on_error: OnError = ...,
    statistics: str | PathLike[str] | None = ...,
    report: ModelReport | SealedReport | None = ...,
    sealed: bool = ...,
    directory: DirectoryOrPath | None = ...,
) -> DataFrame: ...


@overload
def match(
    events: DataFrame,
    subscriptions: Subscriptions,
    *,
    models: Sequence[Model] = ...,
    event_key: str = ...,
    on_invalid: Literal["report"],
    index_dir: str | PathLike[str] | None = ...,
    policy: str = ...,
    on_error: OnError = ...,
    statistics: str | PathLike[str] | None = ...,
    report: ModelReport | SealedReport | None = ...,
    sealed: bool = ...,
    directory: DirectoryOrPath | None = ...,
) -> MatchResult: ...


def match(
    events: DataFrame,
    subscriptions: Subscriptions,
    *,
    models: Sequence[Model] = (),
    event_key: str = "event_id",
    on_invalid: OnInvalid = "raise",
    index_dir: str | PathLike[str] | None = None,
    policy: str | None = None,
    on_error: OnError = "unknown",
    statistics: str | PathLike[str] | None = None,
    report: ModelReport | SealedReport | None = None,
    sealed: bool = False,
    directory: DirectoryOrPath | None = None,
) -> DataFrame | MatchResult:
    """Which event matches which subscription, as Spark SQL would decide each WHERE clause.

    events: a batch or streaming DataFrame with a key column.
    subscriptions: a table with `subscription_id` and `where`; or a SubscriptionStore, whose new
        versions a streaming match follows without a restart.
    models: what answers the concepts that subscriptions call, as in beach(photo).
    on_invalid: "raise" InvalidSubscriptions, or "report" the bad ones beside the matches.
    index_dir: where the compiled subscriptions are kept; on a cluster of several machines, a
        folder that the driver and all workers see. By default a temporary folder.
    policy: how models are ordered; only what a match costs depends on it, never what it finds.
    on_error: an event on which a model raises is "unknown" to it and told in the report; or
        "raise", which stops the job and names the model and the event.
    statistics: a file with what models were seen to cost and answer; it is read if it exists, and
        kept up to date. All workers must see it.
    report: what the models did, once a job has run; a SealedReport tells what was refused of
        sealed events.
    sealed: whether events and subscriptions are sealed. Workers need no key: what they find is
        what the plain subscriptions match and more, which the subscriber's own check drops when
        it opens the events. It is little more where clauses ask for equality and ranges, and much
        where nothing else narrows them than LIKE on texts without an order, NOT or IS NULL: those
        are left to the subscriber. No model can read sealed events.
    directory: of a key authority, or its file, which every task reads anew: then only events are
        matched that a registered publisher signed in an accepted epoch, and each once a task. An
        event that is replayed in another task is matched again; an `Inbox` in one place, or who
        drops duplicates of what `open_events` calls sealed_id, notices. A table's subscriptions
        of other sizes than the directory says are invalid. Without a directory all is matched
        whose parts have the right sizes. Events that are refused never stop the others.
    """
    _check_key(events, event_key)
    if directory is not None and not sealed:
        raise EventError("a directory tells about sealed events; match them with sealed=True")
    warm_up()
    catalogue, policy = Catalogue(models), POLICIES.named(policy).name
    if on_error not in ("unknown", "raise"):
        raise ModelError(f"on_error is 'unknown' or 'raise', not {on_error!r}")
    if sealed:
        check_without_models(models)
        columns = sealed_columns(events, event_key, directory)
    store, errors = _store(
        events, subscriptions, catalogue, on_invalid, index_dir, sealed, directory
    )
    follow = events.isStreaming and isinstance(subscriptions, SubscriptionStore)
    version = None if follow else store.version
    id_type = spark_type(store.id_type)
    means: Models | Sealed | None
    if sealed:
        means = sealed_means(store, directory, follow, _of_kind(report, SealedReport))
    else:
        columns = _columns(events, event_key, store, version)
        told = _of_kind(report, ModelReport)
        means = _shipped(store, catalogue, follow, policy, on_error, statistics, told)
    schema = StructType(
        [
            StructField(event_key, events.schema[event_key].dataType, nullable=False),
            StructField("subscription_id", id_type, nullable=False),
        ]
    )
    operator = MatchOperator(str(store.path), event_key, columns, version, means)
    matches = plainly_named(events, columns).mapInArrow(operator, schema)
    if on_invalid == "raise":
        return matches
    return MatchResult(matches, _report(events, errors, id_type))


R = TypeVar("R", ModelReport, SealedReport)


def _of_kind(report: ModelReport | SealedReport | None, kind: type[R]) -> R | None:
    """The report, if it is one of this match."""
    if report is None or isinstance(report, kind):
        return report
    raise EventError(f"the report of this match is a {kind.__name__}, not {type(report).__name__}")


def _columns(
    events: DataFrame, event_key: str, store: SubscriptionStore, version: str | None
) -> tuple[str, ...]:
    """The columns that plain matching reads."""
    known = [column for column in store.columns(version) if column in events.columns]
    return tuple(dict.fromkeys([event_key, *known]))


def _check_key(events: DataFrame, event_key: str) -> None:
    if event_key not in events.columns:
        names = ", ".join(events.columns)
        raise EventError(f"events have no column {event_key!r} for their key; they have {names}")
    key_type = events.schema[event_key].dataType
    if isinstance(key_type, ArrayType | MapType | StructType | VariantType):
        raise EventError(f"the key {event_key!r} is {key_type.simpleString()}; it must be a scalar")
    if event_key == "subscription_id":
        raise EventError("the events' key cannot be named 'subscription_id'; rename it")


def _store(
    events: DataFrame,
    subscriptions: Subscriptions,
    catalogue: Catalogue,
    on_invalid: OnInvalid,
    index_dir: str | PathLike[str] | None,
    sealed: bool,
    directory: DirectoryOrPath | None,
) -> tuple[SubscriptionStore, tuple[SubscriptionError, ...]]:
    """A store that holds the subscriptions, and what is wrong with the others."""
    if isinstance(subscriptions, SubscriptionStore):
        check_kind(subscriptions, sealed=sealed)
        if sealed:
            return subscriptions, ()
        _check_fits(subscriptions, events)
        catalogue.check(subscriptions.schema)
        return subscriptions, ()
    table = _collected(subscriptions) if isinstance(subscriptions, DataFrame) else subscriptions
    store = SubscriptionStore.create(
        new_folder(index_dir), events, models=catalogue.models, sealed=sealed
    )
    known = read_directory(directory)
    return store, store.add(table, on_invalid=on_invalid, directory=known)


def _shipped(
    store: SubscriptionStore,
    catalogue: Catalogue,
    follow: bool,
    policy: str,
    on_error: OnError,
    statistics: str | PathLike[str] | None,
    report: ModelReport | None,
) -> Models | None:
    """The models in a folder for the workers; None if no subscription calls one, or ever will."""
    called = store.concepts()
    if called and not catalogue.models:
        names = ", ".join(sorted({concept.name for concept in called})[:5])
        raise ModelError(f"these subscriptions call models ({names}); give them as models=[...]")
    if follow:
        _check_answers_all(catalogue, store)
    if not store.has_needs() and not (follow and catalogue.models):
        return None
    catalogue.assign(called, lambda reading: reading.model.cost)
    prepare_models()
    path = None if statistics is None else Path(statistics).absolute()
    folder = ModelFolder.create(store.path / "models" / uuid4().hex, catalogue.models, path)
    if not follow:
        # A stream may outlive this process, if that is a client of Spark Connect.
        atexit.register(shutil.rmtree, folder.path, ignore_errors=True)
    if report is not None:
        report.attach(folder)
    return Models(str(folder.path), policy, on_error)


def _check_answers_all(catalogue: Catalogue, store: SubscriptionStore) -> None:
    """A stream must be able to answer whatever may yet be subscribed to."""
    missing = set(store.vocabulary.pairs) - set(catalogue.vocabulary_for(store.schema).pairs)
    if missing:
        names = ", ".join(sorted({name for name, _ in missing})[:5])
        raise ModelError(f"the store lets subscriptions call {names}, and no model answers that")


def _check_fits(store: SubscriptionStore, events: DataFrame) -> None:
    """Columns of the same name must have the same type; a store may know more columns."""
    timezone = session_timezone(events)
    if store.timezone != timezone:
        raise EventError(
            f"the store reads dates and times in {store.timezone}, this session in {timezone}"
        )
    schema = arrow_schema(events.schema, timezone)
    for field in store.schema:
        at = schema.get_field_index(field.name)
        if at < 0:
            continue
        found, wanted = (_in_words(one) for one in (schema.field(at), field))
        if found != wanted:
            raise EventError(
                f"column {field.name!r} is {found} in the events, and the store was made for "
                f"{wanted}"
            )


def _in_words(field: pa.Field) -> str:
    collation = collation_of(field)
    return sql_type(field.type) + ("" if collation == UTF8_BINARY else f" COLLATE {collation}")


def _collected(subscriptions: DataFrame) -> pa.Table:
    missing = {"subscription_id", "where"} - set(subscriptions.columns)
    if missing:
        names = ", ".join(subscriptions.columns)
        raise SubscriptionTableError(
            f"subscriptions need a column {min(missing)!r}; they have {names}"
        )
    return subscriptions.select("subscription_id", "where").toArrow()


def _report(
    events: DataFrame, errors: tuple[SubscriptionError, ...], id_type: DataType
) -> DataFrame:
    fields = [StructField("subscription_id", id_type), StructField("error", StringType())]
    rows = [(error.subscription_id, str(error)) for error in errors]
    return events.sparkSession.createDataFrame(rows, StructType(fields))
