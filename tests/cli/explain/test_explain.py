"""`caddis explain` tells how subscriptions are indexed, without Spark."""

import json

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

SCHEMA = "city STRING, price INT"


def test_it_tells_what_is_indexed_and_how(caddis, market):
    result = caddis("explain", "subscriptions.jsonl", "--events", "offers.jsonl")
    assert result.exit_code == 0
    assert "2 subscriptions, 2 clauses" in result.stdout
    assert "= 'Galway'" in result.stdout
    assert "No subscription is tried on every event." in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_json_is_one_object_and_nothing_else(caddis, market):
    result = caddis("explain", "subscriptions.jsonl", "--schema", SCHEMA, "--json")
    found = json.loads(result.stdout)
    assert found["subscriptions"] == 2
    assert sum(use["clauses"] for use in found["access"]) == 2
    assert {"column": "city", "token": "= 'Galway'", "clauses": 1} in found["shared"]
    assert result.stderr == ""


def test_it_names_what_is_tried_on_every_event_and_why(caddis, market):
    (market / "slow.csv").write_text("subscription_id,where\n7,city RLIKE 'a.b'\n8,TRUE\n")
    found = json.loads(caddis("explain", "slow.csv", "--schema", SCHEMA, "--json").stdout)
    assert found["scanned_count"] == 2
    assert [one["subscription_id"] for one in found["scanned"]] == [7, 8]
    assert all(one["why"] for one in found["scanned"])
    shown = caddis("explain", "slow.csv", "--schema", SCHEMA, "--limit", "1").stdout
    assert "Tried on every event: 2 subscriptions of 2" in shown
    assert "city RLIKE 'a.b'" in shown


def test_it_shows_wrong_subscriptions_with_the_place(caddis, market):
    wrong = "\n".join(f"{i},cty = 'Cork'" for i in range(3))
    (market / "wrong.csv").write_text(f"subscription_id,where\n{wrong}\n")
    result = caddis("explain", "wrong.csv", "--schema", SCHEMA, "--limit", "2")
    assert result.exit_code == 0
    assert "Invalid: 3 subscriptions" in result.stdout
    assert "did you mean 'city'?\n  cty = 'Cork'\n  ^^^\n" in result.stdout
    assert "... and 1 more" in result.stdout


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_the_columns_come_from_events_of_any_format(caddis, market, suffix):
    rows = pa.table({"city": ["Galway"], "price": pa.array([1], pa.int32())})
    if suffix == "parquet":
        pq.write_table(rows, "events.parquet")
    elif suffix == "csv":
        pc.write_csv(rows, "events.csv")
    else:
        (market / "events.jsonl").write_text(json.dumps(rows.to_pylist()[0]))
    result = caddis("explain", "subscriptions.jsonl", "--events", f"events.{suffix}", "--json")
    assert json.loads(result.stdout)["invalid_count"] == 0


def test_a_store_knows_its_columns(caddis, market):
    from caddis import SubscriptionStore

    store = SubscriptionStore.create("store", pa.schema([("city", pa.string())]))
    store.upsert(pa.table({"subscription_id": [1], "where": ["city = 'Cork'"]}))
    assert json.loads(caddis("explain", "store", "--json").stdout)["clauses"] == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere.csv"], "nowhere.csv: there is no such file or folder"),
        (["subscriptions.jsonl"], "which columns do the events have?"),
        (["subscriptions.jsonl", "--events", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["subscriptions.jsonl", "--schema", "city STRIN"], "cannot be read near 'STRIN'"),
        (["subscriptions.jsonl", "--schema", SCHEMA, "--timezone", "Mars"], "no time zone 'Mars'"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_1(caddis, market, arguments, complaint):
    result = caddis("explain", *arguments)
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert result.stderr.startswith("caddis: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_with_json_a_mistake_is_an_object_too(caddis, market):
    result = caddis("explain", "nowhere.csv", "--json")
    assert result.exit_code == 1
    error = json.loads(result.stdout)["error"]
    assert error["kind"] == "SubscriptionTableError"
    assert "nowhere.csv" in error["message"]
