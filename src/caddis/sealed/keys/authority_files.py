"""The authority's file: all its secrets, in one file that only its owner can read.

A change reads it, and writes the authority that follows, under the file's lock: of two changes at
once the second begins with what the first has left.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from caddis.errors import KeyFileError
from caddis.sealed.design import StreamDesign
from caddis.sealed.keys.authority import Authority, Grant, Stream
from caddis.sealed.keys.directory import span_of
from caddis.sealed.keys.documents import (
    KEY_BYTES,
    Fields,
    Json,
    base64_text,
    document,
    opened_document,
)
from caddis.sealed.keys.entitlements import ROLES, Spans
from caddis.sealed.keys.files import locked, read_secret, real_path, write_secret
from caddis.sealed.keys.identities import PublicIdentity
from caddis.sealed.keys.secrets import SECRET_BYTES

AUTHORITY = "authority"

Change = Callable[[Authority], Authority]


def create_authority(path: Path, authority: Authority) -> None:
    """Write a new authority into a new file."""
    write_secret(path, authority_json(authority))


def read_authority(path: Path) -> Authority:
    """The authority in a file."""
    return read_secret(path, authority_from_json)


def change_authority(path: Path, change: Change) -> tuple[Authority, Authority]:
    """Change the authority in a file; it as it was, and as it is now."""
    before = read_authority(path)
    path = real_path(path)
    with locked(path):
        before = read_authority(path)
        after = change(before)
        if after is not before:
            write_secret(path, authority_json(after), replace=True)
    return before, after


def authority_json(authority: Authority) -> Json:
    """Plain values, secrets among them, from which `authority_from_json` makes the same."""
    content: Json = {
        "signing": base64_text(authority.signing.private_bytes_raw()),
        "version": authority.version,
        "parties": [party.as_json() for party in authority.parties.values()],
        "streams": [_stream_json(stream) for stream in authority.streams.values()],
        "grants": [
            {"stream": stream, "role": role, "name": name, "first": span.first, "last": span.last}
            for (stream, role, name), spans in authority.grants.items()
            for span in spans
        ],
        "compromised": sorted(authority.compromised),
    }
    return document(AUTHORITY, content)


def authority_from_json(plain: object) -> Authority:
    """From what `authority_json` gave."""
    content = opened_document(AUTHORITY, plain)
    parties = [PublicIdentity.from_json(one.plain) for one in content.several("parties")]
    streams = [_stream(one) for one in content.several("streams")]
    grants: dict[Grant, Spans] = {}
    for one in content.several("grants"):
        grant = _grant(one)
        grants[grant] = (*grants.get(grant, ()), span_of(one))
    authority = Authority(
        Ed25519PrivateKey.from_private_bytes(content.data("signing", KEY_BYTES)),
        content.whole("version"),
        {party.name: party for party in parties},
        {stream.name: stream for stream in streams},
        grants,
        frozenset(content.texts("compromised")),
    )
    if any(t not in authority.streams or n not in authority.parties for t, _, n in grants):
        raise KeyFileError("a grant names a party or a stream that is not there")
    return authority


def _stream_json(stream: Stream) -> Json:
    return {
        "design": stream.design.as_json(),
        "secret": base64_text(stream.secret),
        "epoch": stream.epoch,
        "accepted_from": stream.accepted_from,
        "overlap": stream.overlap,
    }


def _stream(fields: Fields) -> Stream:
    return Stream(
        StreamDesign.from_json(fields.json("design")),
        fields.data("secret", SECRET_BYTES),
        fields.whole("epoch", 1),
        fields.whole("accepted_from", 1),
        fields.whole("overlap"),
    )


def _grant(fields: Fields) -> Grant:
    named = fields.text("role")
    role = next((one for one in ROLES if one == named), None)
    if role is None:
        raise KeyFileError(f"a role is {' or '.join(ROLES)}")
    return fields.text("stream"), role, fields.text("name")
