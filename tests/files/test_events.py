"""A sample of events has the values that Spark would read."""

import datetime as dt
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caddis.errors import EventError
from caddis.files.events import event_batches, first_events
from caddis.files.schemas import parse_schema

SCHEMA = parse_schema(
    "event_id BIGINT, at TIMESTAMP, day DATE, price DECIMAL(6,2), tags ARRAY<STRING>, lost INT",
    "Europe/Dublin",
)
ROW = {
    "event_id": 1,
    "at": "2026-05-01 08:00:00",
    "day": "2026-05-01",
    "price": 1.5,
    "tags": ["sea"],
    "more": 3,
}


def test_times_without_a_zone_are_the_session_s(tmp_path):
    later = {**ROW, "event_id": 2, "at": "2026-05-01T08:00:00Z"}
    for row in (ROW, later):
        (tmp_path / f"{row['event_id']}.jsonl").write_text(json.dumps(row))
    batch = first_events(tmp_path, "jsonl", SCHEMA, "Europe/Dublin", 5)
    assert batch.schema == SCHEMA
    first, second = (at.astimezone(dt.UTC).hour for at in batch["at"].to_pylist())
    assert (first, second) == (7, 8)
    assert batch["day"][0].as_py() == dt.date(2026, 5, 1)
    assert str(batch["price"][0].as_py()) == "1.50"
    assert batch["lost"].null_count == 2


def test_csv_and_parquet_give_the_same(tmp_path):
    schema = parse_schema("event_id INT, at TIMESTAMP, city STRING", "Europe/Dublin")
    text = "event_id,at,city\n1,2026-05-01 08:00:00,\n2,,Cork\n"
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(text.encode()))
    from_text = first_events(tmp_path / "e.csv.gz", "csv", schema, "Europe/Dublin", 9)
    table = pa.Table.from_batches([from_text])
    dictionary = table["city"].dictionary_encode()
    pq.write_table(table.set_column(2, "city", dictionary), tmp_path / "e.parquet")
    again = first_events(tmp_path / "e.parquet", "parquet", schema, "Europe/Dublin", 9)
    assert again == from_text
    assert from_text["city"].to_pylist() == [None, "Cork"]


def test_no_more_events_are_taken_than_asked_for(tmp_path):
    for part in range(3):
        numbers = pa.array(range(10 * part, 10 * part + 10))
        pq.write_table(pa.table({"event_id": numbers}), tmp_path / f"{part}.parquet")
    schema = pa.schema([("event_id", pa.int64())])
    batch = first_events(tmp_path, "parquet", schema, "UTC", 15)
    assert batch["event_id"].to_pylist() == list(range(15))
    assert first_events(tmp_path, "parquet", schema, "UTC", 99).num_rows == 30


def test_events_that_do_not_fit_are_named(tmp_path):
    (tmp_path / "e.csv").write_text("event_id\nx\n")
    with pytest.raises(EventError, match=r"e\.csv: its events do not fit their columns"):
        first_events(tmp_path, "csv", pa.schema([("event_id", pa.int64())]), "UTC", 5)


@pytest.mark.parametrize("format_", ["parquet", "csv", "jsonl"])
def test_all_events_come_in_pieces_and_in_order(tmp_path, format_):
    for part in range(2):
        numbers = range(10 * part, 10 * part + 10)
        lines = {
            "csv": "event_id\n" + "".join(f"{number}\n" for number in numbers),
            "jsonl": "".join(f'{{"event_id": {number}}}\n' for number in numbers),
        }
        file = tmp_path / f"{part}.{format_}"
        if format_ == "parquet":
            pq.write_table(pa.table({"event_id": pa.array(numbers)}), file)
        else:
            file.write_text(lines[format_])
    schema = pa.schema([("event_id", pa.int64())])
    batches = list(event_batches(tmp_path, format_, schema, "UTC", rows=4))
    assert [batch.num_rows for batch in batches] == [4, 4, 2] * 2
    assert [one for batch in batches for one in batch["event_id"].to_pylist()] == list(range(20))
