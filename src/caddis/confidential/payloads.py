"""An event as bytes, and back: one row of Arrow without its schema, which the design has.

A row goes out alone. A slice of a batch would carry some bytes of the rows beside it (Arrow rounds
buffers up to 64 bytes), so rows are copied; and they are written in plain types, as of a dictionary
a row would lack the entries, and of a view it would carry the bytes of all rows.
"""

from __future__ import annotations

import pyarrow as pa

from caddis.confidential.design import TopicDesign
from caddis.errors import EventError, TamperedEvent
from caddis.language.columns import is_array, is_instant, sql_type


class Payloads:
    """Writes and reads the events of a topic."""

    def __init__(self, design: TopicDesign) -> None:
        self._topic = design.topic
        self._schema = design.schema
        self._plain = pa.schema(
            [field.with_type(_plain(field.type)) for field in design.schema],
            metadata=design.schema.metadata,
        )

    def rows_of(self, batch: pa.RecordBatch, event_key: str) -> pa.RecordBatch:
        """A batch in the types of the design; a column that the batch lacks is null.

        event_key: may be a column that the design does not have.
        """
        names = batch.schema.names
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise EventError(f"these events have {names.count(twice[0])} columns {twice[0]!r}")
        unknown = set(names) - set(self._schema.names) - {event_key}
        if unknown:
            raise EventError(
                f"topic {self._topic!r} has no column {min(unknown)!r}: it would be lost; "
                f"its columns are {', '.join(self._schema.names)}"
            )
        columns = [
            _in_type(batch.column(names.index(field.name)), field)
            if field.name in names
            else pa.nulls(batch.num_rows, field.type)
            for field in self._plain
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._plain)

    @staticmethod
    def written(rows: pa.RecordBatch, row: int) -> bytes:
        """The bytes of one row of what `rows_of` gave."""
        data: bytes = rows.take(pa.array([row])).serialize().to_pybytes()
        return data

    def read(self, data: bytes) -> pa.RecordBatch:
        """The row that was written; TamperedEvent if this is none of the topic."""
        try:
            row = pa.ipc.read_record_batch(pa.py_buffer(data), self._plain)
            row.validate(full=True)
        except (pa.ArrowException, OSError, EOFError):
            row = None
        if row is None or row.num_rows != 1:
            raise TamperedEvent(f"its payload is no event of topic {self._topic!r}")
        return row

    def together(self, rows: list[pa.RecordBatch]) -> pa.RecordBatch:
        """Rows that were read, as one batch with the schema of the design."""
        table = pa.Table.from_batches(rows, self._plain).combine_chunks()
        columns = [
            pa.concat_arrays(column.chunks).cast(field.type)
            if column.num_chunks
            else pa.array([], field.type)
            for column, field in zip(table.columns, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _plain(type_: pa.DataType) -> pa.DataType:
    """The type in which values are written."""
    if pa.types.is_dictionary(type_):
        return _plain(type_.value_type)
    if pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_binary_view(type_):
        return pa.binary()
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_plain(field.type)) for field in type_])
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(_inner(type_), type_.list_size)
    return pa.large_list(_inner(type_)) if pa.types.is_large_list(type_) else _plain_list(type_)


def _plain_list(type_: pa.DataType) -> pa.DataType:
    return pa.list_(_inner(type_)) if pa.types.is_list(type_) else type_


def _inner(type_: pa.DataType) -> pa.Field:
    return type_.value_field.with_type(_plain(type_.value_type))


def _in_type(array: pa.Array, field: pa.Field) -> pa.Array:
    if array.type == field.type:
        return array
    if not _same_kinds_of_time(array.type, field.type):
        raise _unfit(array.type, field)
    try:
        return array.cast(field.type, safe=not pa.types.is_timestamp(field.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise _unfit(array.type, field) from None


def _same_kinds_of_time(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether no TIMESTAMP meets a TIMESTAMP_NTZ, at any depth."""
    if pa.types.is_dictionary(found):
        return _same_kinds_of_time(found.value_type, wanted)
    if is_array(found) and is_array(wanted):
        return _same_kinds_of_time(found.value_type, wanted.value_type)
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        theirs = {field.name: field.type for field in wanted}
        shared = [field for field in found if field.name in theirs]
        return all(_same_kinds_of_time(one.type, theirs[one.name]) for one in shared)
    return is_instant(found) == is_instant(wanted)


def _unfit(found: pa.DataType, field: pa.Field) -> EventError:
    return EventError(
        f"column {field.name!r} is {sql_type(found)} in these events; the topic's design says "
        f"{sql_type(field.type)}"
    )
