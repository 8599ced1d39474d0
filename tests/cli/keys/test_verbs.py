"""`caddis keys`: grants, rotations and revocations as its users call them."""

import json
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from caddis.cli.keys.command import RotateOptions
from caddis.cli.keys.verbs import rotate
from caddis.errors import AccessError, NotEntitled
from caddis.sealed.keys import Directory, KeyRing, read_authority
from tests.cli.commands import SCHEMA, assert_explained

PAGE = Path(__file__).parents[3] / "docs" / "keys.md"
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
    result = homes("revoke", "ann", "homes")
    assert "'homes' is in epoch 2" in result
    assert "caddis keys issue bo pat" in result
    homes("rotate", "homes")
    homes("issue")
    assert ring("ann").epochs("homes") == (1,)
    assert ring("bo").epochs("homes") == (1, 2, 3)
    with pytest.raises(NotEntitled):
        ring("ann").subscriber_keys("homes", 2)


def test_a_revoked_publisher_leaves_the_directory_and_a_rotation_is_advised(homes):
    result = homes("revoke", "pat", "homes", "--role", "publisher")
    assert "a rotation makes it worthless: caddis keys rotate homes" in result
    homes("directory")
    assert not Directory.read(Path("directory.json")).may_publish("pat", "homes")


def test_at_once_refuses_earlier_epochs(homes):
    homes("revoke", "ann", "--everywhere", "--at-once")
    homes("directory")
    assert list(Directory.read(Path("directory.json")).streams["homes"].accepted) == [2]


def test_compromised_keys_are_shown_as_such_and_get_nothing(homes):
    result = homes("revoke", "pat", "--everywhere", "--compromised")
    assert "Nothing that was ever signed with the keys of 'pat' is believed any more" in result
    homes("directory")
    assert Directory.read(Path("directory.json")).publishers["pat"].compromised
    [row] = json.loads(homes("show", "directory.json", "--json"))["publishers"]
    assert row["compromised"] == "yes"
    summary = json.loads(homes("issue", "--json"))
    assert [one["name"] for one in summary["issued"]] == ["ann", "bo"]


def test_one_whose_keys_cannot_be_written_keeps_nobody_else_from_theirs(homes, caddis):
    Path("ann.keys.json").mkdir()
    result = caddis("keys", "issue")
    assert result.exit_code == 1
    assert "ann.keys.json: Is a directory; the keys of 2 others are written" in result.stderr
    assert ring("bo").epochs("homes") == ring("pat").epochs("homes") == (1,)


def test_a_bundle_in_other_hands_does_not_open(homes):
    homes("issue", "ann")
    Path("ann.keys.json").rename("bo.keys.json")
    with pytest.raises(AccessError, match="is for 'ann', not for 'bo'"):
        ring("bo")


def test_columns_can_come_from_a_file_of_events(homes):
    Path("offers.jsonl").write_text('{"event_id": 1, "city": "Cork", "sqm": 3.5}\n')
    options = ("--scheme", "tokens", "--ordered-text", "city", "--no-presence", "--overlap", "0")
    summary = json.loads(homes("stream", "flats", "--events", "offers.jsonl", *options, "--json"))
    assert summary["columns"] == summary["ordered"] == ["event_id", "city", "sqm"]
    assert summary["scheme"] == "tokens"


def test_the_authority_s_file_may_be_anywhere(keys, tmp_path, monkeypatch):
    result = keys("init", "--authority", "my safe.json")
    assert "--authority 'my safe.json'" in result
    monkeypatch.setenv("CADDIS_AUTHORITY", "my safe.json")
    keys("stream", "homes", "--schema", SCHEMA)
    assert list(read_authority(tmp_path / "my safe.json").streams) == ["homes"]


def test_nothing_is_registered_if_one_cannot_be(homes, caddis):
    Path("more").mkdir()
    homes("identity", "zoe", "--dir", "more")
    homes("identity", "ann", "--dir", "more")
    result = caddis("keys", "register", "more/zoe.public.json", "more/ann.public.json")
    assert "'ann' is registered with other keys" in result.stderr
    assert "zoe" not in read_authority(Path("authority.json")).parties


def test_two_commands_at_once_lose_nothing(homes):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: rotate(RotateOptions(streams=["homes"])), range(16)))
    assert read_authority(Path("authority.json")).streams["homes"].epoch == 17


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_explains_itself_with_examples(verb):
    assert_explained("keys", verb)


def test_the_help_lists_a_verb_s_own_options_before_those_of_all_verbs(caddis):
    text = caddis("keys", "rotate", "--help").stdout
    assert text.index("--at-once ") < text.index("--authority ") < text.index("--json ")


def test_the_commands_on_the_page_run_in_their_order(keys):
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", "").splitlines()]
    commands = [shlex.split(line, comments=True) for line in lines if line.strip()]
    assert {words[2] for words in commands} == set(VERBS)
    for words in commands:
        assert words[:2] == ["caddis", "keys"]
        keys(*words[2:])
