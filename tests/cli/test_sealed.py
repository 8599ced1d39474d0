"""`caddis sealed` without Spark: what is sealed, opened, explained and refused."""

import contextlib
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from caddis.cli.app import app
from caddis.cli.sealed.demo import broker_process, plain_matches
from caddis.cli.sealed.demo_parties import SUBSCRIBERS, Town, make_up, settle
from caddis.cli.sealed.demo_summary import (
    ATTACKS,
    BrokerTold,
    DemoSummary,
    Received,
    Stolen,
    with_attacks,
)
from caddis.cli.sealed.files import write_table
from caddis.cli.sealed.matching import NO_ID, REPEATED, SealedMatchSummary, each_id_once
from caddis.errors import CaddisError
from caddis.sealed.events.gate import Gate
from caddis.sealed.keys.authority import Authority
from caddis.sealed.keys.authority_files import change_authority, read_authority
from caddis.sealed.keys.directory import Directory
from caddis.sealed.matcher.matcher import SealedMatcher

VERBS = ("events", "subscriptions", "match", "open", "demo")
OFFERS = """\
{"event_id": 1, "city": "Galway", "price": 150, "tags": ["sea"]}
{"event_id": 2, "city": "Cork", "price": 90, "tags": []}
{"event_id": 3, "city": "Galway", "price": null, "tags": ["sea", "new"]}
"""
WISHES = """\
subscription_id,where
1,city = 'Galway' AND price < 200
2,"array_contains(tags, 'new') OR city LIKE '%rk'"
3,price IS NULL AND city = 'Cork'
"""
SCHEMA = "city STRING, price INT, tags ARRAY<STRING>"
WANTED = {(1, 1), (2, 2), (3, 2)}


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority, and keys of pat, who publishes homes, and ann, who reads them."""
    folder = tmp_path_factory.mktemp("keys")
    commands = [
        ("init",),
        ("identity", "pat"),
        ("identity", "ann"),
        ("register", "pat.public.json", "ann.public.json"),
        ("stream", "homes", "--schema", SCHEMA),
        ("grant", "pat", "homes", "--role", "publisher"),
        ("grant", "ann", "homes", "--role", "subscriber"),
        ("issue",),
        ("directory",),
    ]
    with contextlib.chdir(folder):
        for words in commands:
            assert CliRunner().invoke(app, ["keys", *words]).exit_code == 0, words
        Path("offers.jsonl").write_text(OFFERS)
        Path("wishes.csv").write_text(WISHES)
    return folder


@pytest.fixture
def homes(handed_out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of these, with offers and wishes."""
    here = tmp_path / "homes"
    shutil.copytree(handed_out, here)
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def seal(caddis: Callable[..., Result]) -> Callable[..., Result]:
    def call(*more: str, out: str = "sealed.parquet") -> Result:
        return caddis("sealed", "events", "offers.jsonl", "--as", "pat", "--out", out, *more)

    return call


@pytest.fixture
def subscribe(caddis: Callable[..., Result]) -> Callable[..., Result]:
    def call(*more: str, out: str = "ann.parquet") -> Result:
        return caddis("sealed", "subscriptions", "wishes.csv", "--as", "ann", "--out", out, *more)

    return call


@pytest.fixture
def open_(caddis: Callable[..., Result]) -> Callable[..., Result]:
    def call(*more: str, out: str = "mine.parquet") -> Result:
        wishes = ("--wishes", "wishes.csv", "--as", "ann", "--out", out)
        return caddis("sealed", "open", "sealed.parquet", *wishes, *more)

    return call


def opened(path: str = "mine.parquet") -> set[tuple[object, object]]:
    rows = pq.read_table(path, columns=["event_id", "subscription_id"]).to_pydict()
    return set(zip(*rows.values(), strict=True))


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_explains_itself_with_examples(caddis, verb):
    explained, examples = caddis("sealed", verb, "--help").stdout.split("Examples")
    assert "--json" in explained
    lines = [line.strip() for line in examples.split("\n") if line.strip()]
    assert all(line.startswith(f"caddis sealed {verb}") for line in lines)


