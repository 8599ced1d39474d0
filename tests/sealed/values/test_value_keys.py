"""Both sides arrive at the same bytes for equal values, and at different ones for others."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from caddis.errors import SubscriptionError
from caddis.language import Column, Columns, Contains, InValues, parse
from caddis.language.columns import dotted_paths, float_key, is_comparable
from caddis.language.predicates import before
from caddis.matching import values_of
from caddis.sealed.values.hashed import canonical, distinct_values, present_rows
from tests.oracle.clauses import Clauses
from tests.oracle.events import SCALARS, WIDE_DECIMALS, random_batch, random_schema
from tests.oracle.literals import NULL, random_literal
from tests.oracle.plain import truth
from tests.runs import seeds, times


def columns_of(schema: pa.Schema) -> list[Column]:
    found = [Columns(schema).find(path) for path in dotted_paths(schema)]
    return [column for column in found if is_comparable(column.type)]


def keys_by_row(array: pa.Array, column: Column) -> list[list[Any]]:
    values = distinct_values(array, column)
    keys: list[list[Any]] = [[] for _ in range(len(array))]
    for row, place in zip(values.rows, values.places, strict=True):
        keys[row].append(values.keys[place])
    return keys


def points_of(predicate: object) -> list[Any] | None:
    """The keys that an equality asks for; None if the predicate is something else."""
    if isinstance(predicate, InValues) and not predicate.values.null:
        cuts = predicate.values.cuts
    elif isinstance(predicate, Contains) and not predicate.negated:
        cuts = predicate.elements.cuts
    else:
        return None
    if any(len(cut) == 1 for cut in cuts):
        return None
    pairs = list(zip(cuts[::2], cuts[1::2], strict=True))
    if any(low[1] != high[1] for low, high in pairs):  # type: ignore[misc]
        return None
    return [low[1] for low, _ in pairs]  # type: ignore[misc]


@settings(
    max_examples=times(40, 200),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.randoms(use_true_random=False))
def test_an_equality_holds_exactly_if_the_bytes_are_equal(random: Random):
    schema = random_schema(random, SCALARS + WIDE_DECIMALS)
    batch = random_batch(random, schema, rows=6)
    clauses = Clauses(random, batch)
    leaf = random.choice(clauses.leaves)
    repeated = pa.types.is_list(leaf.type)
    type_ = leaf.type.value_type if repeated else leaf.type
    assume(is_comparable(type_))
    seen = clauses.seen[leaf]
    seen = [one for array in seen for one in array if one is not None] if repeated else seen
    literal = random_literal(random, type_, seen, "UTC")
    assume(literal is not NULL and not (repeated and literal.text[0] == "'"))
    name = ".".join("`" + part.replace("`", "``") + "`" for part in leaf.path)
    test = f"array_contains({name}, {literal.text})" if repeated else f"{name} = {literal.text}"
    try:
        found = parse(test, schema)
    except SubscriptionError:
        reject()
    points = points_of(found[0].predicates[0]) if found else []
    assume(points is not None)
    asked = set(map(canonical, points or ()))
    column = Columns(schema).find(leaf.path)
    rows = keys_by_row(values_of(batch, column), column)
    holds = found[0].predicates[0] if found else None
    for keys in rows:
        values = holds.elements if isinstance(holds, Contains) else getattr(holds, "values", ())
        plain = any(key in values for key in keys)
        assert plain == any(canonical(key) in asked for key in keys)


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_rows_have_the_bytes_of_a_literal_where_it_equals_them(seed):
    """Against the plain evaluator, which knows nothing of keys."""
    random = Random(seed)
    schema = random_schema(random)
    batch = random_batch(random, schema, rows=30)
    clauses = Clauses(random, batch)
    rows = batch.to_pylist()
    for _ in range(40):
        leaf = random.choice(clauses.leaves)
        if not is_comparable(leaf.type):
            continue
        atom = clauses.infix(leaf, "in", *_literals(clauses, leaf))
        found = parse(atom.text, schema)
        points = points_of(found[0].predicates[0]) if found else []
        if points is None or not hasattr(atom, "operands"):
            continue
        asked = set(map(canonical, points))
        column = Columns(schema).find(leaf.path)
        keys = keys_by_row(values_of(batch, column), column)
        for row, mine in zip(rows, keys, strict=True):
            equal = truth(atom, row) is True
            assert equal == any(canonical(key) in asked for key in mine), atom.text


def _literals(clauses: Clauses, leaf: Any) -> tuple[tuple[Any, ...], str]:
    literals = [clauses.literal(leaf) for _ in range(clauses.random.choice((1, 2, 3)))]
    literals = [one for one in literals if one is not NULL] or [clauses.literal(leaf)]
    texts = ", ".join(one.text for one in literals)
    return tuple(one.value for one in literals), f"IN ({texts})"


def test_both_zeros_are_one_value_and_so_are_all_nans():
    other_nan = np.array([0x7FF8_0000_0000_0001], np.uint64).view(np.float64)[0]
    array = pa.array([0.0, -0.0, math.nan, other_nan, -math.inf, None])
    values = distinct_values(array, Column(("x",), pa.float64()))
    assert values.rows.tolist() == [0, 1, 2, 3, 4]
    assert values.places.tolist() == [0, 0, 1, 1, 2]
    assert values.keys == [float_key(0.0), float_key(math.nan), float_key(-math.inf)]


@given(st.lists(st.floats(width=32) | st.none()))
def test_floats_have_the_keys_of_the_language(floats):
    values = distinct_values(pa.array(floats, pa.float32()), Column(("x",), pa.float32()))
    keys = [values.keys[place] for place in values.places]
    assert keys == [float_key(number) for number in floats if number is not None]


@pytest.mark.parametrize(
    "type_",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    ids=str,
)
def test_texts_of_all_kinds_have_the_same_keys(type_):
    array = pa.array(["é", None, "", "é", "b"]).cast(type_)
    values = distinct_values(array, Column(("x",), pa.string()))
    assert values.keys == ["é".encode(), b"", b"b"]
    assert values.rows.tolist() == [0, 2, 3, 4]
    assert values.places.tolist() == [0, 1, 0, 2]


def test_a_dictionary_with_doubles_and_nulls_gives_each_value_once():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 0]), ["a", None, "a"])
    values = distinct_values(array, Column(("x",), pa.string()))
    assert values.keys == [b"a"]
    assert values.rows.tolist() == [0, 2, 4]


def test_wide_decimals_keep_all_their_digits():
    largest = [None, Decimal("9" * 38), Decimal("-" + "9" * 38)]
    array = pa.array(largest, pa.decimal128(38, 0)).slice(1)
    values = distinct_values(array, Column(("x",), array.type))
    assert values.keys == [10**38 - 1, 1 - 10**38]


def test_moments_are_days_and_microseconds():
    day = pa.array([dt.date(1970, 1, 11)])
    assert distinct_values(day, Column(("x",), pa.date32())).keys == [10]
    moment = pa.array([dt.datetime(1969, 12, 31, 23, 59, 59)], pa.timestamp("ns", "UTC"))
    assert distinct_values(moment, Column(("x",), pa.timestamp("us", "UTC"))).keys == [-(10**6)]


@pytest.mark.parametrize(
    "type_", [pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 2)], ids=str
)
def test_a_row_of_an_array_has_every_element(type_):
    lists = [[5, 7], None, [None, 5]]
    array = pa.array([[1, 1], *lists], type_).slice(1)
    column = Column(("x",), pa.int64(), repeated=True)
    assert keys_by_row(array, column) == [[5, 7], [], [5]]
    assert present_rows(array).tolist() == [0, 2]


@pytest.mark.parametrize("seed", seeds(8, 20))
def test_different_keys_of_a_column_have_different_bytes(seed):
    random = Random(seed)
    schema = random_schema(random, SCALARS + WIDE_DECIMALS)
    batch = random_batch(random, schema, rows=60)
    for column in columns_of(schema):
        keys = distinct_values(values_of(batch, column), column).keys
        assert len(set(map(canonical, keys))) == len(set(map(before, keys))) == len(keys)
