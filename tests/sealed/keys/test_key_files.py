"""Files with secrets are closed to others, whole, and silent about what is in them."""

import base64
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from caddis.errors import CaddisError, KeyFileError
from caddis.sealed.keys.authority import (
    Authority,
    authority_from_json,
    authority_json,
    change_authority,
    create_authority,
    read_authority,
)
from caddis.sealed.keys.documents import write_secret
from caddis.sealed.keys.identities import Identity, PublicIdentity
from caddis.sealed.keys.rings import KeyRing
from tests.sealed.parties import Chance, World, design, world


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def any_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("any_umask")
def test_files_with_secrets_are_their_owner_s_alone(tmp_path):
    identity, authority = tmp_path / "ann.identity", tmp_path / "authority"
    Identity.new("ann", Chance()).write(identity)
    create_authority(authority, Authority.new(Chance()))
    assert [mode(identity), mode(authority)] == [0o600, 0o600]
    change_authority(authority, lambda one: one.add_stream(design(), Chance()))
    assert {mode(path) for path in tmp_path.iterdir() if path.suffix != ".lock"} == {0o600}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".authority.lock",
        "ann.identity",
        "authority",
    ]


def test_a_secret_file_is_never_open_to_others_while_it_is_written(tmp_path, monkeypatch):
    """At the moment when the first byte could be in it, it has its mode."""
    seen = []
    opened = os.open

    def watched(path, flags, mode=0o777, **more):
        number = opened(path, flags, mode, **more)
        if flags & os.O_CREAT:
            seen.append(stat.S_IMODE(os.fstat(number).st_mode))
        return number

    monkeypatch.setattr(os, "open", watched)
    before = os.umask(0)
    try:
        write_secret(tmp_path / "a", {})
        write_secret(tmp_path / "a", {}, replace=True)
    finally:
        os.umask(before)
    assert seen == [0o600, 0o600]


def test_identities_and_authorities_come_back(tmp_path):
    made = world()
    made.grant("ann", "subscriber")
    made.grant("pat", "publisher")
    made.revoke("ann")
    made.grant("ann", "subscriber")
    made.authority = made.authority.distrust("bo")
    create_authority(tmp_path / "authority", made.authority)
    again = read_authority(tmp_path / "authority")
    assert authority_json(again) == authority_json(made.authority)
    assert again.directory() == made.authority.directory()
    ann = made.identities["ann"]
    ann.write(tmp_path / "ann")
    ann.public.write(tmp_path / "ann.public")
    again.issue("ann").write(tmp_path / "bundle")
    assert PublicIdentity.read(tmp_path / "ann.public") == Identity.read(tmp_path / "ann").public
    ring = KeyRing.read(tmp_path / "ann", tmp_path / "bundle", made.authority.fingerprint)
    assert ring.epochs("homes") == (1, 2)


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o620, 0o601])
def test_a_secret_file_that_others_can_reach_is_not_read(tmp_path, bits):
    path = tmp_path / "ann"
    Identity.new("ann", Chance()).write(path)
    path.chmod(bits)
    with pytest.raises(KeyFileError, match=f"chmod 600 {path}"):
        Identity.read(path)


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    path = tmp_path / "ann"
    Identity.new("ann", Chance()).write(path)
    before = path.read_bytes()
    with pytest.raises(KeyFileError, match="exists already"):
        Identity.new("ann", Chance(1)).write(path)
    assert path.read_bytes() == before


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "authority"
    create_authority(path, Authority.new(Chance()))
    before = path.read_bytes()

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeyFileError, match="No space left"):
        change_authority(path, lambda one: one.add_stream(design(), Chance()))
    with pytest.raises(KeyFileError, match="No space left"):
        Identity.new("ann", Chance()).write(tmp_path / "ann")
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == [".authority.lock", "authority"]


KILLED = """
import os, signal, sys
from pathlib import Path
from caddis.sealed.keys.documents import write_secret
os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)
write_secret(Path(sys.argv[1]), {"secret": 1}, replace=sys.argv[2] == "replace")
"""


@pytest.mark.parametrize("how", ["create", "replace"])
def test_a_kill_leaves_no_part_of_a_file_at_its_name_and_the_next_write_tidies_up(tmp_path, how):
    path = tmp_path / "ann [1].json"
    if how == "replace":
        write_secret(path, {"secret": 0})
    before = sorted(tmp_path.iterdir())
    process = subprocess.run([sys.executable, "-c", KILLED, str(path), how], check=False)
    assert process.returncode == -signal.SIGKILL
    left = [one for one in tmp_path.iterdir() if one not in before]
    assert [mode(one) for one in left] == [0o600]
    assert left[0].name.startswith(".ann [1].json.")
    mine = tmp_path / f".{path.name}.{os.getpid()}.1.new"
    mine.touch()
    write_secret(path, {"secret": 2}, replace=how == "replace")
    assert set(tmp_path.iterdir()) == {path, mine}
    assert json.loads(path.read_text()) == {"secret": 2}


