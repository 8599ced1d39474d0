"""`caddis sealed match` without Spark: which subscriptions are used, and how it ends."""

import pyarrow as pa

from caddis.cli.sealed.matching import NO_ID, REPEATED, each_id_once
from tests.cli.sealed.homes import MATCHED, shown


def test_001_of_two_subscribers_is_used_once_and_reported_once():
    ids, wheres = ["001", "7", "001", None, "001"], ["a", "b", "c", "d", "e"]
    chunks = [pa.table({"subscription_id": ids[:2], "where": wheres[:2]})]
    chunks += [pa.table({"subscription_id": ids[2:], "where": wheres[2:]})]
    usable, invalid = each_id_once(pa.concat_tables(chunks))
    assert usable["where"].to_pylist() == ["a", "b"]
    assert invalid == [("001", REPEATED), (None, NO_ID), ("001", REPEATED)]


def test_a_table_without_subscriptions_has_no_invalid_ones():
    none = pa.schema([("subscription_id", pa.string()), ("where", pa.string())]).empty_table()
    assert each_id_once(none) == (none, [])


def test_a_broker_s_end_counts_refusals_by_reason():
    assert MATCHED.pairs == 100 * 50
    assert MATCHED.as_json()["tests_per_event"] == 0.962
    screen = shown(MATCHED)
    assert "changed on its way" in screen
    assert "_refused.jsonl" in screen.replace("\n", "").replace(" ", "")
