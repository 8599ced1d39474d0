"""`match`: a DataFrame of events against subscriptions, batch or streaming.

Everything happens in one Arrow operator over a versioned folder (`store`), so the call is the same
on a laptop, on a cluster and through Spark Connect: no jar, no SparkContext, no JVM object.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType, VariantType

from caddis.compiling import prepare, start_compiling
from caddis.errors import EventError, ModelError, SubscriptionTableError
from caddis.language import UTF8_BINARY, Concept, collation_of, sql_type
from caddis.matching import NEEDED as MATCHING
from caddis.matching import OnInvalid
from caddis.models import Catalogue, Model
from caddis.ordering import POLICIES, needed
from caddis.spark.base import (
    arrow_schema,
    plainly_named,
    session_timezone,
    spark_type,
    type_in_words,
)
from caddis.spark.matching.grouping import SUBSCRIPTION_ID, SUBSCRIPTION_IDS
from caddis.spark.matching.model_reader import Models, OnError
from caddis.spark.matching.reporting import Reports, results_of
from caddis.spark.matching.reports import Report
from caddis.spark.matching.shipping import (
    Subscriptions,
    place_of,
    ship_models,
    store_address,
    where_to_report,
)
from caddis.spark.matching.worker import PLAIN, MatchOperator, Opening
from caddis.spark.places import Place
from caddis.spark.store import StoreReader, SubscriptionStore

logger = logging.getLogger(__name__)


def match(
    events: DataFrame,
    subscriptions: Subscriptions,
    models: Sequence[Model] = (),
    *,
    event_key: str = "event_id",
    policy: str | None = None,
    on_invalid: OnInvalid = "raise",
    on_error: OnError = "unknown",
    statistics: str | PathLike[str] | None = None,
    index_dir: str | PathLike[str] | None = None,
    grouped: bool = False,
    report: Report | None = None,
) -> DataFrame:
    """Find which event matches which subscription, as Spark SQL would decide each WHERE clause.

    The result has two columns, the events' key and `subscription_id`; or, if it is grouped, the
    events' key and `subscription_ids`.

    events: a batch or streaming DataFrame with a key column.
    subscriptions: a table with `subscription_id` and `where`; or a SubscriptionStore, whose new
        versions a streaming match follows without a restart.
    models: models that answer the concepts that subscriptions call, as in beach(photo).
    event_key: the column that identifies an event; a null or repeated key stops the job.
    policy: how models are ordered; it affects only what a match costs, never what it finds.
    on_invalid: "raise" InvalidSubscriptions, or "skip" the subscriptions that cannot be used;
        `report.invalid` then lists them. `caddis.check` finds them beforehand. A store has
        already refused them.
    on_error: with "unknown", a model that raises on an event leaves its concepts unknown, and the
        report lists the event; with "raise", the job stops and names the model and the event.
    statistics: a file that records what models have cost and answered; it is read if it exists,
        and kept up to date. Workers that share a folder with the driver must see it, too.
    index_dir: where the compiled subscriptions of a table and the models are kept while this
        process lives: a folder that the driver and all workers see, or a URI such as
        s3://bucket/caddis. By default that is a temporary folder if Spark's master is local; on a
        cluster, and through Spark Connect, Spark brings them to its executors as artifacts of the
        session. A store has its own place.
    grouped: give one row for each event that matches, with the ids of its subscriptions in an
        array, rather than one row for each match; quicker where events match many.
    report: filled with what the models did, once a job has run. Where workers share no folder, it
        knows of the first job on a batch only, and of all micro-batches of a stream.
    """
    plan = planned(
        events,
        subscriptions,
        models,
        event_key=event_key,
        policy=policy,
        on_invalid=on_invalid,
        on_error=on_error,
        statistics=statistics,
        index_dir=index_dir,
        grouped=grouped,
        report=report,
    )
    return matches_of(events, plan.operator, plan.id_type, plan.reports)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is shipped to the workers of a match.

    id_type: the type of the subscriptions' ids.
    reports: what its tasks report; None if they do not.
    counts_to: where they report how many events they had, if anybody wants to know.
    """

    operator: MatchOperator
    id_type: pa.DataType
    reports: Reports | None
    counts_to: str | None


def planned(
    events: DataFrame,
    subscriptions: Subscriptions,
    models: Sequence[Model],
    *,
    event_key: str,
    policy: str | None,
    on_invalid: OnInvalid,
    on_error: OnError,
    statistics: str | PathLike[str] | None,
    index_dir: str | PathLike[str] | None,
    grouped: bool,
    report: Report | None,
    counts: bool = False,
) -> Plan:
    """Compile the subscriptions for events with these columns.

    counts: whether workers also report how many events they had.
    """
    check_key(events, event_key)
    if on_error not in ("unknown", "raise"):
        raise ModelError(f"on_error is 'unknown' or 'raise', not {on_error!r}")
    catalogue, policy = Catalogue(models), POLICIES.named(policy).name
    if models:
        start_compiling(MATCHING, needed(policy))
    prepare(MATCHING)
    place = place_of(events, subscriptions, index_dir)
    store, invalid = _store_of(events, subscriptions, catalogue, on_invalid, place)
    follow = follows(events, subscriptions)
    reader = store.reader()
    called = _called(catalogue, store, reader, follow)
    opening, reports_to, reports = _opening(place, catalogue, called, policy, on_error, statistics)
    if counts and report is not None and reports is None:
        reports_to, reports = where_to_report(place)
    if report is not None:
        report.begin(reports, invalid)
    known = set(store.schema.names) if follow else reader.columns
    columns = [name for name in store.schema.names if name in known & set(events.columns)]
    version = None if follow else reader.version
    which = "each new version" if version is None else f"version {version}"
    logger.info("matching with %s of %r", which, store)
    names = tuple(dict.fromkeys([event_key, *columns]))
    address = store_address(place, store)
    operator = MatchOperator(address, event_key, names, version, opening, grouped)
    return Plan(operator, store.id_type, reports, reports_to if counts else None)


