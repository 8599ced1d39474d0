"""Options that several verbs share, and how a verb's options become one frozen object.

A verb spells its options once, as the fields of a frozen dataclass. `fills` makes a command of a
function that takes such an object; Typer reads the fields as it would read parameters.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints
from zoneinfo import ZoneInfo

import typer

from caddis.errors import CaddisError
from caddis.files import FileFormat

Options = TypeVar("Options")


def fills(options: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Make a command of a function that takes all its options in one frozen dataclass.

    Every field is annotated as a Typer parameter would be, `Annotated[Path, typer.Option(...)]`,
    and its default is the option's. The help lists the fields of the class itself before those
    that it inherits from a class of options which several verbs share.
    """
    hints = get_type_hints(options, include_extras=True)
    names = [name for one in options.__mro__ for name in inspect.get_annotations(one)]
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in sorted(fields(options), key=lambda field: names.index(field.name))  # type: ignore[arg-type]
    ]

    def command_of(function: Callable[[Options], None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            function(options(**given))

        # Typer must see the fields, and not the one parameter of the function.
        del command.__wrapped__
        command.__dict__["__signature__"] = inspect.Signature(parameters)
        command.__annotations__ = {
            parameter.name: hints[parameter.name] for parameter in parameters
        }
        return command

    return command_of


def examples(*lines: str) -> str:
    """The end of a verb's help: commands that show its use, without `caddis` in front."""
    return "\n[bold]Examples[/bold]\n\n" + "\n\n".join(f"  caddis {line}" for line in lines)


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
MatchesFolder = Annotated[
    Path,
    typer.Option("--out", metavar="FOLDER", help="A new folder for the matches."),
]
MatchesFormat = Annotated[
    FileFormat | None,
    typer.Option(
        "--out-format",
        metavar="FORMAT",
        help="The matches' format, if it is not the one that the name of --out tells. "
        "Without either it is parquet.",
    ),
]
IndexDir = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where to keep the compiled subscriptions; on a cluster, a folder that all its "
        "machines see.",
        rich_help_panel="Spark",
    ),
]
OnInvalid = Annotated[
    Literal["raise", "skip"],
    typer.Option(
        metavar="WHAT",
        help="What to do about invalid subscriptions: raise an error; or skip them, go on with the "
        "others, and list the skipped ones.",
    ),
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
EventsFormat = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="The events' format, if the files' names do not tell: parquet, jsonl or csv.",
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
