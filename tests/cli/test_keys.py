"""`caddis keys` as its users call it: what it does, refuses, and never shows."""

import base64
import json
import os
import re
import shlex
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from caddis.cli.app import app
from caddis.cli.keys.command import RotateOptions
from caddis.cli.keys.verbs import rotate
from caddis.errors import AccessError, NotEntitled
from caddis.sealed.keys.authority_files import read_authority
from caddis.sealed.keys.directory import Directory
from caddis.sealed.keys.entitlements import ROLES
from caddis.sealed.keys.identities import Identity
from caddis.sealed.keys.rings import KeyRing

PAGE = Path(__file__).parents[2] / "docs" / "keys.md"
VERBS = (
    "init",
    "identity",
    "register",
    "stream",
    "grant",
    "revoke",
    "rotate",
    "issue",
    "directory",
    "show",
)
SCHEMA = "city STRING, price INT"


@pytest.fixture
def keys(tmp_path, monkeypatch):
    """Calls `caddis keys` in an empty folder, and fails if that fails."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CADDIS_AUTHORITY", raising=False)

    def call(*arguments: object) -> str:
        said = CliRunner().invoke(app, ["keys", *map(str, arguments)])
        assert said.exit_code == 0, said.output
        return said.stdout

    return call


@pytest.fixture(scope="module")
def homes_files(tmp_path_factory) -> Path:
    """Of pat, who publishes what ann and bo read."""
    folder: Path = tmp_path_factory.mktemp("homes")

    def call(*words: str) -> None:
        place = [] if words[0] == "identity" else ["--authority", str(folder / "authority.json")]
        said = CliRunner().invoke(app, ["keys", *words, *place])
        assert said.exit_code == 0, said.output

    call("init")
    for name in ("pat", "ann", "bo"):
        call("identity", name, "--dir", str(folder))
    call("register", *(str(folder / f"{name}.public.json") for name in ("pat", "ann", "bo")))
    call("stream", "homes", "--schema", SCHEMA)
    call("grant", "pat", "homes", "--role", "publisher")
    call("grant", "ann", "homes", "--role", "subscriber")
    call("grant", "bo", "homes", "--role", "subscriber")
    return folder


@pytest.fixture
def homes(keys, homes_files, tmp_path):
    """The same as `keys`, in a folder with these files."""
    shutil.copytree(homes_files, tmp_path, dirs_exist_ok=True)
    return keys


def ring(name: str) -> KeyRing:
    return KeyRing.read(Path(f"{name}.identity.json"), Path(f"{name}.keys.json"))


def test_keys_reach_those_who_were_granted(homes):
    homes("issue")
    homes("directory")
    directory = Directory.read(Path("directory.json"))
    assert directory.may_publish("pat", "homes")
    assert ring("pat").publisher_keys("homes").design.schema.names == ["city", "price"]
    assert (
        ring("ann").subscriber_keys("homes").content == ring("bo").subscriber_keys("homes").content
    )


def test_a_revoked_subscriber_gets_nothing_of_later_epochs(homes):
    said = homes("revoke", "ann", "homes")
    assert "'homes' is in epoch 2" in said
    assert "caddis keys issue bo pat" in said
    homes("rotate", "homes")
    homes("issue")
    assert ring("ann").epochs("homes") == (1,)
    assert ring("bo").epochs("homes") == (1, 2, 3)
    with pytest.raises(NotEntitled):
        ring("ann").subscriber_keys("homes", 2)


def test_a_revoked_publisher_leaves_the_directory_and_a_rotation_is_advised(homes):
    said = homes("revoke", "pat", "homes", "--role", "publisher")
    assert "a rotation makes it worthless: caddis keys rotate homes" in said
    homes("directory")
    assert not Directory.read(Path("directory.json")).may_publish("pat", "homes")


def test_at_once_refuses_earlier_epochs(homes):
    homes("revoke", "ann", "--everywhere", "--at-once")
    homes("directory")
    assert list(Directory.read(Path("directory.json")).streams["homes"].accepted) == [2]


def test_compromised_keys_are_shown_as_such_and_get_nothing(homes):
    said = homes("revoke", "pat", "--everywhere", "--compromised")
    assert "Nothing that was ever signed with the keys of 'pat' is believed any more" in said
    homes("directory")
    assert Directory.read(Path("directory.json")).publishers["pat"].compromised
    [row] = json.loads(homes("show", "directory.json", "--json"))["publishers"]
    assert row["compromised"] == "yes"
    told = json.loads(homes("issue", "--json"))
    assert [one["name"] for one in told["issued"]] == ["ann", "bo"]


def test_one_whose_keys_cannot_be_written_keeps_nobody_else_from_theirs(homes, caddis):
    Path("ann.keys.json").mkdir()
    said = caddis("keys", "issue")
    assert said.exit_code == 1
    assert "ann.keys.json: Is a directory; the keys of 2 others are written" in said.stderr
    assert ring("bo").epochs("homes") == ring("pat").epochs("homes") == (1,)


def test_a_bundle_in_other_hands_does_not_open(homes):
    homes("issue", "ann")
    Path("ann.keys.json").rename("bo.keys.json")
    with pytest.raises(AccessError, match="is for 'ann', not for 'bo'"):
        ring("bo")


def test_columns_can_come_from_a_file_of_events(homes):
    Path("offers.jsonl").write_text('{"event_id": 1, "city": "Cork", "sqm": 3.5}\n')
    options = ("--scheme", "tokens", "--ordered-text", "city", "--no-presence", "--overlap", "0")
    told = json.loads(homes("stream", "flats", "--events", "offers.jsonl", *options, "--json"))
    assert told["columns"] == told["ordered"] == ["event_id", "city", "sqm"]
    assert told["scheme"] == "tokens"


def test_the_authority_may_lie_elsewhere(keys, tmp_path, monkeypatch):
    said = keys("init", "--authority", "my safe.json")
    assert "--authority 'my safe.json'" in said
    monkeypatch.setenv("CADDIS_AUTHORITY", "my safe.json")
    keys("stream", "homes", "--schema", SCHEMA)
    assert list(read_authority(tmp_path / "my safe.json").streams) == ["homes"]


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


MISTAKES = [
    (["init"], "authority.json exists already"),
    (["identity", "ann"], "ann.public.json exists already"),
    (["identity", "a/b"], "is no name of a party"),
    (["register", "nobody.json"], "nobody.json: there is no such file"),
    (["register", "ann.identity.json"], "this is no public identity, but 'identity'"),
    (["stream", "homes", "--schema", SCHEMA], "'homes' is there already"),
    (["stream", "boats"], "which columns do the events have?"),
    (["stream", "boats", "--schema", SCHEMA, "--events", "x"], "use only one of them"),
    (["stream", "boats", "--schema", "city"], "the schema cannot be read"),
    (["stream", "boats", "--schema", SCHEMA, "--padding", "3"], "padding is an even number"),
    (["stream", "boats", "--schema", SCHEMA, "--ordered-text", "price"], "no string column"),
    (["stream", "boats", "--events", "nowhere.csv"], "there is no such file or folder"),
    (["grant", "zoe", "homes", "--role", "publisher"], "'zoe' is not registered"),
    (["grant", "ann", "boats", "--role", "publisher"], "there is no stream 'boats'"),
    (["grant", "ann", "homes", "--role", "subscriber", "--since", "9"], "is in epoch 1"),
    (["revoke", "ann", "homes", "--role", "publisher"], "'ann' is no publisher of 'homes'"),
    (["rotate", "homes", "boats"], "there is no stream 'boats'"),
    (["issue", "zoe"], "'zoe' is not registered"),
    (["show", "offers.txt"], "offers.txt is damaged, or no file with keys"),
    (["show", "--authority", "nowhere.json"], "nowhere.json: there is no such file"),
]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    MISTAKES,
    ids=lambda one: "-".join(one)[:40] if isinstance(one, list) else "",
)
def test_a_mistake_is_one_sentence_and_changes_nothing(homes, caddis, arguments, complaint):
    Path("offers.txt").write_text("kayak")
    before = Path("authority.json").read_bytes()
    said = caddis("keys", *arguments)
    assert said.exit_code == 1
    assert said.stdout == ""
    assert complaint in said.stderr
    assert said.stderr.count("\n") == 1
    assert Path("authority.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ann"], "name either a stream or --everywhere"),
        (["ann", "homes", "--everywhere"], "name either a stream or --everywhere"),
        (["ann", "homes", "--compromised"], "needs --everywhere"),
    ],
)
def test_what_is_revoked_has_to_be_said(homes, caddis, arguments, complaint):
    said = caddis("keys", "revoke", *arguments)
    assert said.exit_code == 2
    assert complaint in said.stderr


def test_a_file_that_others_can_read_is_refused_with_what_to_do(homes, caddis):
    Path("authority.json").chmod(0o644)
    said = caddis("keys", "rotate", "homes")
    assert said.exit_code == 1
    assert "chmod 600 authority.json" in said.stderr


def test_nothing_is_registered_if_one_cannot_be(homes, caddis):
    Path("more").mkdir()
    homes("identity", "zoe", "--dir", "more")
    homes("identity", "ann", "--dir", "more")
    said = caddis("keys", "register", "more/zoe.public.json", "more/ann.public.json")
    assert "'ann' is registered with other keys" in said.stderr
    assert "zoe" not in read_authority(Path("authority.json")).parties


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
    told = ""
    for number, words in enumerate(commands):
        said = caddis("keys", *words, *(["--json"] if number % 2 else []))
        told += said.output + said.stderr
    public = [*tmp_path.glob("*.public.json"), *tmp_path.glob("*.keys.json")]
    told += "".join(path.read_text() for path in [*public, tmp_path / "directory.json"])
    damaged = (tmp_path / "authority.json").read_text()
    secrets = secrets_in(tmp_path)
    for content in (damaged[:-40], damaged.replace('"version"', '"verzion"')):
        (tmp_path / "authority.json").write_text(content)
        said = caddis("keys", "show")
        assert said.exit_code == 1
        told += said.output + said.stderr
    assert len(secrets) > 30
    for secret in secrets:
        for form in (secret.hex(), base64.b64encode(secret).decode(), repr(secret)[2:-1]):
            assert form not in told


def test_two_commands_at_once_lose_nothing(homes):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: rotate(RotateOptions(streams=["homes"])), range(16)))
    assert read_authority(Path("authority.json")).streams["homes"].epoch == 17


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_explains_itself_with_examples(caddis, verb):
    said = caddis("keys", verb, "--help").stdout
    explained, examples = said.split("Examples")
    assert "--json" in explained
    assert all(
        line.strip().startswith(f"caddis keys {verb}")
        for line in examples.split("\n")
        if line.strip()
    )


def test_a_file_of_another_authority_is_not_shown_where_one_is_named(homes, caddis):
    homes("issue")
    homes("directory")
    mine = json.loads(homes("show", "--json"))["fingerprint"]
    for file in ("ann.keys.json", "directory.json"):
        assert mine in homes("show", file, "--trust", mine)
        said = caddis("keys", "show", file, "--trust", mine[::-1])
        assert f"is signed by {mine}, not by {mine[::-1]}" in said.stderr
    said = caddis("keys", "show", "ann.public.json", "--trust", mine)
    assert "signs bundles and directories, but no public identity" in said.stderr


@pytest.mark.parametrize("verb", [["show"], ["show", "ann.public.json"], ["directory"], ["issue"]])
def test_json_is_one_object(homes, verb):
    assert isinstance(json.loads(homes(*verb, "--json")), dict)


def test_the_commands_on_the_page_run_in_their_order(keys):
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", "").splitlines()]
    commands = [shlex.split(line, comments=True) for line in lines if line.strip()]
    assert {words[2] for words in commands} == set(VERBS)
    for words in commands:
        assert words[:2] == ["caddis", "keys"]
        keys(*words[2:])
