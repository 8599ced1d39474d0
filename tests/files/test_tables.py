"""Subscriptions are the same whatever file they come from."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from caddis.errors import CaddisError, EventError, SubscriptionTableError
from caddis.files.tables import read_columns, read_subscriptions, write_parts, write_table
from caddis.spark.store.store import open_store

WHERES = ["city = 'Galway'", 'title = "a ""quoted"" one"', "price < 2\nAND price > 1"]


def write(folder: Path, name: str, ids: list[object]) -> Path:
    table = pa.table({"subscription_id": ids, "where": WHERES[: len(ids)], "who": ["x"] * len(ids)})
    path = folder / name
    if name.endswith("parquet"):
        pq.write_table(table, path)
    elif name.endswith("csv"):
        pc.write_csv(table, path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    return path


@pytest.mark.parametrize("name", ["s.parquet", "s.csv", "s.jsonl"])
@pytest.mark.parametrize(
    "ids",
    [
        [1, 2, -3],
        ["ann", "bo", "cy"],
        ["2026-05-01", "2026-05-02", "2026-05-03"],
        ["001", "002", "3"],
        ["1.5", "2.5", "x"],
    ],
)
def test_ids_and_wheres_survive_every_format(tmp_path, name, ids):
    table = read_subscriptions(write(tmp_path, name, ids))
    assert table.to_pydict() == {"subscription_id": ids, "where": WHERES}


def test_a_folder_is_all_its_files_but_hidden_ones(tmp_path):
    for name in ("a.csv", "b.csv", "_hidden.csv", ".c.csv"):
        write(tmp_path, name, [f"{name}-1", f"{name}-2"])
    ids = read_subscriptions(tmp_path)["subscription_id"].to_pylist()
    assert ids == ["a.csv-1", "a.csv-2", "b.csv-1", "b.csv-2"]


def test_compressed_text_is_read(tmp_path):
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(b"subscription_id,where\n1,TRUE\n"))
    assert read_subscriptions(tmp_path / "s.csv.gz").num_rows == 1


def test_dictionary_columns_are_plain_texts(tmp_path):
    texts = pa.array(["ann", "bo"]).dictionary_encode()
    pq.write_table(pa.table({"subscription_id": texts, "where": texts}), tmp_path / "s.parquet")
    assert read_subscriptions(tmp_path / "s.parquet").schema.types == [pa.string(), pa.string()]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_missing_column_is_named_with_those_that_are_there(tmp_path, suffix):
    path = tmp_path / f"s.{suffix}"
    table = pa.table({"subscription_id": [1], "filter": ["TRUE"]})
    if suffix == "parquet":
        pq.write_table(table, path)
    elif suffix == "csv":
        pc.write_csv(table, path)
    else:
        path.write_text(json.dumps(table.to_pylist()[0]))
    with pytest.raises(
        SubscriptionTableError, match="no column 'where', only subscription_id, filter"
    ):
        read_subscriptions(path)


def test_what_is_not_of_its_format_is_named(tmp_path):
    (tmp_path / "s.parquet").write_text("not Parquet at all")
    with pytest.raises(SubscriptionTableError, match=r"s\.parquet: cannot be read as parquet"):
        read_subscriptions(tmp_path / "s.parquet")


def test_a_where_that_is_no_text_is_refused(tmp_path):
    pq.write_table(pa.table({"subscription_id": [1], "where": [[1]]}), tmp_path / "s.parquet")
    with pytest.raises(SubscriptionTableError, match="where texts or whole numbers are needed"):
        read_subscriptions(tmp_path / "s.parquet")


def test_a_folder_that_is_no_store_is_none(tmp_path):
    assert open_store(tmp_path) is None


def test_ids_that_are_numbers_in_one_file_and_texts_in_another_are_texts(tmp_path):
    for name, owner in (("ann.csv", "001"), ("bo.csv", "2")):
        (tmp_path / name).write_text(f"subscription_id,where\n{owner},price < 2\n")
    assert read_subscriptions(tmp_path)["subscription_id"].to_pylist() == ["001", "2"]


@pytest.mark.parametrize("name", ["s.parquet", "s.csv", "s.jsonl"])
def test_what_is_written_is_read_again(tmp_path, name):
    table = pa.table({"event_id": ["007", "x"], "subscription_id": [1, 2]})
    write_table(table, tmp_path / "new" / name)
    format_ = name.partition(".")[2]
    columns = ("event_id", "subscription_id")
    again = read_columns([tmp_path / "new" / name], format_, columns, EventError)
    assert again == table


def test_json_lines_hold_bytes_as_base64(tmp_path):
    write_table(pa.table({"seal": [b"\x00\xff"]}), tmp_path / "s.jsonl")
    assert (tmp_path / "s.jsonl").read_text() == '{"seal": "AP8="}\n'


def test_what_a_format_cannot_hold_is_refused_and_nothing_is_written(tmp_path):
    table = pa.table({"tags": [["sea"]]})
    with pytest.raises(CaddisError, match="a CSV file cannot hold the column 'tags'"):
        write_table(table, tmp_path / "s.csv")
    with pytest.raises(CaddisError, match="the name does not show the format"):
        write_table(table, tmp_path / "s.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_written_in_parts(tmp_path):
    table = pa.table({"event_id": range(60)})
    write_parts(table, tmp_path / "events", 25)
    parts = sorted((tmp_path / "events").iterdir())
    assert [len(pq.read_table(part)) for part in parts] == [25, 25, 10]
    assert pq.read_table(tmp_path / "events") == table
