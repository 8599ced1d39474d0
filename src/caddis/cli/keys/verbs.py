"""The work of `caddis keys`: a change of the authority's file, or a file written from it.

Every function takes the options of its verb and gives a summary. A change reads, changes and
replaces the authority's file under a lock, so two commands at once lose nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from caddis.cli.keys.command import (
    AUTHORITY,
    AuthorityOptions,
    DirectoryOptions,
    GrantOptions,
    IdentityOptions,
    IssueOptions,
    RegisterOptions,
    RevokeOptions,
    RotateOptions,
    StreamOptions,
)
from caddis.cli.keys.summary import KeysSummary, command
from caddis.cli.shell import checked_timezone, count
from caddis.errors import AccessError, EventError, KeyFileError
from caddis.files import EXAMPLE, existing, format_of, parse_schema, schema_of
from caddis.sealed import StreamDesign
from caddis.sealed.keys import (
    Authority,
    Identity,
    PublicIdentity,
    as_text,
    change_authority,
    create_authority,
    is_open,
    read_authority,
)


def init(options: AuthorityOptions) -> KeysSummary:
    """Create an authority."""
    path, authority = options.authority, Authority.new(os.urandom)
    create_authority(path, authority)
    return KeysSummary(
        (
            f"{path} holds a new key authority, {authority.fingerprint}.",
            "Only you can read it. Whoever else could, could read every event. Keep a copy safe.",
        ),
        {"authority": path, "fingerprint": authority.fingerprint},
        next=(
            "caddis keys identity NAME        (each publisher and subscriber, for itself)",
            command(path, "stream", "STREAM", "--schema", "city STRING, price INT"),
        ),
    )


def identity(options: IdentityOptions) -> KeysSummary:
    """Make a party's own keys, private and public."""
    name, folder = options.name, options.folder
    made = Identity.new(name, os.urandom)
    _make_folder(folder)
    private, public = folder / f"{name}.identity.json", folder / f"{name}.public.json"
    if public.exists():
        raise KeyFileError(f"{public} exists already; it is not replaced")
    made.write(private)
    made.public.write(public)
    mark = made.public.fingerprint
    return KeysSummary(
        (
            f"{private} holds the private keys of {name!r}. Only you can read it; never send it.",
            f"{public} is for the authority. Its fingerprint is {mark}.",
        ),
        {"name": name, "identity": private, "public": public, "fingerprint": mark},
        next=(f"{command(AUTHORITY, 'register', public)}        (the authority, with that file)",),
    )


def register(options: RegisterOptions) -> KeysSummary:
    """Make parties known to the authority: all of them, or none."""
    parties = [PublicIdentity.read(file) for file in options.files]

    def change(authority: Authority) -> Authority:
        for party in parties:
            authority = authority.register(party)
        return authority

    change_authority(options.authority, change)
    lines = [f"{one.name!r} is registered with the keys {one.fingerprint}." for one in parties]
    rows = [{"name": one.name, "fingerprint": one.fingerprint} for one in parties]
    return KeysSummary(
        (*lines, "Compare this with what they see themselves: caddis keys show NAME.public.json"),
        {"registered": rows},
        next=(
            command(options.authority, "grant", parties[0].name, "STREAM", "--role", "subscriber"),
        ),
    )


