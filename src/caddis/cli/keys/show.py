"""`caddis keys show`: what is in a file that `caddis keys` wrote, without its secrets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from caddis.cli.keys.summary import KeysSummary, Row
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


def shown_file(path: Path, trusted: str | None = None) -> KeysSummary:
    """What a file holds, whatever kind of file it is.

    trusted: the fingerprint of the authority that must have signed it.
    """
    kind = read_public(path, _kind)
    if kind in SIGNED:
        return SIGNED[kind](path, trusted)
    if kind not in UNSIGNED:
        raise KeyFileError(f"{path} was not written by caddis keys")
    if trusted is not None:
        raise KeyFileError(f"{path}: an authority signs bundles and directories, but no {kind}")
    return UNSIGNED[kind](path)


def _kind(plain: object) -> str:
    return str(plain.get("caddis")) if isinstance(plain, dict) else ""


def _authority(path: Path) -> KeysSummary:
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
    return KeysSummary(
        (f"{path} is a key authority, {authority.fingerprint}, version {authority.version}.",),
        {"kind": AUTHORITY, "fingerprint": authority.fingerprint, "version": authority.version},
        {"streams": _streams(authority.directory()), "parties": parties, "grants": grants},
    )


def _directory(path: Path, trusted: str | None) -> KeysSummary:
    directory = Directory.read(path, trusted)
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
    version, signer = directory.version, directory.fingerprint
    return KeysSummary(
        (f"{path} is a directory, version {version}, signed by {signer}.",),
        {"kind": DIRECTORY, "authority": signer, "version": version},
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


def _bundle(path: Path, trusted: str | None) -> KeysSummary:
    bundle = Bundle.read(path, trusted)
    name, version, signer = bundle.recipient, bundle.version, fingerprint(bundle.authority)
    purposes = [package.purpose for package in bundle.packages]
    rows: list[Row] = []
    for stream in sorted({one.stream for one in purposes}):
        for role in ROLES:
            mine = [one.epoch for one in purposes if one.stream == stream and one.role == role]
            if mine:
                rows.append({"stream": stream, "role": role, "epochs": as_text(spans_of(mine))})
    return KeysSummary(
        (f"{path} holds keys wrapped to {name!r}, version {version}, signed by {signer}.",),
        {"kind": BUNDLE, "recipient": name, "version": version, "authority": signer},
        {"keys": rows},
    )


def _identity(path: Path) -> KeysSummary:
    return _keys_of(Identity.read(path).public, path, IDENTITY, "private")


def _public_identity(path: Path) -> KeysSummary:
    return _keys_of(PublicIdentity.read(path), path, PUBLIC_IDENTITY, "public")


def _keys_of(public: PublicIdentity, path: Path, kind: str, which: str) -> KeysSummary:
    return KeysSummary(
        (f"{path} holds the {which} keys of {public.name!r}, {public.fingerprint}.",),
        {"kind": kind, "name": public.name, "fingerprint": public.fingerprint},
    )


SIGNED: dict[str, Callable[[Path, str | None], KeysSummary]] = {
    DIRECTORY: _directory,
    BUNDLE: _bundle,
}
UNSIGNED: dict[str, Callable[[Path], KeysSummary]] = {
    AUTHORITY: _authority,
    IDENTITY: _identity,
    PUBLIC_IDENTITY: _public_identity,
}
