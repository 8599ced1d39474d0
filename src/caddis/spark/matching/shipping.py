"""How a match's compiled subscriptions and models reach its workers, and reports come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

from pyspark.sql import DataFrame

from caddis.models import Model, Reading
from caddis.spark.base import outlives_us
from caddis.spark.matching.model_folder import ModelFolder, learn_from
from caddis.spark.matching.reporting import ROWS, ObservedReports, ReportFolder, Reports
from caddis.spark.places import ObjectPlace, Place, SharedFolder, is_uri, place_for
from caddis.spark.store import SubscriptionStore, SubscriptionTable

Subscriptions: TypeAlias = SubscriptionTable | SubscriptionStore


@dataclass(frozen=True, slots=True)
class ShippedModels:
    """Models on their way to the workers.

    folder: the address of their folder.
    reports_to: where tasks report, unless they report in that folder.
    reports: what they report.
    """

    folder: str
    reports_to: str | None
    reports: Reports


def place_of(
    events: DataFrame, subscriptions: Subscriptions, index_dir: str | PathLike[str] | None
) -> Place:
    """Where workers find what a match compiles: with its store, or in a place of its own."""
    keep = outlives_us(events)
    if isinstance(subscriptions, SubscriptionStore):
        if is_uri(subscriptions.address):
            return ObjectPlace(subscriptions.address, keep)
        return SharedFolder(subscriptions.path / "matches", keep)
    return place_for(events.sparkSession, index_dir, keep=keep)


def store_address(place: Place, store: SubscriptionStore) -> str:
    """The address under which workers find a store: its own if it is at a URI."""
    return store.address if is_uri(store.address) else place.hand_over(store.path)


def ship_models(
    place: Place,
    models: Sequence[Model],
    readings: Sequence[Reading],
    statistics: str | PathLike[str] | None,
) -> ShippedModels:
    """Hand models over to the workers.

    readings: those that answer what subscriptions call now.
    statistics: the user's file of what the models have cost and answered, if there is one.
    """
    path = None if statistics is None else Path(statistics).absolute()
    here = place.new_folder() / "models"
    folder = ModelFolder.create(here, models, path, shared=place.shared)
    address = place.hand_over(folder.path)
    if place.shared:
        return ShippedModels(address, None, ReportFolder(folder.path))
    reports_to = ROWS + uuid4().hex
    learn = None if path is None else partial(learn_from, path, readings)
    return ShippedModels(address, reports_to, ObservedReports(reports_to, learn))


def where_to_report(place: Place) -> tuple[str, Reports]:
    """An address at which tasks report, and what they report there."""
    if place.shared:
        folder = place.new_folder()
        return str(folder), ReportFolder(folder)
    address = ROWS + uuid4().hex
    return address, ObservedReports(address)
