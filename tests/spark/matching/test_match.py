"""`caddis.match` on batches: the join that a Spark user would write, decided by Caddis.

Spark's own answer is `events CROSS JOIN subscriptions WHERE <text>`, one expression a
subscription. The events here have a column of every type that a clause can read.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType

import caddis
from caddis import SubscriptionStore
from caddis.errors import EventError, InvalidSubscriptions, SubscriptionTableError

NOON = dt.datetime(2024, 7, 1, 12, 0)
COLUMNS = (
    "event_id long, city string, price decimal(10, 2), day date, at timestamp, "
    "clock timestamp_ntz, place struct<town: string, spot: struct<n: int>>, tags array<string>, "
    "sold boolean, rate double, photo binary"
)
# fmt: off
ROWS = [
    (1, "Galway", Decimal("150.00"), NOON.date(), NOON, NOON,
     ("Salthill", (1,)), ["sea"], True, 0.5, b"a"),
    (2, "Cork", Decimal("90.50"), dt.date(2024, 1, 1), NOON, None,
     ("Cobh", None), [], False, float("nan"), None),
    (3, "Galway", None, None, None, NOON,
     None, ["sea", None], None, None, b""),
    (4, None, Decimal("200.00"), NOON.date(), NOON + dt.timedelta(hours=1), None,
     (None, (2,)), None, True, -0.0, None),
    (5, "", Decimal("0.00"), dt.date(1970, 1, 1), dt.datetime(1970, 1, 1), NOON,
     ("x", (None,)), ["old"], False, 1e300, None),
]
# fmt: on
WHERES = {
    "ann": "city = 'Galway' AND price < 200",
    "bo": "price BETWEEN 90.5 AND 200 OR city = ''",
    "cy": "day >= '2024-01-01' AND NOT sold",
    "di": "at = TIMESTAMP '2024-07-01 12:00:00' OR clock > '2024-01-01'",
    "ed": "place.town LIKE 'S%' OR place.spot.n = 2",
    "flo": "array_contains(tags, 'sea')",
    "gus": "rate > 1",
    "hal": "rate = 0 AND city IS NULL",
    "ivy": "NOT (city IN ('Galway', 'Cork'))",
    "jo": "photo IS NULL",
    "kim": "TRUE",
    "lou": "city = 'nowhere'",
    "max": "city RLIKE '^G.*y$' AND sold <=> NULL",
}

Pairs = set[tuple[Any, Any]]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, COLUMNS).coalesce(1)


def table(wheres: Mapping[Any, str]) -> pa.Table:
    return pa.table({"subscription_id": list(wheres), "where": list(wheres.values())})


def pairs(matches: DataFrame) -> Pairs:
    rows = [tuple(row) for row in matches.collect()]
    assert len(rows) == len(set(rows)), "a match came out twice"
    return set(rows)


def joined(events: DataFrame, wheres: Mapping[Any, str], key: str = "event_id") -> Pairs:
    """What Spark answers: every event with every subscription, where that one's text is true."""
    ids = events.sparkSession.createDataFrame([(name,) for name in wheres], ["subscription_id"])
    every = events.crossJoin(ids)
    texts = [f"(subscription_id = {name!r} AND ({text}))" for name, text in wheres.items()]
    return pairs(every.where(" OR ".join(texts)).select(F.col(f"`{key}`"), "subscription_id"))


def new_store(path: Path, events: DataFrame, tables: Iterable[pa.Table]) -> SubscriptionStore:
    store = SubscriptionStore.create(path, events)
    for one in tables:
        store.upsert(one)
    return store


# ---------------------------------------------------------------------------- the same as a join


def test_match_is_the_join_that_spark_would_make(events: DataFrame):
    found = pairs(caddis.match(events, table(WHERES)))
    assert found == joined(events, WHERES)
    assert {name for _, name in found} == set(WHERES) - {"lou"}


def test_grouped_every_event_that_matches_is_one_row(events: DataFrame, tmp_path: Path):
    halves = [dict(list(WHERES.items())[:6]), dict(list(WHERES.items())[6:])]
    store = new_store(tmp_path / "store", events, [table(WHERES)])
    store.upsert(table(halves[1]))
    for subscriptions in (table(WHERES), store):
        rows = caddis.match(events, subscriptions, grouped=True).collect()
        assert len({row.event_id for row in rows}) == len(rows)
        found = {(row.event_id, name) for row in rows for name in row.subscription_ids}
        assert sum(len(row.subscription_ids) for row in rows) == len(found)
        assert found == joined(events, WHERES)


