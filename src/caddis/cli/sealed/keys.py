"""A party's keys as the commands are given them."""

from __future__ import annotations

from pathlib import Path

from caddis.errors import AccessError, KeyFileError
from caddis.sealed.keys import KeyRing, Role


def read_ring(folder: Path, name: str, authority: str | None) -> KeyRing:
    """The keys of a party, from the files that `caddis keys` wrote for it.

    authority: the fingerprint of the only authority to believe, if one is given.
    """
    identity, issued = folder / f"{name}.identity.json", folder / f"{name}.keys.json"
    for file, verb in ((identity, "identity"), (issued, "issue")):
        if not file.exists():
            raise KeyFileError(
                f"{file}: there is no such file; caddis keys {verb} {name} writes it, and --keys "
                "names the folder"
            )
    return KeyRing.read(identity, issued, authority)


def one_stream(ring: KeyRing, role: Role, named: str | None) -> str:
    """The stream that is named, or the only one that there are keys of."""
    streams = [stream for stream in ring.streams if ring.epochs(stream, role)]
    if named is not None or len(streams) == 1:
        return named or streams[0]
    if not streams:
        raise AccessError(
            f"{ring.name!r} is no {role} of any stream; ask the authority for a grant"
        )
    raise AccessError(
        f"{ring.name!r} has keys of several streams; choose one with --stream: {', '.join(streams)}"
    )
