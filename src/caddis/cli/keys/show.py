"""What is in a file of `caddis keys`, without its secrets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from caddis.cli.shell import show_titled, text_table
from caddis.errors import KeyFileError
from caddis.sealed.keys import (
    AUTHORITY,
    BUNDLE,
    DIRECTORY,
    IDENTITY,
    PUBLIC_IDENTITY,
    ROLES,
    Bundle,
    Directory,
    Identity,
    PublicIdentity,
    as_text,
    fingerprint,
    read_authority,
    read_public,
    spans_of,
)

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A sentence about a file, and tables of what is in it."""

    sentence: str
    facts: Row
    tables: dict[str, list[Row]]

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {**self.facts, **self.tables}

    def show(self, console: Console) -> None:
        """The sentence and the tables that have rows."""
        console.print(Text(self.sentence), soft_wrap=True)
        for title, rows in self.tables.items():
            if rows:
                show_titled(title.capitalize(), _table(rows), console)


def shown_file(path: Path, signed_by: str | None = None) -> ShownFile:
    """Whatever the file is; signed_by: the fingerprint of who must have signed it."""
    kind = read_public(path, _kind)
    shown = KINDS.get(kind)
    if shown is None:
        raise KeyFileError(f"{path} is no file of caddis keys")
    if signed_by is not None:
        return _signed(kind, path, signed_by)
    return shown(path)


def _signed(kind: str, path: Path, signed_by: str) -> ShownFile:
    if kind not in SIGNED:
        raise KeyFileError(f"{path}: an authority signs bundles and directories, and no {kind}")
    return SIGNED[kind](path, signed_by)


def _kind(plain: object) -> str:
    return str(plain.get("caddis")) if isinstance(plain, dict) else ""


def _authority(path: Path) -> ShownFile:
    authority = read_authority(path)
    parties: list[Row] = [
        {
            "name": party.name,
            "fingerprint": party.fingerprint,
            "compromised": _yes(party.name in authority.compromised),
        }
        for party in authority.parties.values()
    ]
    grants: list[Row] = [
        {"stream": stream, "name": name, "role": role, "epochs": as_text(spans)}
        for (stream, role, name), spans in sorted(authority.grants.items())
    ]
    return ShownFile(
        f"{path} is a key authority, {authority.fingerprint}, version {authority.version}.",
        {"kind": AUTHORITY, "fingerprint": authority.fingerprint, "version": authority.version},
        {"streams": _streams(authority.directory()), "parties": parties, "grants": grants},
    )


def _directory(path: Path, authority: str | None = None) -> ShownFile:
    directory = Directory.read(path, authority)
    publishers: list[Row] = [
        {
            "name": entry.name,
            "stream": stream,
            "epochs": as_text(spans),
            "compromised": _yes(entry.compromised),
        }
        for entry in directory.publishers.values()
        for stream, spans in entry.grants.items()
    ]
    return ShownFile(
        f"{path} is a directory, version {directory.version}, signed by {directory.fingerprint}.",
        {"kind": DIRECTORY, "authority": directory.fingerprint, "version": directory.version},
        {"streams": _streams(directory), "publishers": publishers},
    )


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _streams(directory: Directory) -> list[Row]:
    return [
        {
            "stream": entry.name,
            "epoch": entry.epoch,
            "accepted": as_text(spans_of(entry.accepted)),
            "bits": entry.outline.bits,
            "dimensions": entry.outline.dimensions,
            "scheme": entry.outline.scheme,
        }
        for entry in directory.streams.values()
    ]


def _bundle(path: Path, authority: str | None = None) -> ShownFile:
    bundle = Bundle.read(path, authority)
    signer = fingerprint(bundle.authority)
    purposes = [package.purpose for package in bundle.packages]
    rows: list[Row] = []
    for stream in sorted({one.stream for one in purposes}):
        for role in ROLES:
            mine = [one.epoch for one in purposes if one.stream == stream and one.role == role]
            if mine:
                rows.append({"stream": stream, "role": role, "epochs": as_text(spans_of(mine))})
    return ShownFile(
        f"{path} holds keys for {bundle.recipient!r}, wrapped to it, version {bundle.version}, "
        f"signed by {signer}.",
        {
            "kind": BUNDLE,
            "recipient": bundle.recipient,
            "version": bundle.version,
            "authority": signer,
        },
        {"keys": rows},
    )


def _identity(path: Path) -> ShownFile:
    public = Identity.read(path).public
    return ShownFile(
        f"{path} holds the private keys of {public.name!r}, {public.fingerprint}.",
        {"kind": IDENTITY, "name": public.name, "fingerprint": public.fingerprint},
        {},
    )


def _public_identity(path: Path) -> ShownFile:
    public = PublicIdentity.read(path)
    return ShownFile(
        f"{path} holds the public keys of {public.name!r}, {public.fingerprint}.",
        {"kind": PUBLIC_IDENTITY, "name": public.name, "fingerprint": public.fingerprint},
        {},
    )


KINDS: dict[str, Callable[[Path], ShownFile]] = {
    AUTHORITY: _authority,
    DIRECTORY: _directory,
    BUNDLE: _bundle,
    IDENTITY: _identity,
    PUBLIC_IDENTITY: _public_identity,
}

SIGNED: dict[str, Callable[[Path, str], ShownFile]] = {DIRECTORY: _directory, BUNDLE: _bundle}


def _table(rows: list[Row]) -> Table:
    names = list(rows[0])
    numbers = [at for at, name in enumerate(names) if isinstance(rows[0][name], int)]
    table = text_table(*names, texts=[at for at in range(len(names)) if at not in numbers])
    for row in rows:
        table.add_row(*(Text(str(value)) for value in row.values()))
    return table