def test_grouped_the_result_has_an_array_of_the_ids_type(events: DataFrame):
    matches = caddis.match(events, table({7: "TRUE"}), grouped=True)
    ids = ArrayType(LongType(), containsNull=False)
    assert matches.schema["subscription_ids"] == StructField("subscription_ids", ids, False)
    assert matches.select(F.explode("subscription_ids")).count() == len(ROWS)


def test_subscriptions_may_be_a_dataframe(spark: SparkSession, events: DataFrame):
    rows = [(where, "unused", name) for name, where in WHERES.items()]
    subscriptions = spark.createDataFrame(
        rows, "where string, owner string, subscription_id string"
    )
    assert pairs(caddis.match(events, subscriptions)) == joined(events, WHERES)


def test_subscriptions_may_be_a_store(events: DataFrame, tmp_path: Path):
    store = new_store(tmp_path / "store", events, [table(WHERES)])
    assert pairs(caddis.match(events, store)) == joined(events, WHERES)


def test_a_batch_stays_with_the_version_that_it_was_made_with(events: DataFrame, tmp_path: Path):
    store = new_store(tmp_path / "store", events, [table({"ann": "event_id = 1"})])
    before = caddis.match(events, store)
    store.upsert(table({"ann": "city = 'Cork'", "bo": "TRUE"}))
    assert pairs(before) == {(1, "ann")}
    assert pairs(caddis.match(events, store)) == {(2, "ann")} | {(n, "bo") for n in range(1, 6)}


def test_ids_may_be_numbers_and_keys_strings(events: DataFrame):
    wheres = dict(enumerate(WHERES.values()))
    named = events.withColumn("event_id", F.concat(F.lit("e"), "event_id"))
    matches = caddis.match(named, table(wheres))
    assert pairs(matches) == joined(named, wheres)
    assert [field.dataType for field in matches.schema] == [StringType(), LongType()]


@pytest.mark.parametrize("type_", [pa.int32(), pa.large_string(), pa.string_view()], ids=str)
def test_ids_come_back_whatever_arrow_type_they_had(events: DataFrame, type_: pa.DataType):
    ids = pa.array([7, 8]).cast(pa.int32() if type_ == pa.int32() else pa.string()).cast(type_)
    wheres = pa.table({"subscription_id": ids, "where": ["event_id = 1", "event_id = 2"]})
    first, second = ids.to_pylist()
    assert pairs(caddis.match(events, wheres)) == {(1, first), (2, second)}


def test_the_result_has_the_keys_type_and_the_ids_type(spark: SparkSession, events: DataFrame):
    numbered = events.withColumn("event_id", F.col("event_id").cast("int"))
    wheres = spark.createDataFrame([(1, "TRUE")], "subscription_id int, where string")
    assert caddis.match(numbered, wheres).schema == StructType(
        [
            StructField("event_id", IntegerType(), nullable=False),
            StructField("subscription_id", IntegerType(), nullable=False),
        ]
    )


def test_the_key_may_be_another_column(events: DataFrame):
    renamed = events.withColumnRenamed("event_id", "offer")
    matches = caddis.match(
        renamed, table({"ann": "offer > 1 AND city = 'Cork'"}), event_key="offer"
    )
    assert matches.columns == ["offer", "subscription_id"]
    assert pairs(matches) == {(2, "ann")}


def test_the_result_joins_back_to_the_events(events: DataFrame):
    matches = caddis.match(events, table({"ann": "city = 'Cork'"}))
    assert [row.city for row in matches.join(events, "event_id").collect()] == ["Cork"]


@pytest.mark.parametrize("name", ["a b", "a.b", "x`y", "größe", "a,b", "SELECT"])
def test_names_may_hold_blanks_dots_and_backquotes(spark: SparkSession, name: str):
    events = spark.createDataFrame([(1, 5, 1), (2, 6, 2)], ["event_id", name, f"key of {name}"])
    quoted = "`" + name.replace("`", "``") + "`"
    wheres = {"ann": f"{quoted} = 5", "bo": f"{quoted} > 1"}
    for key in ("event_id", f"key of {name}"):
        found = pairs(caddis.match(events, table(wheres), event_key=key))
        assert found == {(1, "ann"), (1, "bo"), (2, "bo")}


