"""Options that several verbs share."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from caddis.errors import CaddisError

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object to stdout, and nothing else there.")
]
Master = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="Where Spark runs: local[*], local[4], spark://host:7077.",
        rich_help_panel="Spark",
    ),
]
Timezone = Annotated[
    str,
    typer.Option(
        metavar="ZONE",
        help="In which dates and times without a zone are read, such as Europe/Dublin.",
    ),
]
Schema = Annotated[
    str | None,
    typer.Option(
        metavar="DDL",
        help="The events' columns, as in 'event_id BIGINT, city STRING, price DECIMAL(10,2)'.",
    ),
]


def checked_timezone(name: str) -> str:
    """The name of a time zone that exists."""
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise CaddisError(
            f"there is no time zone {name!r}; write it as Europe/Dublin, or UTC"
        ) from None
    return name