@pytest.mark.parametrize("format_", ["jsonl", "csv", "parquet"])
def test_what_is_sealed_and_opened_is_what_plain_matching_finds(
    caddis, homes, seal, open_, format_
):
    if format_ == "parquet":
        rows = [json.loads(line) for line in OFFERS.splitlines()]
        pq.write_table(pa.Table.from_pylist(rows), "offers.parquet")
    if format_ == "csv":
        Path("offers.csv").write_text("event_id,city,price\n1,Galway,150\n2,Cork,90\n3,Galway,\n")
    told = caddis(
        "sealed", "events", f"offers.{format_}", "--as", "pat", "--out", "sealed.parquet", "--json"
    )
    missing = ["tags"] if format_ == "csv" else []
    assert json.loads(told.stdout)["missing"] == missing
    assert open_().exit_code == 0
    assert opened() == (WANTED - {(3, 2)} if missing else WANTED)
    if not missing:
        [row] = pq.read_table("mine.parquet", filters=[("event_id", "=", 1)]).to_pylist()
        assert row == {
            "subscription_id": 1,
            "event_id": 1,
            "city": "Galway",
            "price": 150,
            "tags": ["sea"],
        }


def test_sealed_files_show_nothing_of_what_is_in_them(homes, seal, subscribe):
    assert seal().exit_code == subscribe().exit_code == 0
    for file in ("sealed.parquet", "ann.parquet"):
        table = pq.read_table(file).to_pylist()
        assert not any(word in str(table) for word in ("Galway", "Cork", "city", "price"))


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_broker_can_use_sealed_subscriptions_of_any_format(caddis, homes, seal, subscribe, form):
    from caddis.files.tables import read_subscriptions

    assert seal().exit_code == subscribe(out=f"ann.{form}").exit_code == 0
    table = read_subscriptions(Path(f"ann.{form}"))
    publishers = Directory.read(Path("directory.json"))
    matcher = SealedMatcher.compile(table, publishers=publishers)
    [batch] = pq.read_table("sealed.parquet").to_batches()
    found = matcher.match(batch, Gate(publishers).admit(batch))
    ids = batch.column("event_id").take(pa.array(found.rows)).to_pylist()
    owners = matcher.subscription_ids.take(pa.array(found.links)).to_pylist()
    assert set(zip(ids, owners, strict=True)) >= WANTED


def test_only_what_a_broker_found_is_opened_if_its_matches_are_given(homes, seal, open_):
    seal()
    Path("found.csv").write_text("event_id,subscription_id\n1,1\n2,77\n")
    told = json.loads(open_("--matches", "found.csv", "--json").stdout)
    assert (told["sealed"], told["opened"], told["kept"]) == (1, 1, 1)
    assert opened() == {(1, 1)}


@pytest.fixture
def named_by_texts(homes: Path) -> None:
    """Offers and wishes whose ids look like numbers or days, and are none."""
    lines = [json.loads(line) for line in OFFERS.splitlines()]
    names = ("007", "2026-05-01", "9")
    offers = [{**line, "event_id": name} for line, name in zip(lines, names, strict=True)]
    Path("offers.jsonl").write_text("\n".join(map(json.dumps, offers)))
    Path("wishes.csv").write_text(WISHES.replace("\n1,", "\n001,"))


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_matches_007_of_the_wish_001_are_found_in_any_format(named_by_texts, seal, open_, form):
    seal()
    found = pa.table({"event_id": ["007", "2026-05-01"], "subscription_id": ["001", "2"]})
    write_table(found, Path(f"found.{form}"))
    told = json.loads(open_("--matches", f"found.{form}", "--json").stdout)
    assert (told["sealed"], told["kept"]) == (2, 2)
    assert opened() == {("007", "001"), ("2026-05-01", "2")}