def test_a_where_may_name_columns_in_any_case(events: DataFrame):
    wheres = {"ann": "CITY = 'Cork' AND Place.TOWN = 'Cobh'"}
    assert pairs(caddis.match(events, table(wheres))) == joined(events, wheres) == {(2, "ann")}


# -------------------------------------------------------------------------------- nothing there


def test_no_events_no_matches(events: DataFrame):
    assert pairs(caddis.match(events.where("FALSE"), table(WHERES))) == set()


def test_no_subscriptions_no_matches(spark: SparkSession, events: DataFrame, tmp_path: Path):
    nobody = spark.createDataFrame([], "subscription_id long, where string")
    empty = pa.table(
        {"subscription_id": pa.array([], pa.int64()), "where": pa.array([], pa.string())}
    )
    for subscriptions in (nobody, empty, new_store(tmp_path / "store", events, [])):
        matches = caddis.match(events, subscriptions)
        assert pairs(matches) == set()
        assert matches.columns == ["event_id", "subscription_id"]
    assert caddis.match(events, nobody).schema["subscription_id"].dataType == LongType()


def test_a_table_of_empty_lists_is_no_error(events: DataFrame):
    nobody = pa.table({"subscription_id": [], "where": []})
    assert pairs(caddis.match(events, nobody)) == set()


# --------------------------------------------------------------------------- zones and types


@pytest.mark.parametrize("zone", ["Europe/Dublin", "America/New_York", "Asia/Kolkata", "+05:00"])
def test_times_are_read_in_the_sessions_zone(spark: SparkSession, zone: str):
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    start = dt.datetime(2024, 3, 31, tzinfo=dt.UTC)
    rows = [(n, start + dt.timedelta(minutes=30 * n)) for n in range(-20, 20)]
    events = session.createDataFrame(rows, "event_id long, at timestamp")
    events = events.withColumn(
        "clock", F.expr("to_timestamp_ntz(date_format(at, 'yyyy-MM-dd HH:mm:ss'))")
    )
    events = events.withColumn("day", F.to_date("at"))
    wheres = {
        "noon": "at < '2024-03-31 02:00:00'",
        "day": "day = DATE '2024-03-31'",
        "literal": "at >= TIMESTAMP '2024-03-31 00:30:00'",
        "zoned": "at = TIMESTAMP '2024-03-31 01:30:00 Europe/Dublin'",
        "local": "clock = '2024-03-31 03:30:00'",
        "midnight": "at >= DATE '2024-03-31'",
        "mixed": "day < TIMESTAMP '2024-03-31 00:00:01'",
    }
    found = pairs(caddis.match(events.coalesce(1), table(wheres)))
    assert found == joined(events, wheres)
    assert {name for _, name in found} >= {"day", "literal", "zoned", "midnight", "mixed"}


def test_a_store_made_for_another_zone_is_refused(
    spark: SparkSession, events: DataFrame, tmp_path: Path
):
    store = new_store(tmp_path / "store", events, [table({"ann": "at IS NULL"})])
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Dublin")
    in_another_zone = session.createDataFrame(ROWS, COLUMNS)
    with pytest.raises(EventError, match="dates and times in UTC, this session in Europe/Dublin"):
        caddis.match(in_another_zone, store)


def test_a_store_made_for_another_type_is_refused(events: DataFrame, tmp_path: Path):
    store = SubscriptionStore.create(tmp_path / "store", pa.schema([("city", pa.int32())]))
    with pytest.raises(EventError, match=r"column 'city' is STRING in the events.*made for INT"):
        caddis.match(events, store)


def test_a_store_may_know_more_columns_than_the_events_have(events: DataFrame, tmp_path: Path):
    schema = pa.schema([("city", pa.string()), ("weight", pa.int32())])
    store = SubscriptionStore.create(tmp_path / "store", schema)
    store.upsert(table({"ann": "city = 'Cork' AND weight IS NULL", "bo": "weight > 0"}))
    assert pairs(caddis.match(events, store)) == {(2, "ann")}


