"""The events of a file or folder, read without Spark into the columns that Spark would find.

Spark's own readers say that some line is not JSON, but not which one: `naming_bad_lines` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from caddis.errors import EventError
from caddis.files.formats import COMPRESSED, FileFormat, data_files
from caddis.files.schemas import FIRST_BYTES, times_as_texts

ROWS_AT_A_TIME = 16_384


def first_events(
    path: Path, format_: FileFormat, schema: pa.Schema, timezone: str, count: int
) -> pa.RecordBatch:
    """The first `count` events, or all if there are fewer; a column that a file lacks is null."""
    events = schema.empty_table()
    for batch in event_batches(path, format_, schema, timezone, rows=count or 1):
        events = pa.concat_tables([events, pa.Table.from_batches([batch])]).slice(0, count)
        if len(events) == count:
            break
    columns = [column.combine_chunks() for column in events.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def event_batches(
    path: Path,
    format_: FileFormat,
    schema: pa.Schema,
    timezone: str,
    *,
    rows: int = ROWS_AT_A_TIME,
) -> Iterator[pa.RecordBatch]:
    """All events, at most `rows` at a time; a column that a file lacks is null."""
    reader = {"parquet": _parquet, "jsonl": _json_lines, "csv": _csv}[format_]
    for file in data_files(path):
        try:
            for batch in reader(file, schema, rows):
                table = _fitted(pa.Table.from_batches([batch]), schema, timezone)
                yield from table.combine_chunks().to_batches(max_chunksize=rows)
        except pa.ArrowException as error:
            reason = str(error).partition("\n")[0]
            raise EventError(f"{file}: its events do not fit their columns: {reason}") from error


def _parquet(file: Path, _: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as source:
        yield from source.iter_batches(batch_size=rows)


def _json_lines(file: Path, schema: pa.Schema, _: int) -> Iterator[pa.RecordBatch]:
    """Read times as strings first, because Arrow does not parse all that Spark does."""
    from pyarrow import json as arrow_json

    texts = pa.schema([field.with_type(times_as_texts(field.type)) for field in schema])
    parsing = arrow_json.ParseOptions(explicit_schema=texts, unexpected_field_behavior="ignore")
    reading = arrow_json.ReadOptions(block_size=FIRST_BYTES)
    with arrow_json.open_json(file, reading, parsing) as reader:
        yield from reader


def _csv(file: Path, schema: pa.Schema, _: int) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv

    types = {field.name: times_as_texts(field.type) for field in schema}
    converting = csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""])
    reading = csv.ReadOptions(block_size=FIRST_BYTES)
    with csv.open_csv(file, reading, convert_options=converting) as reader:
        yield from reader


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
    """The values in another type; times without a time zone are read in `timezone`."""
    if pa.types.is_timestamp(type_) and type_.tz and not getattr(values.type, "tz", None):
        try:
            local = values.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            return values.cast(type_)
        return pc.assume_timezone(local, timezone).cast(type_)
    return values.cast(type_)


@contextmanager
def naming_bad_lines(path: Path, format_: str) -> Iterator[None]:
    """If reading the events fails because a line is not JSON, name the file and the line."""
    try:
        yield
    except EventError as error:
        bad = first_bad_line(path) if format_ == "jsonl" else None
        if bad is None:
            raise
        raise EventError(bad) from error


def first_bad_line(path: Path) -> str | None:
    """What is wrong with the first line that is not JSON, or None if all lines are."""
    for file in data_files(path):
        if file.suffix in COMPRESSED:
            continue
        with file.open(errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    json.loads(line.strip() or "null")
                except json.JSONDecodeError as error:
                    return f"{file}, line {number} is not JSON: {error.msg}, column {error.colno}"
    return None