def test_matches_of_json_may_name_events_by_numbers_and_wishes_by_texts(homes, seal, open_):
    seal()
    Path("wishes.csv").write_text(WISHES.replace("\n1,", "\n001,"))
    Path("found.jsonl").write_text('{"event_id": 1, "subscription_id": "001"}\n')
    assert json.loads(open_("--matches", "found.jsonl", "--json").stdout)["kept"] == 1


def test_matches_of_other_events_are_told(homes, seal, open_):
    seal()
    Path("found.csv").write_text("event_id,subscription_id\n71,1\n72,2\n73,99\n")
    said = open_("--matches", "found.csv")
    assert "none of the 2 events that found.csv names is in sealed.parquet" in said.stderr
    assert not Path("mine.parquet").exists()


def test_a_broker_that_found_nothing_has_left_an_empty_folder(homes, seal, open_):
    seal()
    Path("found").mkdir()
    Path("found/part-0.csv").touch()
    assert json.loads(open_("--matches", "found", "--json").stdout)["sealed"] == 0


def test_events_without_a_stream_are_refused_and_those_of_another_counted(homes, seal, open_):
    seal()
    table = pq.read_table("sealed.parquet")
    streams = pa.array(["homes", None, "boats"])
    fields = pa.schema([field.with_nullable(True) for field in table.schema])
    table = table.cast(fields).set_column(1, "stream", streams)
    pq.write_table(table, "sealed.parquet")
    told = json.loads(open_("--json").stdout)
    assert (told["sealed"], told["opened"], told["other_streams"]) == (2, 1, 1)
    assert told["refused"] == {"TruncatedEvent": 1}
    assert "other streams" in open_("--overwrite").stdout


def test_events_without_an_id_are_refused_though_no_broker_found_them(homes, seal, open_):
    seal()
    table = pq.read_table("sealed.parquet")
    fields = pa.schema([field.with_nullable(True) for field in table.schema])
    table = table.cast(fields).set_column(0, "event_id", pa.array([1, None, 3]))
    pq.write_table(table, "sealed.parquet")
    Path("found.csv").write_text("event_id,subscription_id\n1,1\n")
    told = json.loads(open_("--matches", "found.csv", "--json").stdout)
    assert (told["opened"], told["refused"]) == (1, {"TruncatedEvent": 1})


def test_streams_that_are_no_texts_are_not_sealed_events(homes, seal, open_):
    seal()
    table = pq.read_table("sealed.parquet").set_column(1, "stream", pa.array([1, 2, 3]))
    pq.write_table(table, "sealed.parquet")
    assert "the column 'stream' of sealed events cannot be int64" in open_().stderr


def test_ids_that_are_numbers_in_one_file_and_texts_in_another_are_texts(
    homes, seal, open_, caddis
):
    seal(out="sealed/a.parquet")
    renamed = OFFERS.replace('"event_id": ', '"event_id": "x').replace(', "city"', '", "city"')
    Path("offers.jsonl").write_text(renamed)
    assert seal(out="sealed/b.parquet").exit_code == 0
    wishes = ("--wishes", "wishes.csv", "--as", "ann", "--out", "mine.parquet")
    assert caddis("sealed", "open", "sealed", *wishes).exit_code == 0
    texts = {(str(event), owner) for event, owner in WANTED}
    assert opened() == texts | {(f"x{event}", owner) for event, owner in texts}


def test_events_that_share_an_id_are_counted_one_by_one(caddis, homes, seal):
    seal(out="sealed/a.parquet")
    seal(out="sealed/b.parquet")
    wishes = ("--wishes", "wishes.csv", "--as", "ann", "--out", "mine.parquet", "--json")
    told = json.loads(caddis("sealed", "open", "sealed", *wishes).stdout)
    assert (told["opened"], told["events"], told["kept"]) == (6, 6, 6)


def test_a_file_without_sealed_events_opens_to_nothing(homes, seal, open_):
    seal()
    pq.write_table(pq.read_table("sealed.parquet").slice(0, 0), "sealed.parquet")
    told = json.loads(open_("--json").stdout)
    assert (told["sealed"], told["kept"]) == (0, 0)