def test_a_store_may_be_made_from_a_hand_written_schema(spark: SparkSession, tmp_path: Path):
    """Whether a field inside may be null, or how Arrow spells a type, is no reason to refuse it."""
    events = spark.sql(
        "SELECT 1L AS event_id, named_struct('town', 'Cobh') AS place, array('sea') AS tags, "
        "'Cork' AS city, TIMESTAMP '2024-07-01 12:00:00' AS at"
    )
    schema = pa.schema(
        {
            "place": pa.struct({"town": pa.large_string()}),
            "tags": pa.large_list(pa.string()),
            "city": pa.string_view(),
            "at": pa.timestamp("us", "UTC"),
        }
    )
    store = SubscriptionStore.create(tmp_path / "store", schema)
    store.upsert(
        table(
            {
                "ann": "place.town = 'Cobh' AND array_contains(tags, 'sea')",
                "bo": "city LIKE 'C%' AND at = '2024-07-01 12:00:00'",
            }
        )
    )
    assert pairs(caddis.match(events, store)) == {(1, "ann"), (1, "bo")}


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_a_store_may_count_time_in_other_units(spark: SparkSession, tmp_path: Path, unit: str):
    events = spark.sql("SELECT 1L AS event_id, TIMESTAMP '2024-07-01 12:00:00.25' AS at")
    wheres = {"ann": "at = '2024-07-01 12:00:00.25'", "bo": "at < '2030-01-01'", "cy": "FALSE"}
    store = SubscriptionStore.create(tmp_path / "s", pa.schema({"at": pa.timestamp(unit, "UTC")}))
    store.upsert(table(wheres))
    assert pairs(caddis.match(events, store)) == joined(events, wheres) == {(1, "ann"), (1, "bo")}


def test_a_store_that_knows_nothing_of_a_collation_is_refused(events: DataFrame, tmp_path: Path):
    store = SubscriptionStore.create(tmp_path / "store", pa.schema({"city": pa.string()}))
    store.upsert(table({"ann": "city = 'cork'"}))
    collated = events.selectExpr("event_id", "city COLLATE UTF8_LCASE AS city")
    with pytest.raises(EventError, match="UTF8_LCASE"):
        caddis.match(collated, store)


def test_a_column_that_nobody_asks_for_may_be_of_any_type(events: DataFrame):
    odd = events.selectExpr(
        "event_id", "city", "map('a', 1) AS counts", "make_interval(1) AS wait",
        "array(struct(city)) AS nested", "parse_json('{}') AS anything",
        "struct(make_interval(1) AS gap) AS gaps", "INTERVAL '1' DAY AS delay",
    )  # fmt: skip
    assert pairs(caddis.match(odd, table({"ann": "city = 'Cork'"}))) == {(2, "ann")}


@pytest.mark.parametrize("where", ["wait = 1", "counts = 1", "anything = 1", "delay = 1"])
def test_asking_for_a_column_of_such_a_type_is_an_error(events: DataFrame, where: str):
    odd = events.selectExpr(
        "event_id", "make_interval(1) AS wait", "map('a', 1) AS counts",
        "parse_json('{}') AS anything", "INTERVAL '1' DAY AS delay",
    )  # fmt: skip
    with pytest.raises(InvalidSubscriptions, match=where.split(maxsplit=1)[0]):
        caddis.match(odd, table({"ann": where}))


@pytest.mark.parametrize(
    ("column", "where"),
    [
        ("city COLLATE UTF8_LCASE AS word", "word = 'cork'"),
        ("city COLLATE UNICODE_CI AS word", "word IN ('cork', 'Cobh')"),
        ("struct(city COLLATE UTF8_LCASE AS town) AS word", "word.town = 'cork'"),
        ("array(city COLLATE UTF8_LCASE) AS word", "array_contains(word, 'cork')"),
    ],
)
def test_a_collated_column_is_refused(events: DataFrame, column: str, where: str):
    collated = events.selectExpr("event_id", column)
    assert joined(collated, {"ann": where}) == {(2, "ann")}, "Spark compares by the collation"
    with pytest.raises(InvalidSubscriptions, match=r"UTF8_LCASE|UNICODE_CI"):
        caddis.match(collated, table({"ann": where}))


