"""Rows as bytes: exactly what was published comes back, and no more than the row goes out."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from caddis.errors import EventError, TamperedEvent
from caddis.sealed.design import StreamDesign, plain_schema
from caddis.sealed.events.payloads import Payloads
from tests.oracle.events import ZONED


def payloads(schema: pa.Schema) -> Payloads:
    return Payloads(StreamDesign.of("homes", schema, values=1))


def there_and_back(batch: pa.RecordBatch) -> pa.RecordBatch:
    made = payloads(batch.schema)
    rows = made.rows_of(batch, "event_id")
    return made.together([made.read(data) for data in made.written(rows)])


SURE = pa.field("sure", pa.int32(), nullable=False)
WORDS = pa.dictionary(pa.int8(), pa.string())


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["Galway", None, "Cork"], pa.string()),
        (["Galway", None, "Cork"], pa.large_string()),
        (["Galway", None, "a text that is longer than a view"], pa.string_view()),
        ([b"\xff", None, b""], pa.binary_view()),
        (["Galway", None, "Galway"], WORDS),
        ([["a"], None, ["b", None]], pa.list_(WORDS)),
        ([["a"], None, ["b", None]], pa.large_list(pa.string_view())),
        ([["a", "b"], None, ["b", None]], pa.list_(pa.string(), 2)),
        (
            [{"x": "a", "y": 1}, None, {"x": None, "y": None}],
            pa.struct([("x", WORDS), ("y", pa.int8())]),
        ),
        ([True, None, False], pa.bool_()),
        ([7, None, 7], pa.dictionary(pa.int8(), pa.int64())),
        ([[1.5], None, [None]], pa.list_(pa.dictionary(pa.int8(), pa.float64()))),
        ([[("a", 1)], None, []], pa.map_(pa.string(), pa.dictionary(pa.int8(), pa.int64()))),
        ([dt.datetime(2024, 2, 29, tzinfo=dt.UTC), None, None], ZONED),
        ([None, None, None], pa.null()),
    ],
    ids=str,
)
def test_rows_come_back_as_they_were(values, type_):
    batch = pa.record_batch({"city": pa.array(values, type_), "n": pa.array([1, 2, 3])})
    back = there_and_back(batch)
    assert back.schema == plain_schema(batch.schema)
    assert back.to_pylist() == batch.to_pylist()


def test_no_rows_are_an_empty_batch():
    batch = pa.record_batch({"city": pa.array([], WORDS)})
    back = payloads(batch.schema).together([])
    assert (back.num_rows, back.schema) == (0, plain_schema(batch.schema))


@pytest.mark.parametrize("type_", [pa.string(), pa.string_view(), WORDS], ids=str)
def test_a_row_carries_nothing_of_other_rows(type_):
    texts = ["the first of these texts", "another text, in the middle", "and the last of the texts"]
    batch = pa.record_batch({"city": pa.array(texts).cast(type_)})
    made = payloads(batch.schema)
    rows = made.rows_of(batch, "event_id")
    _, written, _ = made.written(rows)
    assert texts[1].encode() in written
    assert texts[0].encode() not in written
    assert texts[2].encode() not in written


def test_more_values_than_the_publishers_dictionary_could_have_come_back():
    """Each batch of a publisher has few cities; together they are more than 127."""
    made = payloads(pa.schema([("city", WORDS)]))
    batches = [pa.record_batch({"city": pa.array([str(at)], WORDS)}) for at in range(200)]
    rows = [made.read(next(made.written(made.rows_of(one, "event_id")))) for one in batches]
    assert made.together(rows).column("city").to_pylist() == [str(at) for at in range(200)]


SCHEMA = pa.schema([("city", pa.string()), ("at", ZONED), ("price", pa.int32())])


def test_a_column_that_the_batch_lacks_is_null():
    rows = payloads(SCHEMA).rows_of(pa.record_batch({"city": ["Cork"]}), "event_id")
    assert rows.to_pylist() == [{"city": "Cork", "at": None, "price": None}]


def test_columns_are_brought_into_the_types_of_the_design():
    batch = pa.record_batch({"price": pa.array([5], pa.int64()), "event_id": ["e"]})
    assert payloads(SCHEMA).rows_of(batch, "event_id").column("price").type == pa.int32()


@pytest.mark.parametrize(
    ("batch", "problem"),
    [
        (
            {"price": ["much"]},
            "column 'price' is STRING in these events; the stream's design says INT",
        ),
        ({"price": [2**40]}, "column 'price' is BIGINT"),
        ({"at": [dt.datetime(2024, 2, 29)]}, "column 'at' is TIMESTAMP_NTZ"),
        ({"price": [1], "colour": ["red"]}, "stream 'homes' has no column 'colour'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(batch, problem):
    with pytest.raises(EventError, match=problem):
        payloads(SCHEMA).rows_of(pa.record_batch(batch), "event_id")


@pytest.mark.parametrize(
    ("values", "strict", "name"),
    [
        ([1, None], pa.field("it", pa.int32(), nullable=False), "it"),
        ([[1], None, [None]], pa.field("it", pa.list_(SURE)), "it.element"),
        ([{"sure": 1}, None, {"sure": None}], pa.field("it", pa.struct([SURE])), "it.sure"),
        ([[None, {"sure": None}]], pa.field("it", pa.list_(pa.struct([SURE]))), "it.element.sure"),
    ],
)
def test_a_null_in_a_column_that_is_not_null_is_refused(
    values: list[object], strict: pa.Field, name: str
):
    schema = pa.schema([strict, ("other", pa.int32())])
    rows = pa.RecordBatch.from_arrays([pa.array(values, strict.type)], ["it"])
    with pytest.raises(EventError, match=f"'{name}' is null in these events"):
        payloads(schema).rows_of(rows, "event_id")
    sound = rows.slice(0, len(values) - 1)
    assert payloads(schema).rows_of(sound, "event_id").column(0).equals(sound.column(0))


def test_a_column_that_comes_twice_is_refused():
    batch = pa.RecordBatch.from_arrays([pa.array(["a"])] * 2, ["city", "city"])
    with pytest.raises(EventError, match="2 columns 'city'"):
        payloads(SCHEMA).rows_of(batch, "event_id")


def test_times_within_structs_and_arrays_must_be_of_the_same_kind():
    schema = pa.schema([("stay", pa.struct([("nights", pa.list_(ZONED))]))])
    local = pa.struct([("nights", pa.list_(pa.timestamp("us")))])
    batch = pa.record_batch({"stay": pa.array([{"nights": [dt.datetime(2024, 2, 29)]}], local)})
    with pytest.raises(EventError, match="column 'stay'"):
        payloads(schema).rows_of(batch, "event_id")


@pytest.mark.parametrize("size", [0, 1, 7, 8, 40, 100])
def test_what_is_no_row_of_the_stream_is_refused(size):
    made = payloads(SCHEMA)
    (written,) = made.written(made.rows_of(pa.record_batch({"city": ["Cork"]}), "event_id"))
    for data in (written[:size], b"\x01" + bytes(size), b"\xff" * size):
        with pytest.raises(TamperedEvent, match="no event of stream 'homes'"):
            made.read(data)


def test_two_rows_are_no_event():
    made = payloads(SCHEMA)
    rows = made.rows_of(pa.record_batch({"city": ["Cork", "Galway"]}), "event_id")
    with pytest.raises(TamperedEvent):
        made.read(b"\x01" + rows.select(["city"]).serialize().to_pybytes())


@pytest.mark.parametrize("bitmap", [b"", b"\x00", b"\x03", b"\x09", b"\xff"])
def test_a_bitmap_of_other_columns_is_refused(bitmap):
    made = payloads(SCHEMA)
    (written,) = made.written(made.rows_of(pa.record_batch({"city": ["Cork"]}), "event_id"))
    assert written[:1] == b"\x01"
    with pytest.raises(TamperedEvent, match="no event of stream 'homes'"):
        made.read(bitmap + written[1:])


def test_an_event_of_nulls_is_nothing_but_its_bitmap():
    made = payloads(SCHEMA)
    rows = made.rows_of(pa.record_batch({"city": pa.nulls(1, pa.string())}), "event_id")
    assert list(made.written(rows)) == [b"\x00"]
    assert made.together([made.read(b"\x00")]).equals(rows)


def test_a_row_is_as_long_as_what_is_in_it():
    schema = pa.schema([(f"c{at}", pa.int64()) for at in range(50)])
    made = payloads(schema)
    few, all_ = (
        pa.record_batch(
            {f"c{at}": [at] for at in range(count)}, schema=pa.schema(list(schema)[:count])
        )
        for count in (5, 50)
    )
    lengths = [len(next(made.written(made.rows_of(one, "event_id")))) for one in (few, all_)]
    assert 5 * lengths[0] < lengths[1]


# ----------------------------------------------------------------------- what is made to harm


def compressed(batch: pa.RecordBatch, codec: str) -> bytes:
    """The message of a batch with a compressed body."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
        stream.write(batch)
    messages = list(pa.ipc.MessageReader.open_stream(sink.getvalue()))
    data: bytes = messages[1].serialize().to_pybytes()
    return data


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_zip_bomb_is_not_unpacked(codec):
    made = payloads(SCHEMA)
    rows = made.rows_of(pa.record_batch({"city": ["a" * 100_000]}), "event_id").select(["city"])
    (written,) = made.written(made.rows_of(pa.record_batch(rows), "event_id"))
    assert made.together([made.read(written)]).column("city").equals(rows.column("city"))
    bomb = b"\x01" + compressed(rows, codec)
    assert len(bomb) < 2_000
    with pytest.raises(TamperedEvent, match="no event of stream 'homes'"):
        made.read(bomb)


def test_an_event_that_is_too_long_is_neither_written_nor_read(monkeypatch: pytest.MonkeyPatch):
    made = payloads(SCHEMA)
    rows = made.rows_of(pa.record_batch({"city": ["a" * 2_000]}), "event_id")
    (written,) = made.written(rows)
    monkeypatch.setattr("caddis.sealed.events.payloads.MOST_BYTES", 2_000)
    with pytest.raises(EventError, match=r"row 0 has 2,.* bytes; sealed events have up to 2,000"):
        list(made.written(rows))
    with pytest.raises(TamperedEvent):
        made.read(written)
