"""Rows that a matcher rules out by the ranges of their columns match nothing."""

import math
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from caddis import Matcher
from caddis.language import Column, is_comparable
from caddis.matching import ValueRange, values_of
from tests.matching.test_matcher import SCHEMA, compiled, events
from tests.oracle.clauses import Clauses
from tests.oracle.events import random_batch, random_schema
from tests.runs import seeds

CITY, PRICE = Column(("city",), pa.string()), Column(("price",), pa.int32())
RATING = Column(("rating",), pa.float64())


def known(column: Column, *ends: object, nulls: bool = False) -> dict[Column, ValueRange]:
    return {column: ValueRange(pa.array(ends, column.type), nulls)}


def ranges_of(matcher: Matcher, batch: pa.RecordBatch) -> dict[Column, ValueRange]:
    """What a file's statistics would say of the rows."""
    found = {}
    for column in matcher.columns:
        values = values_of(batch, column)
        if values is None or column.repeated or not is_comparable(column.type):
            continue
        nulls = values.null_count > 0
        values = values.drop_null()
        if pa.types.is_floating(values.type):
            values = values.filter(pc.invert(pc.is_nan(values)))
            if not len(values):
                continue
        ends = pc.min_max(values)
        ends = pa.array([ends["min"], ends["max"]], values.type) if len(values) else values
        found[column] = ValueRange(ends, nulls)
    return found


@pytest.mark.parametrize("seed", seeds(3, 60))
def test_rows_that_are_ruled_out_match_nothing(seed: int):
    random = Random(seed)
    batch = random_batch(random, random_schema(random), 20)
    clauses, ruled_out = Clauses(random, batch), 0
    for size in (1, 1, 1, 2, 3) * 6:
        table = pa.table(
            {
                "subscription_id": range(size),
                "where": [clauses.tree().text for _ in range(size)],
            }
        )
        matcher = Matcher.compile(table, batch.schema)
        for start in range(0, batch.num_rows, 4):
            rows = batch.slice(start, 4)
            wanted = matcher.may_match(ranges_of(matcher, rows))
            assert wanted or not len(matcher.match(rows).rows)
            ruled_out += not wanted
    assert ruled_out, "nothing is ruled out"


def test_a_value_beyond_the_range_is_ruled_out():
    matcher = compiled("city = 'Galway'", "city = 'Cork' AND price < 10")
    assert not matcher.may_match(known(CITY, "Athlone", "Cavan"))
    assert matcher.may_match(known(CITY, "Athlone", "Cork"))
    assert not matcher.may_match(known(CITY, "Athlone", "Cork") | known(PRICE, 10, 90))
    assert matcher.may_match(known(PRICE, 10, 90))


def test_nulls_matter_only_to_clauses_that_ask_for_them():
    matcher = compiled("price IS NULL AND city = 'Cork'")
    assert not matcher.may_match(known(PRICE, 1, 9))
    assert matcher.may_match(known(PRICE, 1, 9, nulls=True))
    assert not matcher.may_match(known(CITY, nulls=True))


def test_nan_may_hide_above_the_highest_float():
    assert compiled("rating > 5").may_match(known(RATING, 1.0, 2.0))
    assert not compiled("rating < 1").may_match(known(RATING, 1.0, 2.0))
    batch = events(rating=[math.nan])
    assert len(compiled("rating > 5").match(batch).rows) == 1


def test_a_range_around_a_value_that_is_only_asked_for_by_itself_is_not_ruled_out():
    assert compiled("city IN ('b', 'd')").may_match(known(CITY, "a", "z"))


@pytest.mark.parametrize("where", ["TRUE", "city LIKE '%x'", "array_contains(tags, 'sea')"])
def test_columns_without_a_range_rule_nothing_out(where: str):
    everything = known(CITY, "a", "b") | known(PRICE, 1, 2)
    assert compiled(where).may_match(everything)


def test_a_matcher_of_nothing_wants_nothing():
    assert not Matcher.compile(
        pa.table({"subscription_id": pa.array([], pa.int64()), "where": pa.array([], pa.string())}),
        SCHEMA,
    ).may_match({})
