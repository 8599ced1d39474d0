"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
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
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace --out if it is there already.")
]
DemoFolder = Annotated[
    Path | None,
    typer.Option(
        "--dir",
        metavar="FOLDER",
        help="A new folder for the demo's files. \\[default: a temporary one]",
        show_default=False,
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
EventKey = Annotated[
    str, typer.Option(metavar="COLUMN", help="The column that is the events' key.")
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC",
        help="What answers concepts such as dog(photo): efficientnet-lite0 (1, 2), a Python file "
        "with models in it, or a module. May be given several times.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How models are ordered, such as foresight (the default) or run-all. What is found "
        "does not depend on it, only what it costs.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
OnError = Annotated[
    Literal["unknown", "raise"],
    typer.Option(
        metavar="WHAT",
        help="If a model fails on an event: its answer is unknown, and told in _problems.jsonl "
        "below --out; or raise an error.",
        rich_help_panel="Models",
    ),
]
Statistics = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What models were seen to cost and answer: read if it is there, kept up to date.",
        rich_help_panel="Models",
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
