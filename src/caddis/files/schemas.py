"""The events' columns without Spark: from a file, or from a schema as Spark's DDL writes it.

Types are those that Spark would give: what Arrow guesses from a text file is turned into Spark's
guess, and what Spark's files cannot hold into what Spark reads instead. Only the first rows of a
text file are looked at.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from caddis.errors import EventError
from caddis.files.paths import FileFormat, data_files

FIRST_BYTES = 16 << 20

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.null(): pa.string(),
}


def schema_of(path: Path, format_: FileFormat, timezone: str) -> pa.Schema:
    """The columns of a file, or of the first file in a folder."""
    files = data_files(path)
    if not files:
        raise EventError(f"{path} is empty, so its columns are unknown; give them with --schema")
    reader = {"parquet": _of_parquet, "jsonl": _of_json_lines, "csv": _of_csv}[format_]
    try:
        schema = reader(files[0])
    except pa.ArrowException as error:
        raise EventError(f"{files[0]}: cannot be read as {format_}: {error}") from error
    return pa.schema([field.with_type(spark_like(field.type, timezone)) for field in schema])


def spark_like(type_: pa.DataType, timezone: str) -> pa.DataType:
    """The Arrow type of what Spark reads.

    >>> spark_like(pa.timestamp("ns", "Europe/Paris"), "UTC")
    TimestampType(timestamp[us, tz=UTC])
    """
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", timezone if type_.tz else None)
    if pa.types.is_dictionary(type_):
        return spark_like(type_.value_type, timezone)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(spark_like(type_.value_type, timezone))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(spark_like(field.type, timezone)) for field in type_])
    return _WIDER.get(type_, type_)


def _of_parquet(file: Path) -> pa.Schema:
    import pyarrow.parquet as pq

    return pq.read_schema(file)


def _of_json_lines(file: Path) -> pa.Schema:
    """Spark leaves times in JSON as the strings that they are."""
    from pyarrow import json

    options = json.ReadOptions(block_size=FIRST_BYTES)
    with json.open_json(file, read_options=options) as reader:
        return pa.schema([field.with_type(times_as_texts(field.type)) for field in reader.schema])


def times_as_texts(type_: pa.DataType) -> pa.DataType:
    """The type, but strings in place of dates and times."""
    if pa.types.is_temporal(type_):
        return pa.string()
    if pa.types.is_list(type_):
        return pa.list_(times_as_texts(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(times_as_texts(field.type)) for field in type_])
    return type_


def _of_csv(file: Path) -> pa.Schema:
    """Spark takes integers for INT where they fit, and times for TIMESTAMP."""
    from pyarrow import csv

    with csv.open_csv(file, csv.ReadOptions(block_size=FIRST_BYTES)) as reader:
        rows = pa.Table.from_batches(
            [batch for batch, _ in zip(reader, (0,), strict=False)], reader.schema
        )
    return pa.schema([(name, _csv_type(rows[name])) for name in rows.column_names])


def _csv_type(values: pa.ChunkedArray) -> pa.DataType:
    if pa.types.is_time(values.type):
        return pa.string()
    if pa.types.is_timestamp(values.type):
        return pa.timestamp("us", "UTC")
    if values.type != pa.int64():
        return values.type
    ends = pc.min_max(values).as_py()
    fits = (ends["min"] or 0) >= -(2**31) and (ends["max"] or 0) < 2**31
    return pa.int32() if fits else pa.int64()
