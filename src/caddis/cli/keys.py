"""`caddis keys`: who may publish and read sealed events, and the keys for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from caddis.cli import options
from caddis.cli.paths import FileFormat
from caddis.cli.running import run

NAME = "keys"
AUTHORITY = Path("authority.json")

Role = Literal["publisher", "subscriber"]
Scheme = Literal["aspe", "tokens"]

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Say who may publish and read sealed events.

    A key authority, which is one file, registers publishers and subscribers,
    grants them topics, and wraps the keys of every epoch to them. Begin with
    [bold]caddis keys init[/bold]; no command prints a secret.
    """,
)

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
Party = Annotated[
    str, typer.Argument(metavar="NAME", help="A registered party.", show_default=False)
]
AtOnce = Annotated[
    bool,
    typer.Option(
        "--at-once",
        help="Events of earlier epochs are refused from now on, also those on their way.",
    ),
]


def _examples(*lines: str) -> str:
    return "\n[bold]Examples[/bold]\n\n" + "\n\n".join(f"  caddis keys {line}" for line in lines)


@app.command(name="init", epilog=_examples("init", "init --authority /safe/authority.json"))
def init(authority: AuthorityFile = AUTHORITY, as_json: options.AsJson = False) -> None:
    """Begin a key authority, in a new file.

    Whoever can read the file can read every event: keep it on a machine that
    is no broker, and keep a copy of it where it is safe.
    """
    from caddis.cli.keys_work import begin

    run(lambda _: begin(authority), as_json=as_json)


@app.command(name="identity", epilog=_examples("identity ann", "identity ann --dir private"))
def identity(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A name for yourself.", show_default=False)
    ],
    folder: Folder = Path(),
    as_json: options.AsJson = False,
) -> None:
    """Make keys for yourself, as a publisher or subscriber.

    NAME.identity.json is yours alone. Send NAME.public.json to the authority.
    """
    from caddis.cli.keys_work import make_identity

    run(lambda _: make_identity(name, folder), as_json=as_json)


@app.command(name="register", epilog=_examples("register ann.public.json bo.public.json"))
def register(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Public identities: NAME.public.json.", show_default=False
        ),
    ],
    authority: AuthorityFile = AUTHORITY,
    as_json: options.AsJson = False,
) -> None:
    """Make parties known to the authority.

    That alone entitles them to nothing. Ask each party for the fingerprint of
    its keys, and compare.
    """
    from caddis.cli.keys_work import register_parties

    run(lambda _: register_parties(authority, files), as_json=as_json)


@app.command(
    name="topic",
    epilog=_examples(
        "topic homes --schema 'city STRING, price INT'",
        "topic homes --events offers.parquet --scheme tokens",
    ),
)
def topic(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A name for the topic.", show_default=False)
    ],
    schema: options.Schema = None,
    events: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A file of such events, whose columns are taken, in place of --schema.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        FileFormat | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Of --events, if its name does not tell: parquet, jsonl or csv.",
        ),
    ] = None,
    timezone: options.Timezone = "UTC",
    scheme: Annotated[
        Scheme,
        typer.Option(
            metavar="SCHEME",
            help="How brokers test equality: aspe, by scalar products; tokens, by keyed hashes, "
            "which is faster and shows which events share a value.",
        ),
    ] = "aspe",
    rate: Annotated[
        float,
        typer.Option(
            min=1e-9,
            max=0.5,
            metavar="X",
            help="How many equalities that do not hold may pass the Bloom filter.",
        ),
    ] = 0.001,
    values: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="How many values an event has at most, elements of arrays counted. "
            "\\[default: as many as columns]",
            show_default=False,
        ),
    ] = None,
    ordered_texts: Annotated[
        list[str] | None,
        typer.Option(
            "--ordered-text",
            metavar="COLUMN",
            help="A string column whose ranges and prefixes brokers test, too. May be given "
            "several times.",
            show_default=False,
        ),
    ] = None,
    presence: Annotated[
        bool, typer.Option(help="Whether filters tell which columns are not null.")
    ] = True,
    padding: Annotated[
        int, typer.Option(min=0, metavar="N", help="Random coordinates of a point; even.")
    ] = 8,
    overlap: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="How many earlier epochs are still accepted after a rotation.",
        ),
    ] = 1,
    authority: AuthorityFile = AUTHORITY,
    as_json: options.AsJson = False,
) -> None:
    """Begin a topic: which columns its events have, and how they are sealed.

    Subscribers can put all columns into their WHERE clauses. What is said here
    holds for good; another design is another topic.
    """
    from caddis.cli.keys_topic import TopicOrder, begin_topic

    order = TopicOrder(
        name=name,
        schema=schema,
        events=events,
        format=format_,
        timezone=timezone,
        scheme=scheme,
        rate=rate,
        values=values,
        ordered_texts=tuple(ordered_texts or ()),
        presence=presence,
        padding=padding,
        overlap=overlap,
    )
    run(lambda _: begin_topic(authority, order), as_json=as_json)


