"""To read texts a condition at a time gives what reading them by shape gives.

That is: the same clauses in the same order, and the same errors with the same places. `Parser.read`
is the way by shape, which every text can take.
"""

from collections.abc import Sequence
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caddis.language import Clause, ClauseTable, Vocabulary, parse_all
from caddis.language.parsing.by_condition import read_by_condition
from caddis.language.parsing.by_shape import Parser
from tests.oracle.clauses import Clauses
from tests.oracle.conditions import NUMBERS, SCHEMA, SIGNS, STRINGS, Conditions
from tests.oracle.events import random_batch, random_schema
from tests.oracle.wild import WildClauses
from tests.runs import seeds, times

CONCEPTS = Vocabulary.of([("beach", "photo"), ("crowded", None)])
FILLER = ["city = 'Galway'"] * 60
"""So many texts that they are worth reading by condition."""


def found_in(table: ClauseTable) -> dict[int, list[Clause]]:
    clauses: dict[int, list[Clause]] = {}
    for number, owner in enumerate(table.owner.tolist()):
        clauses.setdefault(owner, []).append(without_repeats(table.clause(number)))
    return clauses


def without_repeats(clause: Clause) -> Clause:
    """The clause with each predicate once: read whole, what repeats no literal is one already."""
    return Clause(tuple(dict.fromkeys(clause.predicates)), tuple(dict.fromkeys(clause.concepts)))


def by_shape(wheres: Sequence[str | None], schema: pa.Schema, zone: str) -> ClauseTable:
    parser = Parser(schema, zone, CONCEPTS)
    parser.read(enumerate(wheres))
    return parser.table()


def assert_same(
    wheres: Sequence[str | None], schema: pa.Schema = SCHEMA, zone: str = "Europe/Dublin"
) -> None:
    given = [*wheres, *FILLER] if schema is SCHEMA else [*wheres, *["TRUE"] * 60]
    quick = parse_all(given, schema, timezone=zone, concepts=CONCEPTS)
    slow = by_shape(given, schema, zone)
    quick_clauses, slow_clauses = found_in(quick), found_in(slow)
    for row, where in enumerate(given):
        assert quick_clauses.get(row) == slow_clauses.get(row), where
    told = [
        [(row, one.problem, one.where, one.span) for row, one in table.errors.items()]
        for table in (quick, slow)
    ]
    assert told[0] == told[1]


def share_read(wheres: Sequence[str]) -> float:
    """Which share of texts is read by condition."""
    parser = Parser(SCHEMA, "UTC", CONCEPTS)
    return float(np.mean(read_by_condition(parser, pa.array(wheres, pa.large_string()))))


