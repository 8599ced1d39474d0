"""The commands that take the URI of a store where they take its folder."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from caddis import SubscriptionStore
from tests.cli.commands import done

OFFERS = pa.table({"event_id": [1, 2, 3], "city": ["Galway", "Cork", "Galway"]})


def test_commands_take_a_store_at_a_uri(spark: SparkSession, bucket: str, tmp_path: Path):
    # The workers of the tests' session began without the credentials that this process has now.
    place = bucket.replace("s3://", "s3://tests:tests@")
    store = SubscriptionStore.create(place, OFFERS.schema)
    store.upsert(pa.table({"subscription_id": ["ann"], "where": ["city = 'Galway'"]}))
    pq.write_table(OFFERS, tmp_path / "offers.parquet")
    given = "--events", tmp_path / "offers.parquet", "--subscriptions", place
    summary = json.loads(done("match", *given, "--out", tmp_path / "out", "--json"))
    assert (summary["subscriptions"], summary["matches"]) == (1, 2)
    assert json.loads(done("explain", place, "--json"))["subscriptions"] == 1
