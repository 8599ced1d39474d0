"""The overlay file and everything that it names, read and checked before Spark starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from caddis.cli.shell import NONE_GIVEN, checked_timezone, load_models
from caddis.errors import EventError, InvalidSubscriptions, OverlayError, SubscriptionError
from caddis.files import (
    FileFormat,
    data_files,
    existing,
    format_of,
    parse_schema,
    read_subscriptions,
    text_of,
)
from caddis.language import parse_all
from caddis.matching import subscription_ids_of
from caddis.models import Catalogue, Model
from caddis.overlay import BATCH_FORWARDINGS, BrokerEntry, OverlayFile, parse_overlay_file

if TYPE_CHECKING:
    from caddis.cli.overlay.command import OverlayOptions


@dataclass(frozen=True, slots=True)
class PreparedOverlay:
    """An overlay file in which everything can be used."""

    options: OverlayOptions
    overlay: OverlayFile
    schema: pa.Schema
    models: list[Model]
    policy: str
    subscriptions: Mapping[str, Mapping[str, str]]
    """For each broker: WHERE texts by id."""

    @property
    def names(self) -> list[str]:
        """The names of all brokers."""
        return [broker.name for broker in self.overlay.brokers]

    def entry(self, name: str) -> BrokerEntry:
        """What the file states about a broker; OverlayError if it has none of that name."""
        self.overlay.topology.neighbours(name)
        return next(broker for broker in self.overlay.brokers if broker.name == name)

    def formats(self, given: FileFormat | None) -> dict[str, FileFormat]:
        """The format of the events at each broker that publishes.

        given: the format where a folder is still empty.
        """
        return {
            broker.name: _format(broker.publishes, given)
            for broker in self.overlay.brokers
            if broker.publishes is not None
        }

    def check(self, wheres: Mapping[str, str]) -> None:
        """Raise InvalidSubscriptions if any of these WHERE texts, by id, cannot be used."""
        concepts = Catalogue(self.models).vocabulary_for(self.schema)
        zone, texts = self.options.timezone, list(wheres.values())
        table = parse_all(texts, self.schema, timezone=zone, concepts=concepts)
        ids = list(wheres)
        errors = [
            SubscriptionError(_with_models_hint(one.problem), one.where, one.span, ids[row] or None)
            for row, one in table.errors.items()
        ]
        if errors:
            raise InvalidSubscriptions(errors)

    def check_all(self) -> None:
        """Raise for the first broker whose subscriptions or advertisement cannot be used."""
        for broker in self.overlay.brokers:
            self.check(self.subscriptions[broker.name])
            if broker.advertises is not None:
                try:
                    self.check({"": broker.advertises})
                except InvalidSubscriptions as problem:
                    [one] = problem.errors
                    raise OverlayError(
                        f"what broker {broker.name!r} advertises cannot be used: "
                        f"{SubscriptionError(one.problem, one.where, one.span)}"
                    ) from None


def prepare_overlay(options: OverlayOptions, policy: str | None = None) -> PreparedOverlay:
    """Read the file and everything that it names, except events.

    policy: overrides that of the file.
    """
    path = existing(options.file, OverlayError)
    overlay = parse_overlay_file(text_of(path, OverlayError), path)
    checked_timezone(options.timezone)
    prepared = PreparedOverlay(
        options,
        overlay,
        _schema(overlay, options),
        load_models([_located(spec, path.parent) for spec in overlay.models]),
        BATCH_FORWARDINGS.named(policy or overlay.policy).name,
        {broker.name: _subscriptions(broker) for broker in overlay.brokers},
    )
    prepared.check_all()
    return prepared


def _with_models_hint(problem: str) -> str:
    """The problem; if models are missing, with the place where they are named."""
    return problem.replace(NONE_GIVEN, f"{NONE_GIVEN}; name some under 'models' in the file")


def _schema(overlay: OverlayFile, options: OverlayOptions) -> pa.Schema:
    try:
        schema = parse_schema(overlay.schema, options.timezone)
    except EventError as problem:
        reason = str(problem).replace("--schema", "the schema")
        raise OverlayError(f"{options.file}: {reason}") from None
    if options.event_key not in schema.names:
        names = ", ".join(schema.names)
        raise OverlayError(
            f"{options.file}: the schema has no column {options.event_key!r} for the events' key, "
            f"only {names}; name it with --event-key"
        )
    return schema


def _located(spec: str, folder: Path) -> str:
    """A model's file is relative to the overlay file's folder; a module is found by its name."""
    return str(folder / spec) if spec.endswith(".py") or os.sep in spec else spec


def _subscriptions(broker: BrokerEntry) -> dict[str, str]:
    if broker.subscriptions is None:
        return {}
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
