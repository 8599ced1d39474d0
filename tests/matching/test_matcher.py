"""The Matcher as its users see it: which rows satisfy which links, and what it says of itself."""

import datetime as dt
import math
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caddis import Matcher, Matches
from caddis.errors import InvalidSubscriptions, SubscriptionTableError
from caddis.language import Vocabulary
from tests.oracle.clauses import Clauses
from tests.oracle.events import random_batch, random_schema
from tests.runs import seeds, times

SCHEMA = pa.schema(
    [
        ("city", pa.string()),
        ("price", pa.int32()),
        ("rating", pa.float64()),
        ("sold", pa.bool_()),
        ("tags", pa.list_(pa.string())),
        ("photo", pa.binary()),
        ("at", pa.timestamp("us", "UTC")),
        ("seller", pa.struct([("name", pa.string())])),
    ]
)
Pairs = set[tuple[int, int]]


def subscriptions(*wheres: str | None) -> pa.Table:
    return pa.table(
        {
            "subscription_id": pa.array(range(len(wheres)), pa.int64()),
            "where": pa.array(wheres, pa.string()),
        }
    )


def compiled(*wheres: str, **options: Any) -> Matcher:
    return Matcher.compile(subscriptions(*wheres), SCHEMA, **options)


def events(**columns: list[Any]) -> pa.RecordBatch:
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    return pa.record_batch(columns, schema)


def pairs(matches: Matches) -> Pairs:
    found = list(zip(matches.rows.tolist(), matches.links.tolist(), strict=True))
    assert len(found) == len(set(found)), "a match came out twice"
    assert list(matches.rows) == sorted(matches.rows), "rows do not ascend"
    return set(found)


def rows_of(where: str, batch: pa.RecordBatch) -> list[int]:
    """The rows of which a clause is true."""
    return sorted(row for row, _ in pairs(compiled(where).match(batch)))


CITIES = events(
    city=["Galway", "Cork", None, "Galway", ""],
    price=[150, 90, 150, None, 0],
    tags=[["a", "b"], ["a", None], None, [], ["a", "a"]],
)


# -- what matches


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("city = 'Galway'", [0, 3]),
        ("city <> 'Galway'", [1, 4]),
        ("city = 'Galway' AND price = 150", [0]),
        ("city = 'Galway' OR price = 150", [0, 2, 3]),
        ("price BETWEEN 1 AND 100", [1]),
        ("NOT price BETWEEN 1 AND 100", [0, 2, 4]),
        ("price NOT IN (90, 0)", [0, 2]),
        ("price NOT IN (90, NULL)", []),
        ("city IS NULL", [2]),
        ("NOT city <=> 'Cork'", [0, 2, 3, 4]),
        ("city LIKE 'G%'", [0, 3]),
        ("city LIKE '%k'", [1]),
        ("city NOT LIKE '%k'", [0, 3, 4]),
        ("city ILIKE 'CORK'", [1]),
        ("city RLIKE '^.al'", [0, 3]),
        ("city LIKE '%a%' AND city LIKE '%w%' AND price IS NULL", [3]),
        ("city LIKE '%a%' OR city LIKE '%k'", [0, 1, 3]),
        ("array_contains(tags, 'a')", [0, 1, 4]),
        ("array_contains(tags, 'a') AND array_contains(tags, 'b')", [0]),
        ("NOT array_contains(tags, 'b')", [3, 4]),
        ("array_contains(tags, 'a') AND NOT array_contains(tags, 'b')", [4]),
        ("tags IS NULL", [2]),
        ("tags IS NOT NULL AND city = 'Galway'", [0, 3]),
        ("TRUE", [0, 1, 2, 3, 4]),
        ("FALSE", []),
        ("NULL", []),
        ("city > 'Cork' AND city < 'Galwaz'", [0, 3]),
        ("city >= ''", [0, 1, 3, 4]),
    ],
)
def test_a_clause_matches_the_rows_of_which_it_is_true(where, rows):
    assert rows_of(where, CITIES) == rows


def test_numbers_compare_as_in_spark():
    batch = events(rating=[math.nan, math.inf, 0.0, -0.0, 0.1, None])
    assert rows_of("rating > 1e308", batch) == [0, 1]
    assert rows_of("rating = 0", batch) == [2, 3]
    assert rows_of("rating < 0", batch) == []
    assert rows_of("rating = 0.1", batch) == [4]
    assert rows_of("rating <> 0.1", batch) == [0, 1, 2, 3]


def test_the_zone_decides_what_a_timestamp_means():
    batch = events(at=[dt.datetime(2024, 7, 1, 11), dt.datetime(2024, 7, 1, 12)])
    where = "at >= '2024-07-01 13:00:00'"
    assert pairs(compiled(where, timezone="Europe/Dublin").match(batch)) == {(1, 0)}
    assert pairs(compiled(where).match(batch)) == set()


