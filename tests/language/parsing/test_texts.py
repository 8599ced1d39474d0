"""Texts become clauses: one text or very many, each with its own error."""

import datetime as dt
import math
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caddis.errors import SubscriptionError
from caddis.language import (
    Clause,
    ClauseTable,
    Column,
    Concept,
    Contains,
    InValues,
    MatchesText,
    ValueSet,
    parse,
    parse_all,
)
from caddis.language.columns import float_key
from caddis.language.predicates import ALL_KNOWN, HIGHEST, LOWEST, ONLY_NULL, Key, after, before
from tests.runs import times

SCHEMA = pa.schema(
    [
        ("city", pa.string()),
        ("price", pa.int32()),
        ("rating", pa.float64()),
        ("fee", pa.decimal128(10, 2)),
        ("sold", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("photo", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("seller", pa.struct([("name", pa.string())])),
        ("order", pa.int32()),
        ("a b", pa.int32()),
    ]
)
CITY, PRICE = Column(("city",), pa.string()), Column(("price",), pa.int32())
PHOTO, TAGS = Column(("photo",), pa.binary()), Column(("tags",), pa.string(), repeated=True)


def only(where: str, timezone: str = "UTC") -> Any:
    """The one predicate of the one clause of a text."""
    (clause,) = parse(where, SCHEMA, timezone=timezone)
    parts: list[Any] = [*clause.predicates, *clause.concepts]
    (part,) = parts
    return part


def values(where: str) -> ValueSet:
    found = only(where)
    assert isinstance(found, InValues)
    return found.values


def keys_around(*sets: ValueSet) -> list[Key | None]:
    """Null, and every key at which one of the sets may begin or end, with its neighbours."""
    keys: set[Key] = {cut[1] for some in sets for cut in some.cuts if len(cut) == 3}
    steps = {key + step for key in keys if isinstance(key, int) for step in (-1, 1)}
    longer = {key + end for key in keys if isinstance(key, bytes) for end in (b"\0", b"\xff")}
    return [None, *keys, *steps, *longer]


def same_values(found: ValueSet, expected: ValueSet) -> bool:
    keys = keys_around(found, expected)
    return [key in found for key in keys] == [key in expected for key in keys]


below_five, five = ValueSet.interval(LOWEST, before(5)), ValueSet.points(5)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("price = 5", five),
        ("price == 5", five),
        ("5 = price", five),
        ("PRICE = (5)", five),
        ("(price) = 5", five),
        ("`price` = +5", five),
        ("price <=> 5", five),
        ("price IS NOT DISTINCT FROM 5", five),
        ("price IS DISTINCT FROM 5", ~five),
        ("price < 5", below_five),
        ("5 > price", below_five),
        ("5 >= price", below_five | five),
        ("5 < price", ~(below_five | five) & ALL_KNOWN),
        ("5 <= price", ~below_five & ALL_KNOWN),
        ("5 <> price", ~five & ALL_KNOWN),
        ("5 <=> price", five),
        ("NOT price >= 5", below_five),
        ("! price >= 5", below_five),
        ("NOT (NOT (price < 5))", below_five),
        ("price <= 5", below_five | five),
        ("price > 5", ~(below_five | five) & ALL_KNOWN),
        ("price >= 5", ~below_five & ALL_KNOWN),
        ("price <> 5", ~five & ALL_KNOWN),
        ("price != 5", ~five & ALL_KNOWN),
        ("NOT price <=> 5", ~five),
        ("price IN (5, 5)", five),
        ("price IN (5, NULL)", five),
        ("price NOT IN (5)", ~five & ALL_KNOWN),
        ("price = -5", ValueSet.points(-5)),
        ("price = -(5)", ValueSet.points(-5)),
        ("price BETWEEN 5 AND 6", ValueSet.interval(before(5), after(6))),
        ("price >= 5 AND price <= 6", ValueSet.interval(before(5), after(6))),
        ("price NOT BETWEEN 5 AND 6", ~ValueSet.interval(before(5), after(6)) & ALL_KNOWN),
        ("price BETWEEN 5 AND NULL OR price = 5", five),
        ("NOT (price BETWEEN NULL AND 4)", ~below_five & ALL_KNOWN),
        ("price IS NULL", ONLY_NULL),
        ("price <=> NULL", ONLY_NULL),
        ("NULL <=> price", ONLY_NULL),
        ("price IS NOT NULL", ALL_KNOWN),
        ("NOT price IS NULL", ALL_KNOWN),
        ("price = 5 OR price IS NULL", five | ONLY_NULL),
        ("price = 1 OR price = 2 OR price = 5", ValueSet.points(1, 2, 5)),
        ("price < 1.5", ValueSet.interval(LOWEST, after(1))),
        ("price = 5L OR price = 5.0 OR price = 5e0", five),
    ],
)
def test_a_whole_number_is_tested_by_a_set_of_values(where, expected):
    assert same_values(values(where), expected)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("sold", ValueSet.points(1)),
        ("sold = TRUE", ValueSet.points(1)),
        ("TRUE = sold", ValueSet.points(1)),
        ("NOT sold", ~ValueSet.points(1) & ALL_KNOWN),
        ("sold > FALSE", ValueSet.interval(after(0), HIGHEST)),
        ("sold IS TRUE", ValueSet.points(1)),
        ("sold IS NOT TRUE", ~ValueSet.points(1)),
        ("sold IS FALSE", ValueSet.points(0)),
        ("sold IS UNKNOWN", ONLY_NULL),
        ("sold IN (TRUE)", ValueSet.points(1)),
        ("city = 'Galway'", ValueSet.points(b"Galway")),
        ("city = 'it''s'", ValueSet.points(b"it's")),
        ('city = "Galway"', ValueSet.points(b"Galway")),
        (r"city = r'a\n'", ValueSet.points(rb"a\n")),
        ("city = 'é'", ValueSet.points("é".encode())),
        ("city LIKE 'Gal%'", ValueSet.prefix(b"Gal")),
        ("city LIKE 'Galway'", ValueSet.points(b"Galway")),
        ("city NOT LIKE 'Gal%'", ~ValueSet.prefix(b"Gal") & ALL_KNOWN),
        ("city LIKE '50!%' ESCAPE '!'", ValueSet.points(b"50%")),
        (r"city LIKE '50\%'", ValueSet.points(b"50%")),
        (r"city LIKE r'50\%'", ValueSet.points(b"50%")),
        ("seller.name = 'Ann'", ValueSet.points(b"Ann")),
        ("seller IS NULL", ONLY_NULL),
        ("photo IS NOT NULL", ALL_KNOWN),
        ("tags IS NULL", ONLY_NULL),
        ("fee = 1.5", ValueSet.points(150)),
        ("fee = 1.505 OR fee = 1", ValueSet.points(100)),
        ("rating = 0.5", ValueSet.points(float_key(0.5))),
        ("rating = -0.0", ValueSet.points(0)),
        ("day = '1970-01-02'", ValueSet.points(1)),
        ("day = DATE '1970-01-02'", ValueSet.points(1)),
        ("at = '1970-01-01 00:00:01'", ValueSet.points(1_000_000)),
        ("at = TIMESTAMP '1970-01-01 00:00:01'", ValueSet.points(1_000_000)),
        ("`order` = 5", five),
        ("`a b` = 5", five),
        ("price = 5 -- not 6", five),
        ("price /* OR 1 */ = 5", five),
    ],
)
def test_other_types_are_tested_by_sets_of_their_keys(where, expected):
    assert same_values(values(where), expected)