def test_an_event_that_was_changed_is_refused_and_the_others_are_opened(homes, seal, open_):
    seal()
    pq.write_table(with_attacks(pq.read_table("sealed.parquet")), "sealed.parquet")
    told = json.loads(open_("--json").stdout)
    assert told["refused"] == dict.fromkeys(ATTACKS, 1)
    assert opened() == WANTED


def test_subscriptions_are_sealed_for_the_epochs_that_overlap(caddis, homes, subscribe):
    caddis("keys", "rotate", "homes")
    caddis("keys", "rotate", "homes")
    caddis("keys", "issue")
    assert json.loads(subscribe("--json").stdout)["epochs"] == [2, 3]
    again = subscribe("--json", "--overwrite", "--epoch", "1", "--epoch", "3")
    assert json.loads(again.stdout)["epochs"] == [1, 3]
    assert (
        "has no key to read 'homes' in epoch 4" in subscribe("--overwrite", "--epoch", "4").stderr
    )


def test_who_is_revoked_opens_nothing_of_the_next_epoch(caddis, homes, seal, open_):
    change_authority(Path("authority.json"), lambda authority: authority.revoke("ann", "homes"))
    caddis("keys", "issue")
    caddis("keys", "directory")
    seal()
    told = json.loads(open_("--json").stdout)
    assert (told["opened"], told["refused"]) == (0, {"NotEntitled": 3})
    assert pq.read_table("mine.parquet").num_rows == 0