def stream(options: StreamOptions) -> KeysSummary:
    """Create a stream and its first epoch."""
    path, design = options.authority, _design(options)
    change_authority(
        path, lambda authority: authority.add_stream(design, os.urandom, overlap=options.overlap)
    )
    columns = [one.column.name for one in design.columns]
    ordered = [one.column.name for one in design.columns if one.ordered]
    name, point = design.stream, count(design.dimensions, "coordinate")
    return KeysSummary(
        (
            f"{name!r} is in epoch 1, its first.",
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
        next=tuple(
            command(path, "grant", "NAME", name, "--role", role)
            for role in ("publisher", "subscriber")
        ),
    )


def _design(options: StreamOptions) -> StreamDesign:
    return StreamDesign.of(
        options.name,
        _columns(options),
        rate=options.rate,
        values=options.values,
        timezone=checked_timezone(options.timezone),
        scheme=options.scheme,
        presence=options.presence,
        padding=options.padding,
        ordered_texts=tuple(options.ordered_texts or ()),
    )


def _columns(options: StreamOptions) -> pa.Schema:
    """The columns of the stream's events, as one of two options gives them."""
    if options.schema is not None and options.events is not None:
        raise EventError("--schema and --events both give the columns; use only one of them")
    if options.schema is not None:
        return parse_schema(options.schema, options.timezone)
    if options.events is None:
        raise EventError(
            f"which columns do the events have? Add --events FILE, or --schema {EXAMPLE!r}"
        )
    events = existing(options.events, EventError)
    format_ = options.format or format_of(events, EventError)
    return schema_of(events, format_, options.timezone)


def grant(options: GrantOptions) -> KeysSummary:
    """Let a party publish or read a stream."""
    path, name, stream, role = options.authority, options.name, options.stream, options.role
    _, after = change_authority(
        path, lambda authority: authority.grant(name, stream, role, since=options.since)
    )
    epochs = as_text(after.spans(name, stream, role))
    directory = [command(path, "directory")] if role == "publisher" else []
    return KeysSummary(
        (f"{name!r} is a {role} of {stream!r} in epochs: {epochs}.",),
        {"name": name, "stream": stream, "role": role, "epochs": epochs},
        next=(command(path, "issue", name), *directory),
    )


def revoke(options: RevokeOptions) -> KeysSummary:
    """Take grants of a party back, or declare its keys compromised."""
    path, name = options.authority, options.name

    def change(authority: Authority) -> Authority:
        if options.compromised:
            return authority.distrust(name)
        return authority.revoke(name, options.stream, options.role, at_once=options.at_once)

    before, after = change_authority(path, change)
    taken = [grant for grant, spans in after.grants.items() if spans != before.grants[grant]]
    rotated = _rotated(before, after)
    lines = [f"{name!r} is no longer a {role} of {stream!r}." for stream, role, _ in taken]
    lines += [
        f"It still has the matching key of {stream!r}, epoch {after.streams[stream].epoch}; "
        f"a rotation makes it worthless: {command(path, 'rotate', stream)}"
        for stream in sorted({stream for stream, _, _ in taken} - set(rotated))
    ]
    lines += _epoch_lines(after, rotated)
    facts: dict[str, object] = {
        "name": name,
        "revoked": [{"stream": stream, "role": role} for stream, role, _ in taken],
        **_epoch_facts(after, rotated),
    }
    if options.compromised:
        facts["compromised"] = True
        lines.append(
            f"Nothing that was ever signed with the keys of {name!r} is believed any more, as "
            "soon as brokers and readers have the new directory."
        )
    return KeysSummary(tuple(lines), facts, next=_next_commands(path, after, rotated))


def rotate(options: RotateOptions) -> KeysSummary:
    """Start the next epoch of streams: of all of them, or of none."""

    def change(authority: Authority) -> Authority:
        for name in dict.fromkeys(options.streams):
            authority = authority.rotate(name, at_once=options.at_once)
        return authority

    before, after = change_authority(options.authority, change)
    rotated = _rotated(before, after)
    return KeysSummary(
        tuple(_epoch_lines(after, rotated)),
        _epoch_facts(after, rotated),
        next=_next_commands(options.authority, after, rotated),
    )


def issue(options: IssueOptions) -> KeysSummary:
    """Write a file of wrapped keys for each party."""
    authority = read_authority(options.authority)
    everybody = {name for _, _, name in authority.grants} - authority.compromised
    chosen = list(dict.fromkeys(options.names or ())) or sorted(everybody)
    if not chosen:
        hint = command(options.authority, "grant", "--help")
        raise AccessError(f"nobody is entitled to anything yet: {hint}")
    bundles = [authority.issue(name) for name in chosen]
    _make_folder(options.folder)
    lines, issued, problems = [], [], []
    for bundle in bundles:
        file = options.folder / f"{bundle.recipient}.keys.json"
        try:
            bundle.write(file)
        except KeyFileError as problem:
            problems.append(str(problem))
            continue
        issued.append({"name": bundle.recipient, "file": file, "keys": len(bundle.packages)})
        lines.append(f"{file} holds {count(len(bundle.packages), 'key')} for {bundle.recipient!r}.")
    if problems:
        others = f"; the keys of {len(issued)} others are written" if issued else ""
        raise KeyFileError(f"{'; '.join(problems)}{others}")
    mark = authority.fingerprint
    note = f"Each file opens only with the identity of its recipient. All are signed by {mark}."
    facts = {"issued": issued, "version": authority.version, "authority": mark}
    return KeysSummary((*lines, note), facts)


def directory(options: DirectoryOptions) -> KeysSummary:
    """Write the public directory of publishers and streams."""
    written = read_authority(options.authority).directory()
    written.write(options.out)
    publishers = sum(
        any(is_open(spans) for spans in entry.grants.values())
        for entry in written.publishers.values()
    )
    what = f"{count(publishers, 'publisher')}, {count(len(written.streams), 'stream')}"
    return KeysSummary(
        (
            f"{options.out} is the directory, version {written.version}: {what}.",
            f"It holds no secret and is signed by {written.fingerprint}.",
            "Give it to brokers and readers.",
        ),
        {
            "directory": options.out,
            "version": written.version,
            "publishers": publishers,
            "streams": len(written.streams),
            "authority": written.fingerprint,
        },
    )


def _rotated(before: Authority, after: Authority) -> list[str]:
    """The streams that are in another epoch than before."""
    return sorted(
        name for name, stream in after.streams.items() if stream.epoch != before.streams[name].epoch
    )


def _epoch_lines(authority: Authority, rotated: Sequence[str]) -> list[str]:
    entries = authority.directory().streams
    return [
        f"{name!r} is in epoch {entries[name].epoch}; events of "
        f"{_epochs_text(entries[name].accepted)} are accepted."
        for name in rotated
    ]


def _epochs_text(epochs: range) -> str:
    return f"epoch {epochs[0]}" if len(epochs) == 1 else f"epochs {epochs[0]} to {epochs[-1]}"


def _epoch_facts(authority: Authority, rotated: Sequence[str]) -> dict[str, object]:
    entries = authority.directory().streams
    streams = [
        {"stream": name, "epoch": entries[name].epoch, "accepted": list(entries[name].accepted)}
        for name in rotated
    ]
    return {"rotated": streams, "to_issue": _entitled(authority, rotated)}


def _entitled(authority: Authority, streams: Sequence[str]) -> list[str]:
    """Everybody who needs new keys because these streams are in a new epoch."""
    return sorted(
        {
            name
            for (stream, _, name), spans in authority.grants.items()
            if stream in streams and is_open(spans)
        }
    )


def _next_commands(path: Path, authority: Authority, rotated: Sequence[str]) -> tuple[str, ...]:
    names = _entitled(authority, rotated)
    issue = [command(path, "issue", *names)] if names else []
    return (*issue, command(path, "directory"))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise KeyFileError(f"{folder}: {problem.strerror}") from None
