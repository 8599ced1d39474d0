"""Options that the verbs of `caddis keys` take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from caddis.files import FileFormat

AUTHORITY = Path("authority.json")

Role = Literal["publisher", "subscriber"]

AuthorityFile = Annotated[
    Path,
    typer.Option(
        "--authority",
        metavar="FILE",
        envvar="CADDIS_AUTHORITY",
        help="The authority's file, with all its secrets.",
    ),
]
Folder = Annotated[
    Path, typer.Option("--dir", metavar="FOLDER", help="Where the files are written.")
]
NewParty = Annotated[
    str, typer.Argument(metavar="NAME", help="A name for yourself.", show_default=False)
]
Party = Annotated[
    str, typer.Argument(metavar="NAME", help="A registered party.", show_default=False)
]
Parties = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]",
        help="Registered parties. \\[default: all that are or were entitled to something]",
        show_default=False,
    ),
]
PublicIdentities = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...", help="Public identities: NAME.public.json.", show_default=False
    ),
]

NewStream = Annotated[
    str, typer.Argument(metavar="NAME", help="A name for the stream.", show_default=False)
]
Stream = Annotated[str, typer.Argument(metavar="STREAM", help="A stream.", show_default=False)]
MaybeStream = Annotated[
    str | None, typer.Argument(metavar="[STREAM]", help="A stream.", show_default=False)
]
Streams = Annotated[
    list[str], typer.Argument(metavar="STREAM...", help="Streams.", show_default=False)
]
EventsLikeThese = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="A file of such events, whose columns are taken, in place of --schema.",
        show_default=False,
    ),
]
Format = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Of --events, if its name does not tell: parquet, jsonl or csv.",
    ),
]
Scheme = Annotated[
    Literal["aspe", "tokens"],
    typer.Option(
        metavar="SCHEME",
        help="How brokers test equality: aspe, by scalar products; tokens, by keyed hashes, "
        "which is faster and shows which events share a value.",
    ),
]
Rate = Annotated[
    float,
    typer.Option(
        min=1e-9,
        max=0.5,
        metavar="X",
        help="How many equalities that do not hold may pass the Bloom filter.",
    ),
]
Values = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="How many values an event has at most, elements of arrays counted. "
        "\\[default: as many as columns]",
        show_default=False,
    ),
]
OrderedTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--ordered-text",
        metavar="COLUMN",
        help="A string column whose ranges and prefixes brokers test, too. May be given "
        "several times.",
        show_default=False,
    ),
]
Presence = Annotated[bool, typer.Option(help="Whether filters tell which columns are not null.")]
Padding = Annotated[
    int, typer.Option(min=0, metavar="N", help="Random coordinates of a point; even.")
]
Overlap = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="How many earlier epochs are still accepted after a rotation.",
    ),
]

TheRole = Annotated[
    Role, typer.Option(metavar="ROLE", help="publisher or subscriber.", show_default=False)
]
MaybeRole = Annotated[
    Role | None,
    typer.Option(
        metavar="ROLE", help="publisher or subscriber. \\[default: both]", show_default=False
    ),
]
Since = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="EPOCH",
        help="Lets a subscriber read what was published since then. \\[default: from now on]",
        show_default=False,
    ),
]
Everywhere = Annotated[bool, typer.Option("--everywhere", help="On all streams, in place of one.")]
AtOnce = Annotated[
    bool,
    typer.Option(
        "--at-once",
        help="Events of earlier epochs are refused from now on, also those on their way.",
    ),
]
Compromised = Annotated[
    bool,
    typer.Option(
        "--compromised",
        help="Others have its private keys: also readers refuse all that it ever signed. "
        "With --everywhere; cannot be undone.",
    ),
]
DirectoryOut = Annotated[
    Path, typer.Option(metavar="FILE", help="Where it is written; replaced if it is there.")
]

AnyKeyFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="Any file of caddis keys. \\[default: the authority's]",
        show_default=False,
    ),
]
SignedBy = Annotated[
    str | None,
    typer.Option(
        metavar="FINGERPRINT",
        help="Of the authority that must have signed it: keys or a directory.",
        show_default=False,
    ),
]