def test_wide_decimals_compare_exactly():
    schema = pa.schema([("fee", pa.decimal128(38, 2))])
    digits = "123456789012345678901234567890"
    fees = [Decimal(f"{digits}.12"), Decimal(f"{digits}.13"), Decimal(f"-{digits}.12"), None]
    batch = pa.record_batch({"fee": fees}, schema)
    table = subscriptions(f"fee = {digits}.12", f"fee > {digits}.12", f"fee < -{digits}.11")
    assert pairs(Matcher.compile(table, schema).match(batch)) == {(0, 0), (1, 1), (2, 2)}


def test_a_column_that_the_events_lack_is_null():
    batch = events(price=[1, 2])
    found = pairs(
        compiled("city IS NULL", "city = 'a'", "price = 2", "city LIKE '%a'").match(batch)
    )
    assert found == {(0, 0), (1, 0), (1, 2)}


def test_a_link_with_several_clauses_that_hold_is_reported_once():
    matcher = compiled("city = 'Galway' OR price = 150", "price > 100 OR tags IS NOT NULL OR sold")
    assert pairs(matcher.match(CITIES)) == {
        (0, 0),
        (2, 0),
        (3, 0),
        (0, 1),
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 1),
    }


def test_an_element_twice_in_an_array_matches_once():
    assert pairs(compiled("array_contains(tags, 'a')").match(events(tags=[["a", "a", "a"]]))) == {
        (0, 0)
    }


def test_equal_subscriptions_are_links_of_their_own():
    assert pairs(compiled(*["price = 90"] * 3).match(CITIES)) == {(1, 0), (1, 1), (1, 2)}


def test_an_array_cannot_contain_what_none_of_its_elements_can_be():
    schema = pa.schema([("sizes", pa.list_(pa.int16()))])
    batch = pa.record_batch({"sizes": [[1, 2], [], None, [None]]}, schema)
    table = subscriptions("array_contains(sizes, 0.5)", "NOT array_contains(sizes, 0.5)")
    assert pairs(Matcher.compile(table, schema).match(batch)) == {(0, 1), (1, 1)}


# -- edges


def test_no_subscriptions_match_nothing():
    matcher = compiled()
    assert len(matcher) == 0
    assert pairs(matcher.match(CITIES)) == set()
    assert matcher.columns == []


@pytest.mark.parametrize("where", ["TRUE", "FALSE", "price = 1", "city LIKE '%a'", "sold"])
def test_no_events_match_nothing(where):
    matches = compiled(where).match(CITIES.slice(0, 0))
    assert pairs(matches) == set()
    assert matches.report.events == 0


def test_a_table_of_no_chunks_is_a_table_of_no_subscriptions():
    schema = pa.schema([("subscription_id", pa.int64()), ("where", pa.string())])
    assert len(Matcher.compile(schema.empty_table(), SCHEMA)) == 0


def test_events_without_columns_match_what_needs_none():
    batch = pa.record_batch({"other": [1, 2]})
    assert pairs(compiled("TRUE", "price = 1", "price IS NULL").match(batch)) == {
        (0, 0),
        (1, 0),
        (0, 2),
        (1, 2),
    }


def test_a_schema_without_columns_is_enough_for_constants():
    matcher = Matcher.compile(subscriptions("TRUE", "FALSE"), pa.schema([]))
    assert pairs(matcher.match(CITIES)) == {(row, 0) for row in range(5)}


def test_subscriptions_in_several_chunks_keep_their_link_numbers():
    table = pa.concat_tables(
        [subscriptions("price = 90"), pa.table({"subscription_id": [9], "where": ["TRUE"]})]
    )
    matcher = Matcher.compile(table, SCHEMA)
    assert matcher.subscription_ids.to_pylist() == [0, 9]
    assert pairs(matcher.match(CITIES)) == {(1, 0), *((row, 1) for row in range(5))}


def test_rows_and_links_are_int32():
    matches = compiled("TRUE").match(CITIES)
    assert [str(array.dtype) for array in (matches.rows, matches.links)] == ["int32", "int32"]


def test_the_two_halves_of_a_match_are_a_match():
    matcher = compiled("city = 'Galway'", "city RLIKE 'o'", "TRUE")
    encoded = matcher.encode(CITIES)
    assert pairs(matcher.match_encoded(encoded)) == pairs(matcher.match(CITIES))
    assert pairs(matcher.match_encoded(encoded)) == pairs(matcher.match(CITIES))


def test_a_matcher_knows_the_columns_that_it_tests():
    matcher = compiled("price = 1 AND seller.name = 'Ann'", "price > 5")
    assert sorted(column.name for column in matcher.columns) == ["price", "seller.name"]


