"""What a user asked of an overlay, and all that can be checked of its file before Spark starts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from caddis.cli.shell import NONE_GIVEN, checked_timezone, load_models
from caddis.errors import EventError, InvalidSubscriptions, OverlayError, SubscriptionError
from caddis.files import FileFormat, data_files, existing, format_of, text_of

if TYPE_CHECKING:
    from caddis.models import Model
    from caddis.overlay import BrokerEntry, OverlayFile
    from caddis.spark.overlay import BrokerSettings, EventSettings


@dataclass(frozen=True, slots=True)
class OverlayOrder:
    """The options as they were given."""

    file: Path
    dir: Path | None = None
    policy: str | None = None
    event_key: str = "event_id"
    timezone: str = "UTC"
    format: FileFormat | None = None
    on_error: Literal["unknown", "raise"] = "unknown"
    master: str = "local[*]"
    tasks: int | None = None

    @property
    def folder(self) -> Path:
        """Where the brokers keep what they do: beside the file, unless it is said."""
        return self.dir or self.file.with_suffix(".run")


@dataclass(frozen=True, slots=True)
class PreparedOverlay:
    """An overlay file in which everything can be used."""

    order: OverlayOrder
    overlay: OverlayFile
    schema: pa.Schema
    models: list[Model]
    policy: str
    subscriptions: Mapping[str, Mapping[str, str]]
    """By broker: WHERE texts by id."""
    formats: Mapping[str, FileFormat]
    """By broker that publishes."""

    def entry(self, name: str) -> BrokerEntry:
        """What the file says of a broker; OverlayError if it does not know it."""
        self.overlay.topology.neighbours(name)
        return next(broker for broker in self.overlay.brokers if broker.name == name)

    def check_where(self, where: str, subscription_id: str) -> None:
        """Raise SubscriptionError for a WHERE text that cannot be used."""
        self._check({subscription_id: where})

    def check_all(self) -> None:
        """Raise for the first broker of whom something cannot be used."""
        for broker in self.overlay.brokers:
            self._check(self.subscriptions[broker.name])
            if broker.advertises is not None:
                try:
                    self._check({"": broker.advertises})
                except InvalidSubscriptions as problem:
                    [one] = problem.errors
                    raise OverlayError(
                        f"what broker {broker.name!r} advertises cannot be used: "
                        f"{SubscriptionError(one.problem, one.where, one.span)}"
                    ) from None

    def _check(self, wheres: Mapping[str, str]) -> None:
        from caddis.language import parse_all
        from caddis.models import Catalogue

        concepts = Catalogue(self.models).vocabulary_for(self.schema)
        zone, texts = self.order.timezone, list(wheres.values())
        table = parse_all(texts, self.schema, timezone=zone, concepts=concepts)
        ids = list(wheres)
        errors = [
            SubscriptionError(_naming_the_key(one.problem), one.where, one.span, ids[row] or None)
            for row, one in table.errors.items()
        ]
        if errors:
            raise InvalidSubscriptions(errors)

    def event_settings(self) -> EventSettings:
        """What all brokers agree on."""
        from caddis.spark.overlay import EventSettings

        order = self.order
        return EventSettings(
            self.schema,
            self.models,
            event_key=order.event_key,
            timezone=order.timezone,
            policy=self.policy,
            on_error=order.on_error,
            tasks=order.tasks or cores(order.master),
        )

    def broker_settings(self, name: str) -> BrokerSettings:
        """What one broker is told."""
        from caddis.spark.overlay import EVERYTHING, BrokerSettings

        broker = self.entry(name)
        return BrokerSettings(
            name,
            self.overlay.topology.neighbours(name),
            self.subscriptions[name],
            broker.publishes,
            self.formats.get(name, "parquet"),
            broker.advertises or EVERYTHING,
        )


def prepare_overlay(order: OverlayOrder) -> PreparedOverlay:
    """Read the file and all that it names, except events."""
    from caddis.overlay import BATCH_FORWARDINGS, parse_overlay_file

    file = existing(order.file, OverlayError)
    overlay = parse_overlay_file(text_of(file, OverlayError), file)
    checked_timezone(order.timezone)
    prepared = PreparedOverlay(
        order,
        overlay,
        _schema(overlay, order),
        load_models([_located(spec, order.file.parent) for spec in overlay.models]),
        BATCH_FORWARDINGS.named(order.policy or overlay.policy).name,
        {broker.name: _subscriptions(broker) for broker in overlay.brokers},
        {
            broker.name: _format(broker.publishes, order.format)
            for broker in overlay.brokers
            if broker.publishes is not None
        },
    )
    prepared.check_all()
    return prepared


def cores(master: str) -> int:
    """How many tasks run at once, as far as the master's name tells.

    >>> cores("local[3]"), cores("local")
    (3, 1)
    """
    found = re.fullmatch(r"local(?:\[(\d+)(?:,\d+)?\])?", master)
    if found:
        return int(found[1] or 1)
    return os.cpu_count() or 1


def _naming_the_key(problem: str) -> str:
    """If models are missing, say where they are named."""
    return problem.replace(NONE_GIVEN, f"{NONE_GIVEN}; name some under 'models' in the file")


def _schema(overlay: OverlayFile, order: OverlayOrder) -> pa.Schema:
    from caddis.files import parse_schema

    try:
        schema = parse_schema(overlay.schema, order.timezone)
    except EventError as problem:
        said = str(problem).replace("--schema", "the schema")
        raise OverlayError(f"{order.file}: {said}") from None
    if order.event_key not in schema.names:
        names = ", ".join(schema.names)
        raise OverlayError(
            f"{order.file}: the schema has no column {order.event_key!r} for the events' key, only "
            f"{names}; name it with --event-key"
        )
    return schema


def _located(spec: str, folder: Path) -> str:
    """A file of models counts from the overlay file's folder."""
    return str(folder / spec) if spec.endswith(".py") or os.sep in spec else spec


def _subscriptions(broker: BrokerEntry) -> dict[str, str]:
    if broker.subscriptions is None:
        return {}
    from caddis.files import read_subscriptions
    from caddis.matching import subscription_ids_of

    table = read_subscriptions(broker.subscriptions)
    ids = subscription_ids_of(table).cast(pa.string()).to_pylist()
    return dict(zip(ids, table["where"].to_pylist(), strict=True))


def _format(folder: Path, given: FileFormat | None) -> FileFormat:
    existing(folder, OverlayError)
    if not folder.is_dir():
        raise OverlayError(f"{folder} is a file; a broker publishes what comes into a folder")
    if given is not None and not data_files(folder):
        return given
    return format_of(folder, OverlayError)
