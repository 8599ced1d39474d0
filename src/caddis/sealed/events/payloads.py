"""An event as bytes, and back: one row of Arrow without its schema, which the design has.

    a bit by column of the design, lowest first: whether it is not null; zeros fill the last byte
    the IPC message of a record batch with these columns, not compressed; nothing if there are none

A row goes out alone. A slice of a batch would carry some bytes of the rows beside it (Arrow rounds
buffers up to 64 bytes), so rows are copied. A publisher who has a key may send what is meant to
harm: nothing is unpacked that would become larger than what was sent.

What a publisher seals must be what its subscribers read. So a column is cast to the design's type
only if both are of one kind (numbers, texts, bytes, dates, times with or without a time zone;
doubles are no decimals), and what does not fit is refused: no number is rounded, no time wraps, no
field of a struct is dropped. All that is lost is the part of a time below a microsecond, which no
predicate could see.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from caddis.errors import EventError, TamperedEvent
from caddis.language import is_array, is_instant, is_text, sql_type
from caddis.sealed.design import NoPlainType, StreamDesign, plain_type

MOST_BYTES = 64 << 20
MESSAGE_HEADER, BATCH_COMPRESSION = 2, 3
"""The numbers of fields in Arrow's Message.fbs: Message.header and RecordBatch.compression."""

NO_COLUMNS = pa.RecordBatch.from_arrays([], names=[])


