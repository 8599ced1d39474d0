"""What a stream's design says of filters and points, and what it refuses."""

from __future__ import annotations

import pyarrow as pa
import pytest

from caddis.bloom import false_positive_rate
from caddis.errors import SealedError
from caddis.language.columns import COLLATION_METADATA
from caddis.sealed.design import StreamDesign, filter_size

SCHEMA = pa.schema(
    [
        ("city", pa.string()),
        ("price", pa.int32()),
        ("sold", pa.bool_()),
        ("tags", pa.list_(pa.string())),
        ("at", pa.struct([("x", pa.float64()), ("street", pa.string())])),
        ("photo", pa.binary()),
    ]
)


def test_columns_that_predicates_can_test_are_sealed_in_the_order_of_the_schema():
    design = StreamDesign.of("homes", SCHEMA)
    names = [(one.column.name, one.ordered) for one in design.columns]
    assert names == [
        ("city", False),
        ("price", True),
        ("sold", False),
        ("tags", False),
        ("at.x", True),
        ("at.street", False),
    ]


def test_texts_are_ordered_where_that_is_asked_for():
    design = StreamDesign.of("homes", SCHEMA, ordered_texts=["at.street"])
    assert [one.column.name for one in design.columns if one.ordered] == [
        "price",
        "at.x",
        "at.street",
    ]


def test_a_collated_column_is_left_to_the_final_check():
    field = pa.field("city", pa.string(), metadata={COLLATION_METADATA: b"UTF8_LCASE"})
    design = StreamDesign.of("homes", pa.schema([field, ("price", pa.int32())]))
    assert [one.column.name for one in design.columns] == ["price"]


def test_points_have_a_place_for_all_that_is_tested_by_products():
    both = StreamDesign.of("homes", SCHEMA, padding=4)
    assert both.dimensions == 2 * 5 + 2 * 2 + 1 + 4
    ranges_alone = StreamDesign.of("homes", SCHEMA, padding=4, scheme="tokens")
    assert ranges_alone.dimensions == 2 * 2 + 1 + 4


@pytest.mark.parametrize("rate", [0.1, 0.01, 0.001, 0.0005, 1e-5, 1e-8])
@pytest.mark.parametrize("elements", [3, 40, 500])
def test_filters_are_large_enough_for_their_rate(elements, rate):
    bits, hashes = filter_size(elements, rate)
    assert bits % 64 == 0
    assert false_positive_rate(elements, bits, hashes) <= rate * 1.0001


def test_a_design_without_presence_needs_smaller_filters():
    with_, without = (StreamDesign.of("homes", SCHEMA, presence=one) for one in (True, False))
    assert without.bits < with_.bits


def test_a_design_survives_being_written_down():
    design = StreamDesign.of("homes", SCHEMA, ordered_texts=["city"], scheme="tokens")
    assert StreamDesign.from_json(design.as_json()) == design


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"stream": ""}, "needs a name"),
        ({"scheme": "rot13"}, "aspe or tokens, not 'rot13'"),
        ({"bits": 100}, "multiple of 64 bits up to 65536, not 100"),
        ({"bits": 1 << 20}, "up to 65536, not 1048576; fewer values or a greater rate"),
        ({"bits": True}, "'bits' should be of type int"),
        ({"ordered_texts": "city"}, "'ordered_texts' should be of type list"),
        ({"hashes": 13}, "from 1 to 12 hashes, not 13"),
        ({"padding": 3}, "even number of 0 or more, not 3"),
        ({"schema": "AAAA"}, "no stream's design"),
        ({"bits": None}, "no stream's design"),
        ({"colour": "red"}, "no stream's design"),
    ],
)
def test_a_design_that_cannot_be_used_is_refused(change, problem):
    plain = {**StreamDesign.of("homes", SCHEMA).as_json(), **change}
    with pytest.raises(SealedError, match=problem):
        StreamDesign.from_json(plain)


@pytest.mark.parametrize("missing", ["schema", "ordered_texts", "padding"])
def test_a_design_that_lacks_a_field_is_refused(missing):
    plain = StreamDesign.of("homes", SCHEMA).as_json()
    del plain[missing]
    with pytest.raises(SealedError, match="no stream's design: its fields are stream, schema"):
        StreamDesign.from_json(plain)


def test_twenty_thousand_values_are_more_than_a_filter_can_hold():
    with pytest.raises(SealedError, match="up to 65536, not 575168"):
        StreamDesign.of("homes", SCHEMA, values=20_000)


@pytest.mark.parametrize("values", [None, 1])
def test_events_of_which_nothing_can_be_tested_have_no_design(values):
    schema = pa.schema([("photo", pa.binary())])
    with pytest.raises(SealedError, match="no column of these events can be tested"):
        StreamDesign.of("homes", schema, values=values)


@pytest.mark.parametrize("values", [pa.string(), pa.int64(), pa.float64(), pa.timestamp("us")])
def test_a_dictionary_is_a_column_of_its_values(values):
    schema = pa.schema([("city", pa.dictionary(pa.int8(), values)), ("tags", pa.list_(values))])
    plain = pa.schema([("city", values), ("tags", pa.list_(values))])
    assert StreamDesign.of("homes", schema) == StreamDesign.of("homes", plain)


@pytest.mark.parametrize(
    "type_", [pa.dense_union([pa.field("a", pa.int8())]), pa.uuid(), pa.list_(pa.uuid())], ids=str
)
def test_types_that_spark_does_not_have_cannot_be_sealed(type_):
    schema = pa.schema([("city", pa.string()), ("other", type_)])
    with pytest.raises(SealedError, match="column 'other' cannot be sealed"):
        StreamDesign.of("homes", schema)


def test_ordered_texts_must_be_columns_of_texts():
    with pytest.raises(SealedError, match="no string column is named price"):
        StreamDesign.of("homes", SCHEMA, ordered_texts=["price"])


def test_columns_whose_names_differ_by_case_alone_cannot_be_sealed():
    schema = pa.schema([("price", pa.int32()), ("Price", pa.int32())])
    with pytest.raises(SealedError, match="ambiguous column 'price'"):
        StreamDesign.of("homes", schema)
