"""Events become the same codes however Arrow happens to hold them."""

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import EventError
from caddis.language import Column, parse_all
from caddis.matching.index.encoding import BatchEncoder, ColumnCoder, values_of
from caddis.matching.index.packing import pack

VALUES: dict[pa.DataType, tuple[list[Any], str]] = {
    pa.bool_(): ([True, None, False, True], "x = TRUE OR x IS NULL"),
    pa.int8(): ([1, None, -5, 7], "x > 0"),
    pa.int64(): ([1, None, -(2**62), 2**62], "x = 1 OR x < -5"),
    pa.float32(): ([1.5, None, float("nan"), -0.0], "x = 0 OR x > 1"),
    pa.float64(): ([1.5, None, float("nan"), -0.0], "x = 0 OR x > 1"),
    pa.decimal128(9, 2): ([Decimal("1.50"), None, Decimal("-2.25"), Decimal(0)], "x >= 0"),
    pa.decimal128(30, 2): ([Decimal("1.50"), None, Decimal("-2.25"), Decimal(10**20)], "x >= 0"),
    pa.string(): (["a", None, "", "é😀"], "x >= 'a'"),
    pa.date32(): (
        [dt.date(2024, 1, 1), None, dt.date(1960, 1, 1), dt.date(1970, 1, 1)],
        "x < '2000'",
    ),
    pa.timestamp("us", "UTC"): (
        [dt.datetime(2024, 1, 1), None, dt.datetime(1960, 1, 1), dt.datetime(1970, 1, 1)],
        "x < '2000'",
    ),
}
TYPES = pytest.mark.parametrize("type_", VALUES, ids=str)


def encoder(schema: pa.Schema, *wheres: str) -> BatchEncoder:
    packed = pack(parse_all(wheres, schema))
    pairs = zip(packed.columns, packed.boundaries, strict=True)
    return BatchEncoder([ColumnCoder.of(column, boundaries) for column, boundaries in pairs])


def coder(type_: pa.DataType, where: str) -> ColumnCoder:
    return encoder(pa.schema([("x", type_)]), where).coders[0]


def plain(type_: pa.DataType) -> tuple[ColumnCoder, pa.Array, list[int]]:
    values, where = VALUES[type_]
    array = pa.array(values, type_)
    found = coder(type_, where)
    return found, array, found.codes(array).tolist()


@TYPES
def test_only_null_has_code_zero(type_):
    _, _, codes = plain(type_)
    assert [code == 0 for code in codes] == [False, True, False, False]


@TYPES
@pytest.mark.parametrize("before", [1, 3, 8, 9])
def test_a_slice_is_coded_like_a_copy(type_, before):
    found, array, codes = plain(type_)
    junk = pa.concat_arrays([array] * 3)[:before]
    sliced = pa.concat_arrays([junk, array, junk]).slice(before, len(array))
    assert sliced.offset == before
    assert found.codes(sliced).tolist() == codes
    assert found.codes(sliced.slice(2)).tolist() == codes[2:]


@TYPES
def test_a_dictionary_is_coded_like_its_values(type_):
    found, array, codes = plain(type_)
    repeated = pa.concat_arrays([array, array]).dictionary_encode()
    assert found.codes(repeated).tolist() == codes * 2
    assert found.codes(repeated.slice(3, 4)).tolist() == (codes * 2)[3:7]


@TYPES
def test_a_null_among_a_dictionarys_values_is_null(type_):
    found, array, codes = plain(type_)
    indices = pa.array([3, 1, None, 0], pa.int8())
    coded = pa.DictionaryArray.from_arrays(indices, array)
    assert found.codes(coded).tolist() == [codes[3], 0, 0, codes[0]]


@TYPES
def test_nothing_but_nulls_has_nothing_but_zeros(type_):
    found, _, _ = plain(type_)
    assert found.codes(pa.nulls(11, type_)).tolist() == [0] * 11
    assert found.codes(pa.nulls(11, type_).slice(9)).tolist() == [0] * 2


