"""`caddis sealed open`: exactly what plain matching finds, whatever the broker added."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caddis.cli.sealed.town import ATTACKS, with_attacks
from caddis.files import write_table
from caddis.sealed.keys import change_authority
from tests.cli.sealed.homes import OFFERS, SUBSCRIPTIONS, WANTED, summary_of


def opened(path: str = "mine.parquet") -> set[tuple[object, object]]:
    rows = pq.read_table(path, columns=["event_id", "subscription_id"]).to_pydict()
    return set(zip(*rows.values(), strict=True))


def replace_column(path: Path, name: str, values: list[object]) -> None:
    table = pq.read_table(path)
    place = table.column_names.index(name)
    pq.write_table(table.set_column(place, name, pa.array(values)), path)


@pytest.mark.parametrize("format_", ["jsonl", "csv", "parquet"])
def test_what_is_sealed_and_opened_is_what_plain_matching_finds(caddis, homes, open_, format_):
    if format_ == "parquet":
        rows = [json.loads(line) for line in OFFERS.splitlines()]
        pq.write_table(pa.Table.from_pylist(rows), "offers.parquet")
    if format_ == "csv":
        Path("offers.csv").write_text("event_id,city,price\n1,Galway,150\n2,Cork,90\n3,Galway,\n")
    result = caddis(
        "sealed", "events", f"offers.{format_}", "--as", "pat", "--out", "sealed.parquet", "--json"
    )
    missing = ["tags"] if format_ == "csv" else []
    assert summary_of(result)["missing"] == missing
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


def test_only_what_a_broker_found_is_opened_if_its_matches_are_given(sealed, open_):
    Path("matches.csv").write_text("event_id,subscription_id\n1,1\n2,77\n")
    summary = summary_of(open_("--matches", "matches.csv", "--json"))
    assert (summary["sealed"], summary["opened"], summary["kept"]) == (1, 1, 1)
    assert opened() == {(1, 1)}


@pytest.fixture
def named_by_texts(homes: Path) -> None:
    """Offers and subscriptions whose ids look like numbers or days, and are none."""
    lines = [json.loads(line) for line in OFFERS.splitlines()]
    names = ("007", "2026-05-01", "9")
    offers = [{**line, "event_id": name} for line, name in zip(lines, names, strict=True)]
    Path("offers.jsonl").write_text("\n".join(map(json.dumps, offers)))
    Path("subscriptions.csv").write_text(SUBSCRIPTIONS.replace("\n1,", "\n001,"))


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_matches_of_007_and_the_subscription_001_are_read_in_any_format(
    named_by_texts, seal, open_, form
):
    seal()
    matches = pa.table({"event_id": ["007", "2026-05-01"], "subscription_id": ["001", "2"]})
    write_table(matches, Path(f"matches.{form}"))
    summary = summary_of(open_("--matches", f"matches.{form}", "--json"))
    assert (summary["sealed"], summary["kept"]) == (2, 2)
    assert opened() == {("007", "001"), ("2026-05-01", "2")}


def test_matches_of_json_may_name_events_by_numbers_and_subscriptions_by_texts(sealed, open_):
    Path("subscriptions.csv").write_text(SUBSCRIPTIONS.replace("\n1,", "\n001,"))
    Path("matches.jsonl").write_text('{"event_id": 1, "subscription_id": "001"}\n')
    assert summary_of(open_("--matches", "matches.jsonl", "--json"))["kept"] == 1


def test_matches_of_other_events_are_an_error(sealed, open_):
    Path("matches.csv").write_text("event_id,subscription_id\n71,1\n72,2\n73,99\n")
    result = open_("--matches", "matches.csv")
    assert "none of the 2 events that matches.csv names is in sealed.parquet" in result.stderr
    assert not Path("mine.parquet").exists()


def test_a_broker_that_found_nothing_has_left_an_empty_folder(sealed, open_):
    Path("matches").mkdir()
    Path("matches/part-0.csv").touch()
    assert summary_of(open_("--matches", "matches", "--json"))["sealed"] == 0


def test_events_without_a_stream_are_refused_and_those_of_another_counted(sealed, open_):
    replace_column(sealed, "stream", ["homes", None, "boats"])
    summary = summary_of(open_("--json"))
    assert (summary["sealed"], summary["opened"], summary["other_streams"]) == (2, 1, 1)
    assert summary["refused"] == {"TruncatedEvent": 1}
    assert "other streams" in open_("--overwrite").stdout


def test_events_without_an_id_are_refused_though_no_broker_found_them(sealed, open_):
    replace_column(sealed, "event_id", [1, None, 3])
    Path("matches.csv").write_text("event_id,subscription_id\n1,1\n")
    summary = summary_of(open_("--matches", "matches.csv", "--json"))
    assert (summary["opened"], summary["refused"]) == (1, {"TruncatedEvent": 1})


def test_streams_that_are_no_texts_are_not_sealed_events(sealed, open_):
    replace_column(sealed, "stream", [1, 2, 3])
    assert "the column 'stream' of sealed events cannot be int64" in open_().stderr


def test_ids_that_are_numbers_in_one_file_and_texts_in_another_are_texts(homes, seal, open_):
    seal(out="sealed/a.parquet")
    renamed = OFFERS.replace('"event_id": ', '"event_id": "x').replace(', "city"', '", "city"')
    Path("offers.jsonl").write_text(renamed)
    assert seal(out="sealed/b.parquet").exit_code == 0
    assert open_(events="sealed").exit_code == 0
    texts = {(str(event), owner) for event, owner in WANTED}
    assert opened() == texts | {(f"x{event}", owner) for event, owner in texts}


def test_events_that_share_an_id_are_counted_one_by_one(seal, open_):
    seal(out="sealed/a.parquet")
    seal(out="sealed/b.parquet")
    summary = summary_of(open_("--json", events="sealed"))
    assert (summary["opened"], summary["events"], summary["kept"]) == (6, 6, 6)


def test_a_file_without_sealed_events_opens_to_nothing(sealed, open_):
    pq.write_table(pq.read_table("sealed.parquet").slice(0, 0), "sealed.parquet")
    summary = summary_of(open_("--json"))
    assert (summary["sealed"], summary["kept"]) == (0, 0)


def test_an_event_that_was_changed_is_refused_and_the_others_are_opened(sealed, open_):
    pq.write_table(with_attacks(pq.read_table("sealed.parquet")), "sealed.parquet")
    summary = summary_of(open_("--json"))
    assert summary["refused"] == dict.fromkeys(ATTACKS, 1)
    assert opened() == WANTED


def test_who_is_revoked_opens_nothing_of_the_next_epoch(caddis, homes, seal, open_):
    change_authority(Path("authority.json"), lambda authority: authority.revoke("ann", "homes"))
    caddis("keys", "issue")
    caddis("keys", "directory")
    seal()
    summary = summary_of(open_("--json"))
    assert (summary["opened"], summary["refused"]) == (0, {"NotEntitled": 3})
    assert pq.read_table("mine.parquet").num_rows == 0


def test_an_event_that_was_opened_yesterday_is_refused_today(sealed, seal, open_):
    days = [
        summary_of(open_("--seen", "seen.json", "--json", out=out))
        for out in ("yesterday.jsonl", "today.jsonl")
    ]
    assert [(one["opened"], one["refused"]) for one in days] == [(3, {}), (0, {"ReplayedEvent": 3})]
    seal("--overwrite")
    again = summary_of(open_("--seen", "seen.json", "--json", out="new.jsonl"))
    assert again["opened"] == 3


def test_what_could_not_be_written_was_not_opened(sealed, open_):
    assert "cannot hold the column" in open_("--seen", "seen.json", out="mine.csv").stderr
    assert not Path("seen.json").exists()
    assert summary_of(open_("--seen", "seen.json", "--json"))["opened"] == 3


def test_csv_holds_no_arrays(sealed, open_):
    assert "cannot hold the column 'tags'" in open_(out="mine.csv").stderr
    assert open_(out="mine.jsonl").exit_code == 0
    lines = [json.loads(line) for line in Path("mine.jsonl").read_text().splitlines()]
    assert {(line["event_id"], line["subscription_id"]) for line in lines} == WANTED