class Payloads:
    """Writes and reads the events of a stream."""

    def __init__(self, design: StreamDesign) -> None:
        self._stream = design.stream
        self._schema = design.schema
        self._fields = list(design.schema)
        self._nulls = [pa.nulls(1, field.type) for field in design.schema]
        self._bitmap_bytes = -(-len(self._fields) // 8)

    def rows_of(self, batch: pa.RecordBatch, event_key: str) -> pa.RecordBatch:
        """A batch in the types of the design; a column that the batch lacks is null if it may be.

        event_key: the column of ids, which the design need not have.
        """
        names = batch.schema.names
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise EventError(f"these events have {names.count(twice[0])} columns {twice[0]!r}")
        unknown = set(names) - set(self._schema.names) - {event_key}
        if unknown:
            raise EventError(
                f"stream {self._stream!r} has no column {min(unknown)!r}: it would be lost; "
                f"its columns are {', '.join(self._schema.names)}"
            )
        columns = [
            _in_type(batch.column(names.index(field.name)), field)
            if field.name in names
            else pa.nulls(batch.num_rows, field.type)
            for field in self._fields
        ]
        for column, field in zip(columns, self._fields, strict=True):
            _check_nulls(column, field, field.name)
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def written(self, rows: pa.RecordBatch) -> Iterator[bytes]:
        """The bytes of each row of what `rows_of` gave."""
        valid = np.zeros((rows.num_rows, len(self._fields)), bool)
        for place, column in enumerate(rows.columns):
            valid[:, place] = column.is_valid().to_numpy(zero_copy_only=False)
        bitmaps = np.packbits(valid, axis=1, bitorder="little")
        for row in range(rows.num_rows):
            present = np.flatnonzero(valid[row]).tolist()
            message = _message(rows.select(present), row) if present else b""
            if len(message) > MOST_BYTES:
                raise EventError(
                    f"row {row} has {len(message):,} bytes; sealed events have up to {MOST_BYTES:,}"
                )
            yield bitmaps[row].tobytes() + message

    def read(self, data: bytes) -> pa.RecordBatch:
        """The row that was written, without its nulls; TamperedEvent if it is no row of the stream.

        `together` joins such rows.
        """
        bitmap, message = data[: self._bitmap_bytes], data[self._bitmap_bytes :]
        try:
            row = self._row(bitmap, message)
        except (pa.ArrowException, OSError, EOFError, struct.error, IndexError):
            row = None
        if row is None:
            raise TamperedEvent(f"its payload is no event of stream {self._stream!r}")
        return row

    def _row(self, bitmap: bytes, message: bytes) -> pa.RecordBatch | None:
        """The row, or None if it does not have the columns that the bitmap says."""
        bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
        fields = [self._fields[place] for place in np.flatnonzero(bits).tolist()]
        if len(bitmap) < self._bitmap_bytes:
            return None
        if not fields:
            return NO_COLUMNS if not message else None
        buffer = pa.py_buffer(message)
        if len(message) > MOST_BYTES or _is_compressed(pa.ipc.read_message(buffer).metadata):
            return None
        row = pa.ipc.read_record_batch(buffer, pa.schema(fields))
        row.validate(full=True)
        return row if row.num_rows == 1 else None

    def together(self, rows: list[pa.RecordBatch]) -> pa.RecordBatch:
        """Rows that were read, as one batch with the schema of the design."""
        chunks = [[null] * len(rows) for null in self._nulls]
        place_of = {name: place for place, name in enumerate(self._schema.names)}
        for number, row in enumerate(rows):
            for name, column in zip(row.schema.names, row.columns, strict=True):
                chunks[place_of[name]][number] = column
        columns = [
            pa.concat_arrays([null.slice(1), *chunk])
            for null, chunk in zip(self._nulls, chunks, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _message(columns: pa.RecordBatch, row: int) -> bytes:
    data: bytes = columns.take(pa.array([row])).serialize().to_pybytes()
    return data


def _is_compressed(metadata: pa.Buffer) -> bool:
    """Whether the body of a message would be unpacked when it is read.

    pyarrow does not tell, so the FlatBuffers of the metadata are followed by hand.
    """
    data = memoryview(metadata)
    message = _followed(data, 0)
    batch = _followed(data, _field(data, message, MESSAGE_HEADER))
    return _field(data, batch, BATCH_COMPRESSION) > 0


def _field(data: memoryview, table: int, number: int) -> int:
    """Where a field of a FlatBuffers table lies, as its vtable says; 0 if it is not there."""
    vtable = table - int(struct.unpack_from("<i", data, table)[0])
    (size,) = struct.unpack_from("<H", data, vtable)
    at = 4 + 2 * number
    (offset,) = struct.unpack_from("<H", data, vtable + at) if at < size else (0,)
    return table + offset if offset else 0


def _followed(data: memoryview, place: int) -> int:
    """Where the reference at a place leads."""
    return place + int(struct.unpack_from("<I", data, place)[0])


def _check_nulls(array: pa.Array, field: pa.Field, name: str) -> None:
    """Refuse a null where the design has none; maps are not searched."""
    if array.null_count and not field.nullable:
        raise EventError(f"{name!r} is null in these events; the stream's design says NOT NULL")
    type_ = field.type
    if pa.types.is_struct(type_):
        present = array.drop_null()
        for place, child in enumerate(type_):
            _check_nulls(present.field(place), child, f"{name}.{child.name}")
    elif is_array(type_):
        _check_nulls(array.flatten(), type_.value_field, f"{name}.element")


def _in_type(array: pa.Array, field: pa.Field) -> pa.Array:
    if array.type == field.type:
        return array
    found = cast_losslessly(array, field.type)
    if found is None:
        raise EventError(
            f"column {field.name!r} is {sql_type(array.type)} in these events; the stream's design "
            f"says {sql_type(field.type)}, which cannot hold the same values"
        )
    return found


# -- casts in which every value stays the same

KINDS: tuple[Callable[[pa.DataType], bool], ...] = (
    lambda type_: pa.types.is_integer(type_) or pa.types.is_floating(type_),
    lambda type_: pa.types.is_integer(type_) or pa.types.is_decimal(type_),
    is_text,
    lambda type_: pa.types.is_binary(type_) or pa.types.is_large_binary(type_),
    pa.types.is_date,
    is_instant,
    lambda type_: pa.types.is_timestamp(type_) and type_.tz is None,
)


def cast_losslessly(array: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    """The same values in a plain type; None if it is of another kind, or if a value does not fit.

    >>> cast_losslessly(pa.array([1.5, 2.0]), pa.float32()).type
    DataType(float)
    >>> cast_losslessly(pa.array([0.1]), pa.float32()) is None
    True
    """
    try:
        plain = _cast(array, plain_type(array.type))
        if plain.type == wanted:
            return plain
        if not _same_kind(plain.type, wanted):
            return None
        found = _cast(plain, wanted)
        return found if _same_floats(plain, found) else None
    except (pa.ArrowException, NoPlainType):
        return None


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return array.cast(options=pc.CastOptions(type_, allow_time_truncate=True))


def _same_kind(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of one type are values of the other, at any depth; both are plain."""
    if found == wanted or pa.types.is_null(found):
        return True
    if is_array(found) and is_array(wanted):
        return _same_kind(found.value_type, wanted.value_type)
    if pa.types.is_map(found) and pa.types.is_map(wanted):
        keys, items = (found.key_type, wanted.key_type), (found.item_type, wanted.item_type)
        return _same_kind(*keys) and _same_kind(*items)
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        theirs = {field.name: field.type for field in wanted}
        return all(one.name in theirs and _same_kind(one.type, theirs[one.name]) for one in found)
    return any(is_one(found) and is_one(wanted) for is_one in KINDS)


def _same_floats(array: pa.Array, changed: pa.Array) -> bool:
    """Whether doubles have stayed what they were: Arrow rounds them, and only them, silently."""
    if not any(pa.types.is_floating(leaf.type) for leaf in _leaves(array)):
        return True
    return all(map(_equal, _leaves(array), _leaves(_cast(changed, array.type))))


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    """The arrays of scalars that an array consists of."""
    if pa.types.is_struct(array.type):
        for child in array.flatten():
            yield from _leaves(child)
    elif pa.types.is_map(array.type):
        begin, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        for child in (array.keys, array.items):
            yield from _leaves(child[begin:end])
    elif is_array(array.type):
        yield from _leaves(array.flatten())
    else:
        yield array


def _equal(before: pa.Array, after: pa.Array) -> bool:
    if not pa.types.is_floating(before.type):
        return True
    same = pc.or_(pc.equal(before, after), pc.and_(pc.is_nan(before), pc.is_nan(after)))
    return pc.all(same).as_py() is not False