def test_a_collated_column_that_nobody_asks_for_does_not_matter(events: DataFrame):
    collated = events.withColumn("word", F.expr("city COLLATE UTF8_LCASE"))
    assert pairs(caddis.match(collated, table({"ann": "city = 'Cork'"}))) == {(2, "ann")}


# ------------------------------------------------------------------------ what does not matter


@pytest.fixture(scope="module")
def many(spark: SparkSession) -> DataFrame:
    """Two hundred events over a few values."""
    return spark.range(200).selectExpr(
        "id AS event_id", "concat('c', id % 7) AS city", "id % 50 AS price"
    )


MANY_WHERES = {
    f"s{n}": f"city = 'c{n % 7}' AND price < {n}" if n % 3 else f"price BETWEEN {n} AND {n + 3}"
    for n in range(60)
}


@pytest.fixture(scope="module")
def many_pairs(many: DataFrame) -> Pairs:
    return joined(many, MANY_WHERES)


@pytest.mark.parametrize("partitions", [1, 2, 9])
def test_partitions_do_not_matter(many: DataFrame, many_pairs: Pairs, partitions: int):
    spread = many.repartition(partitions)
    assert pairs(caddis.match(spread, table(MANY_WHERES))) == many_pairs


@pytest.mark.parametrize("records", [1, 7, 10_000])
def test_the_size_of_arrow_batches_does_not_matter(
    spark: SparkSession, many_pairs: Pairs, many: DataFrame, records: int
):
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", records)
    try:
        assert pairs(caddis.match(many, table(MANY_WHERES))) == many_pairs
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before or "10000")


@pytest.mark.parametrize("sizes", [(60,), (50, 9, 1), (30, 25, 5), (1,) * 60], ids=str)
def test_segments_do_not_matter(
    many: DataFrame, many_pairs: Pairs, tmp_path: Path, sizes: tuple[int, ...]
):
    whole = table(MANY_WHERES)
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    parts = [whole.slice(start, size) for start, size in zip(starts, sizes, strict=True)]
    assert pairs(caddis.match(many, new_store(tmp_path / "store", many, parts))) == many_pairs


# -------------------------------------------------------------------------- bad subscriptions

MIXED = {"ann": "city = 'Cork'", "bad": "citty = 'Cork'", "bo": "price > 180", "worse": "city ="}


def job_count(spark: SparkSession) -> int:
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


def test_bad_subscriptions_are_skipped_and_the_good_match(events: DataFrame):
    report = caddis.Report()
    matches = caddis.match(events, table(MIXED), on_invalid="skip", report=report)
    assert pairs(matches) == {(2, "ann"), (4, "bo")}
    assert report.invalid.equals(caddis.check(table(MIXED), events))
    invalid = {row["subscription_id"]: row for row in report.invalid.to_pylist()}
    assert set(invalid) == {"bad", "worse"}
    assert "unknown column 'citty'; did you mean 'city'?" in invalid["bad"]["error"]
    assert "^^^^^" in invalid["bad"]["error"]
    assert (invalid["bad"]["start"], invalid["bad"]["end"]) == (0, 5)


def test_nothing_bad_nothing_reported(events: DataFrame, tmp_path: Path):
    store = new_store(tmp_path / "store", events, [table(WHERES)])
    for subscriptions in (table(WHERES), store):
        report = caddis.Report()
        matches = caddis.match(events, subscriptions, on_invalid="skip", report=report)
        assert report.invalid.num_rows == 0
        assert pairs(matches) == joined(events, WHERES)


def test_only_bad_subscriptions_match_nothing(events: DataFrame):
    report, bad = caddis.Report(), table({7: "citty = 'Cork'"})
    assert pairs(caddis.match(events, bad, on_invalid="skip", report=report)) == set()
    assert report.invalid["subscription_id"].to_pylist() == [7]


def test_bad_subscriptions_raise_before_any_job(spark: SparkSession, events: DataFrame):
    before = job_count(spark)
    with pytest.raises(InvalidSubscriptions, match="subscription 'bad': unknown column") as raised:
        caddis.match(events, table(MIXED))
    assert [error.subscription_id for error in raised.value.errors] == ["bad", "worse"]
    assert job_count(spark) == before
    events.count()
    assert job_count(spark) > before, "jobs are not counted"


