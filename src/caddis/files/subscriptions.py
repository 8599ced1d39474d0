"""Subscriptions from a file, a folder of files or a store, read without Spark.

Ids are integers or strings. A text file does not say which: they are integers if all of them
are written as integers are ('17', not '017'), else strings. So are those of all files of a folder
if those of one are.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from caddis.errors import SubscriptionTableError
from caddis.files.paths import FileFormat, data_files, existing, format_of

BLOCK = 16 << 20
COLUMNS = ("subscription_id", "where")


def read_subscriptions(path: Path) -> pa.Table:
    """The subscriptions of a file, or of all files in a folder."""
    wrong = SubscriptionTableError
    format_ = format_of(existing(path, wrong), wrong, option=None)
    tables = [_read(file, format_) for file in data_files(path)]
    types = {table.schema.field("subscription_id").type for table in tables}
    if len(types) > 1:
        texts = pa.schema([(name, pa.string()) for name in COLUMNS])
        tables = [table.cast(texts) for table in tables]
    return pa.concat_tables(tables)


def _read(file: Path, format_: FileFormat) -> pa.Table:
    reader = {"parquet": _parquet, "jsonl": _json_lines, "csv": _csv}[format_]
    try:
        table = reader(file)
    except pa.ArrowException as error:
        raise SubscriptionTableError(
            f"{file}: cannot be read as {format_}: {_first(error)}"
        ) from error
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        names = ", ".join(table.column_names)
        raise SubscriptionTableError(f"{file}: there is no column {missing[0]!r}, only {names}")
    ids, wheres = table["subscription_id"], table["where"]
    return pa.table({"subscription_id": _ids(ids, file), "where": _texts(wheres, file)})


def _parquet(file: Path) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as source:
        present = [name for name in COLUMNS if name in source.schema_arrow.names]
        whole = len(present) < len(COLUMNS)
        return source.schema_arrow.empty_table() if whole else source.read(columns=present)


def _json_lines(file: Path) -> pa.Table:
    from pyarrow import json

    options = json.ReadOptions(block_size=BLOCK)
    table = json.read_json(file, read_options=options)
    if "subscription_id" not in table.column_names or pa.types.is_integer(
        table["subscription_id"].type
    ):
        return table
    # Arrow takes a string such as '2026-05-01' for a date.
    texts = pa.schema([(name, pa.string()) for name in COLUMNS])
    return json.read_json(file, options, json.ParseOptions(explicit_schema=texts))


def _csv(file: Path) -> pa.Table:
    from pyarrow import csv

    table = csv.read_csv(
        file,
        csv.ReadOptions(block_size=BLOCK),
        csv.ParseOptions(newlines_in_values=True),
        csv.ConvertOptions(
            column_types=dict.fromkeys(COLUMNS, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    if "subscription_id" not in table.column_names:
        return table
    ids = table["subscription_id"]
    at = table.column_names.index("subscription_id")
    return table.set_column(at, "subscription_id", _as_integers(ids))


def _as_integers(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    written = pc.match_substring_regex(ids, r"^(0|-?[1-9][0-9]{0,17})$")
    return ids.cast(pa.int64()) if pc.all(written).as_py() else ids


def _ids(ids: pa.ChunkedArray, file: Path) -> pa.ChunkedArray:
    if pa.types.is_dictionary(ids.type):
        ids = ids.cast(ids.type.value_type)
    if pa.types.is_integer(ids.type):
        return ids.cast(pa.int64())
    return _texts(ids, file)


def _texts(column: pa.ChunkedArray, file: Path) -> pa.ChunkedArray:
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        raise SubscriptionTableError(
            f"{file}: a column holds {column.type}, where texts are needed"
        ) from None


def _first(error: Exception) -> str:
    return str(error).partition("\n")[0]
