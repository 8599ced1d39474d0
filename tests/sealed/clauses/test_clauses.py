"""What is tested of clauses is never more than they say."""

from __future__ import annotations

import math
import operator
import sys
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from caddis.language import parse_all
from caddis.language.columns import COLLATION_METADATA
from caddis.language.predicates import Key
from caddis.matching import values_of
from caddis.sealed.clauses.clauses import MOST_CLAUSES, Bound, Element, SealableClauses, sealable
from caddis.sealed.design import StreamDesign
from caddis.sealed.values.hashed import distinct_values, present_rows
from tests.oracle.clauses import Clauses
from tests.oracle.events import random_batch, random_schema
from tests.oracle.judges import ask_caddis

SCHEMA = pa.schema(
    [
        ("city", pa.string()),
        ("price", pa.int32()),
        ("sold", pa.bool_()),
        ("tags", pa.list_(pa.string())),
        ("photo", pa.binary()),
        pa.field("name", pa.string(), metadata={COLLATION_METADATA: b"UTF8_LCASE"}),
    ]
)
CITY, PRICE, SOLD, TAGS = range(4)
COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

Asked = tuple[set[Element], set[int], set[Bound]]


def asked(clauses: SealableClauses) -> list[Asked]:
    """What each clause asks for: elements, columns, bounds."""

    def lists(packed):
        starts, members = packed
        pieces = np.split(members, starts[1:-1])
        return [piece.tolist() for piece in pieces][: len(clauses.owner)]

    return [
        ({clauses.elements[n] for n in elements}, set(columns), {clauses.bounds[n] for n in bounds})
        for elements, columns, bounds in zip(
            lists(clauses.asked_elements),
            lists(clauses.asked_columns),
            lists(clauses.asked_bounds),
            strict=True,
        )
    ]


def read(where: str, design: StreamDesign | None = None) -> list[Asked]:
    design = design or StreamDesign.of("homes", SCHEMA)
    return asked(sealable(parse_all([where], SCHEMA), design))


def test_equalities_and_in_become_one_clause_for_each_value():
    clauses = read("city IN ('Cork', 'Galway') AND price = 5")
    assert clauses == [
        ({Element(CITY, b"Cork"), Element(PRICE, 5)}, set(), set()),
        ({Element(CITY, b"Galway"), Element(PRICE, 5)}, set(), set()),
    ]


def test_or_gives_clauses_of_the_same_owner():
    table = parse_all(["price = 1", "city = 'Cork' OR price = 2"], SCHEMA)
    clauses = sealable(table, StreamDesign.of("homes", SCHEMA))
    assert sorted(clauses.owner.tolist()) == [0, 1, 1]


def test_ranges_ask_for_the_outer_bounds_and_a_value():
    low, high = Bound(PRICE, 10, True), Bound(PRICE, 90, False)
    assert read("price BETWEEN 10 AND 90") == [(set(), {PRICE}, {low, high})]
    assert read("price >= 10") == [(set(), {PRICE}, {low})]
    assert read("price BETWEEN 10 AND 90 AND price <> 50") == [(set(), {PRICE}, {low, high})]
    assert read("price <> 50") == [(set(), {PRICE}, set())]


@pytest.mark.parametrize(
    "type_", [pa.int32(), pa.int64(), pa.decimal128(23, 2), pa.float64()], ids=str
)
def test_price_below_2_does_not_ask_for_2(type_):
    schema = pa.schema([("price", type_)])
    prices = pa.array([-1, 0, 1, 2, 3]).cast(type_)
    batch = pa.record_batch([prices], schema=schema)
    design = StreamDesign.of("homes", schema)
    for sign, compare in COMPARED.items():
        clauses = sealable(parse_all([f"price {sign} 2"], schema), design)
        plain = [[compare(price, 2) for price in (-1, 0, 1, 2, 3)]]
        assert passing(batch, clauses, design).tolist() == plain


def test_what_lies_strictly_between_neighbours_is_never_found():
    ((_, _, bounds),) = read("price > 2 AND price < 3")
    assert bounds == {Bound(PRICE, 3, True), Bound(PRICE, 2, False)}


def test_above_the_last_finite_number_are_infinity_and_nan():
    schema = pa.schema([("price", pa.float64())])
    batch = pa.record_batch(
        [pa.array([-math.inf, 1e308, sys.float_info.max, math.inf, math.nan])], schema=schema
    )
    table = parse_all([f"price > {sys.float_info.max}D"], schema)
    design = StreamDesign.of("homes", schema)
    found = passing(batch, sealable(table, design), design)
    assert found.tolist() == [[False, False, False, True, True]]


def test_texts_have_bounds_where_the_design_orders_them():
    design = StreamDesign.of("homes", SCHEMA, ordered_texts=["city"])
    bounds = {Bound(CITY, b"Gal", True), Bound(CITY, b"Gam", False)}
    assert read("city LIKE 'Gal%'", design) == [(set(), {CITY}, bounds)]
    assert read("city LIKE 'Gal%'") == [(set(), {CITY}, set())]


