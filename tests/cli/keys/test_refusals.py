"""What `caddis keys` refuses: one sentence, and the authority's file stays as it was."""

from pathlib import Path

import pytest

from tests.cli.commands import SCHEMA

MISTAKES = [
    (["init"], "authority.json exists already"),
    (["identity", "ann"], "ann.public.json exists already"),
    (["identity", "a/b"], "is no name of a party"),
    (["register", "nobody.json"], "nobody.json: there is no such file"),
    (["register", "ann.identity.json"], "this is no public identity, but 'identity'"),
    (["stream", "homes", "--schema", SCHEMA], "'homes' exists already"),
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
    (["issue", "--dir", "offers.txt"], "offers.txt: File exists"),
    (["show", "offers.jsonl"], "offers.jsonl was not written by caddis keys"),
    (["show", "offers.txt"], "offers.txt is damaged, or not a key file"),
    (["show", "--authority", "nowhere.json"], "nowhere.json: there is no such file"),
]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    MISTAKES,
    ids=lambda one: "-".join(one)[:40] if isinstance(one, list) else "",
)
def test_a_mistake_is_one_sentence_and_changes_nothing(homes, caddis, arguments, complaint):
    Path("offers.txt").write_text("kayak")
    Path("offers.jsonl").write_text('{"event_id": 1}')
    before = Path("authority.json").read_bytes()
    result = caddis("keys", *arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1
    assert Path("authority.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ann"], "name either a stream or --everywhere"),
        (["ann", "homes", "--everywhere"], "name either a stream or --everywhere"),
        (["ann", "homes", "--compromised"], "needs --everywhere"),
    ],
)
def test_what_is_revoked_has_to_be_named(homes, caddis, arguments, complaint):
    result = caddis("keys", "revoke", *arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_nobody_gets_keys_before_somebody_is_granted_something(keys, caddis):
    keys("init")
    assert "nobody is entitled to anything yet: caddis keys grant" in caddis("keys", "issue").stderr


def test_a_file_that_others_can_read_is_refused_with_what_to_do(homes, caddis):
    Path("authority.json").chmod(0o644)
    result = caddis("keys", "rotate", "homes")
    assert result.exit_code == 1
    assert "chmod 600 authority.json" in result.stderr
