"""What the commands of `caddis keys` do: a change of the authority's file, and what it means."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from caddis.cli.keys.options import AUTHORITY
from caddis.cli.keys.said import KeysSaid, command
from caddis.cli.shell import count
from caddis.errors import AccessError, KeyFileError
from caddis.sealed.keys import (
    Authority,
    Change,
    Identity,
    PublicIdentity,
    Role,
    as_text,
    change_authority,
    create_authority,
    is_open,
    read_authority,
)


def begin(path: Path) -> KeysSaid:
    """A new authority."""
    authority = Authority.new(os.urandom)
    create_authority(path, authority)
    return KeysSaid(
        (
            f"{path} holds a new key authority, {authority.fingerprint}.",
            "Only you can read it; whoever else could, could read every event. Keep a copy safe.",
        ),
        {"authority": path, "fingerprint": authority.fingerprint},
        (
            "caddis keys identity NAME        (each publisher and subscriber, for itself)",
            command(path, "stream", "STREAM", "--schema", "city STRING, price INT"),
        ),
    )


def make_identity(name: str, folder: Path) -> KeysSaid:
    """A party's own keys."""
    identity = Identity.new(name, os.urandom)
    _need_folder(folder)
    private, public = folder / f"{name}.identity.json", folder / f"{name}.public.json"
    if public.exists():
        raise KeyFileError(f"{public} exists already; it is not replaced")
    identity.write(private)
    identity.public.write(public)
    mark = identity.public.fingerprint
    return KeysSaid(
        (
            f"{private} holds the private keys of {name!r}: only you can read it, never send it.",
            f"{public} is for the authority. Its fingerprint is {mark}.",
        ),
        {"name": name, "identity": private, "public": public, "fingerprint": mark},
        (f"{command(AUTHORITY, 'register', public)}        (the authority, when it has the file)",),
    )


def register_parties(path: Path, files: Sequence[Path]) -> KeysSaid:
    """Parties that the authority then knows."""
    parties = [PublicIdentity.read(file) for file in files]

    def change(authority: Authority) -> Authority:
        for party in parties:
            authority = authority.register(party)
        return authority

    change_authority(path, change)
    lines = [f"{one.name!r} is registered with the keys {one.fingerprint}." for one in parties]
    found = [{"name": one.name, "fingerprint": one.fingerprint} for one in parties]
    return KeysSaid(
        (*lines, "Compare this with what they see themselves: caddis keys show NAME.public.json"),
        {"registered": found},
        (command(path, "grant", parties[0].name, "STREAM", "--role", "subscriber"),),
    )


def grant_role(path: Path, name: str, stream: str, role: Role, since: int | None) -> KeysSaid:
    """A party that may publish or read a stream."""
    _, after = change_authority(
        path, lambda authority: authority.grant(name, stream, role, since=since)
    )
    epochs = as_text(after.spans(name, stream, role))
    directory = [command(path, "directory")] if role == "publisher" else []
    return KeysSaid(
        (f"{name!r} is a {role} of {stream!r} in epochs: {epochs}.",),
        {"name": name, "stream": stream, "role": role, "epochs": epochs},
        (command(path, "issue", name), *directory),
    )


def revoke_grants(
    path: Path, name: str, stream: str | None, role: Role | None, at_once: bool
) -> KeysSaid:
    """A party that no longer may."""
    return _revoked(
        path, name, lambda authority: authority.revoke(name, stream, role, at_once=at_once)
    )


def distrust_party(path: Path, name: str) -> KeysSaid:
    """A party whose keys others have, too."""
    said = _revoked(path, name, lambda authority: authority.distrust(name))
    line = (
        f"Nothing that was ever signed with the keys of {name!r} is believed any more, as soon as "
        "brokers and readers have the new directory."
    )
    facts = {**said.facts, "compromised": True}
    return KeysSaid((*said.sentences, line), facts, said.next)


def _revoked(path: Path, name: str, change: Change) -> KeysSaid:
    before, after = change_authority(path, change)
    taken = [grant for grant, spans in after.grants.items() if spans != before.grants[grant]]
    rotated = _rotated(before, after)
    lines = [f"{name!r} is no longer a {its_role} of {where!r}." for where, its_role, _ in taken]
    unrotated = sorted({where for where, _, _ in taken} - set(rotated))
    lines += [
        f"It still has the matching key of {where!r}, epoch {after.streams[where].epoch}; "
        f"a rotation makes it worthless: {command(path, 'rotate', where)}"
        for where in unrotated
    ]
    revoked = [{"stream": where, "role": its_role} for where, its_role, _ in taken]
    return KeysSaid(
        (*lines, *_epoch_lines(after, rotated)),
        {"name": name, "revoked": revoked, **_epoch_facts(after, rotated)},
        _after_change(path, after, rotated),
    )