# -- independence of batches and samples

MANY = [
    "city = 'Galway' AND price < 100",
    "city IN ('Cork', 'Tuam') OR price > 180",
    "city LIKE '%a%' AND rating >= 2.5",
    "city NOT LIKE 'G%'",
    "city RLIKE 'r|m' AND NOT sold",
    "array_contains(tags, 'a') AND price BETWEEN 50 AND 150",
    "NOT array_contains(tags, 'b') AND city = 'Cork'",
    "price IS NULL OR rating IS NULL",
    "price NOT IN (1, 2, 3) AND sold",
    "TRUE",
    "rating > 4 AND city > 'D'",
    "tags IS NULL AND sold IS NOT TRUE",
]


def random_events(random: Random, count: int) -> pa.RecordBatch:
    def maybe(value: Any) -> Any:
        return None if random.random() < 0.15 else value

    rows = [
        {
            "city": maybe(random.choice(["Galway", "Cork", "Tuam", "Athlone"])),
            "price": maybe(random.randrange(200)),
            "rating": maybe(random.choice([0.5, 2.5, 4.5, math.nan])),
            "sold": maybe(random.random() < 0.5),
            "tags": maybe([maybe(random.choice("abc")) for _ in range(random.randrange(4))]),
        }
        for _ in range(count)
    ]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


@settings(max_examples=times(10, 50))
@given(st.randoms(use_true_random=False), st.lists(st.integers(0, 60), max_size=4))
def test_a_batch_may_be_split_anywhere(random, cuts):
    batch, matcher = random_events(random, 60), compiled(*MANY)
    whole, begin, found = pairs(matcher.match(batch)), 0, set()
    for end in [*sorted(cuts), 60]:
        part = matcher.match(batch.slice(begin, end - begin))
        found |= {(row + begin, link) for row, link in pairs(part)}
        begin = end
    assert found == whole


@pytest.mark.parametrize("seed", seeds(4, 20))
def test_a_sample_changes_nothing_in_the_results(seed):
    random = Random(seed)
    batch = random_events(random, 80)
    expected = pairs(compiled(*MANY).match(batch))
    for sample in (batch, batch.slice(0, 1), batch.slice(0, 0), random_events(random, 50)):
        assert pairs(compiled(*MANY, sample=sample).match(batch)) == expected


@pytest.mark.parametrize("seed", seeds(3, 12))
def test_a_sample_of_any_schema_changes_nothing_in_the_results(seed):
    random = Random(seed)
    batch = random_batch(random, random_schema(random), rows=30)
    clauses = Clauses(random, batch)
    table = subscriptions(*(clauses.tree().text for _ in range(60)))
    plain = Matcher.compile(table, batch.schema)
    sampled = Matcher.compile(table, batch.schema, sample=batch)
    assert pairs(sampled.match(batch)) == pairs(plain.match(batch))


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_the_order_of_subscriptions_only_changes_the_link_numbers(seed):
    random = Random(seed)
    batch, order = random_events(random, 50), list(range(len(MANY)))
    random.shuffle(order)
    shuffled = pairs(compiled(*(MANY[at] for at in order)).match(batch))
    assert {(row, order[link]) for row, link in shuffled} == pairs(compiled(*MANY).match(batch))


def test_a_sample_makes_the_rare_value_the_access_token():
    wheres = [f"city = 'everywhere' AND price = {price}" for price in range(50)]
    wheres += [f"city = 'c{i}' AND price = 5" for i in range(50)]
    batch = events(city=["everywhere"] * 200, price=[5] * 200)
    sampled = compiled(*wheres, sample=batch).match(batch).report
    assert sampled.matches == 200
    assert sampled.candidates == 200


# -- the report


def test_the_report_counts_events_matches_candidates_and_searches():
    report = compiled("city = 'Galway' AND price > 1000", "city LIKE '%k'").match(CITIES).report
    assert report.events == 5
    assert report.matches == 1
    assert report.candidates >= report.matches
    assert report.searches == len({"Galway", "Cork", None, ""})


def test_without_patterns_nothing_is_searched():
    assert compiled("city = 'Galway'", "city LIKE 'G%'").match(CITIES).report.searches == 0


def test_a_pattern_is_searched_only_where_the_rest_of_its_clause_holds():
    assert compiled("city LIKE '%k' AND price = 90").match(CITIES).report.searches == 1


def test_clauses_that_share_no_token_with_an_event_are_not_looked_at():
    wheres = [f"city = 'c{i}' AND price > {i}" for i in range(1_000)]
    report = compiled(*wheres).match(events(city=["c5"], price=[7])).report
    assert (report.matches, report.candidates) == (1, 1)


