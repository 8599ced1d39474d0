"""The segments of a store, compiled matchers of plain or of sealed subscriptions, and their reader.

A store has segments of one kind, and a saved matcher records which kind it is. A reader keeps what
it has loaded, so switching to a new version loads only the segments that are new. The code for
sealed segments is imported only if there are any, so a program that seals nothing loads no
cryptography.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s
from caddis.errors import (
    IndexFolderError,
    ModelError,
    SealedError,
    SubscriptionError,
    SubscriptionTableError,
)
from caddis.files import NUMBERS
from caddis.language import Concept, Vocabulary, is_text
from caddis.matching import LinkMatcher, Matcher, OnInvalid, in_step
from caddis.models import Model
from caddis.ordering import Demand
from caddis.spark.base import Version
from caddis.spark.places import versions_at

if TYPE_CHECKING:
    from caddis.sealed.keys import Directory

logger = logging.getLogger(__name__)

SEALED = "sealed"
"""The formats of sealed matchers begin with this, and so do sealed subscriptions that are texts."""


class Segments(Protocol):
    """How subscriptions become a segment."""

    @property
    def where_type(self) -> pa.DataType:
        """The type in which clauses are kept."""

    def compile(
        self, subscriptions: pa.Table, sample: pa.RecordBatch | None, on_invalid: OnInvalid
    ) -> LinkMatcher:
        """Compile some subscriptions into a matcher."""

    def wheres(self, subscriptions: pa.Table) -> pa.ChunkedArray:
        """The clauses of subscriptions, as they are kept."""


@dataclass(frozen=True, slots=True)
class PlainSegments:
    """Segments of WHERE texts about columns of the events.

    concepts: the concepts that subscriptions may call.
    """

    schema: pa.Schema
    timezone: str
    concepts: Vocabulary

    where_type = pa.string()

    def compile(
        self, subscriptions: pa.Table, sample: pa.RecordBatch | None, on_invalid: OnInvalid
    ) -> LinkMatcher:
        check_plain(subscriptions)
        return Matcher.compile(
            subscriptions,
            self.schema,
            timezone=self.timezone,
            sample=sample,
            on_invalid=on_invalid,
            concepts=self.concepts,
        )

    def wheres(self, subscriptions: pa.Table) -> pa.ChunkedArray:
        return subscriptions["where"].cast(self.where_type)


@dataclass(frozen=True, slots=True)
class SealedSegments:
    """Segments of sealed clauses, in bytes.

    publishers: the directory that says how large clauses must be; without it they must be as large
        as most of those that are compiled together.
    """

    publishers: Directory | None = None

    where_type = pa.large_binary()
    """The large type, since the clauses of a large store have more bytes than 32 bits can count."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of sealed events."""
        from caddis.sealed.events import sealed_schema

        return sealed_schema(pa.string())

    def compile(
        self, subscriptions: pa.Table, sample: pa.RecordBatch | None, on_invalid: OnInvalid
    ) -> LinkMatcher:
        from caddis.sealed.matcher import SealedMatcher

        check_sealed(subscriptions)
        return SealedMatcher.compile(
            subscriptions,
            publishers=self.publishers,
            sample=sample,
            on_invalid=on_invalid,
        )

    def wheres(self, subscriptions: pa.Table) -> pa.ChunkedArray:
        wheres = subscriptions["where"]
        if not is_text(wheres.type):
            return wheres.cast(self.where_type)
        chunks = ([_bytes(text) for text in chunk.to_pylist()] for chunk in wheres.chunks)
        return pa.chunked_array([pa.array(one, self.where_type) for one in chunks], self.where_type)


def load_segment(folder: Path) -> LinkMatcher:
    """Load a saved matcher of either kind."""
    try:
        saved = json.loads((folder / NUMBERS).read_text())["format"]
    except (OSError, ValueError, KeyError, TypeError):
        saved = None
    if str(saved).startswith(SEALED):
        from caddis.sealed.matcher import SealedMatcher

        return SealedMatcher.load(folder)
    return Matcher.load(folder)