@app.command(
    name="grant",
    epilog=_examples(
        "grant pat homes --role publisher", "grant ann homes --role subscriber --since 1"
    ),
)
def grant(
    name: Party,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A topic.", show_default=False)],
    role: Annotated[
        Role,
        typer.Option(metavar="ROLE", help="publisher or subscriber.", show_default=False),
    ],
    since: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="EPOCH",
            help="Lets a subscriber read what was published since then. \\[default: from now on]",
            show_default=False,
        ),
    ] = None,
    authority: AuthorityFile = AUTHORITY,
    as_json: options.AsJson = False,
) -> None:
    """Let a party publish or read a topic, from its present epoch on.

    A party may be both: grant it twice.
    """
    from caddis.cli.keys_work import grant_role

    run(lambda _: grant_role(authority, name, topic, role, since), as_json=as_json)


@app.command(
    name="revoke",
    epilog=_examples(
        "revoke ann homes",
        "revoke ann homes --role publisher",
        "revoke ann --everywhere --at-once",
        "revoke pat --everywhere --compromised",
    ),
)
def revoke(
    name: Party,
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="A topic.", show_default=False)
    ] = None,
    role: Annotated[
        Role | None,
        typer.Option(
            metavar="ROLE",
            help="publisher or subscriber. \\[default: both]",
            show_default=False,
        ),
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="On all topics, in place of one.")
    ] = False,
    at_once: AtOnce = False,
    compromised: Annotated[
        bool,
        typer.Option(
            "--compromised",
            help="Others have its private keys: also readers refuse all that it ever signed. "
            "With --everywhere; cannot be undone.",
        ),
    ] = False,
    authority: AuthorityFile = AUTHORITY,
    as_json: options.AsJson = False,
) -> None:
    """Take a grant back.

    A publisher is refused as soon as brokers have the new directory. A topic
    that loses a subscriber is rotated, so that it cannot open anything of later
    epochs; what was published before, it could read and still can.
    """
    from caddis.cli.keys_work import distrust_party, revoke_grants

    if everywhere == (topic is not None):
        raise typer.BadParameter("name a topic, or say --everywhere")
    if compromised:
        if not everywhere or role is not None:
            raise typer.BadParameter("keys are compromised on all topics: say --everywhere, too")
        run(lambda _: distrust_party(authority, name), as_json=as_json)
        return
    run(lambda _: revoke_grants(authority, name, topic, role, at_once), as_json=as_json)


@app.command(name="rotate", epilog=_examples("rotate homes", "rotate homes boats --at-once"))
def rotate(
    topics: Annotated[
        list[str], typer.Argument(metavar="TOPIC...", help="Topics.", show_default=False)
    ],
    at_once: AtOnce = False,
    authority: AuthorityFile = AUTHORITY,
    as_json: options.AsJson = False,
) -> None:
    """Begin the next epoch of topics, with new keys."""
    from caddis.cli.keys_work import rotate_topics

    run(lambda _: rotate_topics(authority, topics, at_once), as_json=as_json)


@app.command(name="issue", epilog=_examples("issue ann bo", "issue --dir outgoing"))
def issue(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME...]",
            help="Registered parties. \\[default: all that are or were entitled to something]",
            show_default=False,
        ),
    ] = None,
    folder: Folder = Path(),
    authority: AuthorityFile = AUTHORITY,
    as_json: options.AsJson = False,
) -> None:
    """Write the keys of parties, each wrapped to the one that it is for.

    NAME.keys.json may go through any hands: only with NAME.identity.json it
    can be opened.
    """
    from caddis.cli.keys_work import issue_keys

    run(lambda _: issue_keys(authority, names or [], folder), as_json=as_json)


@app.command(name="directory", epilog=_examples("directory", "directory --out shared/brokers.json"))
def directory(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where it is written; replaced if it is there.")
    ] = Path("directory.json"),
    authority: AuthorityFile = AUTHORITY,
    as_json: options.AsJson = False,
) -> None:
    """Write what brokers need: publishers' public keys and the topics' epochs.

    It is signed by the authority and has no secret in it.
    """
    from caddis.cli.keys_work import write_directory

    run(lambda _: write_directory(authority, out), as_json=as_json)


@app.command(name="show", epilog=_examples("show", "show directory.json", "show ann.keys.json"))
def show(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="Any file of caddis keys. \\[default: the authority's]",
            show_default=False,
        ),
    ] = None,
    signed_by: Annotated[
        str | None,
        typer.Option(
            metavar="FINGERPRINT",
            help="Of the authority that must have signed it: keys or a directory.",
            show_default=False,
        ),
    ] = None,
    authority: AuthorityFile = AUTHORITY,
    as_json: options.AsJson = False,
) -> None:
    """Tell what is in a file, without its secrets."""
    from caddis.cli.keys_show import shown_file

    run(lambda _: shown_file(file or authority, signed_by), as_json=as_json)
