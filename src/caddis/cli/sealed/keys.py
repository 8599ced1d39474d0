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


def one_topic(ring: KeyRing, role: Role, named: str | None) -> str:
    """The topic that is named, or the only one that there are keys of."""
    topics = [topic for topic in ring.topics if ring.epochs(topic, role)]
    if named is not None or len(topics) == 1:
        return named or topics[0]
    if not topics:
        raise AccessError(f"{ring.name!r} is no {role} of any topic; ask the authority for a grant")
    raise AccessError(
        f"{ring.name!r} has keys of several topics; choose one with --topic: {', '.join(topics)}"
    )
