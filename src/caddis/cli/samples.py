"""The first events of a file or folder, read without Spark into the columns that it would find."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from caddis.cli.paths import FileFormat, data_files
from caddis.cli.schemas import FIRST_BYTES, times_as_texts
from caddis.errors import EventError


def first_events(
    path: Path, format_: FileFormat, schema: pa.Schema, timezone: str, count: int
) -> pa.RecordBatch:
    """At most `count` events; a column that a file lacks is null."""
    reader = {"parquet": _parquet, "jsonl": _json_lines, "csv": _csv}[format_]
    found = schema.empty_table()
    for file in data_files(path):
        if len(found) == count:
            break
        try:
            rows = reader(file, schema, count - len(found))
            found = pa.concat_tables([found, _fitted(rows, schema, timezone)])
        except pa.ArrowException as error:
            said = str(error).partition("\n")[0]
            raise EventError(f"{file}: its events do not fit their columns: {said}") from error
    columns = [column.combine_chunks() for column in found.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _parquet(file: Path, _: pa.Schema, count: int) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as source:
        return _first(source.iter_batches(batch_size=count), source.schema_arrow, count)


def _json_lines(file: Path, schema: pa.Schema, count: int) -> pa.Table:
    """Times are taken as texts: Arrow would not read all that Spark reads."""
    from pyarrow import json

    texts = pa.schema([field.with_type(times_as_texts(field.type)) for field in schema])
    parsing = json.ParseOptions(explicit_schema=texts, unexpected_field_behavior="ignore")
    with json.open_json(file, json.ReadOptions(block_size=FIRST_BYTES), parsing) as reader:
        return _first(reader, reader.schema, count)


def _csv(file: Path, schema: pa.Schema, count: int) -> pa.Table:
    from pyarrow import csv

    types = {field.name: times_as_texts(field.type) for field in schema}
    converting = csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""])
    reading = csv.ReadOptions(block_size=FIRST_BYTES)
    with csv.open_csv(file, reading, convert_options=converting) as reader:
        return _first(reader, reader.schema, count)


def _first(batches: Iterable[pa.RecordBatch], schema: pa.Schema, count: int) -> pa.Table:
    taken: list[pa.RecordBatch] = []
    for batch in batches:
        taken.append(batch.slice(0, count - sum(map(len, taken))))
        if sum(map(len, taken)) == count:
            break
    return pa.Table.from_batches(taken, schema)


def _fitted(rows: pa.Table, schema: pa.Schema, timezone: str) -> pa.Table:
    """The rows with exactly the columns of the schema."""
    columns = [
        _cast(rows[field.name], field.type, timezone)
        if field.name in rows.column_names
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(values: pa.ChunkedArray, type_: pa.DataType, timezone: str) -> pa.ChunkedArray:
    """The values in another type; times without a zone are read in the session's."""
    if pa.types.is_timestamp(type_) and type_.tz and not getattr(values.type, "tz", None):
        try:
            local = values.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            return values.cast(type_)
        return pc.assume_timezone(local, timezone).cast(type_)
    return values.cast(type_)
