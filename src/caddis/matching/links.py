"""What every matcher takes and gives, whatever it may read of events.

A matcher leads from events to links; link i is row i of its table of subscriptions. `Matcher` reads
columns; the matchers of sealed events compare what they cannot read. Executors, brokers and stores
ask for no more than `LinkMatcher`. The checks that every table of subscriptions must pass stand
here, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Literal, Protocol

import pyarrow as pa

from caddis.arrays import Int32s
from caddis.errors import SubscriptionError, SubscriptionTableError
from caddis.language import Column, is_text, sql_type
from caddis.matching.index import Needs

OnInvalid = Literal["raise", "skip"]
"""Raise InvalidSubscriptions, or go on without the subscriptions that cannot be used."""


@dataclass(frozen=True, slots=True)
class MatchReport:
    """How much a match looked at, for how many matches."""

    events: int
    matches: int
    """How many pairs of event and link were found."""
    candidates: int
    """(event, clause) pairs that shared an access token and were looked at."""
    searches: int
    """How many texts a pattern was searched in."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs of row and link number, each once: all of a batch, or a slice of its rows.

    rows: ascending.
    """

    rows: Int32s
    links: Int32s
    report: MatchReport
    end: int
    """The number of the row after the last one that was looked at."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of row and clause whose predicates hold, rows ascending.

    If the matcher has no needs the clauses are links, and the pairs are matches.
    """

    rows: Int32s
    clauses: Int32s
    report: MatchReport
    end: int
    """The number of the row after the last one that was looked at."""


class LinkMatcher(Protocol):
    """Decides which links a batch's rows satisfy; link i is row i of `subscription_ids`."""

    @property
    def subscription_ids(self) -> pa.Array:
        """The id of each link's subscription."""

    @property
    def needs(self) -> Needs | None:
        """What its clauses need of models; None if they need nothing."""

    @property
    def invalid(self) -> tuple[SubscriptionError, ...]:
        """What is wrong with the subscriptions that were left out."""

    @property
    def columns(self) -> list[Column]:
        """The columns of events that it reads."""

    @property
    def tests_columns(self) -> bool:
        """Whether it looks at events at all; else every row is a candidate of all clauses."""

    def __len__(self) -> int: ...

    def match(self, batch: pa.RecordBatch) -> Matches:
        """Which rows satisfy which links."""

    def match_in_slices(self, batch: pa.RecordBatch) -> Iterator[Matches]:
        """The same slice by slice, rows ascending, so that not all pairs are held at once.

        There is at least one slice, and the last one ends with the batch.
        """

    def candidates(self, batch: pa.RecordBatch) -> Candidates:
        """Which rows satisfy which links, as far as that shows without a model."""

    def save(self, folder: str | PathLike[str]) -> None:
        """Write it to a folder from which its class can load it."""


def subscription_ids_of(subscriptions: pa.Table) -> pa.Array:
    """The ids of a table whose clauses are WHERE texts, checked: there, not null, each once."""
    ids = checked_ids(subscriptions)
    where = subscriptions.schema.field("where").type
    if not (is_text(where) or pa.types.is_null(where)):
        raise SubscriptionTableError(f"the column 'where' must hold texts; it is {sql_type(where)}")
    return ids


def checked_ids(subscriptions: pa.Table) -> pa.Array:
    """The ids of a table, whatever its column `where` holds."""
    for name in ("subscription_id", "where"):
        if name not in subscriptions.column_names:
            names = ", ".join(subscriptions.column_names)
            raise SubscriptionTableError(f"subscriptions need a column {name!r}; they have {names}")
    ids = _plain(subscriptions["subscription_id"]).combine_chunks()
    if ids.null_count:
        raise SubscriptionTableError(
            f"{ids.null_count:,} subscriptions have a null subscription_id"
        )
    counts = ids.value_counts()
    repeated = counts.filter(pa.compute.greater(counts.field("counts"), 1))
    if len(repeated):
        first = repeated.field("values")[0].as_py()
        others = f" (and {len(repeated) - 1:,} more)" if len(repeated) > 1 else ""
        raise SubscriptionTableError(
            f"subscription_id must be unique: {first!r}{others} occurs more than once"
        )
    return ids


def named_errors(
    errors: Mapping[int, SubscriptionError], ids: pa.Array
) -> tuple[SubscriptionError, ...]:
    """The errors by row, each with the id of its subscription."""
    return tuple(
        SubscriptionError(error.problem, error.where, error.span, ids[row].as_py())
        for row, error in errors.items()
    )


def _plain(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids in a type that Spark has, too: STRING for all kinds of texts, BIGINT for unsigned."""
    type_ = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    if is_text(type_) or pa.types.is_null(type_):
        type_ = pa.string()
    return ids.cast(pa.int64() if pa.types.is_unsigned_integer(type_) else type_)
