"""Options that several verbs share, and how a verb's options become one frozen object.

A verb declares its options once, as the fields of a frozen dataclass. `fills` turns a function that
takes such an object into a command; Typer reads the fields as it would read parameters.
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
    """Turn a function that takes one frozen dataclass of options into a Typer command.

    Every field is annotated as a Typer parameter would be, `Annotated[Path, typer.Option(...)]`,
    and its default is the option's default. The help lists a class's own fields before those that
    it inherits, since several verbs may share a base class.

    options: the dataclass; its fields become the command's options.
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
    """The end of a verb's help: example commands, given here without the leading `caddis`."""
    return "\n[bold]Examples[/bold]\n\n" + "\n\n".join(f"  caddis {line}" for line in lines)


def option(metavar: str, text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """A Typer option in the style that all our verbs share.

    metavar: the placeholder for the value in the help, such as FOLDER.
    text: what the help says.
    names: how the option is written; by default it is named after its field.
    panel: the box of the help that lists the option.
    more: other settings of typer.Option, such as min.
    """
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, **more)


def flag(names: str, text: str, *, panel: str | None = None) -> Any:
    """A Typer option without a value.

    names: how the option is written, such as --json, or --spark/--no-spark.
    text: what the help says.
    panel: the box of the help that lists the option.
    """
    # Typer would show "<bool>" where other options show what their value stands for.
    return typer.Option(names, help=text, metavar="", rich_help_panel=panel)


AsJson = Annotated[bool, flag("--json", "Print one JSON object to stdout, and nothing else there.")]
Overwrite = Annotated[bool, flag("--overwrite", "Replace --out if it exists.")]
MatchesFolder = Annotated[Path, option("FOLDER", "A new folder for the matches.", "--out")]
MatchesFormat = Annotated[
    FileFormat | None,
    option(
        "FORMAT",
        "The matches' format: parquet, jsonl or csv. By default it follows from the name of "
        "--out; if that names none, it is parquet.",
        "--out-format",
    ),
]
OnInvalid = Annotated[
    Literal["raise", "skip"],
    option(
        "WHAT",
        "What to do about invalid subscriptions: raise an error; or skip them, continue "
        "with the others, and list the skipped ones.",
    ),
]
DemoFolder = Annotated[
    Path | None,
    option("FOLDER", "A new folder for the demo's files. \\[default: a temporary one]", "--dir"),
]
Timezone = Annotated[
    str,
    option("ZONE", "The time zone for dates and times that name none, such as Europe/Dublin."),
]
Schema = Annotated[
    str | None,
    option(
        "DDL",
        "The events' columns, such as 'event_id BIGINT, city STRING, price DECIMAL(10,2)'. By "
        "default they are taken from the events' files.",
    ),
]
EventsFormat = Annotated[
    FileFormat | None,
    option(
        "FORMAT",
        "The events' format: parquet, jsonl or csv. By default it follows from the files' names.",
        "--format",
    ),
]
EventKey = Annotated[str, option("COLUMN", "The column that identifies an event.")]
Master = Annotated[
    str,
    option("URL", "Where Spark runs: local[*], local[4], spark://host:7077.", panel="Spark"),
]
IndexDir = Annotated[
    str | None,
    option(
        "FOLDER",
        "Where to keep the compiled subscriptions while the command runs: a folder that all "
        "machines can read and write, or a URI. \\[default: temporary; clusters need none]",
        panel="Spark",
    ),
]
Models = Annotated[
    list[str] | None,
    option(
        "SPEC",
        "A model that answers concepts such as dog(photo): efficientnet-lite0, -lite1 or -lite2; "
        "a Python file that defines models; or a module. May be given several times.",
        panel="Models",
    ),
]
Policy = Annotated[
    str | None,
    option(
        "NAME",
        "How to choose which model runs next, such as foresight or run-all. The choice changes "
        "what a match costs, never what it finds. \\[default: foresight]",
        panel="Models",
    ),
]
OnError = Annotated[
    Literal["unknown", "raise"],
    option(
        "WHAT",
        "What to do if a model fails on an event: treat its answer as unknown and list the event "
        "in _problems.jsonl below --out, or raise an error.",
        panel="Models",
    ),
]
Statistics = Annotated[
    Path | None,
    option(
        "FILE",
        "A file that records what models cost and answered. It is read if it exists, and "
        "updated by this run.",
        panel="Models",
    ),
]


def checked_timezone(name: str) -> str:
    """The name itself if there is such a time zone; otherwise raise CaddisError."""
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise CaddisError(
            f"there is no time zone {name!r}; write UTC, or a name such as Europe/Dublin"
        ) from None
    return name