def test_the_session_zone_decides_what_a_timestamp_means():
    assert only("at = '1970-01-01 01:00:00'", "Europe/Paris").values == ValueSet.points(0)


@pytest.mark.parametrize(
    "where",
    [
        "price = NULL",
        "price <> NULL",
        "NOT (price = NULL)",
        "price NOT IN (5, NULL)",
        "NULL",
        "FALSE",
        "price > 5 AND price < 5",
        "NOT TRUE",
        "city LIKE NULL",
        "city NOT LIKE NULL",
        "NOT NULL",
        "fee = 1.505",
        "price = 5 AND price IS NULL",
        "price IN (NULL)",
        "city RLIKE NULL",
        "NOT (city RLIKE NULL)",
        "array_contains(tags, 'x') AND FALSE",
    ],
)
def test_what_can_never_be_true_has_no_clauses(where):
    assert parse(where, SCHEMA) == ()


def test_digits_are_those_of_ascii():
    with pytest.raises(SubscriptionError):
        parse("price = \u0661", SCHEMA)


def test_a_comment_ends_where_its_line_does():
    for end in ("\n", "\r", "\r\n"):
        assert parse(f"price = 5 -- six{end} AND sold", SCHEMA) == parse(
            "price = 5 AND sold", SCHEMA
        )


@pytest.mark.parametrize("where", ["TRUE", "NOT FALSE", "price = 5 OR TRUE", "TRUE OR NULL"])
def test_what_is_always_true_is_one_empty_clause(where):
    assert parse(where, SCHEMA) == (Clause(()),)


def test_a_test_that_holds_of_every_value_and_of_null_is_no_test():
    assert parse("price IS NULL OR price IS NOT NULL", SCHEMA) == (Clause(()),)