def test_invalid_subscriptions_are_reported_and_the_others_sealed(homes, subscribe):
    Path("wishes.csv").write_text(WISHES + "4,pricee < 1\n")
    assert "did you mean 'price'?" in subscribe().stderr
    assert not Path("ann.parquet").exists()
    told = json.loads(subscribe("--on-invalid", "report", "--json").stdout)
    assert (told["subscriptions"], told["invalid"][0]["subscription_id"]) == (3, 4)
    assert "did you mean 'price'?" in subscribe("--on-invalid", "report", "--overwrite").stdout


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
        (("subscriptions", "offers.jsonl", "--as", "ann"), "there is no column 'subscription_id'"),
        (("subscriptions", "wishes.csv", "--as", "pat"), "'pat' is no subscriber of any stream"),
        (("match", "offers.jsonl", "--subscriptions", "wishes.csv"), "events are Parquet files"),
        (
            ("match", "plain.parquet", "--subscriptions", "w.csv", "--directory", "offers.jsonl"),
            "no such file or folder",
        ),
        (
            ("match", "empty", "--subscriptions", "wishes.csv"),
            "empty is empty; there are no sealed events in it",
        ),
        (("subscriptions", "empty", "--as", "ann"), "empty is empty\n"),
        (("open", "empty", "--wishes", "wishes.csv", "--as", "ann"), "no sealed events in it"),
        (("open", "plain.parquet", "--wishes", "wishes.csv", "--as", "ann"), "are not sealed"),
        (
            ("open", "plain.parquet", "--wishes", "wishes.csv", "--as", "ann", "--keys", "other"),
            "other/ann.identity.json: there is no such file",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(caddis, homes, arguments, complaint):
    Path("more.jsonl").write_text('{"event_id": 1, "city": "Cork", "colour": "red"}\n')
    pq.write_table(pa.table({"event_id": [1], "city": ["Cork"]}), "plain.parquet")
    Path("empty").mkdir()
    before = sorted(homes.iterdir())
    out = () if "--out" in arguments else ("--out", "out.parquet")
    said = caddis("sealed", *arguments, *out)
    assert said.exit_code == 1
    assert said.stdout == ""
    assert complaint in said.stderr
    assert sorted(homes.iterdir()) == before


@pytest.mark.parametrize("out", ["wishes.csv", "folder", "noname"])
def test_what_is_there_is_not_written_over(caddis, homes, subscribe, out):
    Path("folder").mkdir()
    said = subscribe(out=out)
    assert said.exit_code == 1
    assert any(
        part in said.stderr
        for part in ("exists already", "is a folder", "does not tell the format")
    )
    assert Path("wishes.csv").read_text() == WISHES


def test_keys_of_two_authorities_do_not_go_together(caddis, homes, seal, open_):
    seal()
    caddis("keys", "init", "--authority", "other.json")
    caddis("keys", "directory", "--authority", "other.json", "--out", "theirs.json")
    assert "the directory is of another one" in open_("--directory", "theirs.json").stderr


SEAL = ("events", "offers.jsonl", "--as", "pat")
SUBSCRIBE = ("subscriptions", "wishes.csv", "--as", "ann")
OPEN = ("open", "sealed.parquet", "--wishes", "wishes.csv", "--as", "ann")
MATCH = ("match", "sealed.parquet", "--subscriptions", "wishes.csv")


@pytest.mark.parametrize("verb", [SEAL, SUBSCRIBE, OPEN, MATCH], ids=lambda verb: verb[0])
def test_files_of_another_authority_are_refused_where_one_is_named(caddis, homes, seal, verb):
    """Whoever can replace ann's keys and the directory could otherwise read her wishes."""
    seal()
    mine = read_authority(Path("authority.json")).fingerprint
    theirs = Authority.new(os.urandom).fingerprint
    said = caddis("sealed", *verb, "--out", "out.parquet", "--authority", theirs)
    assert f"is signed by {mine}, not by {theirs}" in said.stderr
    said = caddis("sealed", *verb, "--out", "out.parquet", "--authority", mine[:4])
    assert "is no fingerprint" in said.stderr
    assert not Path("out.parquet").exists()


@pytest.mark.parametrize("verb", [SEAL, SUBSCRIBE, OPEN], ids=lambda verb: verb[0])
def test_a_verb_tells_whose_keys_it_believed(caddis, homes, seal, verb):
    seal()
    mine = read_authority(Path("authority.json")).fingerprint
    said = caddis("sealed", *verb, "--out", "out.parquet", "--authority", mine.upper(), "--json")
    assert json.loads(said.stdout)["authority"] == mine
    assert f"of authority {mine}" in caddis("sealed", *verb, "--out", "more.parquet").stdout


def test_an_event_that_was_opened_yesterday_is_refused_today(homes, seal, open_):
    seal()
    told = [
        json.loads(open_("--seen", "seen.json", "--json", out=out).stdout)
        for out in ("yesterday.jsonl", "today.jsonl")
    ]
    assert [(one["opened"], one["refused"]) for one in told] == [(3, {}), (0, {"ReplayedEvent": 3})]
    seal("--overwrite")
    again = json.loads(open_("--seen", "seen.json", "--json", out="new.jsonl").stdout)
    assert again["opened"] == 3


def test_what_could_not_be_written_was_not_opened(homes, seal, open_):
    seal()
    assert "cannot hold the column" in open_("--seen", "seen.json", out="mine.csv").stderr
    assert not Path("seen.json").exists()
    assert json.loads(open_("--seen", "seen.json", "--json").stdout)["opened"] == 3


def test_a_key_file_that_others_can_read_is_refused(homes, seal):
    Path("pat.identity.json").chmod(0o644)
    said = seal()
    assert said.exit_code == 1
    assert "chmod 600 pat.identity.json" in said.stderr


def test_csv_holds_no_arrays(homes, seal, open_):
    seal()
    assert "cannot hold the column 'tags'" in open_(out="mine.csv").stderr
    assert open_(out="mine.jsonl").exit_code == 0
    lines = [json.loads(line) for line in Path("mine.jsonl").read_text().splitlines()]
    assert {(line["event_id"], line["subscription_id"]) for line in lines} == WANTED


def test_json_lines_hold_bytes_as_base64(tmp_path):
    write_table(pa.table({"photo": [b"\x00\xff", None]}), tmp_path / "mine.jsonl")
    lines = (tmp_path / "mine.jsonl").read_text().splitlines()
    assert [json.loads(line)["photo"] for line in lines] == ["AP8=", None]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    made = Town(tmp_path_factory.mktemp("town") / "here")
    settle(made, "tokens")
    return made


def test_the_broker_of_the_demo_is_given_nothing_secret(town):
    files = [path for path in town.broker.rglob("*") if path.is_file()]
    assert [path.name for path in files] == ["directory.json"]
    secret = json.loads(town.authority.read_text())["content"]["streams"][0]["secret"]
    assert all(secret not in path.read_text() for path in files)
    assert town.authority.stat().st_mode & 0o077 == 0
    assert set(read_authority(town.authority).parties) >= set(SUBSCRIBERS)


def test_the_broker_of_the_demo_is_a_process_whose_failure_is_told(town):
    with pytest.raises(CaddisError, match=r"^the broker failed: events: there is no such file"):
        broker_process(town, "local[1]")


def test_the_demo_makes_up_the_same_for_the_same_seed(town):
    made = [make_up(town, 40, 12, 5) for _ in range(2)]
    assert made[0] == made[1]
    assert sum(table.num_rows for table in made[0].offers.values()) == 40
    offers = pa.concat_tables(made[0].offers.values())
    everything = pa.table({"subscription_id": ["all"], "where": ["city IS NOT NULL"]})
    assert len(plain_matches(everything, offers)) == 40


def test_a_demo_does_not_write_into_a_folder_that_holds_something(caddis, homes):
    said = caddis("sealed", "demo", "--dir", ".")
    assert said.exit_code == 1
    assert ". is not empty; name a new folder with --dir" in said.stderr


def shown(summary: DemoSummary | SealedMatchSummary) -> str:
    console = Console(file=io.StringIO(), width=80)
    summary.show(console)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_the_demo_s_end_says_what_is_equal_and_what_is_not():
    told = BrokerTold(104, {"ReplayedEvent": 1, "WrongEpoch": 3}, 50, 30, 5_000, 900, 100, 150, 2.0)
    received = [Received("ann", 25, 20, 9, 9, True), Received("bo", 25, 10, 4, 5, False)]
    summary = DemoSummary(Path("x"), "aspe", tuple(received), told, Stolen("dee", 7, 5), 3.0)
    said = shown(summary)
    assert "NO" in said
    assert not summary.as_json()["equal"]
    assert "one for 50 pairs" in said
    assert "not of this epoch" in said
    assert max(map(len, said.splitlines())) <= 80


def test_001_of_two_subscribers_is_used_once_and_reported_once():
    ids, wheres = ["001", "7", "001", None, "001"], ["a", "b", "c", "d", "e"]
    chunks = [pa.table({"subscription_id": ids[:2], "where": wheres[:2]})]
    chunks += [pa.table({"subscription_id": ids[2:], "where": wheres[2:]})]
    usable, invalid = each_id_once(pa.concat_tables(chunks))
    assert usable["where"].to_pylist() == ["a", "b"]
    assert invalid == [("001", REPEATED), (None, NO_ID), ("001", REPEATED)]


def test_of_no_subscriptions_each_id_is_there_once():
    none = pa.schema([("subscription_id", pa.string()), ("where", pa.string())]).empty_table()
    assert each_id_once(none) == (none, [])


def test_a_broker_s_end_counts_refusals_by_reason(tmp_path):
    summary = SealedMatchSummary(
        10, {"TamperedEvent": 2}, 5, 1, 3, 40, 20, 25, tmp_path, "parquet", 1.0, 2.0, "66-6"
    )
    assert summary.pairs == 8 * 4
    assert summary.as_json()["tests_per_event"] == 2.0
    said = shown(summary)
    assert "changed on its way" in said
    assert "_refused.jsonl" in said.replace("\n", "").replace(" ", "")