def _opening(
    place: Place,
    catalogue: Catalogue,
    called: tuple[Concept, ...] | None,
    policy: str,
    on_error: OnError,
    statistics: str | PathLike[str] | None,
) -> tuple[Opening, str | None, Reports | None]:
    """What opens readers in the workers, where these report, and what they report."""
    if called is None:
        return PLAIN, None, None
    assignment = catalogue.assign(called, lambda reading: reading.model.cost)
    prepare(needed(policy))
    shipped = ship_models(place, catalogue.models, assignment.readings, statistics)
    opening = Models(shipped.folder, policy, on_error, shipped.reports_to)
    return opening, shipped.reports_to or shipped.folder, shipped.reports


def matches_of(
    events: DataFrame, operator: MatchOperator, id_type: pa.DataType, reports: Reports | None
) -> DataFrame:
    """The matches that an operator finds, not yet computed.

    reports: what its tasks report; None if they do not.
    """
    key_type = events.schema[operator.event_key].dataType
    schema = matches_schema(operator, key_type, spark_type(id_type))
    return results_of(plainly_named(events, operator.columns), operator, schema, reports)


def matches_schema(operator: MatchOperator, key_type: DataType, id_type: DataType) -> StructType:
    """The columns of an operator's matches."""
    ids = (
        StructField(SUBSCRIPTION_IDS, ArrayType(id_type, containsNull=False), nullable=False)
        if operator.grouped
        else StructField(SUBSCRIPTION_ID, id_type, nullable=False)
    )
    return StructType([StructField(operator.event_key, key_type, nullable=False), ids])


def follows(events: DataFrame, subscriptions: Subscriptions) -> bool:
    """Whether a match follows the versions of a store, rather than keeping to one."""
    return events.isStreaming and isinstance(subscriptions, SubscriptionStore)


def check_key(events: DataFrame, event_key: str) -> None:
    """Refuse events that are not in a DataFrame, or have no usable key column."""
    if not isinstance(events, DataFrame):
        raise EventError(f"events must be a Spark DataFrame, not {type_in_words(events)}")
    if event_key not in events.columns:
        names = ", ".join(events.columns)
        raise EventError(f"events have no column {event_key!r} for their key; they have {names}")
    key_type = events.schema[event_key].dataType
    if isinstance(key_type, ArrayType | MapType | StructType | VariantType):
        raise EventError(f"the key {event_key!r} is {key_type.simpleString()}; it must be a scalar")
    if event_key in (SUBSCRIPTION_ID, SUBSCRIPTION_IDS):
        raise EventError(f"the events' key cannot be named {event_key!r}; rename it")


def _store_of(
    events: DataFrame,
    subscriptions: Subscriptions,
    catalogue: Catalogue,
    on_invalid: OnInvalid,
    place: Place,
) -> tuple[SubscriptionStore, pa.Table | None]:
    """A store that holds the subscriptions, and a table of what is wrong with the others."""
    if isinstance(subscriptions, SubscriptionStore):
        if subscriptions.sealed:
            raise SubscriptionTableError(
                f"the subscriptions of {subscriptions!r} are sealed; match them with match_sealed"
            )
        _check_fits(subscriptions, events)
        catalogue.check(subscriptions.schema)
        return subscriptions, None
    store = SubscriptionStore.create(place.new_folder(), events, models=catalogue.models)
    return store, store.upsert(subscriptions, on_invalid=on_invalid)


def _called(
    catalogue: Catalogue, store: SubscriptionStore, reader: StoreReader, follow: bool
) -> tuple[Concept, ...] | None:
    """The concepts that subscriptions call; None if no model is called, or ever will be."""
    called = reader.concepts
    if called and not catalogue.models:
        names = ", ".join(sorted({concept.name for concept in called})[:5])
        raise ModelError(f"these subscriptions call models ({names}); give them as models=[...]")
    if follow:
        _check_answers_all(catalogue, store)
    return called if reader.has_needs or (follow and catalogue.models) else None


def _check_answers_all(catalogue: Catalogue, store: SubscriptionStore) -> None:
    """Refuse a stream whose models could not answer every concept that the store allows."""
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
        arriving, wanted = (_in_words(one) for one in (schema.field(at), field))
        if arriving != wanted:
            raise EventError(
                f"column {field.name!r} is {arriving} in the events, and the store was made for "
                f"{wanted}"
            )


def _in_words(field: pa.Field) -> str:
    collation = collation_of(field)
    return sql_type(field.type) + ("" if collation == UTF8_BINARY else f" COLLATE {collation}")