@pytest.mark.parametrize(
    ("where", "regex", "fold", "negated"),
    [
        ("city RLIKE 'way'", "way", False, False),
        ("city REGEXP 'way'", "way", False, False),
        ("city NOT RLIKE 'way'", "way", False, True),
        ("NOT city RLIKE 'way'", "way", False, True),
    ],
)
def test_a_regular_expression_is_searched_in_the_text(where, regex, fold, negated):
    found = only(where)
    assert isinstance(found, MatchesText)
    assert (found.pattern.regex, found.pattern.fold, found.negated) == (regex, fold, negated)


def test_other_patterns_are_searched_in_the_text():
    assert isinstance(only("city LIKE '%way'"), MatchesText)
    assert only("city NOT LIKE '%way'").negated
    assert only("city ILIKE 'galway'").pattern.fold


def test_an_array_is_tested_by_its_elements():
    assert only("array_contains(tags, 'x')") == Contains(TAGS, ValueSet.points(b"x"))
    assert only("NOT array_contains(tags, 'x')") == Contains(
        TAGS, ValueSet.points(b"x"), negated=True
    )


def test_a_concept_is_carried_through_the_clauses():
    clauses = parse("city = 'x' AND (Beach(photo) OR NOT crowded(photo))", SCHEMA)
    city = (InValues(CITY, ValueSet.points(b"x")),)
    assert set(clauses) == {
        Clause(city, (Concept("beach", PHOTO),)),
        Clause(city, (Concept("crowded", PHOTO, negated=True),)),
    }


def test_a_clause_is_made_for_each_way_through_an_or():
    clauses = parse("(city = 'a' OR price = 1) AND (city = 'b' OR price = 2)", SCHEMA)
    assert [len(clause.predicates) for clause in clauses] == [2, 2]


def test_null_is_its_own_row_in_every_comparison():
    for sign in ("=", "<>", "<", "<=", ">", ">="):
        assert None not in values(f"price {sign} 5")
        assert None not in values(f"NOT price {sign} 5")


# -- many texts

TEXTS = [
    "price = 5",
    "price = 6",
    "price < 5 AND city = 'a'",
    "city = 'a' AND price < 6",
    "price = 1 OR city = 'b'",
    "city LIKE '%x%'",
    "city LIKE 'x%'",
    "price = '5'",
    "price = 5 AND price = '5'",
    "pricee = 5",
    "price = ",
    "city = 'it''s' AND pricee = 5",
    "FALSE",
    "TRUE",
    "NULL",
    "",
    "price IN (1, 2, 3)",
    "price IN (1, 2, 'x')",
    "beach(photo) AND price = 5",
    "NOT array_contains(tags, 'a')",
    "day = '2024-02-30' OR price = 1",
    "day = '2024-02-28' OR price = 1",
    "price = 5 -- six",
]


def clauses_by_text(table: ClauseTable, count: int) -> list[list[Clause]]:
    found: list[list[Clause]] = [[] for _ in range(count)]
    for number, owner in enumerate(table.owner):
        found[owner].append(table.clause(number))
    return found


def alone(where: str) -> list[Clause] | str:
    try:
        return list(parse(where, SCHEMA))
    except SubscriptionError as error:
        return str(error)


@given(st.lists(st.sampled_from(TEXTS), max_size=12))
def test_a_text_among_many_is_parsed_as_it_is_alone(texts):
    table = parse_all(texts, SCHEMA)
    clauses = clauses_by_text(table, len(texts))
    for row, text in enumerate(texts):
        error = table.errors.get(row)
        assert (clauses[row] if error is None else str(error)) == alone(text)
        assert error is None or not clauses[row]


def test_equal_predicates_of_many_texts_are_listed_once():
    texts = [f"city = '{city}' AND price < {price}" for city, price in product("abcd", range(5))]
    table = parse_all(texts, SCHEMA)
    assert len(table.predicates) == 4 + 5
    assert len(table.owner) == 20


def test_predicates_are_shared_between_shapes():
    table = parse_all(["price = 5", "city = 'a' AND price = 5", "price = 5 AND sold"], SCHEMA)
    assert len(table.predicates) == 3


def test_errors_are_by_row_and_in_order():
    table = parse_all(["sold", "x = 1", "sold", None, "price = 'a'"], SCHEMA)
    assert list(table.errors) == [1, 3, 4]
    assert table.owner.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("where", "what"), [(None, "null"), ("", "empty"), (" \n\t", "empty")], ids=repr
)
def test_no_where_clause_is_an_error_that_says_how_to_match_all(where, what):
    error = parse_all([where], SCHEMA).errors[0]
    assert error.problem == f"the WHERE clause is {what}; to match all events write TRUE"


def test_a_comment_alone_is_an_error():
    with pytest.raises(SubscriptionError):
        parse("-- nothing", SCHEMA)