def test_a_concept_is_refused_until_there_are_models(events: DataFrame):
    with pytest.raises(InvalidSubscriptions, match="a concept needs a model"):
        caddis.match(events, table({"ann": "city = 'Cork' AND beach(photo)"}))


@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        ("subscription_id string", [("a",)], "need a column 'where'; they have subscription_id"),
        ("id string, where string", [("a", "TRUE")], "need a column 'subscription_id'"),
        ("subscription_id string, where string", [(None, "TRUE")], "1 subscriptions have a null"),
        (
            "subscription_id string, where string",
            [("a", "TRUE"), ("a", "FALSE")],
            "'a' occurs more than once",
        ),
    ],
)
def test_a_wrong_table_of_subscriptions_is_refused(
    spark: SparkSession, events: DataFrame, columns: str, rows: list[tuple[str, ...]], message: str
):
    wrong = spark.createDataFrame(rows, columns)
    for subscriptions in (wrong, wrong.toArrow()):
        with pytest.raises(SubscriptionTableError, match=message):
            caddis.match(events, subscriptions, on_invalid="skip")


def test_wheres_that_are_no_texts_are_refused(events: DataFrame):
    wrong = pa.table({"subscription_id": ["a"], "where": [5]})
    with pytest.raises(SubscriptionTableError, match="where"):
        caddis.match(events, wrong)


# ------------------------------------------------------------------------------------- bad keys


def test_events_without_the_key_are_refused(events: DataFrame):
    with pytest.raises(EventError, match="no column 'key' for their key; they have event_id, city"):
        caddis.match(events, table(WHERES), event_key="key")


def test_events_that_are_no_dataframe_of_spark_are_refused(events: DataFrame):
    with pytest.raises(EventError, match=r"must be a Spark DataFrame, not pandas\.DataFrame"):
        caddis.match(events.limit(1).select("event_id").toPandas(), table(WHERES))


def test_the_key_cannot_have_the_ids_name(events: DataFrame):
    renamed = events.withColumnRenamed("event_id", "subscription_id")
    with pytest.raises(EventError, match="cannot be named 'subscription_id'; rename it"):
        caddis.match(renamed, table({"a": "TRUE"}), event_key="subscription_id")


def test_a_key_that_cannot_be_compared_is_refused_at_once(events: DataFrame):
    keyed = events.withColumn("key", F.struct("event_id", "city"))
    with pytest.raises(EventError, match="key"):
        caddis.match(keyed, table({"a": "TRUE"}), event_key="key")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([1, None, 2], "EventError: null keys: 'event_id' is null in 1 of the events"),
        (
            [1, 2, 1],
            "duplicate keys: 'event_id' has values that occur more than once, such as 1",
        ),
        (
            ["a", "b", "b"],
            "duplicate keys: 'event_id' has values that occur more than once, such as 'b'",
        ),
    ],
)
def test_null_and_repeated_keys_are_clear_errors(
    spark: SparkSession, keys: list[object], message: str
):
    type_ = "string" if isinstance(keys[0], str) else "long"
    events = spark.createDataFrame([(key,) for key in keys], f"event_id {type_}").coalesce(1)
    with pytest.raises(PySparkException) as raised:
        caddis.match(events, table({"ann": "TRUE"})).collect()
    assert message in str(raised.value)


# ------------------------------------------------------------------------------- what is shipped


def test_what_is_shipped_is_small(events: DataFrame):
    wheres = {n: f"city = 'c{n}' AND price < {n % 100}" for n in range(5_000)}
    matches = caddis.match(events, table(wheres))
    plan = matches._jdf.queryExecution().analyzed()
    assert 0 < plan.functionExpr().func().command().size() < 2_000


def test_a_match_may_be_told_where_to_keep_its_index(events: DataFrame, tmp_path: Path):
    matches = caddis.match(events, table(WHERES), index_dir=tmp_path / "new" / "folder")
    (folder,) = (tmp_path / "new" / "folder").iterdir()
    assert (folder / "CURRENT").exists()
    assert pairs(matches) == joined(events, WHERES)
