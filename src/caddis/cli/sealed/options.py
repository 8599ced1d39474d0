"""Options that the verbs of `caddis sealed` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from caddis.files import FileFormat

KEYS = "Keys"

Party = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="NAME",
        help="Whose keys to use: those in NAME.identity.json and NAME.keys.json.",
        rich_help_panel=KEYS,
        show_default=False,
    ),
]
KeyFolder = Annotated[
    Path,
    typer.Option(
        "--keys", metavar="FOLDER", help="Where these two files are.", rich_help_panel=KEYS
    ),
]
DirectoryFile = Annotated[
    Path,
    typer.Option(
        "--directory",
        metavar="FILE",
        help="The authority's directory: who may publish what, and the streams' epochs. It has no "
        "secret in it.",
        rich_help_panel=KEYS,
    ),
]
HERE, DIRECTORY = Path(), Path("directory.json")
Believed = Annotated[
    str | None,
    typer.Option(
        "--authority",
        metavar="FINGERPRINT",
        help="The authority to believe: keys and directories of any other one are refused. "
        "\\[default: whoever signed them; it is told]",
        rich_help_panel=KEYS,
        show_default=False,
    ),
]
SeenFile = Annotated[
    Path | None,
    typer.Option(
        "--seen",
        metavar="FILE",
        help="Keeps which events were opened, for the next time: those are refused then as here "
        "before. Made if it is not there.",
        rich_help_panel=KEYS,
        show_default=False,
    ),
]
Stream = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The stream; not needed if there are keys of one alone.",
        show_default=False,
    ),
]
OutFile = Annotated[
    Path,
    typer.Option(metavar="FILE", help="A new file for what is sealed.", show_default=False),
]
OnInvalid = Annotated[
    Literal["raise", "report"],
    typer.Option(
        metavar="WHAT",
        help="Of subscriptions that cannot be used: raise an error; or go on with the others and "
        "tell which.",
    ),
]

SealedEvents = Annotated[
    Path,
    typer.Argument(
        metavar="EVENTS", help="A file of sealed events, or a folder of them.", show_default=False
    ),
]
PlainEvents = Annotated[
    Path,
    typer.Argument(
        metavar="EVENTS",
        help="A file of events, or a folder of such files: Parquet, JSON lines or CSV.",
        show_default=False,
    ),
]
PlainSubscriptions = Annotated[
    Path,
    typer.Argument(
        metavar="SUBSCRIPTIONS",
        help="A file with the columns subscription_id and where: Parquet, JSON lines or CSV.",
        show_default=False,
    ),
]
SealedSubscriptions = Annotated[
    Path,
    typer.Option(
        metavar="PATH",
        help="A file of sealed subscriptions, or a folder of them.",
        show_default=False,
    ),
]
Epoch = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="The epoch to seal in. \\[default: the newest that there is a key of]",
        show_default=False,
    ),
]
Epochs = Annotated[
    list[int] | None,
    typer.Option(
        "--epoch",
        min=1,
        metavar="N",
        help="An epoch whose events are wanted; may be given several times. "
        "\\[default: the newest two that there are keys of]",
        show_default=False,
    ),
]
Format = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="The events' format, if the files' names do not tell: parquet, jsonl or csv.",
    ),
]
Compressed = Annotated[
    bool, typer.Option("--compressed", help="Compress the Bloom filters; brokers unpack them.")
]
OutFolder = Annotated[
    Path,
    typer.Option(metavar="FOLDER", help="A new folder for the matches.", show_default=False),
]
OutFormat = Annotated[
    FileFormat | None,
    typer.Option(
        metavar="FORMAT", help="The matches' format; otherwise as --out is named, or parquet."
    ),
]
IndexDir = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where the compiled subscriptions are kept; on a cluster, a folder all machines see.",
        rich_help_panel="Spark",
    ),
]
Wishes = Annotated[
    Path,
    typer.Option(
        metavar="PATH",
        help="The subscriber's own plain subscriptions: subscription_id and where.",
        show_default=False,
    ),
]
OpenedFile = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="FILE",
        help="A new file for the opened events: parquet, jsonl or csv, as it is named.",
        show_default=False,
    ),
]
FoundMatches = Annotated[
    Path | None,
    typer.Option(
        "--matches",
        metavar="PATH",
        help="What a broker found: event_id and subscription_id. Otherwise all events are opened "
        "and checked.",
        show_default=False,
    ),
]
