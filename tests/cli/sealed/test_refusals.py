"""What all verbs of `caddis sealed` refuse: one sentence, and nothing is written."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caddis.sealed.keys import Authority, read_authority
from tests.cli.commands import assert_explained
from tests.cli.sealed.homes import MATCH, OPEN, SEAL, SUBSCRIBE, SUBSCRIPTIONS, summary_of

VERBS = ("events", "subscriptions", "match", "open", "demo")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_explains_itself_with_examples(verb):
    assert_explained("sealed", verb)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("events", "nowhere.csv", "--as", "pat"), "nowhere.csv: there is no such file"),
        (("events", "offers.jsonl", "--as", "mo"), "mo.identity.json: there is no such file"),
        (("events", "offers.jsonl", "--as", "ann"), "'ann' is no publisher of any stream"),
        (
            ("events", "offers.jsonl", "--as", "pat", "--stream", "boats"),
            "'pat' has no keys to publish 'boats'",
        ),
        (("events", "offers.jsonl", "--as", "pat", "--epoch", "7"), "in epoch 7"),
        (
            ("events", "offers.jsonl", "--as", "pat", "--out", "x.csv"),
            "x.csv: sealed events are Parquet files; end it in .parquet",
        ),
        (("events", "more.jsonl", "--as", "pat"), "no column 'colour', so it would be lost"),
        (("events", "offers.jsonl", "--as", "pat", "--event-key", "key"), "no column 'key'"),
        (("events", "none.parquet", "--as", "pat"), "none.parquet holds no events"),
        (("subscriptions", "offers.jsonl", "--as", "ann"), "there is no column 'subscription_id'"),
        (
            ("subscriptions", "subscriptions.csv", "--as", "pat"),
            "'pat' is no subscriber of any stream",
        ),
        (
            ("match", "offers.jsonl", "--subscriptions", "subscriptions.csv"),
            "events are Parquet files",
        ),
        (
            ("match", "plain.parquet", "--subscriptions", "w.csv", "--directory", "offers.jsonl"),
            "no such file or folder",
        ),
        (
            ("match", "mixed", "--subscriptions", "subscriptions.csv"),
            "ids of events are numbers in mixed/1.parquet and texts in mixed/2.parquet",
        ),
        (
            ("match", "broken.parquet", "--subscriptions", "subscriptions.csv"),
            "broken.parquet cannot be read",
        ),
        (
            ("match", "empty", "--subscriptions", "subscriptions.csv"),
            "empty is empty; there are no sealed events in it",
        ),
        (("subscriptions", "empty", "--as", "ann"), "empty is empty\n"),
        (
            ("open", "empty", "--subscriptions", "subscriptions.csv", "--as", "ann"),
            "no sealed events in it",
        ),
        (
            ("open", "plain.parquet", "--subscriptions", "subscriptions.csv", "--as", "ann"),
            "are not sealed",
        ),
        (
            ("open", "plain.parquet", *OPEN[2:], "--keys", "other"),
            "other/ann.identity.json: there is no such file",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(caddis, homes, arguments, complaint):
    Path("more.jsonl").write_text('{"event_id": 1, "city": "Cork", "colour": "red"}\n')
    Path("broken.parquet").write_text("kayak")
    Path("empty").mkdir()
    Path("mixed").mkdir()
    plain = pa.table({"event_id": [1], "city": ["Cork"]})
    for file, table in {
        "plain": plain,
        "none": plain.slice(1),
        "mixed/1": plain,
        "mixed/2": pa.table({"event_id": ["a"]}),
    }.items():
        pq.write_table(table, f"{file}.parquet")
    before = sorted(homes.iterdir())
    out = () if "--out" in arguments else ("--out", "out.parquet")
    result = caddis("sealed", *arguments, *out)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert complaint in result.stderr
    assert sorted(homes.iterdir()) == before


def test_one_of_several_streams_has_to_be_named(caddis, homes, seal):
    for words in (
        ("stream", "boats", "--schema", "city STRING"),
        ("grant", "pat", "boats", "--role", "publisher"),
        ("issue", "pat"),
    ):
        assert caddis("keys", *words).exit_code == 0
    assert "choose one with --stream: boats, homes" in seal().stderr
    assert seal("--stream", "homes").exit_code == 0


@pytest.mark.parametrize("out", ["subscriptions.csv", "folder", "noname"])
def test_what_is_there_is_not_written_over(caddis, homes, subscribe, out):
    Path("folder").mkdir()
    result = subscribe(out=out)
    assert result.exit_code == 1
    assert any(
        part in result.stderr
        for part in ("exists already", "is a folder", "does not show the format")
    )
    assert Path("subscriptions.csv").read_text() == SUBSCRIPTIONS


def test_keys_of_two_authorities_do_not_go_together(caddis, sealed, open_):
    caddis("keys", "init", "--authority", "other.json")
    caddis("keys", "directory", "--authority", "other.json", "--out", "theirs.json")
    assert "the directory is of another one" in open_("--directory", "theirs.json").stderr


@pytest.mark.parametrize("verb", [SEAL, SUBSCRIBE, OPEN, MATCH], ids=lambda verb: verb[0])
def test_files_of_another_authority_are_refused_where_one_is_named(caddis, homes, seal, verb):
    """Whoever can replace ann's keys and the directory could otherwise read her subscriptions."""
    seal()
    mine = read_authority(Path("authority.json")).fingerprint
    theirs = Authority.new(os.urandom).fingerprint
    result = caddis("sealed", *verb, "--out", "out.parquet", "--trust", theirs)
    assert f"is signed by {mine}, not by {theirs}" in result.stderr
    result = caddis("sealed", *verb, "--out", "out.parquet", "--trust", mine[:4])
    assert "is no fingerprint" in result.stderr
    assert not Path("out.parquet").exists()


@pytest.mark.parametrize("verb", [SEAL, SUBSCRIBE, OPEN], ids=lambda verb: verb[0])
def test_a_verb_tells_whose_keys_it_believed(caddis, sealed, verb):
    mine = read_authority(Path("authority.json")).fingerprint
    result = caddis("sealed", *verb, "--out", "out.parquet", "--trust", mine.upper(), "--json")
    assert summary_of(result)["authority"] == mine
    assert f"of authority {mine}" in caddis("sealed", *verb, "--out", "more.parquet").stdout


def test_a_key_file_that_others_can_read_is_refused(homes, seal):
    Path("pat.identity.json").chmod(0o644)
    result = seal()
    assert result.exit_code == 1
    assert "chmod 600 pat.identity.json" in result.stderr