def rotate_streams(path: Path, streams: Sequence[str], at_once: bool) -> KeysSaid:
    """Streams in their next epoch."""

    def change(authority: Authority) -> Authority:
        for stream in dict.fromkeys(streams):
            authority = authority.rotate(stream, at_once=at_once)
        return authority

    before, after = change_authority(path, change)
    rotated = _rotated(before, after)
    return KeysSaid(
        tuple(_epoch_lines(after, rotated)),
        _epoch_facts(after, rotated),
        _after_change(path, after, rotated),
    )


def issue_keys(path: Path, names: Sequence[str], folder: Path) -> KeysSaid:
    """A file of wrapped keys for each party."""
    authority = read_authority(path)
    everybody = {name for _, _, name in authority.grants} - authority.compromised
    chosen = list(dict.fromkeys(names)) or sorted(everybody)
    if not chosen:
        raise AccessError(f"nobody is entitled to anything yet: {command(path, 'grant', '--help')}")
    bundles = [authority.issue(name) for name in chosen]
    _need_folder(folder)
    lines, issued, problems = [], [], []
    for bundle in bundles:
        file = folder / f"{bundle.recipient}.keys.json"
        try:
            bundle.write(file)
        except KeyFileError as problem:
            problems.append(str(problem))
            continue
        issued.append({"name": bundle.recipient, "file": file, "keys": len(bundle.packages)})
        lines.append(f"{file} holds {count(len(bundle.packages), 'key')} for {bundle.recipient!r}.")
    if problems:
        others = f"; those of {len(issued)} others are written" if issued else ""
        raise KeyFileError(f"{'; '.join(problems)}{others}")
    note = (
        "Each opens with the identity of the one it is for, and with no other; all are signed by "
        f"{authority.fingerprint}."
    )
    facts = {
        "issued": issued,
        "version": authority.version,
        "authority": authority.fingerprint,
    }
    return KeysSaid((*lines, note), facts)


def write_directory(path: Path, out: Path) -> KeysSaid:
    """The public directory."""
    directory = read_authority(path).directory()
    directory.write(out)
    publishers = sum(
        any(is_open(spans) for spans in entry.grants.values())
        for entry in directory.publishers.values()
    )
    what = f"{count(publishers, 'publisher')}, {count(len(directory.streams), 'stream')}"
    return KeysSaid(
        (
            f"{out} is the directory, version {directory.version}: {what}.",
            f"It has no secret in it; it is signed by {directory.fingerprint}.",
            "Give it to brokers and readers.",
        ),
        {
            "directory": out,
            "version": directory.version,
            "publishers": publishers,
            "streams": len(directory.streams),
            "authority": directory.fingerprint,
        },
    )


def _rotated(before: Authority, after: Authority) -> list[str]:
    return sorted(
        name for name, stream in after.streams.items() if stream.epoch != before.streams[name].epoch
    )


def _epoch_lines(authority: Authority, rotated: Sequence[str]) -> list[str]:
    entries = authority.directory().streams
    return [
        f"{name!r} is in epoch {entries[name].epoch}; events of "
        + _epochs_text(entries[name].accepted)
        + " are accepted."
        for name in rotated
    ]


def _epoch_facts(authority: Authority, rotated: Sequence[str]) -> dict[str, object]:
    entries = authority.directory().streams
    streams = [
        {"stream": name, "epoch": entries[name].epoch, "accepted": list(entries[name].accepted)}
        for name in rotated
    ]
    return {"rotated": streams, "to_issue": _entitled(authority, rotated)}


def _epochs_text(epochs: range) -> str:
    return f"epoch {epochs[0]}" if len(epochs) == 1 else f"epochs {epochs[0]} to {epochs[-1]}"


def _entitled(authority: Authority, streams: Sequence[str]) -> list[str]:
    """Who needs new keys, as these streams have a new epoch."""
    return sorted(
        {
            name
            for (stream, _, name), spans in authority.grants.items()
            if stream in streams and is_open(spans)
        }
    )


def _after_change(path: Path, authority: Authority, rotated: Sequence[str]) -> tuple[str, ...]:
    names = _entitled(authority, rotated)
    issue = [command(path, "issue", *names)] if names else []
    return (*issue, command(path, "directory"))


def _need_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise KeyFileError(f"{folder}: {problem.strerror}") from None
