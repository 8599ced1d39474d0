"""What all that leads from events to links has in common, whatever it may read of them.

`Matcher` reads columns; others compare what they cannot read. Executors, brokers and stores ask for
no more than this.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from caddis.errors import SubscriptionError
from caddis.language import Column
from caddis.matching.index.needs import Needs

if TYPE_CHECKING:
    from caddis.matching.matcher import Candidates, Matches


class LinkMatcher(Protocol):
    """Decides which links a batch's rows satisfy; link i is row i of `subscription_ids`."""

    @property
    def subscription_ids(self) -> pa.Array:
        """By link."""

    @property
    def needs(self) -> Needs | None:
        """What its clauses need of models; None if nothing."""

    @property
    def invalid(self) -> tuple[SubscriptionError, ...]:
        """What is wrong with subscriptions that were left out."""

    @property
    def columns(self) -> list[Column]:
        """The columns of events that it reads."""

    @property
    def tests_columns(self) -> bool:
        """Whether it looks at events at all; else every row is a candidate of all clauses."""

    def __len__(self) -> int: ...

    def match(self, batch: pa.RecordBatch) -> Matches:
        """Which rows satisfy which links."""

    def candidates(self, batch: pa.RecordBatch) -> Candidates:
        """Which rows satisfy which links as far as no model is needed."""

    def save(self, folder: str | PathLike[str]) -> None:
        """Write it to a folder from which its class can load it."""
