"""`caddis keys`: who may publish and read sealed events, and the keys for it.

Every verb is spelled once: its options are a frozen dataclass that Typer fills, and its work is a
function of that object in `verbs`, which is imported only when the verb runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from caddis.cli.shell import AsJson, EventsFormat, Schema, Timezone, examples, fills, run

AUTHORITY = Path("authority.json")

Role = Literal["publisher", "subscriber"]

app = typer.Typer(
    name="keys",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Decide who may publish and read sealed events.

    A key authority, which is one file, registers publishers and subscribers,
    grants them streams, and wraps the keys of every epoch to them. Begin with
    [bold]caddis keys init[/bold]; no command prints a secret.
    """,
)


Folder = Annotated[
    Path, typer.Option("--dir", metavar="FOLDER", help="The folder to write the files into.")
]
Party = Annotated[str, typer.Argument(metavar="NAME", help="A registered party.")]
AtOnce = Annotated[
    bool,
    typer.Option(
        "--at-once",
        help="Refuse events of earlier epochs from now on, even those already on their way.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorityOptions:
    """The options of every verb that works on the authority's file."""

    authority: Annotated[
        Path,
        typer.Option(
            "--authority",
            metavar="FILE",
            envvar="CADDIS_AUTHORITY",
            help="The authority's own file, which holds all its secrets.",
        ),
    ] = AUTHORITY
    as_json: AsJson = False


@app.command(
    name="init", epilog=examples("keys init", "keys init --authority /safe/authority.json")
)
@fills(AuthorityOptions)
def init(options: AuthorityOptions) -> None:
    """Create a key authority in a new file.

    Whoever can read the file can read every event: keep it on a machine that
    is not a broker, and keep a copy of it in a safe place.
    """
    from caddis.cli.keys import verbs

    run(lambda _: verbs.init(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityOptions:
    """The options of `caddis keys identity`, which needs no authority."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for yourself.")]
    folder: Folder = Path()
    as_json: AsJson = False


@app.command(
    name="identity", epilog=examples("keys identity ann", "keys identity ann --dir private")
)
@fills(IdentityOptions)
def identity(options: IdentityOptions) -> None:
    """Make keys for yourself, as a publisher or subscriber.

    NAME.identity.json is yours alone. Send NAME.public.json to the authority.
    """
    from caddis.cli.keys import verbs

    run(lambda _: verbs.identity(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterOptions(AuthorityOptions):
    """The options of `caddis keys register`."""

    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Public identities: NAME.public.json.")
    ]


@app.command(name="register", epilog=examples("keys register ann.public.json bo.public.json"))
@fills(RegisterOptions)
def register(options: RegisterOptions) -> None:
    """Make parties known to the authority.

    Registration alone entitles them to nothing. Ask each party for the
    fingerprint of its keys, and compare it with the one printed here.
    """
    from caddis.cli.keys import verbs

    run(lambda _: verbs.register(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions(AuthorityOptions):
    """The options of `caddis keys stream`: a new stream as the user describes it."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the stream.")]
    schema: Schema = None
    events: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A file of such events; its columns are taken in place of --schema.",
        ),
    ] = None
    format: EventsFormat = None
    timezone: Timezone = "UTC"
    scheme: Annotated[
        Literal["aspe", "tokens"],
        typer.Option(
            metavar="SCHEME",
            help="How brokers test equality: aspe compares scalar products; tokens compares keyed "
            "hashes, which is faster but shows which events share a value.",
        ),
    ] = "aspe"
    rate: Annotated[
        float,
        typer.Option(
            min=1e-9,
            max=0.5,
            metavar="X",
            help="The share of equalities that do not hold and may still pass the Bloom filter.",
        ),
    ] = 0.001
    values: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="The most values that an event has; every element of an array counts. "
            "\\[default: the number of columns]",
        ),
    ] = None
    ordered_texts: Annotated[
        list[str] | None,
        typer.Option(
            "--ordered-text",
            metavar="COLUMN",
            help="A string column whose ranges and prefixes brokers can test, too. May be given "
            "several times.",
        ),
    ] = None
    presence: Annotated[
        bool, typer.Option(help="Let the filters show which columns are not null.")
    ] = True
    padding: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="How many random coordinates a point has; an even number."
        ),
    ] = 8
    overlap: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="How many earlier epochs brokers still accept after a rotation.",
        ),
    ] = 1


@app.command(
    name="stream",
    epilog=examples(
        "keys stream homes --schema 'city STRING, price INT'",
        "keys stream homes --events offers.parquet --scheme tokens",
    ),
)
@fills(StreamOptions)
def stream(options: StreamOptions) -> None:
    """Create a stream: which columns its events have, and how they are sealed.

    Subscribers can use every column in their WHERE clauses. These choices are
    final; a different design needs a different stream.
    """
    from caddis.cli.keys import verbs

    run(lambda _: verbs.stream(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantOptions(AuthorityOptions):
    """The options of `caddis keys grant`."""

    name: Party
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="A stream.")]
    role: Annotated[Role, typer.Option(metavar="ROLE", help="publisher or subscriber.")]
    since: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="EPOCH",
            help="Let a subscriber read what was published since this epoch. "
            "\\[default: the present one]",
        ),
    ] = None


