"""`caddis.match_files` finds what `caddis.match` finds in the files that Spark reads."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import caddis
from caddis.errors import CaddisError, EventError
from caddis.spark.base import spark_failures
from caddis.spark.matching import from_files
from tests.oracle.clauses import Clauses
from tests.oracle.events import random_batch, random_schema
from tests.runs import seeds
from tests.spark.matching.test_match import COLUMNS, ROWS, WHERES, Pairs, pairs, table

Write = Callable[[Path, pa.Table], None]
OFFERS = pa.table(
    {
        "event_id": range(100),
        "city": ["Cork"] * 50 + ["Galway"] * 50,
        "price": list(range(100)),
    }
)
OFFER_WHERES = {"ann": "city = 'Galway' AND price < 60", "bo": "price = 7 OR price IS NULL"}


def found(spark: SparkSession, path: object, wheres: Mapping[Any, str], **options: Any) -> Pairs:
    with spark_failures():
        return pairs(caddis.match_files(spark, path, table(wheres), **options))  # type: ignore[arg-type]


def expected(spark: SparkSession, path: object, wheres: Mapping[Any, str], **options: Any) -> Pairs:
    return pairs(caddis.match(spark.read.parquet(str(path)), table(wheres), **options))


def write(path: Path, events: pa.Table, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(events, path, **options)
    return path


# ------------------------------------------------------------------------------ the same as match


@pytest.mark.parametrize("timestamps", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def test_files_that_spark_wrote_are_matched_as_spark_reads_them(
    spark: SparkSession, tmp_path: Path, timestamps: str
):
    events = spark.createDataFrame(ROWS, COLUMNS)
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.outputTimestampType", timestamps)
    session.createDataFrame(events.collect(), events.schema).write.parquet(str(tmp_path / "e"))
    matches = caddis.match_files(spark, tmp_path / "e", table(WHERES))
    assert matches.schema == caddis.match(events, table(WHERES)).schema
    assert pairs(matches) == expected(spark, tmp_path / "e", WHERES)
    assert {name for _, name in pairs(matches)} == set(WHERES) - {"lou"}


def test_maps_that_spark_wrote_are_read(spark: SparkSession, tmp_path: Path):
    """Spark says of a map, and of what is in it, that there are no nulls."""
    rows = "map('a', id) AS some, array(map('a', named_struct('x', id))) AS deep"
    spark.sql(f"SELECT id AS event_id, {rows} FROM range(2)").write.parquet(str(tmp_path / "e"))
    wheres = {"ann": "some IS NOT NULL", "bo": "deep IS NOT NULL"}
    assert found(spark, tmp_path / "e", wheres) == set(product((0, 1), ("ann", "bo")))


@pytest.mark.parametrize("seed", seeds(3, 40))
def test_random_clauses_match_random_files_as_in_match(
    spark: SparkSession, tmp_path: Path, seed: int
):
    random = Random(700 + seed)
    batch = random_batch(random, random_schema(random), 60)
    events = pa.Table.from_batches([batch]).append_column("event_id", pa.array(range(60)))
    clauses = Clauses(random, batch)
    wheres = {number: clauses.tree().text for number in range(60)}
    for part in range(3):
        write(tmp_path / f"e/{part}.parquet", events.slice(20 * part, 20), row_group_size=4)
    assert found(spark, tmp_path / "e", wheres) == expected(spark, tmp_path / "e", wheres)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Dublin"])
def test_old_dates_and_times_follow_the_session(spark: SparkSession, tmp_path: Path, zone: str):
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    days = [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(9999, 12, 31)]
    times = [dt.datetime(day.year, day.month, day.day, 12) for day in days]
    columns = {
        "event_id": pa.array(range(4)),
        "day": pa.array(days),
        "clock": pa.array(times, pa.timestamp("ms")),
        "at": pa.array(times, pa.timestamp("us", "America/New_York")),
    }
    write(tmp_path / "e.parquet", pa.table(columns))
    old = {"old": pa.array(times, pa.timestamp("us"))}
    write(
        tmp_path / "old.parquet",
        pa.table({"event_id": pa.array(range(4)), **old}),
        use_deprecated_int96_timestamps=True,
    )
    wheres = {
        f"{column} {sign} {year}": f"{column} {sign} {kind} '{year}-10-10'"
        for column, kind in (("day", "DATE"), ("clock", "TIMESTAMP_NTZ"), ("at", "TIMESTAMP"))
        for sign in ("<", ">=")
        for year in ("0001", "1582", "2000")
    }
    where = {"ann": "old < TIMESTAMP '1582-10-10'", "bo": "old = TIMESTAMP '1582-10-15 12:00:00'"}
    path, olds = tmp_path / "e.parquet", tmp_path / "old.parquet"
    assert found(session, path, wheres) == expected(session, path, wheres)
    assert found(session, olds, where) == expected(session, olds, where)


TYPES: dict[str, pa.Array] = {
    "boolean": pa.array([True, None]),
    **{str(one): pa.array([1, None], one) for one in (pa.int8(), pa.int16(), pa.int32())},
    "uint8": pa.array([200, None], pa.uint8()),
    "uint16": pa.array([60_000, None], pa.uint16()),
    "uint32": pa.array([4_000_000_000, None], pa.uint32()),
    "uint64": pa.array([2**64 - 1, None], pa.uint64()),
    "half": pa.array([np.float16(1.5), None], pa.float16()),
    "float": pa.array([1.5, None], pa.float32()),
    "day": pa.array([dt.date(1500, 1, 1), None]),
    "day in ms": pa.array([dt.date(2024, 1, 1), None], pa.date64()),
    **{
        f"{unit} {zone}": pa.array([1, None], pa.timestamp(unit, zone))
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "Europe/Paris")
    },
    "time in ms": pa.array([1, None], pa.time32("ms")),
    "time in us": pa.array([1, None], pa.time64("us")),
    "duration": pa.array([5, None], pa.duration("us")),
    "short decimal": pa.array([Decimal("1.5"), None], pa.decimal128(5, 2)),
    "decimal": pa.array([Decimal("1.5"), None], pa.decimal128(15, 2)),
    "long decimal": pa.array([Decimal("1.5"), None], pa.decimal128(38, 2)),
    "too long decimal": pa.array([Decimal("1.5"), None], pa.decimal256(50, 2)),
    "text": pa.array(["a", None]),
    "large text": pa.array(["a", None], pa.large_string()),
    "text view": pa.array(["a", None], pa.string_view()),
    "dictionary": pa.array(["a", None]).dictionary_encode(),
    "bytes": pa.array([b"a", None]),
    "two bytes": pa.array([b"ab", None], pa.binary(2)),
    "null": pa.nulls(2),
    "array": pa.array([[1, None], None]),
    "large array": pa.array([[1, None], None], pa.large_list(pa.int32())),
    "array of two": pa.array([[1, 2], None], pa.list_(pa.int32(), 2)),
    "array of texts": pa.array([["a"], None]),
    "struct": pa.array([{"x": 1, "y": "a"}, None]),
    "array of structs": pa.array([[{"x": 1}], None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32())),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16, None], pa.binary(16))),
}


REFUSED = {
    "half",
    "ns None",
    "ns Europe/Paris",
    "time in ms",
    "time in us",
    "too long decimal",
    "uuid",
}


def test_parquet_types_mean_what_spark_says(spark: SparkSession, tmp_path: Path):
    columns = {name: values for name, values in TYPES.items() if name not in REFUSED}
    path = write(tmp_path / "e.parquet", pa.table({"event_id": [1, 2], **columns}))
    theirs = spark.read.parquet(str(path)).schema
    assert [(field.name, field.dataType) for field in columns_of(spark, path)] == [
        (field.name, field.dataType) for field in theirs
    ]
    wheres = {
        f"{name} {sign}": f"`{name}` {sign} NULL" for name in columns for sign in ("IS", "IS NOT")
    }
    assert found(spark, path, wheres) == expected(spark, path, wheres)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_parquet_types_that_spark_refuses_are_refused(
    spark: SparkSession, tmp_path: Path, name: str
):
    path = write(tmp_path / "e.parquet", pa.table({"event_id": [1, 2], "x": TYPES[name]}))
    with pytest.raises(PySparkException):
        spark.read.parquet(str(path))
    with pytest.raises(EventError, match=r"e\.parquet: the column 'x' is of a Parquet type"):
        caddis.match_files(spark, path, table({}))


def columns_of(spark: SparkSession, path: Path) -> Iterable[Any]:
    format_, files = from_files.list_files(path)
    return from_files._columns(format_, files, None, "UTC").fields


def test_unsigned_numbers_keep_their_values(spark: SparkSession, tmp_path: Path):
    types = (pa.uint8(), pa.uint32(), pa.uint64())
    top = {str(type_): 2**type_.bit_width - 1 for type_ in types}
    columns = {
        str(one): pa.array([0, top[str(one)], top[str(one)] - 1, None], one) for one in types
    }
    events = pa.table({"event_id": range(4), **columns})
    path = write(tmp_path / "e.parquet", events, row_group_size=1)
    wheres = {f"{name} {sign}": f"{name} {sign} {top[name]}" for name in top for sign in ("=", "<")}
    assert found(spark, path, wheres) == expected(spark, path, wheres)
    assert len(found(spark, path, wheres)) == 9


# ------------------------------------------------------------------------------ files that differ


def test_columns_may_differ_from_file_to_file_as_far_as_spark_reads_them(
    spark: SparkSession, tmp_path: Path
):
    long = pa.table({"event_id": [1], "price": pa.array([5], pa.int64()), "city": ["Cork"]})
    short = pa.table({"CITY": ["Galway"], "price": pa.array([5], pa.int32()), "event_id": [2]})
    write(tmp_path / "e/1.parquet", long)
    write(tmp_path / "e/2.parquet", short)
    write(tmp_path / "e/3.parquet", pa.table({"event_id": [3], "more": [1]}))
    wheres = {"ann": "price = 5", "bo": "city = 'Galway'", "cy": "city IS NULL AND price IS NULL"}
    assert found(spark, tmp_path / "e", wheres) == expected(spark, tmp_path / "e", wheres)
    assert found(spark, tmp_path / "e", wheres) == {(1, "ann"), (2, "ann"), (2, "bo"), (3, "cy")}


def test_a_column_of_a_type_that_does_not_fit_is_refused_with_the_files_name(
    spark: SparkSession, tmp_path: Path
):
    write(tmp_path / "e/1.parquet", pa.table({"event_id": [1], "price": pa.array([5], pa.int32())}))
    write(tmp_path / "e/2.parquet", pa.table({"event_id": [2], "price": ["5"]}))
    with pytest.raises(
        EventError, match=r"2\.parquet: the column 'price' is string, and not int32"
    ):
        found(spark, tmp_path / "e", {"ann": "price = 5"})


def test_only_columns_that_a_subscription_names_are_read(spark: SparkSession, tmp_path: Path):
    write(tmp_path / "e/1.parquet", pa.table({"event_id": [1], "price": [5], "city": ["Cork"]}))
    write(tmp_path / "e/2.parquet", pa.table({"event_id": [2], "price": ["5"], "city": ["Cork"]}))
    assert found(spark, tmp_path / "e", {"ann": "city = 'Cork'"}) == {(1, "ann"), (2, "ann")}


def test_names_of_folders_are_columns(spark: SparkSession, tmp_path: Path):
    cities, days = ["Galway", "a%20b", "__HIVE_DEFAULT_PARTITION__"], ["2024-01-01", "2024-07-01"]
    for at, (city, day) in enumerate(product(cities, days)):
        folder = tmp_path / f"e/city={city}/day={day}/number={at // 2 - 1}"
        keys = pa.array(range(100 * at, 100 * at + 100))
        write(folder / "x.parquet", OFFERS.drop(["city"]).set_column(0, "event_id", keys))
    events = spark.read.parquet(str(tmp_path / "e"))
    wheres = {
        "ann": "city = 'Galway' AND day > '2024-03-01'",
        "bo": "city IS NULL AND price = 7 AND day = DATE '2024-01-01'",
        "cy": "city = 'a b' AND price < 3 AND number = 0 AND day < '2024-03-01'",
    }
    matches = found(spark, tmp_path / "e", wheres)
    assert matches == expected(spark, tmp_path / "e", wheres)
    assert len(matches) == 104
    assert [one.dataType for one in columns_of(spark, tmp_path / "e")] == [
        one.dataType for one in events.schema
    ]


@pytest.mark.parametrize(
    "values", ["1 2", "1 x", "7 3000000000", "-5 +5", "x __HIVE_DEFAULT_PARTITION__"]
)
def test_the_types_of_folders_names_are_those_that_spark_guesses(
    spark: SparkSession, tmp_path: Path, values: str
):
    for value in values.split():
        write(tmp_path / f"e/k={value}/x.parquet", OFFERS.slice(0, 1))
    theirs = spark.read.parquet(str(tmp_path / "e")).schema
    assert list(columns_of(spark, tmp_path / "e"))[-1].dataType == theirs[-1].dataType


@pytest.mark.parametrize(
    "value", ["1.5", "1d", "NaN", "2024-01-01 10%3A00%3A00", "9" * 20, "10:00:00"]
)
def test_folders_names_that_spark_might_take_for_another_type_are_refused(
    spark: SparkSession, tmp_path: Path, value: str
):
    write(tmp_path / f"e/k={value}/x.parquet", OFFERS)
    with pytest.raises(EventError, match="the type of the column 'k' does not show"):
        found(spark, tmp_path / "e", OFFER_WHERES)


def test_a_schema_says_what_folders_names_mean(spark: SparkSession, tmp_path: Path):
    write(tmp_path / "e/k=1.5/x.parquet", OFFERS)
    schema = pa.schema([("event_id", pa.int64()), ("k", pa.float64())])
    assert len(found(spark, tmp_path / "e", {"ann": "k = 1.5"}, schema=schema)) == 100
    other_case = "event_id BIGINT, K DOUBLE"
    assert len(found(spark, tmp_path / "e", {"ann": "K = 1.5"}, schema=other_case)) == 100
    with pytest.raises(
        EventError, match=r"the folder k=1\.5 does not fit the column's type, int32"
    ):
        found(spark, tmp_path / "e", {"ann": "k = 1"}, schema="event_id BIGINT, k INT")


def test_folders_with_other_columns_are_refused(spark: SparkSession, tmp_path: Path):
    write(tmp_path / "e/k=1/x.parquet", OFFERS)
    write(tmp_path / "e/j=1/x.parquet", OFFERS)
    with pytest.raises(EventError, match="give the columns j to some files and the columns k to"):
        found(spark, tmp_path / "e", OFFER_WHERES)


# -------------------------------------------------------------------------- which files there are


def test_hidden_files_and_files_without_a_byte_are_passed_over(spark: SparkSession, tmp_path: Path):
    write(tmp_path / "e/deep/x.parquet", OFFERS)
    write(tmp_path / "e/none.parquet", OFFERS.slice(0, 0))
    for name in ("_SUCCESS", ".x.parquet.crc", "zero.parquet"):
        (tmp_path / "e" / name).write_bytes(b"")
    (tmp_path / "e/_temporary").mkdir()
    (tmp_path / "e/_temporary/y.parquet").write_text("no events")
    assert len(found(spark, tmp_path / "e", OFFER_WHERES)) == 11


def test_a_folder_of_empty_files_matches_nothing(spark: SparkSession, tmp_path: Path):
    write(tmp_path / "e/x.parquet", OFFERS.slice(0, 0))
    assert found(spark, tmp_path / "e", OFFER_WHERES) == set()


def test_an_empty_folder_needs_a_schema_and_a_format(spark: SparkSession, tmp_path: Path):
    with pytest.raises(EventError, match="there are no files"):
        found(spark, tmp_path, OFFER_WHERES)
    with pytest.raises(EventError, match="give the events' schema"):
        found(spark, tmp_path, OFFER_WHERES, format="parquet")
    columns = "event_id BIGINT, city STRING, price INT"
    assert found(spark, tmp_path, OFFER_WHERES, format="parquet", schema=columns) == set()


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("nowhere", "there is no such file or folder"),
        ("*.nothing", "no file matches this pattern"),
        ("e", "the name does not show a format"),
        ("both", "files of several formats: arrow, parquet"),
    ],
)
def test_missing_files_and_other_formats_are_refused(
    spark: SparkSession, tmp_path: Path, path: str, problem: str
):
    write(tmp_path / "e/README.txt", OFFERS)
    write(tmp_path / "both/a.parquet", OFFERS)
    write(tmp_path / "both/b.arrow", OFFERS)
    with pytest.raises(EventError, match=problem):
        found(spark, tmp_path / path, OFFER_WHERES)


def test_a_file_that_cannot_be_read_is_named(spark: SparkSession, tmp_path: Path):
    write(tmp_path / "e/1.parquet", OFFERS)
    (tmp_path / "e/2.parquet").write_text("no events")
    with pytest.raises(EventError, match=r"e/2\.parquet: cannot be read as Parquet: "):
        found(spark, tmp_path / "e", OFFER_WHERES)
    (tmp_path / "e/1.parquet").unlink()
    with pytest.raises(EventError, match=r"e/2\.parquet: cannot be read as Parquet: "):
        caddis.match_files(spark, tmp_path / "e", table(OFFER_WHERES))


# ---------------------------------------------------------------------- where they would disagree


def test_dates_in_the_calendar_of_spark_2_are_refused(spark: SparkSession, tmp_path: Path):
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    days = session.sql("SELECT 1L AS event_id, DATE '1500-01-01' AS day, 'Cork' AS city")
    days.write.parquet(str(tmp_path / "e"))
    with pytest.raises(EventError, match="'day' was written with the calendar of Spark 2"):
        found(spark, tmp_path / "e", {"ann": "day < '1600-01-01'"})
    assert found(spark, tmp_path / "e", {"ann": "city = 'Cork'"}) == {(1, "ann")}


def test_a_session_that_reads_parquet_in_a_way_of_its_own_is_refused(
    spark: SparkSession, tmp_path: Path
):
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.binaryAsString", "true")
    path = write(tmp_path / "x.parquet", OFFERS)
    with pytest.raises(EventError, match="binaryAsString=false, and this session has true"):
        caddis.match_files(session, path, table(OFFER_WHERES))


def test_the_settings_that_are_expected_are_those_of_a_new_session(spark: SparkSession):
    session = spark.newSession()
    assert {name: session.conf.get(name) for name in from_files.SETTINGS} == from_files.SETTINGS


def test_names_that_differ_by_case_alone_are_refused_as_in_spark(
    spark: SparkSession, tmp_path: Path
):
    path = write(tmp_path / "x.parquet", pa.table({"event_id": [1], "x": [1], "X": [2]}))
    with pytest.raises(AnalysisException):
        spark.read.parquet(str(path))
    with pytest.raises(EventError, match="several columns have names that differ only in case"):
        caddis.match_files(spark, path, table({}))


# ------------------------------------------------------------------------------------ Arrow files


@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
def test_arrow_files_are_matched_as_their_table_is(
    spark: SparkSession, tmp_path: Path, compression: str
):
    events = OFFERS.set_column(1, "city", OFFERS["city"].dictionary_encode())
    names = OFFERS["event_id"].cast(pa.string())
    events = events.append_column("name", names.dictionary_encode())
    options = pa.ipc.IpcWriteOptions(compression=None if compression == "uncompressed" else "zstd")
    with pa.ipc.new_file(str(tmp_path / "e.arrow"), events.schema, options=options) as out:
        out.write_table(events, max_chunksize=30)
    report = caddis.Report()
    assert found(spark, tmp_path, OFFER_WHERES, report=report) == pairs(
        caddis.match(spark.createDataFrame(OFFERS), table(OFFER_WHERES))
    )
    assert report.events == 100
    assert found(spark, tmp_path, {"ann": "price = 7"}, event_key="name") == {("7", "ann")}


def test_an_arrow_file_that_cannot_be_read_is_named(spark: SparkSession, tmp_path: Path):
    (tmp_path / "x.arrow").write_text("no events")
    with pytest.raises(EventError, match=r"x\.arrow: cannot be read as Arrow: "):
        found(spark, tmp_path, OFFER_WHERES)


# ------------------------------------------------------------------------------- as match does it


def test_keys_are_checked(spark: SparkSession, tmp_path: Path):
    twice = OFFERS.set_column(0, "event_id", pa.array([1] * 100))
    path = write(tmp_path / "twice.parquet", twice)
    with pytest.raises(EventError, match="duplicate keys: 'event_id'"):
        found(spark, path, {"ann": "price > 7"})
    path = write(
        tmp_path / "null.parquet", OFFERS.set_column(0, "event_id", pa.nulls(100, pa.int64()))
    )
    with pytest.raises(EventError, match="null keys: 'event_id'"):
        found(spark, path, {"ann": "price > 7"})
    with pytest.raises(EventError, match="events have no column 'id' for their key"):
        found(spark, path, {}, event_key="id")


def test_models_and_groups_and_stores_work_as_in_match(spark: SparkSession, tmp_path: Path):
    @caddis.concept(reads="city")
    def coastal(city: str) -> bool:
        return city == "Galway"

    path = write(tmp_path / "e.parquet", OFFERS)
    store = caddis.SubscriptionStore.create(tmp_path / "store", OFFERS.schema, models=[coastal])
    store.upsert(table({"ann": "coastal(city) AND price < 60"}))
    store.upsert(table({"bo": "price = 55", "cy": "city = 'Atlantis'"}))
    report = caddis.Report()
    matches = caddis.match_files(spark, path, store, models=[coastal], grouped=True, report=report)
    rows = {row.event_id: sorted(row.subscription_ids) for row in matches.collect()}
    assert rows == {**{key: ["ann"] for key in range(50, 60)}, 55: ["ann", "bo"]}
    assert (report.events, report.models[0].runs) == (100, 2)


def test_the_result_is_a_dataframe_like_any_other(spark: SparkSession, tmp_path: Path):
    path = write(tmp_path / "e.parquet", OFFERS)
    matches: DataFrame = caddis.match_files(spark, path, table(OFFER_WHERES))
    counts = matches.groupBy("subscription_id").agg(F.count("*").alias("n")).collect()
    assert {row.subscription_id: row.n for row in counts} == {"ann": 10, "bo": 1}


def test_row_groups_that_nobody_can_want_are_not_read(spark: SparkSession, tmp_path: Path):
    path = write(tmp_path / "e.parquet", OFFERS, row_group_size=10, compression="none")
    data = bytearray(path.read_bytes())
    metadata = pq.ParquetFile(path).metadata
    for group in range(10):
        if group != 5:
            column = metadata.row_group(group).column(0)
            begin = column.dictionary_page_offset or column.data_page_offset
            data[begin : begin + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(data)
    report = caddis.Report()
    assert found(spark, path, {"ann": "price BETWEEN 52 AND 53"}, report=report) == {
        (52, "ann"),
        (53, "ann"),
    }
    assert report.events == 100
    with pytest.raises(CaddisError):
        found(spark, path, {"ann": "price < 53"})
