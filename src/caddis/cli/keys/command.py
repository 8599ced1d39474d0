"""`caddis keys`: who may publish and read sealed events, and the keys for it."""

from __future__ import annotations

from pathlib import Path

import typer

from caddis.cli.keys.options import (
    AUTHORITY,
    AnyKeyFile,
    AtOnce,
    AuthorityFile,
    Compromised,
    DirectoryOut,
    EventsLikeThese,
    Everywhere,
    Folder,
    Format,
    MaybeRole,
    MaybeStream,
    NewParty,
    NewStream,
    OrderedTexts,
    Overlap,
    Padding,
    Parties,
    Party,
    Presence,
    PublicIdentities,
    Rate,
    Scheme,
    SignedBy,
    Since,
    Stream,
    Streams,
    TheRole,
    Values,
)
from caddis.cli.shell import AsJson, Schema, Timezone, run

NAME = "keys"

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Say who may publish and read sealed events.

    A key authority, which is one file, registers publishers and subscribers,
    grants them streams, and wraps the keys of every epoch to them. Begin with
    [bold]caddis keys init[/bold]; no command prints a secret.
    """,
)


def _examples(*lines: str) -> str:
    return "\n[bold]Examples[/bold]\n\n" + "\n\n".join(f"  caddis keys {line}" for line in lines)


@app.command(name="init", epilog=_examples("init", "init --authority /safe/authority.json"))
def init(authority: AuthorityFile = AUTHORITY, as_json: AsJson = False) -> None:
    """Begin a key authority, in a new file.

    Whoever can read the file can read every event: keep it on a machine that
    is no broker, and keep a copy of it where it is safe.
    """
    from caddis.cli.keys.work import begin

    run(lambda _: begin(authority), as_json=as_json)


@app.command(name="identity", epilog=_examples("identity ann", "identity ann --dir private"))
def identity(
    name: NewParty,
    folder: Folder = Path(),
    as_json: AsJson = False,
) -> None:
    """Make keys for yourself, as a publisher or subscriber.

    NAME.identity.json is yours alone. Send NAME.public.json to the authority.
    """
    from caddis.cli.keys.work import make_identity

    run(lambda _: make_identity(name, folder), as_json=as_json)


@app.command(name="register", epilog=_examples("register ann.public.json bo.public.json"))
def register(
    files: PublicIdentities,
    authority: AuthorityFile = AUTHORITY,
    as_json: AsJson = False,
) -> None:
    """Make parties known to the authority.

    That alone entitles them to nothing. Ask each party for the fingerprint of
    its keys, and compare.
    """
    from caddis.cli.keys.work import register_parties

    run(lambda _: register_parties(authority, files), as_json=as_json)


@app.command(
    name="stream",
    epilog=_examples(
        "stream homes --schema 'city STRING, price INT'",
        "stream homes --events offers.parquet --scheme tokens",
    ),
)
def stream(
    name: NewStream,
    schema: Schema = None,
    events: EventsLikeThese = None,
    format_: Format = None,
    timezone: Timezone = "UTC",
    scheme: Scheme = "aspe",
    rate: Rate = 0.001,
    values: Values = None,
    ordered_texts: OrderedTexts = None,
    presence: Presence = True,
    padding: Padding = 8,
    overlap: Overlap = 1,
    authority: AuthorityFile = AUTHORITY,
    as_json: AsJson = False,
) -> None:
    """Begin a stream: which columns its events have, and how they are sealed.

    Subscribers can put all columns into their WHERE clauses. What is said here
    holds for good; another design is another stream.
    """
    from caddis.cli.keys.stream import StreamOrder, begin_stream

    order = StreamOrder(
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
    run(lambda _: begin_stream(authority, order), as_json=as_json)


@app.command(
    name="grant",
    epilog=_examples(
        "grant pat homes --role publisher", "grant ann homes --role subscriber --since 1"
    ),
)
def grant(
    name: Party,
    stream: Stream,
    role: TheRole,
    since: Since = None,
    authority: AuthorityFile = AUTHORITY,
    as_json: AsJson = False,
) -> None:
    """Let a party publish or read a stream, from its present epoch on.

    A party may be both: grant it twice.
    """
    from caddis.cli.keys.work import grant_role

    run(lambda _: grant_role(authority, name, stream, role, since), as_json=as_json)


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
    stream: MaybeStream = None,
    role: MaybeRole = None,
    everywhere: Everywhere = False,
    at_once: AtOnce = False,
    compromised: Compromised = False,
    authority: AuthorityFile = AUTHORITY,
    as_json: AsJson = False,
) -> None:
    """Take a grant back.

    A publisher is refused as soon as brokers have the new directory. A stream
    that loses a subscriber is rotated, so that it cannot open anything of later
    epochs; what was published before, it could read and still can.
    """
    from caddis.cli.keys.work import distrust_party, revoke_grants

    if everywhere == (stream is not None):
        raise typer.BadParameter("name a stream, or say --everywhere")
    if compromised:
        if not everywhere or role is not None:
            raise typer.BadParameter("keys are compromised on all streams: say --everywhere, too")
        run(lambda _: distrust_party(authority, name), as_json=as_json)
        return
    run(lambda _: revoke_grants(authority, name, stream, role, at_once), as_json=as_json)


@app.command(name="rotate", epilog=_examples("rotate homes", "rotate homes boats --at-once"))
def rotate(
    streams: Streams,
    at_once: AtOnce = False,
    authority: AuthorityFile = AUTHORITY,
    as_json: AsJson = False,
) -> None:
    """Begin the next epoch of streams, with new keys."""
    from caddis.cli.keys.work import rotate_streams

    run(lambda _: rotate_streams(authority, streams, at_once), as_json=as_json)


@app.command(name="issue", epilog=_examples("issue ann bo", "issue --dir outgoing"))
def issue(
    names: Parties = None,
    folder: Folder = Path(),
    authority: AuthorityFile = AUTHORITY,
    as_json: AsJson = False,
) -> None:
    """Write the keys of parties, each wrapped to the one that it is for.

    NAME.keys.json may go through any hands: only with NAME.identity.json it
    can be opened.
    """
    from caddis.cli.keys.work import issue_keys

    run(lambda _: issue_keys(authority, names or [], folder), as_json=as_json)


@app.command(name="directory", epilog=_examples("directory", "directory --out shared/brokers.json"))
def directory(
    out: DirectoryOut = Path("directory.json"),
    authority: AuthorityFile = AUTHORITY,
    as_json: AsJson = False,
) -> None:
    """Write what brokers need: publishers' public keys and the streams' epochs.

    It is signed by the authority and has no secret in it.
    """
    from caddis.cli.keys.work import write_directory

    run(lambda _: write_directory(authority, out), as_json=as_json)


@app.command(name="show", epilog=_examples("show", "show directory.json", "show ann.keys.json"))
def show(
    file: AnyKeyFile = None,
    signed_by: SignedBy = None,
    authority: AuthorityFile = AUTHORITY,
    as_json: AsJson = False,
) -> None:
    """Tell what is in a file, without its secrets."""
    from caddis.cli.keys.show import shown_file

    run(lambda _: shown_file(file or authority, signed_by), as_json=as_json)