@pytest.mark.parametrize(
    "where", ["city LIKE '%way'", "city NOT LIKE '%way'", "city IS NOT NULL", "city <> 'Cork'"]
)
def test_what_is_false_of_null_asks_for_a_value(where):
    assert read(where) == [(set(), {CITY}, set())]


@pytest.mark.parametrize(
    "where",
    ["city IS NULL", "NOT city <=> 'Cork'", "name IS NOT NULL", "photo IS NOT NULL", "TRUE"],
)
def test_what_null_or_a_column_that_is_not_sealed_may_fulfil_is_not_tested(where):
    assert read(where) == [(set(), set(), set())]


def test_without_presence_in_the_design_no_column_is_asked_for():
    design = StreamDesign.of("homes", SCHEMA, presence=False)
    assert read("city LIKE '%way' AND price > 5", design) == [
        (set(), set(), {Bound(PRICE, 6, True)})
    ]


def test_arrays_are_asked_for_elements():
    both = "array_contains(tags, 'sea') AND array_contains(tags, 'sun')"
    assert read(both) == [({Element(TAGS, b"sea"), Element(TAGS, b"sun")}, set(), set())]
    assert read("NOT array_contains(tags, 'sea')") == [(set(), {TAGS}, set())]
    assert read("tags IS NOT NULL") == [(set(), {TAGS}, set())]


@pytest.mark.parametrize("where", ["sold", "sold = TRUE", "sold <> FALSE", "NOT (NOT sold)"])
def test_booleans_are_one_value_or_the_other(where):
    assert read(where) == [({Element(SOLD, 1)}, set(), set())]


def test_a_boolean_that_may_be_both_must_only_be_known():
    assert read("sold IN (TRUE, FALSE)") == [(set(), {SOLD}, set())]


def test_of_too_many_combinations_the_longest_list_is_left_to_the_final_check():
    cities = ", ".join(f"'{n}'" for n in range(10))
    clauses = read(f"city IN ({cities}) AND price IN (1, 2, 3, 4, 5, 6, 7)")
    assert [columns for _, columns, _ in clauses] == [{CITY}] * 7
    assert [len(elements) for elements, _, _ in clauses] == [1] * 7


def test_a_list_of_more_values_than_clauses_is_a_range():
    numbers = ", ".join(map(str, range(MOST_CLAUSES + 1)))
    bounds = {Bound(PRICE, 0, True), Bound(PRICE, MOST_CLAUSES, False)}
    assert read(f"price IN ({numbers})") == [(set(), {PRICE}, bounds)]


def test_what_is_never_true_has_no_clauses():
    assert read("FALSE") == []
    assert read("price > 5 AND price < 3") == []


def test_a_subscription_that_calls_a_model_has_no_clauses():
    table = parse_all(["price = 1 OR beach(photo)", "price = 2"], SCHEMA)
    clauses = sealable(table, StreamDesign.of("homes", SCHEMA))
    assert clauses.owner.tolist() == [1]
    assert {row: concept.name for row, concept in clauses.concepts.items()} == {0: "beach"}


def passing(batch: pa.RecordBatch, clauses: SealableClauses, design: StreamDesign) -> np.ndarray:
    """Whether some sealed clause of each subscription lets each row pass."""
    values = [values_of(batch, one.column) for one in design.columns]
    keys: list[list[set[Key]]] = []
    for one, array in zip(design.columns, values, strict=True):
        found = distinct_values(array, one.column)
        rows: list[set[Key]] = [set() for _ in range(batch.num_rows)]
        for row, place in zip(found.rows, found.places, strict=True):
            rows[row].add(found.keys[place])
        keys.append(rows)
    present = [set(present_rows(array).tolist()) for array in values]
    passes = np.zeros((int(clauses.owner.max(initial=-1)) + 1, batch.num_rows), bool)
    for owner, (elements, columns, bounds) in zip(clauses.owner, asked(clauses), strict=True):
        for row in range(batch.num_rows):
            passes[owner, row] |= (
                all(key in keys[column][row] for column, key in elements)
                and all(row in present[column] for column in columns)
                and all(_within(bound, keys[bound.column][row]) for bound in bounds)
            )
    return passes


def _within(bound: Bound, keys: set[Key]) -> bool:
    return any(
        (key >= bound.key) if bound.is_lower else (key <= bound.key)  # type: ignore[operator]
        for key in keys
    )


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(40))
def test_what_a_clause_is_true_of_passes(seed):
    random = Random(seed)
    schema = random_schema(random)
    batch = random_batch(random, schema, rows=20)
    nodes = [Clauses(random, batch).tree(depth=3) for _ in range(40)]
    texts = [
        c.name
        for c in (one.column for one in StreamDesign.of("t", schema).columns)
        if c.type == pa.string() and not c.repeated
    ]
    design = StreamDesign.of("t", schema, ordered_texts=texts if seed % 2 else ())
    clauses = sealable(parse_all([node.text for node in nodes], schema), design)
    passes = passing(batch, clauses, design)
    plain = ask_caddis(batch, nodes)
    assert not plain[len(passes) :].any()
    assert not (plain[: len(passes)] & ~passes).any()