def some_of(texts: list[str]) -> list[str]:
    """A third of them, chosen at random; all in `make test-long`."""
    return Random(1).sample(texts, len(texts) // times(3, 1))


@pytest.mark.parametrize("seed", seeds(4, 300))
def test_texts_that_people_write_mean_the_same_read_either_way(seed):
    conditions = Conditions(Random(seed))
    assert_same([conditions.text() for _ in range(400)])


@pytest.mark.parametrize("seed", seeds(3, 100))
def test_wrong_texts_have_the_same_errors_read_either_way(seed):
    conditions = Conditions(Random(1000 + seed), wrong=0.8)
    assert_same([conditions.text() for _ in range(400)])


@pytest.mark.parametrize("seed", seeds(3, 100))
def test_random_clauses_mean_the_same_read_either_way(seed):
    random = Random(seed)
    batch = random_batch(random, random_schema(random), rows=10)
    sound, wild = Clauses(random, batch), WildClauses(random, batch)
    texts = [sound.tree(depth=2).text for _ in range(100)]
    texts += [wild.wild().text for _ in range(100)]
    assert_same(texts, batch.schema)


def test_every_literal_means_the_same_for_every_column_read_either_way():
    names = ["city", "country", "price", "rooms", "views", "rating", "share", "fee", "debt", "day"]
    literals = STRINGS + NUMBERS
    texts = (
        [f"{name} {sign} {one}" for name in names for sign in SIGNS[2:] for one in literals]
        + [
            f"{name} IN ({one}, {other})"
            for name in names
            for one in literals
            for other in ("5", "'b'")
        ]
        + [f"{name} NOT IN ({one}, 5, 7)" for name in names for one in NUMBERS]
        + [f"{name} BETWEEN {one} AND 200" for name in names for one in NUMBERS]
    )
    assert_same(some_of(texts))


def test_numbers_at_the_limits_of_columns_mean_the_same_read_either_way():
    whole = [str(n) for n in (*range(120, 140), *(10**power for power in range(18)))]
    parts = [f"{one}.{tail}" for one in whole for tail in ("", "5", "00", "005", "994")]
    edges = ["99999999.99", "99999999.991", "99999999.98", "2147483647", "2147483647.5"]
    numbers = [sign + one for sign in ("", "-") for one in (*whole, *parts, *edges)]
    names = ("rooms", "price", "views", "rating", "share", "fee")
    texts = (
        [f"{name} {sign} {one}" for name in names for sign in SIGNS[:8] for one in numbers]
        + [f"{name} BETWEEN {one} AND 127" for name in names for one in whole]
        + [
            f"{name} {test} ({one}, 127, 5)"
            for name in names
            for one in whole
            for test in ("IN", "NOT IN")
        ]
    )
    assert_same(some_of(texts))


def test_conditions_on_one_column_are_joined():
    assert_same(
        [
            "price >= 10 AND price < 20",
            "price >= 20 AND price < 10",
            "price > 5 AND price <= 5.5 AND price <> 5",
            "city = 'a' OR city = 'b' OR city IN ('c', 'a')",
            "city > 'a' AND city <= 'b'",
            "price < 5 AND (city = 'a' OR price > 3)",
            "NOT (price < 5 OR price > 7) AND city IS NULL",
            "price IS NULL OR price IS NOT NULL",
            "price IS NULL AND price IS NULL",
            "rooms > 300 OR rooms = 5",
            "rooms <= 300 AND price = 1",
            "fee > 5.005 AND fee < 5.006",
            "beach(photo) AND NOT beach(photo)",
            "array_contains(marks, TRUE) AND array_contains(marks, NULL)",
            "NOT (array_contains(marks, TRUE) OR array_contains(marks, TRUE))",
            "city LIKE 'a%' AND city LIKE '%b' AND NOT city LIKE 'a_'",
        ]
    )


@pytest.mark.parametrize(
    "where",
    [
        "",
        " ",
        None,
        "(",
        ")",
        "a = 'b",
        "city = 'a' AND",
        "AND city = 'a'",
        "city = 'a' OR OR price = 5",
        "(city = 'a'",
        "city = 'a')",
        ")city = 'a'(",
        "() AND city = 'a'",
        "city = 'a' (price = 5)",
        "NOT",
        "NOT NOT sold",
        "city = 'a' NOT price = 5",
        "price BETWEEN 1",
        "price BETWEEN 1 AND city = 'a'",
        "price BETWEEN (1 AND 2)",
        "price IN (1 AND 2)",
        "price IN ((1), 2)",
        "price = 5 -- AND city = 'a'",
        "price = 5 --' AND city = 'a'\nAND '",
        "city = 'a' 'b'",
        "city = X'41' AND price = 5",
        "city ='a'AND price=5",
        "price>5AND city = 'a'",
        "(price=5)AND(city='a')",
        f"price ={' ' * 300}5{' ' * 300}AND{' ' * 300}city = 'a'",
        " AND ".join(f"price <> {n}" for n in range(33)),
        " OR ".join(f"(price = {n} AND views = {n})" for n in range(10)),
        " AND ".join(f"(price = {n} OR views = {n})" for n in range(10)),
        "(" * 60 + "sold" + ")" * 60,
        "sealed:abc",
        "price = 5\u00a0AND city = 'a'",
        "größe = 5",
        "\ud800 = 5",
    ],
)
def test_odd_texts_mean_the_same_read_either_way(where):
    assert_same([where])


@settings(deadline=None, max_examples=times(60, 5000))
@given(
    st.lists(
        st.sampled_from(
            [*"()'.,-= 5x", "AND", " NOT ", "OR ", "city", "price", "'a'", " IN ", "BETWEEN "]
        )
    ).map("".join)
)
def test_any_text_means_the_same_read_either_way(where):
    assert_same([where])


def test_nearly_all_plain_texts_are_read_by_condition():
    conditions = Conditions(Random(1), wrong=0.0)
    texts = [conditions.text() for _ in range(500)]
    right = [texts[row] for row in found_in(by_shape(texts, SCHEMA, "UTC"))]
    assert share_read([one for one in right if "/*" not in one and "`" not in one]) > 0.9


def test_doubled_quotes_are_read_by_condition():
    texts = [
        "city = 'it''s'",
        "city = ''''",
        "city IN ('a''b', 'c', '')",
        "city LIKE 'it''s%' AND city = 'a'''",
        "country = '''a' AND city = ''",
    ]
    assert_same(texts)
    assert share_read(texts) == 1.0


def test_wrong_texts_are_left_to_be_read_by_shape():
    assert share_read(["price = 'x'", "pricee = 5", "price = 5 AND", "price = 5e", ""]) == 0.0