@app.command(
    name="grant",
    epilog=examples(
        "keys grant pat homes --role publisher", "keys grant ann homes --role subscriber --since 1"
    ),
)
@fills(GrantOptions)
def grant(options: GrantOptions) -> None:
    """Let a party publish or read a stream, from its present epoch on.

    A party may do both: grant it twice.
    """
    from caddis.cli.keys import verbs

    run(lambda _: verbs.grant(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeOptions(AuthorityOptions):
    """The options of `caddis keys revoke`."""

    name: Party
    stream: Annotated[str | None, typer.Argument(metavar="STREAM", help="A stream.")] = None
    role: Annotated[
        Role | None, typer.Option(metavar="ROLE", help="publisher or subscriber. \\[default: both]")
    ] = None
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Revoke on all streams instead of one.")
    ] = False
    at_once: AtOnce = False
    compromised: Annotated[
        bool,
        typer.Option(
            "--compromised",
            help="Others have its private keys: readers, too, refuse everything that it ever "
            "signed. Needs --everywhere; cannot be undone.",
        ),
    ] = False


@app.command(
    name="revoke",
    epilog=examples(
        "keys revoke ann homes",
        "keys revoke ann homes --role publisher",
        "keys revoke ann --everywhere --at-once",
        "keys revoke pat --everywhere --compromised",
    ),
)
@fills(RevokeOptions)
def revoke(options: RevokeOptions) -> None:
    """Take a grant back.

    A publisher is refused as soon as brokers have the new directory. A stream
    that loses a subscriber is rotated, so that the subscriber cannot open
    anything of later epochs. What was published before stays readable to it.
    """
    from caddis.cli.keys import verbs

    if options.everywhere == (options.stream is not None):
        raise typer.BadParameter("name either a stream or --everywhere")
    if options.compromised and (not options.everywhere or options.role is not None):
        raise typer.BadParameter("--compromised needs --everywhere, and no --role")
    run(lambda _: verbs.revoke(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateOptions(AuthorityOptions):
    """The options of `caddis keys rotate`."""

    streams: Annotated[list[str], typer.Argument(metavar="STREAM", help="One or more streams.")]
    at_once: AtOnce = False


@app.command(
    name="rotate", epilog=examples("keys rotate homes", "keys rotate homes boats --at-once")
)
@fills(RotateOptions)
def rotate(options: RotateOptions) -> None:
    """Start the next epoch of streams, with new keys."""
    from caddis.cli.keys import verbs

    run(lambda _: verbs.rotate(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueOptions(AuthorityOptions):
    """The options of `caddis keys issue`."""

    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Registered parties. \\[default: everybody who was ever granted a stream]",
        ),
    ] = None
    folder: Folder = Path()


@app.command(name="issue", epilog=examples("keys issue ann bo", "keys issue --dir outgoing"))
@fills(IssueOptions)
def issue(options: IssueOptions) -> None:
    """Write the keys of parties, each wrapped to the one it is for.

    NAME.keys.json may pass through any hands: only NAME.identity.json opens
    it.
    """
    from caddis.cli.keys import verbs

    run(lambda _: verbs.issue(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryOptions(AuthorityOptions):
    """The options of `caddis keys directory`."""

    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write; an older one is replaced.")
    ] = Path("directory.json")


@app.command(
    name="directory", epilog=examples("keys directory", "keys directory --out shared/brokers.json")
)
@fills(DirectoryOptions)
def directory(options: DirectoryOptions) -> None:
    """Write what brokers need: publishers' public keys and the streams' epochs.

    The authority signs the file. It holds no secret.
    """
    from caddis.cli.keys import verbs

    run(lambda _: verbs.directory(options), as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(AuthorityOptions):
    """The options of `caddis keys show`."""

    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Any file that caddis keys wrote. \\[default: the authority's]"
        ),
    ] = None
    trusted: Annotated[
        str | None,
        typer.Option(
            "--trust",
            metavar="FINGERPRINT",
            help="The authority that must have signed the file, which holds keys or a directory.",
        ),
    ] = None


@app.command(
    name="show", epilog=examples("keys show", "keys show directory.json", "keys show ann.keys.json")
)
@fills(ShowOptions)
def show(options: ShowOptions) -> None:
    """Show what is in a file, without its secrets."""
    from caddis.cli.keys.show import shown_file

    path = options.file or options.authority
    run(lambda _: shown_file(path, options.trusted), as_json=options.as_json)