def test_the_size_grows_with_the_subscriptions_and_counts_their_ids():
    small = compiled(*[f"price = {i}" for i in range(10)])
    large = compiled(*[f"price = {i}" for i in range(1_000)])
    assert large.nbytes > 10 * small.nbytes
    assert small.nbytes > small.subscription_ids.nbytes


def test_a_subscription_takes_a_few_hundred_bytes_at_most():
    wheres = [
        f"city = 'c{i}' AND price BETWEEN {i} AND {i + 9} AND rating > 1.5" for i in range(2_000)
    ]
    assert compiled(*wheres).nbytes / 2_000 < 300


# -- subscriptions that cannot be used

BAD = ("price = 90", "pricee = 1", "TRUE", None, "price = 'x'", "beach(photo)", "")


def test_bad_subscriptions_are_raised_all_at_once_with_their_ids():
    with pytest.raises(InvalidSubscriptions) as problem:
        Matcher.compile(subscriptions(*BAD), SCHEMA)
    assert [error.subscription_id for error in problem.value.errors] == [1, 3, 4, 5, 6]
    assert str(problem.value).startswith(
        "subscription 1: unknown column 'pricee'; did you mean 'price'?\n  pricee = 1\n  ^^^^^^\n"
    )


def test_reported_subscriptions_do_not_keep_the_others_from_matching():
    matcher = Matcher.compile(subscriptions(*BAD), SCHEMA, on_invalid="skip")
    assert pairs(matcher.match(CITIES)) == {(1, 0), *((row, 2) for row in range(5))}
    assert [error.subscription_id for error in matcher.invalid] == [1, 3, 4, 5, 6]
    assert len(matcher) == len(BAD)


def test_nothing_invalid_is_reported_if_all_is_well():
    assert compiled("TRUE", on_invalid="skip").invalid == ()


def test_a_subscription_with_one_bad_clause_matches_with_none_of_its_clauses():
    matcher = compiled("price = 90 OR city = 5", "price = 90", on_invalid="skip")
    assert pairs(matcher.match(CITIES)) == {(1, 1)}


def test_a_concept_is_refused_by_name_until_there_are_models():
    with pytest.raises(InvalidSubscriptions) as problem:
        compiled("price = 90 AND NOT Beach(photo)")
    (error,) = problem.value.errors
    assert error.problem == (
        "unknown concept 'beach': a concept needs a model, and no models are given"
    )


def test_a_concept_in_one_clause_of_an_or_refuses_the_whole_subscription():
    matcher = compiled("price = 90 OR beach(photo)", "price = 90", on_invalid="skip")
    assert [error.subscription_id for error in matcher.invalid] == [0]
    assert pairs(matcher.match(CITIES)) == {(1, 1)}


def test_a_concept_that_cannot_matter_is_no_obstacle():
    beach = Vocabulary.of([("beach", None)])
    matcher = compiled("FALSE AND beach(photo)", "TRUE OR beach(photo)", concepts=beach)
    assert pairs(matcher.match(CITIES)) == {(row, 1) for row in range(5)}


# -- tables that cannot be used


def table_error(table: pa.Table) -> str:
    with pytest.raises(SubscriptionTableError) as problem:
        Matcher.compile(table, SCHEMA)
    return str(problem.value)


def test_a_table_without_a_column_says_which_and_what_it_has():
    table = pa.table({"subscription_id": [1], "clause": ["TRUE"]})
    assert table_error(table) == (
        "subscriptions need a column 'where'; they have subscription_id, clause"
    )
    assert table_error(pa.table({"id": [1], "where": ["TRUE"]})) == (
        "subscriptions need a column 'subscription_id'; they have id, where"
    )


def test_null_ids_are_counted():
    table = pa.table({"subscription_id": ["a", None, None], "where": ["TRUE"] * 3})
    assert table_error(table) == "2 subscriptions have a null subscription_id"


@pytest.mark.parametrize(
    ("ids", "first"), [(["a", "b", "a"], "'a'"), ([5, 7, 7, 5], "5 (and 1 more)")]
)
def test_ids_that_occur_twice_are_counted_and_one_is_named(ids, first):
    table = pa.table({"subscription_id": ids, "where": ["TRUE"] * len(ids)})
    assert table_error(table) == f"subscription_id must be unique: {first} occurs more than once"


def test_a_where_column_that_is_no_text_is_an_error():
    assert "where" in table_error(pa.table({"subscription_id": [1], "where": [5]}))


def test_an_unknown_time_zone_is_an_error_that_names_it():
    with pytest.raises(Exception, match="Mars/Olympus"):
        compiled("at > '2024-01-01'", timezone="Mars/Olympus")
