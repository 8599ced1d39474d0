"""Thousands of random clauses: Caddis and Spark must agree on every event.

A failure shows the smallest part of a clause on which they still differ, the values it looked at
and both answers. Whatever is found here gets its own line in test_spark_semantics.py.
`make test-long` tries many more. Their coverage is not measured: that would double the time, and
every line is measured by the tests of its own module.
"""

from random import Random

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.oracle.clauses import Clauses
from tests.oracle.events import (
    LINE_ENDS,
    LOCAL,
    SCALARS,
    TEXTS,
    WIDE_DECIMALS,
    ZONED,
    random_batch,
    random_schema,
)
from tests.oracle.judges import Case, accepted_by_caddis, refused_by_spark, spark_and_caddis
from tests.oracle.wild import WildClauses
from tests.runs import seeds

pytestmark = pytest.mark.no_cover
SUMMER_TIME = "Europe/Dublin"


@pytest.mark.parametrize("seed", seeds(5, 80))
def test_random_clauses_mean_what_spark_says(spark: SparkSession, seed: int):
    random = Random(seed)
    batch = random_batch(random, random_schema(random), 60, TEXTS + LINE_ENDS)
    clauses = Clauses(random, batch)
    judges = spark_and_caddis(spark)
    assert Case(batch, judges).disagreement([clauses.tree() for _ in range(300)]) == ""


def test_they_mean_the_same_in_the_code_that_spark_generates(spark: SparkSession):
    random = Random(100)
    batch = random_batch(random, random_schema(random), 60, TEXTS + LINE_ENDS)
    clauses = Clauses(random, batch)
    judges = spark_and_caddis(spark, compiled=True)
    assert Case(batch, judges).disagreement([clauses.tree() for _ in range(100)]) == ""


@pytest.mark.parametrize("seed", seeds(2, 20))
def test_dates_and_times_follow_the_session_zone(spark: SparkSession, seed: int):
    random = Random(200 + seed)
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", SUMMER_TIME)
    names = {"day": pa.date32(), "at": ZONED, "clock": LOCAL, "price": pa.int32()}
    batch = random_batch(random, pa.schema(names), 60)
    clauses = Clauses(random, batch, SUMMER_TIME)
    judges = spark_and_caddis(session, zone=SUMMER_TIME)
    assert Case(batch, judges).disagreement([clauses.tree() for _ in range(200)]) == ""


@pytest.mark.parametrize("seed", seeds(3, 40))
def test_what_caddis_does_not_refuse_is_legal_in_spark_and_means_the_same(
    spark: SparkSession, seed: int
):
    random = Random(300 + seed)
    schema = random_schema(random, SCALARS + WIDE_DECIMALS)
    batch = random_batch(random, schema, 30, TEXTS + LINE_ENDS)
    clauses = WildClauses(random, batch)
    nodes = accepted_by_caddis(batch, [clauses.wild() for _ in range(500)])
    assert len(nodes) > 50, "too few accepted to say anything"
    try:
        disagreement = Case(batch, spark_and_caddis(spark)).disagreement(nodes)
    except PySparkException:
        assert refused_by_spark(spark, batch, nodes) == {}
        raise
    assert disagreement == ""