def test_a_linked_authority_is_changed_where_it_lies(tmp_path):
    safe, link = tmp_path / "safe" / "authority.json", tmp_path / "authority.json"
    safe.parent.mkdir()
    create_authority(safe, Authority.new(Chance()))
    link.symlink_to(safe)
    change_authority(link, lambda one: one.add_stream(design(), Chance()))
    change_authority(safe, lambda one: one.rotate("homes"))
    assert link.is_symlink()
    assert read_authority(link).streams["homes"].epoch == 2
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".lock"] == []
    with pytest.raises(KeyFileError, match="exists already"):
        create_authority(link, Authority.new(Chance()))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is damaged"),
        (b"\xff\xfe", "is damaged"),
        (b"[" * 100_000, "is damaged"),
        (b"null", "is not a JSON object"),
        (b"{}", "this is no identity"),
        (b'{"caddis": "bundle"}', "this is no identity, but 'bundle'"),
        (b'{"caddis": "identity", "format": 2}', "a format that this version"),
        (b'{"caddis": "identity", "format": 1}', "'content' is missing"),
        (b'{"caddis": "public identity", "format": 1}', "public half"),
    ],
)
def test_a_damaged_file_is_refused_by_its_name(tmp_path, content, message):
    path = tmp_path / "ann"
    path.touch(0o600)
    path.write_bytes(content)
    with pytest.raises(KeyFileError, match=message) as refused:
        Identity.read(path)
    assert str(path) in str(refused.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(KeyFileError, match="there is no such file"):
        Identity.read(tmp_path / "ann")
    with pytest.raises(KeyFileError, match="is not a regular file"):
        Identity.read(tmp_path)
    with pytest.raises(KeyFileError, match="there is no such file"):
        change_authority(tmp_path / "authority", lambda one: one)
    assert list(tmp_path.iterdir()) == []


def test_changes_at_once_lose_none(tmp_path):
    path = tmp_path / "authority"
    create_authority(path, Authority.new(Chance()).add_stream(design(), Chance()))
    parties = [Identity.new(f"p{number}", Chance(number)).public for number in range(12)]

    def register(party: PublicIdentity) -> None:
        change_authority(path, lambda one: one.register(party).rotate("homes"))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(register, parties))
    after = read_authority(path)
    assert set(after.parties) == {party.name for party in parties}
    assert after.streams["homes"].epoch == 13


def forms(secret: bytes) -> list[str]:
    return [secret.hex(), base64.b64encode(secret).decode(), repr(secret)[2:-1]]


def secrets_of(made: World) -> list[bytes]:
    streams = made.authority.streams.values()
    derived = [
        secret
        for stream in streams
        for name in made.identities
        for role in ("publisher", "subscriber")
        for material in [stream.material(1, role, name)]
        for secret in (material.matching, material.content)
    ]
    return made.chance.drawn + derived


def test_nothing_that_is_shown_has_a_secret_in_it(tmp_path):
    made = world()
    made.grant("ann", "subscriber")
    made.grant("pat", "publisher")
    ring = KeyRing.open(made.identities["ann"], made.authority.issue("ann"))
    theirs = KeyRing.open(made.identities["pat"], made.authority.issue("pat"))
    things = [
        made.authority,
        *made.authority.streams.values(),
        made.authority.streams["homes"].material(1, "publisher", "pat"),
        made.authority.issue("ann"),
        made.authority.directory(),
        ring,
        theirs,
        ring.subscriber_keys("homes"),
        theirs.publisher_keys("homes"),
        *made.identities.values(),
    ]
    printed = "".join(f"{one!r}{one}" for one in things)
    printed += json.dumps(made.authority.issue("ann").as_json())
    printed += json.dumps(made.authority.directory().as_json())
    secrets = secrets_of(made)
    assert len(secrets) > 10
    assert not [secret for secret in secrets for form in forms(secret) if form in printed]


def test_no_error_about_a_damaged_file_shows_a_secret(tmp_path):
    made = world()
    made.grant("ann", "subscriber")
    path = tmp_path / "authority"
    create_authority(path, made.authority)
    text = path.read_text()
    damages = [text[:cut] for cut in range(0, len(text) - 2, 97)]
    damages += [text.replace("=", "!"), text.replace('"', "'"), text.replace("A", "AA")]
    messages = []
    for damaged in damages:
        path.write_text(damaged)
        with pytest.raises(CaddisError) as refused:
            read_authority(path)
        messages.append(f"{refused.value!r} {refused.value.__cause__!r}")
    shown = " ".join(messages)
    assert not [one for one in secrets_of(made) for form in forms(one) if form in shown]


def test_a_grant_to_nobody_is_a_damage():
    made = world()
    made.grant("ann", "subscriber")
    plain = json.loads(json.dumps(authority_json(made.authority)))
    plain["content"]["parties"] = []
    with pytest.raises(KeyFileError, match="a grant names a party"):
        authority_from_json(plain)
