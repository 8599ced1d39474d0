"""The events' columns, found without Spark, are those that Spark would find."""

import json

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from caddis.errors import EventError
from caddis.files.schemas import parse_schema, schema_of


@pytest.mark.parametrize(
    ("word", "type_"),
    [
        ("BOOLEAN", pa.bool_()),
        ("TINYINT", pa.int8()),
        ("byte", pa.int8()),
        ("SMALLINT", pa.int16()),
        ("int", pa.int32()),
        ("INTEGER", pa.int32()),
        ("LONG", pa.int64()),
        ("REAL", pa.float32()),
        ("DOUBLE NOT NULL", pa.float64()),
        ("DECIMAL", pa.decimal128(10, 0)),
        ("DECIMAL(5)", pa.decimal128(5, 0)),
        ("NUMERIC(12, 3)", pa.decimal128(12, 3)),
        ("STRING COMMENT 'a name'", pa.string()),
        ("BINARY", pa.binary()),
        ("DATE", pa.date32()),
        ("TIMESTAMP", pa.timestamp("us", "UTC")),
        ("TIMESTAMP_LTZ", pa.timestamp("us", "UTC")),
        ("TIMESTAMP_NTZ", pa.timestamp("us")),
        ("ARRAY<STRING>", pa.list_(pa.string())),
        (
            "STRUCT<x: INT, y: ARRAY<DATE>>",
            pa.struct([("x", pa.int32()), ("y", pa.list_(pa.date32()))]),
        ),
    ],
)
def test_spark_s_words_are_understood(word, type_):
    assert parse_schema(f"a {word}").field("a").type == type_


def test_quoted_names_keep_their_spaces():
    assert parse_schema("`a name` INT, b INT").names == ["a name", "b"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "cannot be read"),
        ("city", "cannot be read"),
        ("city STRING price INT", "near 'price'"),
        ("city: STRING", "cannot be read"),
        ("a MAP<STRING, INT>", "not supported"),
        ("a INT, A STRING", "names the column 'a' twice"),
        ("a INT) AS SELECT (1", "cannot be read"),
    ],
)
def test_what_is_no_schema_is_refused(text, complaint):
    with pytest.raises(EventError, match=complaint):
        parse_schema(text)


def test_parquet_types_are_those_that_spark_reads(tmp_path):
    columns = {
        "small": pa.array([1], pa.uint8()),
        "large": pa.array([1], pa.uint64()),
        "word": pa.array(["x"]).dictionary_encode(),
        "instant": pa.array([0], pa.timestamp("ms", "Europe/Paris")),
        "local": pa.array([0], pa.timestamp("ms")),
        "inside": pa.array([{"texts": ["x"]}]),
    }
    pq.write_table(pa.table(columns), tmp_path / "e.parquet")
    schema = schema_of(tmp_path / "e.parquet", "parquet", "Europe/Dublin")
    assert schema.types == [
        pa.int16(),
        pa.decimal128(20, 0),
        pa.string(),
        pa.timestamp("us", "Europe/Dublin"),
        pa.timestamp("us"),
        pa.struct([("texts", pa.list_(pa.string()))]),
    ]


def test_json_has_no_times_and_null_is_a_string(tmp_path):
    row = {
        "at": "2026-05-01T08:00:00",
        "n": 1,
        "x": 1.5,
        "no": None,
        "all": ["2026-05-01"],
        "in": {"at": "2026-05-01"},
    }
    (tmp_path / "e.jsonl").write_text(json.dumps(row))
    schema = schema_of(tmp_path / "e.jsonl", "jsonl", "UTC")
    texts = {"at": pa.string(), "no": pa.string(), "all": pa.list_(pa.string())}
    inside = {"in": pa.struct([("at", pa.string())])}
    expected = {"at": texts["at"], "n": pa.int64(), "x": pa.float64(), **texts, **inside}
    assert {field.name: field.type for field in schema} == expected


def test_csv_integers_are_int_where_they_fit(tmp_path):
    rows = {
        "small": [1, -5],
        "large": [1, 1 << 40],
        "at": ["2026-05-01 08:00:00"] * 2,
        "day": ["2026-05-01"] * 2,
    }
    pc.write_csv(pa.table(rows), tmp_path / "e.csv")
    schema = schema_of(tmp_path / "e.csv", "csv", "UTC")
    assert schema.types == [pa.int32(), pa.int64(), pa.timestamp("us", "UTC"), pa.date32()]


def test_an_empty_folder_has_no_columns(tmp_path):
    with pytest.raises(EventError, match="give them with --schema"):
        schema_of(tmp_path, "csv", "UTC")


def test_events_that_are_not_of_their_format_are_named(tmp_path):
    (tmp_path / "e.parquet").write_text("not Parquet at all")
    with pytest.raises(EventError, match=r"e\.parquet: cannot be read as parquet"):
        schema_of(tmp_path / "e.parquet", "parquet", "UTC")
