"""A new stream: the columns of its events, and how they are sealed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from caddis.cli.keys.said import KeysSaid, command
from caddis.cli.shell import checked_timezone, count
from caddis.errors import EventError
from caddis.files import EXAMPLE, FileFormat, existing, format_of, parse_schema, schema_of
from caddis.sealed import Scheme, StreamDesign
from caddis.sealed.keys import change_authority


@dataclass(frozen=True, slots=True)
class StreamOrder:
    """A stream as the user describes it."""

    name: str
    schema: str | None
    events: Path | None
    format: FileFormat | None
    timezone: str
    scheme: Scheme
    rate: float
    values: int | None
    ordered_texts: tuple[str, ...]
    presence: bool
    padding: int
    overlap: int

    def design(self) -> StreamDesign:
        """How its events are sealed."""
        return StreamDesign.of(
            self.name,
            self._columns(),
            rate=self.rate,
            values=self.values,
            timezone=checked_timezone(self.timezone),
            scheme=self.scheme,
            presence=self.presence,
            padding=self.padding,
            ordered_texts=self.ordered_texts,
        )

    def _columns(self) -> pa.Schema:
        if self.schema is not None and self.events is not None:
            raise EventError("--schema and --events both give the columns; only one of them can")
        if self.schema is not None:
            return parse_schema(self.schema, self.timezone)
        if self.events is None:
            raise EventError(
                f"which columns do the events have? Say --events FILE, or --schema {EXAMPLE!r}"
            )
        events = existing(self.events, EventError)
        return schema_of(events, self.format or format_of(events, EventError), self.timezone)


def begin_stream(path: Path, order: StreamOrder) -> KeysSaid:
    """A stream that the authority then has."""
    design = order.design()
    change_authority(
        path, lambda authority: authority.add_stream(design, os.urandom, overlap=order.overlap)
    )
    columns = [one.column.name for one in design.columns]
    ordered = [one.column.name for one in design.columns if one.ordered]
    name, point = design.stream, count(design.dimensions, "coordinate")
    return KeysSaid(
        (
            f"{name!r} begins in epoch 1.",
            f"Brokers can test {count(len(columns), 'column')}: {', '.join(columns)}.",
            f"They can test ranges of: {', '.join(ordered) or 'none'}.",
            f"An event has a filter of {design.bits:,} bits and a point of {point}.",
        ),
        {
            "stream": name,
            "epoch": 1,
            "columns": columns,
            "ordered": ordered,
            "bits": design.bits,
            "hashes": design.hashes,
            "dimensions": design.dimensions,
            "scheme": design.scheme,
        },
        (
            command(path, "grant", "NAME", name, "--role", "publisher"),
            command(path, "grant", "NAME", name, "--role", "subscriber"),
        ),
    )