@TYPES
def test_no_values_have_no_codes(type_):
    found, array, _ = plain(type_)
    assert found.codes(pa.array([], type_)).tolist() == []
    assert found.codes(array.slice(2, 0)).tolist() == []


@TYPES
def test_values_without_nulls_are_coded_alike_with_or_without_a_bitmap(type_):
    found, array, codes = plain(type_)
    known = array.take(pa.array([0, 2, 3]))
    assert found.codes(known).tolist() == [codes[0], *codes[2:]]
    assert found.codes(array.slice(2)).tolist() == codes[2:]


@pytest.mark.parametrize(
    "form", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_every_form_of_text_is_coded_alike(form):
    _, array, codes = plain(pa.string())
    schema = pa.schema([("x", pa.string())])
    found = encoder(schema, VALUES[pa.string()][1])
    batch = pa.record_batch({"x": array.cast(form)})
    assert found.encode(batch).codes[0].tolist() == codes
    assert found.encode(batch.slice(1)).codes[0].tolist() == codes[1:]


def test_a_dictionary_of_large_texts_is_coded_too():
    _, array, codes = plain(pa.string())
    found = encoder(pa.schema([("x", pa.string())]), VALUES[pa.string()][1])
    large = array.cast(pa.large_string()).dictionary_encode()
    assert found.encode(pa.record_batch({"x": large})).codes[0].tolist() == codes


@given(
    st.lists(st.text(max_size=3) | st.none(), max_size=12), st.integers(0, 5), st.integers(0, 12)
)
def test_any_slice_of_texts_is_coded_like_the_whole(texts, begin, length):
    found = coder(pa.string(), "x > 'a' OR x = ''")
    array = pa.array(texts, pa.string())
    expected = found.codes(array).tolist()[begin : begin + length]
    assert found.codes(array.slice(begin, length)).tolist() == expected


# -- structs


SELLER = pa.struct([("name", pa.string()), ("home", pa.struct([("zip", pa.int32())]))])
SELLERS = pa.schema([("seller", SELLER)])


def codes_of(schema: pa.Schema, where: str, batch: pa.RecordBatch) -> list[int]:
    codes: list[int] = encoder(schema, where).encode(batch).codes[0].tolist()
    return codes


def test_a_field_of_a_null_struct_is_null():
    names = pa.StructArray.from_arrays(
        [pa.array(["a", "a", "b", None])], ["name"], mask=pa.array([False, True, False, False])
    )
    batch = pa.record_batch({"seller": names})
    assert codes_of(SELLERS, "seller.name = 'a'", batch) == [2, 0, 1, 0]
    assert codes_of(SELLERS, "seller.name = 'a'", batch.slice(1, 2)) == [0, 1]


def test_a_field_deep_in_null_structs_is_null():
    sellers = [{"home": {"zip": 5}}, {"home": None}, None, {"home": {"zip": None}}]
    batch = pa.record_batch({"seller": pa.array(sellers, SELLER)})
    assert codes_of(SELLERS, "seller.home.zip = 5", batch) == [2, 0, 0, 0]
    assert codes_of(SELLERS, "seller.home.zip = 5", batch.slice(1)) == [0, 0, 0]


def test_a_struct_is_null_or_is_not():
    batch = pa.record_batch({"seller": pa.array([None, {"name": None}, None], SELLER)})
    assert codes_of(SELLERS, "seller IS NULL", batch) == [0, 1, 0]
    assert codes_of(SELLERS, "seller IS NULL", batch.slice(1)) == [1, 0]


def test_a_field_that_the_events_struct_lacks_is_null():
    batch = pa.record_batch(
        {"seller": pa.array([{"name": "a"}], pa.struct([("name", pa.string())]))}
    )
    assert codes_of(SELLERS, "seller.home.zip = 5", batch) == [0]


# -- missing columns


@TYPES
def test_a_column_that_the_batch_lacks_is_null(type_):
    found = encoder(pa.schema([("x", type_)]), VALUES[type_][1])
    assert found.encode(pa.record_batch({"y": [1, 2, 3]})).codes.tolist() == [[0, 0, 0]]


def test_an_array_column_that_the_batch_lacks_is_null():
    found = encoder(pa.schema([("x", pa.list_(pa.int32()))]), "array_contains(x, 5)")
    arrays = found.encode(pa.record_batch({"y": [1, 2]}))
    assert arrays.codes.tolist() == [[0, 0]]
    assert arrays.elements.tolist() == []


# -- arrays


def elements(form: pa.DataType, values: list[Any], begin: int = 0) -> list[list[int] | None]:
    """The codes of each array's elements, None for a null array."""
    found = encoder(pa.schema([("x", pa.list_(pa.int32()))]), "array_contains(x, 5)")
    arrays = found.encode(pa.record_batch({"x": pa.array(values, form)}).slice(begin))
    starts = arrays.element_start[arrays.element_base[0] :]
    return [
        arrays.elements[starts[row] : starts[row + 1]].tolist() if present else None
        for row, present in enumerate(arrays.codes[0])
    ]


LISTS = [[5, 6], None, [], [None, 5, 4], [5]]
LIST_CODES = [[2, 3], None, [], [0, 2, 1], [2]]


@pytest.mark.parametrize(
    "form", [pa.list_(pa.int32()), pa.large_list(pa.int32()), pa.list_(pa.int64())], ids=str
)
@pytest.mark.parametrize("begin", [0, 1, 2, 4, 5])
def test_the_elements_of_arrays_are_coded_row_by_row(form, begin):
    assert elements(form, LISTS, begin) == LIST_CODES[begin:]


@pytest.mark.parametrize("begin", [0, 1, 2])
def test_arrays_of_one_size_are_coded_too(begin):
    values = [[5, 6], None, [None, 4]]
    assert elements(pa.list_(pa.int32(), 2), values, begin) == [[2, 3], None, [0, 1]][begin:]


def test_an_array_in_a_null_struct_is_null():
    type_ = pa.struct([("tags", pa.list_(pa.string()))])
    found = encoder(pa.schema([("s", type_)]), "array_contains(s.tags, 'a')")
    values = [{"tags": ["a", "b"]}, None, {"tags": None}, {"tags": [None, "a"]}]
    arrays = found.encode(pa.record_batch({"s": pa.array(values, type_)}))
    assert arrays.codes.tolist() == [[1, 0, 0, 1]]
    assert arrays.element_start.tolist() == [0, 2, 2, 2, 4]
    assert arrays.elements.tolist() == [2, 1, 0, 2]


def test_several_array_columns_do_not_mix_their_elements():
    schema = pa.schema([("x", pa.list_(pa.int32())), ("y", pa.list_(pa.string()))])
    found = encoder(schema, "array_contains(x, 5) AND array_contains(y, 'b')")
    batch = pa.record_batch({"x": [[5], [4, 5]], "y": [["b", "a"], ["a"]]}, schema)
    arrays = found.encode(batch)
    by_column = []
    for base in arrays.element_base:
        starts = arrays.element_start[base : base + 3]
        by_column.append([arrays.elements[a:b].tolist() for a, b in itertools.pairwise(starts)])
    assert by_column == [[[2], [1, 2]], [[2, 1], [1]]]


# -- other types than the schema's


@pytest.mark.parametrize(
    ("wanted", "found", "values"),
    [
        (pa.int64(), pa.int32(), [1, None, -5]),
        (pa.int32(), pa.int64(), [1, None, -5]),
        (pa.float64(), pa.float32(), [1.5, None, -0.0]),
        (pa.float64(), pa.int32(), [1, None, -5]),
        (pa.decimal128(9, 2), pa.decimal128(5, 1), [Decimal("1.5"), None, Decimal("-2.5")]),
        (pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC"), [dt.datetime(2024, 1, 1), None]),
        (pa.timestamp("us", "UTC"), pa.timestamp("ns", "Asia/Tokyo"), [dt.datetime(2024, 1, 1)]),
    ],
)
def test_events_of_a_type_that_can_be_cast_are_cast(wanted, found, values):
    where = "x > '2000'" if pa.types.is_timestamp(wanted) else "x > 0"
    coded = encoder(pa.schema([("x", wanted)]), where)
    expected = coded.encode(pa.record_batch({"x": pa.array(values, found).cast(wanted)}))
    assert (
        coded.encode(pa.record_batch({"x": pa.array(values, found)})).codes.tolist()
        == expected.codes.tolist()
    )


def test_a_column_of_no_type_is_null():
    found = encoder(pa.schema([("x", pa.string())]), "x = 'a'")
    assert found.encode(pa.record_batch({"x": pa.nulls(2)})).codes.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("wanted", "events", "message"),
    [
        (
            pa.int8(),
            pa.array([300]),
            "column 'x' is BIGINT in these events; the subscriptions were compiled for TINYINT",
        ),
        (
            pa.int32(),
            pa.array(["a"]),
            "column 'x' is STRING in these events; the subscriptions were compiled for INT",
        ),
        (
            pa.int32(),
            pa.array([1.5]),
            "column 'x' is DOUBLE in these events; the subscriptions were compiled for INT",
        ),
        (pa.string(), pa.array([[1]]), "compiled for STRING"),
        (pa.decimal128(5, 2), pa.array([Decimal("1.234")]), "compiled for DECIMAL(5,2)"),
        (pa.list_(pa.int32()), pa.array([1]), "compiled for ARRAY<INT>"),
        (pa.date32(), pa.array(["soon"]), "compiled for DATE"),
    ],
)
def test_events_that_do_not_fit_are_an_error_that_names_both_types(wanted, events, message):
    where = "array_contains(x, 1)" if pa.types.is_list(wanted) else "x IS NOT NULL"
    found = encoder(pa.schema([("x", wanted)]), where)
    with pytest.raises(EventError) as problem:
        found.encode(pa.record_batch({"x": events}))
    assert message in str(problem.value)


def test_a_struct_that_is_no_struct_in_the_events_is_an_error():
    found = encoder(SELLERS, "seller.name = 'a'")
    with pytest.raises(EventError, match=r"seller\.name"):
        found.encode(pa.record_batch({"seller": ["a"]}))


def test_a_column_that_the_events_have_twice_is_an_error():
    found = encoder(pa.schema([("x", pa.int32())]), "x = 1")
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(EventError, match="'x'"):
        found.encode(batch)


def test_wall_clock_events_do_not_pass_for_instants():
    found = encoder(pa.schema([("x", pa.timestamp("us", "UTC"))]), "x < '2000'")
    with pytest.raises(EventError, match="TIMESTAMP_NTZ"):
        found.encode(
            pa.record_batch({"x": pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("us"))})
        )


