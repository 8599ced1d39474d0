"""What `explain` says of how subscriptions are indexed."""

import pyarrow as pa
import pytest

from caddis import Matcher
from caddis.matching.explaining import AccessUse, Explanation, SharedToken, explain

SCHEMA = pa.schema(
    [
        ("city", pa.string()),
        ("price", pa.int32()),
        ("rating", pa.float64()),
        ("fee", pa.decimal128(9, 2)),
        ("wide", pa.decimal128(38, 2)),
        ("sold", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("tags", pa.list_(pa.string())),
        ("photo", pa.binary()),
    ]
)


def table(*wheres: str) -> pa.Table:
    ids = [f"s{number}" for number in range(len(wheres))]
    return pa.table(
        {"subscription_id": pa.array(ids, pa.string()), "where": pa.array(wheres, pa.string())}
    )


def explained(*wheres: str, limit: int = 10) -> Explanation:
    return explain(table(*wheres), SCHEMA, limit=limit)


def kinds(*wheres: str) -> dict[str, int]:
    """How many clauses are found in each way."""
    return {use.kind: use.clauses for use in explained(*wheres).access}


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("city = 'Galway'", "equality"),
        ("city IN ('Galway', 'Cork')", "equality"),
        ("sold", "equality"),
        ("city LIKE 'Gal%'", "range or prefix"),
        ("price BETWEEN 5 AND 10 AND price <> 7", "range or prefix"),
        ("array_contains(tags, 'a')", "array element"),
        ("city LIKE '%way'", "pattern"),
        ("city RLIKE 'way'", "pattern"),
        ("NOT array_contains(tags, 'a')", "every event"),
        ("tags IS NULL", "every event"),
        ("TRUE", "every event"),
    ],
)
def test_a_clause_is_found_by_its_kind_of_token(where, kind):
    assert kind in kinds(where, "city > 'A' AND city < 'B'")


def test_values_are_preferred_to_patterns_and_arrays_that_lack():
    wheres = ["city LIKE '%a' AND price = 5", "NOT array_contains(tags, 'a') AND price = 6"]
    assert kinds(*wheres) == {"equality": 2}


def test_clauses_under_one_token_are_counted():
    wheres = ["city = 'Galway'"] * 3 + ["city = 'Cork'"]
    found = explained(*wheres)
    assert found.access == (AccessUse("equality", clauses=4, tokens=2, most_shared=3),)
    assert found.shared == (
        SharedToken("city", "= 'Galway'", 3),
        SharedToken("city", "= 'Cork'", 1),
    )


@pytest.mark.parametrize(
    ("where", "token"),
    [
        ("price = 5", ("price", "= 5")),
        ("price = -5", ("price", "= -5")),
        ("city = 'it''s'", ("city", '= "it\'s"')),
        ("rating = -1.5", ("rating", "= -1.5")),
        ("rating = 0.25D", ("rating", "= 0.25")),
        ("fee = 12.50", ("fee", "= 12.50")),
        ("fee = -0.05", ("fee", "= -0.05")),
        ("wide = 123456789012345678901234.56", ("wide", "= 123456789012345678901234.56")),
        ("wide = -1", ("wide", "= -1.00")),
        ("sold", ("sold", "= TRUE")),
        ("day = '2024-02-29'", ("day", "= 2024-02-29")),
        ("at = '2024-02-29 12:00:00'", ("at", "= 2024-02-29 12:00:00")),
        ("price IS NULL", ("price", "= NULL")),
        ("array_contains(tags, 'a')", ("tags", "= 'a'")),
        ("TRUE", ("", "every event")),
    ],
)
def test_a_token_is_said_in_words(where, token):
    (shared,) = explained(where).shared
    assert (shared.column, shared.token) == token


def test_a_pattern_as_token_is_said_in_words():
    (shared,) = explained("city RLIKE 'way'").shared
    assert (shared.column, shared.token) == ("city", "matches way")


def test_the_fullest_tokens_come_first_and_the_list_is_cut():
    wheres = [f"city = 'c{i}'" for i in range(6) for _ in range(i + 1)]
    found = explained(*wheres, limit=3)
    assert [shared.clauses for shared in found.shared] == [6, 5, 4]
    assert found.access[0].tokens == 6


def test_scanned_subscriptions_say_why():
    found = explained(
        "city LIKE '%way'", "TRUE", "NOT array_contains(tags, 'a')", "tags IS NULL", "price = 5"
    )
    array = "it only says what an array lacks, or whether it is null"
    assert [(one.subscription_id, one.where, one.why) for one in found.scanned] == [
        ("s0", "city LIKE '%way'", "only a pattern on 'city', which is searched in all its values"),
        ("s1", "TRUE", "it is true of every event"),
        ("s2", "NOT array_contains(tags, 'a')", array),
        ("s3", "tags IS NULL", array),
    ]
    assert found.scanned_count == 4


def test_a_subscription_with_one_scanned_clause_is_scanned():
    found = explained("price = 5 OR city LIKE '%way'", "price = 5")
    assert [one.subscription_id for one in found.scanned] == ["s0"]


def test_the_list_of_scanned_ones_is_cut_but_all_are_counted():
    found = explained(*["TRUE"] * 7, limit=2)
    assert (len(found.scanned), found.scanned_count) == (2, 7)


def test_subscriptions_and_clauses_are_counted():
    found = explained("price = 5 OR city = 'a'", "FALSE", "price = 1")
    assert (found.subscriptions, found.clauses) == (3, 3)


def test_the_size_is_that_of_the_matcher():
    wheres = [f"city = 'c{i}' AND price < {i}" for i in range(50)]
    assert explained(*wheres).nbytes == Matcher.compile(table(*wheres), SCHEMA).nbytes


def test_bad_subscriptions_are_named_and_the_others_explained():
    found = explained("price = 5", "pricee = 5", "beach(photo)")
    assert [error.subscription_id for error in found.invalid] == ["s1", "s2"]
    assert found.clauses == 1


def test_no_subscriptions_are_explained_too():
    found = explained()
    assert (found.subscriptions, found.clauses, found.access, found.shared) == (0, 0, (), ())


def test_a_range_is_found_under_one_or_two_tokens():
    found = explained(*[f"price BETWEEN {i} AND {i + 10}" for i in range(0, 100, 7)])
    (use,) = found.access
    assert use.kind == "range or prefix"
    assert use.clauses == 15
    assert use.most_shared < 15


def test_the_tokens_of_a_range_say_from_where_to_where():
    wheres = [f"price BETWEEN {i} AND {i + 10}" for i in range(0, 100, 7)]
    assert all(shared.token.startswith(("from ", "= ")) for shared in explained(*wheres).shared)


@pytest.mark.parametrize(
    ("where", "token"),
    [
        ("price < 20", "below 20"),
        ("price > 20", "above 20"),
        ("price > 20 AND price < 50", "between 20 and 50"),
        ("price IS NOT NULL", "any value"),
    ],
)
def test_what_lies_beside_the_values_is_said_in_words(where, token):
    schema = pa.schema([("price", pa.int64())])
    table = pa.table({"subscription_id": [1], "where": [where]})
    assert [shared.token for shared in explain(table, schema).shared] == [token]