class StoreReader:
    """Matches batches against a version of a store; keeps its segments loaded."""

    def __init__(self, address: str | PathLike[str]) -> None:
        self._versions = versions_at(address)
        self._version: Version | None = None
        self._segments: dict[str, LinkMatcher] = {}
        self._founded = self._versions.founded

    def use(self, version_name: str | None) -> None:
        """Switch to a version, or to the current one; segments that it shares stay loaded."""
        self._notice_another_store()
        name = version_name or self._versions.followed_name
        if self._version is not None and self._version.name == name:
            return
        try:
            self._load(self._versions.version(name))
        except IndexFolderError:
            # The current version may have been replaced and deleted since its name was read.
            current = self._versions.current_name
            if version_name or current == name:
                raise
            self.use(current)

    def _notice_another_store(self) -> None:
        """Forget a store that was deleted, if there is a new one: its names begin again."""
        founded = self._versions.founded
        if founded != self._founded and founded is not None:
            self._founded, self._version, self._segments = founded, None, {}

    def _load(self, version: Version) -> None:
        loaded = {name: self._segments[name] for name in version.segments if name in self._segments}
        for name in version.segments:
            if name not in loaded:
                loaded[name] = load_segment(self._versions.segment(name))
        self._segments = {name: loaded[name] for name in version.segments}
        self._version = version
        logger.info("%r: version %s loaded", self._versions, version.name)

    @property
    def parts(self) -> list[tuple[LinkMatcher, Bools | None]]:
        """The segments in use, each with a mask of its live links, or None if all are alive."""
        assert self._version is not None
        parts: list[tuple[LinkMatcher, Bools | None]] = []
        for segment, matcher in self._segments.items():
            dead = self._version.removed.get(segment)
            alive = None if dead is None else np.ones(len(matcher), bool)
            if alive is not None:
                alive[dead] = False
            parts.append((matcher, alive))
        return parts

    @property
    def version(self) -> str | None:
        """The name of the version in use."""
        return None if self._version is None else self._version.name

    @property
    def columns(self) -> set[str]:
        """The events' columns that the version in use reads."""
        matchers = self._segments.values()
        return {column.path[0] for matcher in matchers for column in matcher.columns}

    @property
    def has_needs(self) -> bool:
        """Whether a clause of the version in use, alive or dead, asks for models."""
        return any(matcher.needs is not None for matcher in self._segments.values())

    @property
    def concepts(self) -> tuple[Concept, ...]:
        """The concepts that live subscriptions of the version in use call."""
        parts = self.parts
        return Demand.of([matcher for matcher, _ in parts], [alive for _, alive in parts]).concepts

    def match(self, batch: pa.RecordBatch) -> Iterator[list[tuple[Int32s, pa.Array]]]:
        """Rows and the ids of the subscriptions they match, segment by segment, in turns.

        No event is in two turns, and memory is bounded by what a turn has.
        """
        parts = self.parts
        for turn in in_step([matcher.match_in_slices(batch) for matcher, _ in parts]):
            yield [
                alive_pairs(matcher, alive, rows, links)
                for (matcher, alive), (rows, links) in zip(parts, turn, strict=True)
                if len(rows)
            ]


def alive_pairs(
    matcher: LinkMatcher, alive: Bools | None, rows: Int32s, links: Int32s
) -> tuple[Int32s, pa.Array]:
    """Rows and the ids of the live subscriptions that they match."""
    if alive is not None:
        rows, links = rows[alive[links]], links[alive[links]]
    return rows, matcher.subscription_ids.take(pa.array(links))


def check_plain(subscriptions: pa.Table) -> None:
    """Refuse sealed subscriptions; only the first one is looked at."""
    if _holds(subscriptions, sealed=True):
        raise SubscriptionTableError(
            "these subscriptions are sealed: match them with match_sealed, in a store that was "
            "created with sealed=True, or with the command caddis sealed match"
        )


def check_sealed(subscriptions: pa.Table) -> None:
    """Refuse plain subscriptions; only the first one is looked at."""
    if _holds(subscriptions, sealed=False):
        raise SubscriptionTableError(
            "these subscriptions are not sealed: seal them first, or match them with match"
        )


def check_without_models(models: Sequence[Model]) -> None:
    """Refuse models where events are sealed."""
    if models:
        raise ModelError(
            "models cannot read sealed events; let publishers run them, and publish what they "
            "answer as a column"
        )


def invalid_table(
    errors: Sequence[SubscriptionError], id_type: pa.DataType | None = None
) -> pa.Table:
    """The errors of subscriptions as a table, a row each.

    `start` and `end` are the place in the WHERE text, if the error has one.
    """
    ids = [error.subscription_id for error in errors]
    spans = [error.span or (None, None) for error in errors]
    return pa.table(
        {
            "subscription_id": pa.array(ids, id_type or pa.string()),
            "error": pa.array([str(error) for error in errors], pa.string()),
            "start": pa.array([start for start, _ in spans], pa.int32()),
            "end": pa.array([end for _, end in spans], pa.int32()),
        }
    )


def _bytes(text: str | None) -> bytes | None:
    """The bytes of a text; None if it is not usable, which the matcher has reported."""
    from caddis.sealed.clauses import from_text

    try:
        return None if text is None else from_text(text)
    except SealedError:
        return None


def _holds(subscriptions: pa.Table, *, sealed: bool) -> bool:
    """Whether the first clause that is not null is sealed, or is plain if `sealed` is False."""
    if "where" not in subscriptions.column_names:
        return False
    wheres = subscriptions["where"]
    if pa.types.is_binary(wheres.type) or pa.types.is_large_binary(wheres.type):
        return sealed
    if not is_text(wheres.type):
        return False
    first = next((one.as_py() for one in wheres if one.is_valid), None)
    return first is not None and first.startswith(f"{SEALED}:") == sealed
