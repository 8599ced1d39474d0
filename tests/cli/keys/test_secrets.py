"""No verb of `caddis keys` shows a secret, nor writes one where others can read it."""

import base64
import os
import stat
from pathlib import Path

import pytest

from caddis.sealed.keys import ROLES, Identity, read_authority
from tests.cli.commands import SCHEMA


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_secrets_are_in_files_of_mode_600_alone(tmp_path, keys, umask):
    before = os.umask(umask)
    try:
        keys("init")
        keys("identity", "ann")
        keys("stream", "homes", "--schema", SCHEMA)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes["authority.json"] == modes["ann.identity.json"] == 0o600


def secrets_in(folder: Path) -> set[bytes]:
    """All that must not be seen: private keys, streams' secrets and what follows from them."""
    authority = read_authority(folder / "authority.json")
    found = {authority.signing.private_bytes_raw()}
    for file in folder.glob("*.identity.json"):
        identity = Identity.read(file)
        found |= {identity.signing.private_bytes_raw(), identity.receiving.private_bytes_raw()}
    for stream in authority.streams.values():
        found.add(stream.secret)
        for epoch in range(1, stream.epoch + 1):
            for role in ROLES:
                for name in authority.parties:
                    material = stream.material(epoch, role, name)
                    found |= {material.matching, material.content}
    return found


def test_no_command_shows_a_secret_nor_writes_one_into_a_public_file(homes, caddis, tmp_path):
    commands = [
        ["show"],
        *(["show", path.name] for path in tmp_path.iterdir() if path.suffix == ".json"),
        ["issue"],
        ["directory"],
        ["show", "ann.keys.json"],
        ["show", "directory.json"],
        ["revoke", "ann", "homes"],
        ["rotate", "homes"],
        ["grant", "ann", "homes", "--role", "subscriber"],
        ["grant", "ann", "homes", "--role", "subscriber", "--since", "77"],
        ["stream", "boats", "--schema", SCHEMA],
        ["identity", "zoe"],
        ["register", "zoe.public.json"],
        ["issue"],
        ["directory"],
    ]
    printed = ""
    for number, words in enumerate(commands):
        result = caddis("keys", *words, *(["--json"] if number % 2 else []))
        printed += result.output + result.stderr
    public = [*tmp_path.glob("*.public.json"), *tmp_path.glob("*.keys.json")]
    printed += "".join(path.read_text() for path in [*public, tmp_path / "directory.json"])
    damaged = (tmp_path / "authority.json").read_text()
    secrets = secrets_in(tmp_path)
    for content in (damaged[:-40], damaged.replace('"version"', '"verzion"')):
        (tmp_path / "authority.json").write_text(content)
        result = caddis("keys", "show")
        assert result.exit_code == 1
        printed += result.output + result.stderr
    assert len(secrets) > 30
    for secret in secrets:
        for form in (secret.hex(), base64.b64encode(secret).decode(), repr(secret)[2:-1]):
            assert form not in printed
