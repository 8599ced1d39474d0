"""`caddis.check` lists what `match` would refuse, with the place in the text."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import caddis
from caddis.errors import EventError, InvalidSubscriptions, ModelError, SubscriptionTableError
from tests.sealed.homes import sealed_wheres

SCHEMA = pa.schema([("city", pa.string()), ("price", pa.int32())])
SUBSCRIPTIONS = pa.table(
    {
        "subscription_id": ["ann", "bo", "cy", "di"],
        "where": ["price < 9", "city = 'Cork' AND prize < 9", None, "beach(city)"],
    }
)


@caddis.concept(reads="city")
def beach(city: str) -> bool:
    return city == "Galway"


@pytest.mark.parametrize("schema", [SCHEMA, "city STRING, price INT"], ids=["arrow", "ddl"])
def test_every_error_is_a_row_with_its_place(schema: pa.Schema | str):
    invalid = caddis.check(SUBSCRIPTIONS, schema)
    assert invalid.schema.names == ["subscription_id", "error", "start", "end"]
    by_id = {row["subscription_id"]: row for row in invalid.to_pylist()}
    assert list(by_id) == ["bo", "cy", "di"]
    assert (by_id["bo"]["start"], by_id["bo"]["end"]) == (18, 23)
    assert "unknown column 'prize'; did you mean 'price'?" in by_id["bo"]["error"]
    assert (by_id["cy"]["start"], by_id["cy"]["end"]) == (None, None)


def test_the_errors_are_those_that_compiling_raises():
    with pytest.raises(InvalidSubscriptions) as raised:
        caddis.Matcher.compile(SUBSCRIPTIONS, SCHEMA)
    assert caddis.check(SUBSCRIPTIONS, SCHEMA)["error"].to_pylist() == [
        str(error) for error in raised.value.errors
    ]


def test_models_allow_their_concepts():
    assert caddis.check(SUBSCRIPTIONS, SCHEMA, [beach])["subscription_id"].to_pylist() == [
        "bo",
        "cy",
    ]
    with pytest.raises(ModelError, match="city"):
        caddis.check(SUBSCRIPTIONS, "price INT", [beach])


def test_nothing_wrong_is_an_empty_table():
    good = SUBSCRIPTIONS.slice(0, 1)
    assert caddis.check(good, SCHEMA).num_rows == 0
    numbered = good.set_column(0, "subscription_id", pa.array([7], pa.int32()))
    assert caddis.check(numbered, SCHEMA).schema.field("subscription_id").type == pa.int32()


def test_a_table_or_schema_that_is_none_is_refused():
    with pytest.raises(SubscriptionTableError, match="need a column 'where'"):
        caddis.check(SUBSCRIPTIONS.select(["subscription_id"]), SCHEMA)
    with pytest.raises(EventError, match="STRIG"):
        caddis.check(SUBSCRIPTIONS, "city STRIG")
    with pytest.raises(EventError, match="a text such as 'city STRING', not dict"):
        caddis.check(SUBSCRIPTIONS, {"city": "STRING"})
    texts = [caddis.sealed.as_text(one) for one in sealed_wheres()["where"].to_pylist()[:1]]
    sealed = pa.table({"subscription_id": ["ann"], "where": texts})
    with pytest.raises(SubscriptionTableError, match="are sealed"):
        caddis.check(sealed, SCHEMA)


def test_dataframes_of_events_and_of_subscriptions_are_checked_alike(spark: SparkSession):
    events = spark.createDataFrame([], "city STRING, price INT")
    rows = [tuple(row.values()) for row in SUBSCRIPTIONS.to_pylist()]
    frame = spark.createDataFrame(rows, "subscription_id STRING, where STRING")
    assert caddis.check(frame, events).equals(caddis.check(SUBSCRIPTIONS, SCHEMA))