# -- whole batches


def test_a_batch_without_rows_has_a_row_of_codes_for_each_column():
    schema = pa.schema([("x", pa.int32()), ("y", pa.list_(pa.string()))])
    arrays = encoder(schema, "x = 1 AND array_contains(y, 'a')").encode(
        pa.RecordBatch.from_pylist([], schema)
    )
    assert arrays.codes.shape == (2, 0)
    assert arrays.element_start.tolist() == [0]


def test_a_batch_of_which_nothing_is_tested_has_a_column_for_kernels_to_look_at():
    """They read a row's code before they know whether there is a test of it."""
    arrays = encoder(pa.schema([("x", pa.int32())]), "TRUE").encode(pa.record_batch({"x": [1, 2]}))
    assert arrays.codes.tolist() == [[0, 0]]


def test_codes_are_int32_and_contiguous():
    arrays = encoder(pa.schema([("x", pa.int32())]), "x = 1").encode(pa.record_batch({"x": [1, 2]}))
    assert arrays.codes.dtype == np.int32
    assert arrays.codes.flags.c_contiguous


def test_values_of_a_column_are_found_by_its_path():
    batch = pa.record_batch({"seller": pa.array([{"name": "a"}, None], SELLER)})
    found = values_of(batch, Column(("seller", "name"), pa.string()))
    assert found is not None
    assert found.to_pylist() == ["a", None]
    assert values_of(batch, Column(("seller", "age"), pa.int32())) is None
    assert values_of(batch, Column(("buyer",), pa.string())) is None
