"""What the segments of a store are: compiled matchers, of plain or of sealed subscriptions.

A store has one kind of them. A saved matcher says itself which kind it is. What sealed ones take
is imported when there are any.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from caddis.errors import ModelError, SealedError, SubscriptionTableError
from caddis.files import NUMBERS
from caddis.language import Vocabulary, is_text
from caddis.matching import LinkMatcher, Matcher, OnInvalid
from caddis.models import Model

if TYPE_CHECKING:
    from caddis.sealed.keys import Directory

SEALED = "sealed"
"""Formats of sealed matchers begin so, and so do sealed subscriptions that are texts."""


class Segments(Protocol):
    """How subscriptions become a segment."""

    @property
    def where_type(self) -> pa.DataType:
        """In which clauses are kept."""

    def compile(
        self, subscriptions: pa.Table, sample: pa.RecordBatch | None, on_invalid: OnInvalid
    ) -> LinkMatcher:
        """A matcher of some subscriptions."""

    def wheres(self, subscriptions: pa.Table) -> pa.ChunkedArray:
        """Their clauses, as they are kept."""


@dataclass(frozen=True, slots=True)
class PlainSegments:
    """WHERE texts about columns of the events."""

    schema: pa.Schema
    timezone: str
    concepts: Vocabulary

    where_type = pa.string()

    def compile(
        self, subscriptions: pa.Table, sample: pa.RecordBatch | None, on_invalid: OnInvalid
    ) -> LinkMatcher:
        """A matcher of some subscriptions."""
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
        """Their clauses, as they are kept."""
        return subscriptions["where"].cast(self.where_type)


@dataclass(frozen=True, slots=True)
class SealedSegments:
    """Sealed clauses, in bytes.

    directory: says how large they must be; else they are as large as most of those that are
        compiled together.
    """

    directory: Directory | None = None

    where_type = pa.large_binary()
    """Those of a large store have more bytes than 32 bits count."""

    @property
    def schema(self) -> pa.Schema:
        """Of the events."""
        from caddis.sealed.events import sealed_schema

        return sealed_schema(pa.string())

    def compile(
        self, subscriptions: pa.Table, sample: pa.RecordBatch | None, on_invalid: OnInvalid
    ) -> LinkMatcher:
        """A matcher of some subscriptions."""
        from caddis.sealed.matcher import SealedMatcher

        check_sealed(subscriptions)
        return SealedMatcher.compile(
            subscriptions, publishers=self.directory, sample=sample, on_invalid=on_invalid
        )

    def wheres(self, subscriptions: pa.Table) -> pa.ChunkedArray:
        """Their clauses, as they are kept."""
        wheres = subscriptions["where"]
        if not is_text(wheres.type):
            return wheres.cast(self.where_type)
        chunks = ([_bytes(text) for text in chunk.to_pylist()] for chunk in wheres.chunks)
        return pa.chunked_array([pa.array(one, self.where_type) for one in chunks], self.where_type)


def load_segment(folder: Path) -> LinkMatcher:
    """A saved matcher of whichever kind."""
    try:
        saved = json.loads((folder / NUMBERS).read_text())["format"]
    except (OSError, ValueError, KeyError, TypeError):
        saved = None
    if str(saved).startswith(SEALED):
        from caddis.sealed.matcher import SealedMatcher

        return SealedMatcher.load(folder)
    return Matcher.load(folder)


def check_plain(subscriptions: pa.Table) -> None:
    """Refuse sealed subscriptions, by the first of them."""
    if _holds(subscriptions, sealed=True):
        raise SubscriptionTableError(
            "these subscriptions are sealed: match them with sealed=True, in a store that was "
            "created with sealed=True, or with the command caddis sealed match"
        )


def check_sealed(subscriptions: pa.Table) -> None:
    """Refuse plain subscriptions, by the first of them."""
    if _holds(subscriptions, sealed=False):
        raise SubscriptionTableError(
            "these subscriptions are not sealed: seal them first, or match without sealed=True"
        )


def check_without_models(models: Sequence[Model]) -> None:
    """Refuse models where events are sealed."""
    if models:
        raise ModelError(
            "models cannot read sealed events; let publishers run them, and publish what they "
            "answer as a column"
        )


def _bytes(text: str | None) -> bytes | None:
    """The bytes of a text; none if it is not usable, which the matcher has told."""
    from caddis.sealed.clauses import from_text

    try:
        return None if text is None else from_text(text)
    except SealedError:
        return None


def _holds(subscriptions: pa.Table, *, sealed: bool) -> bool:
    """Whether the first clause that there is, is sealed or is not, as asked."""
    if "where" not in subscriptions.column_names:
        return False
    wheres = subscriptions["where"]
    if pa.types.is_binary(wheres.type) or pa.types.is_large_binary(wheres.type):
        return sealed
    if not is_text(wheres.type):
        return False
    first = next((one.as_py() for one in wheres if one.is_valid), None)
    return first is not None and first.startswith(f"{SEALED}:") == sealed