def test_too_many_clauses_say_how_many_and_the_limit():
    where = " AND ".join(f"(price = {i} OR city = 'c{i}')" for i in range(10))
    with pytest.raises(SubscriptionError) as problem:
        parse(where, SCHEMA)
    assert problem.value.problem == (
        "too many clauses: written without nested OR it has 1,024, and the limit is 512; "
        "split it into several subscriptions"
    )
    assert where[:100] in str(problem.value)


WORDS = (
    "price city sold tags photo seller.name AND OR NOT IN LIKE ILIKE RLIKE BETWEEN ESCAPE IS NULL "
    "TRUE FALSE DATE TIMESTAMP array_contains beach ( ) ( ) , , = <> < <= > >= <=> == ! - + * . ; "
    "'a' 'a%' '%' 'it''s' '(' '2024-01-01' r'\\' \"b\" ` `price` 5 -5 1.5 .5 1e3 5L 5D 99999999999 "
    "-- /* */ ' \" \\ ? : :p @ $ # % & | ^ [ ] { } é 😀 \u0661 \u00b2 0x1F CASE WHEN END SELECT "
    "FROM EXISTS CAST AS INTERVAL upper left date x.y.z DISTINCT ANY ALL SYMMETRIC"
)
spaces = st.sampled_from([" ", " ", " ", "", "\n", "\t", "\r", "\r\n"])
soups = st.lists(st.tuples(st.sampled_from(WORDS.split()), spaces), max_size=9).map(
    lambda parts: "".join(word + space for word, space in parts)
)


@settings(max_examples=times(200, 1000))
@given(soups)
@example("price = 1 -- x\r AND city = 'a'")
@example("price = \u0661 OR (")
@example("price BETWEEN.5 AND 2")
def test_whatever_a_text_is_it_is_parsed_or_refused_and_its_neighbour_parsed(text):
    table = parse_all([text, "price = 5"], SCHEMA)
    assert np.count_nonzero(table.owner == 1) == 1
    error = table.errors.get(0)
    assert error is None or (error.problem in str(error) and error.where in ("", text))


def test_no_texts_are_no_clauses():
    table = parse_all([], SCHEMA)
    assert (len(table.owner), table.starts.tolist(), table.errors) == (0, [0], {})


def test_the_tables_arrays_have_their_types():
    table = parse_all(["price = 5 AND sold", "TRUE"], SCHEMA)
    found = [str(array.dtype) for array in (table.owner, table.members, table.starts)]
    assert found == ["int32", "int32", "int64"]
    assert sorted(np.diff(table.starts).tolist()) == [0, 2]


def test_a_text_with_many_parts_is_parsed():
    clauses = parse(" AND ".join(["price = 5"] * 1_500), SCHEMA)
    assert len(clauses) == 1


# -- random texts of one column against Python's own comparison

VALUES = [None, *range(-3, 4)]
literals_of_int = st.sampled_from(
    ["-1", "0", "2", "1.5", "-0.5", "2e0", "0.1e1", "NULL", "3L", "1Y"]
)


def numbers(text: str) -> Decimal | float | None:
    if text == "NULL":
        return None
    return float(text) if "e" in text else Decimal(text.rstrip("LY"))


@given(st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]), literals_of_int, st.booleans())
def test_a_comparison_is_true_of_the_values_of_which_it_says_so(sign, literal, negated):
    clauses = parse(f"{'NOT ' if negated else ''}price {sign} {literal}", SCHEMA)
    for value in VALUES:
        answer = compared(sign, value, numbers(literal))
        expected = answer is not None and answer is not negated
        found = any(all(value in p.values for p in clause.predicates) for clause in clauses)  # type: ignore[union-attr]
        assert found is expected


def compared(sign: str, value: int | None, literal: Decimal | float | None) -> bool | None:
    if sign == "<=>":
        return value == literal
    if value is None or literal is None:
        return None
    outcomes = {"=": value == literal, "<": value < literal, ">": value > literal}
    outcomes |= {"<>": not outcomes["="], "<=": not outcomes[">"], ">=": not outcomes["<"]}
    return outcomes[sign]


def test_a_date_against_a_timestamp_at_the_calendars_end_is_parsed():
    last = only("day < TIMESTAMP '9999-12-31 23:59:59'").values
    assert (dt.date.max - dt.date(1970, 1, 1)).days in last


def test_nan_is_above_every_number():
    assert float_key(math.nan) in only("rating > 1e308").values
    assert float_key(math.nan) not in only("rating <= 1e308").values


def test_a_predicate_that_no_clause_needs_is_not_kept():
    schema = pa.schema([("price", pa.int64()), ("city", pa.string())])
    table = parse_all(["price = 1 OR TRUE", "city = 'a' AND price IN (NULL)", "city = 'b'"], schema)
    assert [predicate.column.name for predicate in table.predicates] == ["city"]
    assert table.owner.tolist() == [0, 2]
