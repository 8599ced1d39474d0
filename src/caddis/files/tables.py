"""Subscriptions and other tables of a few columns, read and written whole.

Ids are integers or strings. A text file does not say which: a column holds integers if all its
values are written as integers are ('17', not '017'), else strings. If it holds strings in one file
of a folder, it does so in all of them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from caddis.errors import CaddisError, SubscriptionTableError
from caddis.files.atomic import new_file
from caddis.files.formats import FileFormat, Wrong, data_files, existing, format_of, named_format

BLOCK = 16 << 20
"""Bytes that Arrow parses at a time; a line of a text file must fit into them."""


def read_subscriptions(path: Path) -> pa.Table:
    """The columns `subscription_id` and `where` of a file, or of all files in a folder."""
    wrong = SubscriptionTableError
    format_ = format_of(existing(path, wrong), wrong, option=None)
    table = read_columns(data_files(path), format_, ("subscription_id", "where"), wrong)
    return table.set_column(1, "where", table["where"].cast(pa.string()))


def read_columns(
    files: Iterable[Path], format_: FileFormat, names: Sequence[str], wrong: Wrong
) -> pa.Table:
    """Some columns of all these files, each as 64-bit integers or as strings.

    wrong: the error that is raised for a file that cannot be read or lacks a column.
    """
    tables = [_read(file, format_, names, wrong) for file in files]
    types = {name: {table.schema.field(name).type for table in tables} for name in names}
    schema = pa.schema(
        [(name, seen.pop() if len(seen) == 1 else pa.string()) for name, seen in types.items()]
    )
    return pa.concat_tables(table.cast(schema) for table in tables)


def write_table(table: pa.Table, out: Path) -> None:
    """Write a file in the format that its name shows; it appears when everything is in it."""
    writer = {"parquet": _write_parquet, "jsonl": _write_json_lines, "csv": _write_csv}
    write = writer[format_to_write(out)]
    with new_file(out) as unfinished:
        write(table, unfinished)


def write_parts(table: pa.Table, folder: Path, rows: int) -> None:
    """Write a new folder of Parquet files, each with at most this number of rows."""
    import pyarrow.parquet as pq

    folder.mkdir()
    for part, begin in enumerate(range(0, len(table), rows)):
        pq.write_table(table.slice(begin, rows), folder / f"part-{part:05d}.parquet")


def format_to_write(out: Path) -> FileFormat:
    """The format that a new file's name shows."""
    format_ = named_format(out)
    if format_ is None:
        raise CaddisError(
            f"{out}: the name does not show the format; end it in .parquet, .jsonl or .csv"
        )
    return format_


def write_lines(path: Path, rows: Iterable[Mapping[str, object]], *, append: bool = False) -> None:
    """Write one JSON object for each row; with `append`, after the lines that are there."""
    with path.open("a" if append else "w", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(row, ensure_ascii=False, default=_in_json) + "\n")


def _read(file: Path, format_: FileFormat, names: Sequence[str], wrong: Wrong) -> pa.Table:
    reader = {"parquet": _read_parquet, "jsonl": _read_json_lines, "csv": _read_csv}[format_]
    try:
        table = reader(file, names)
    except pa.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise wrong(f"{file}: cannot be read as {format_}: {reason}") from error
    missing = next((name for name in names if name not in table.column_names), None)
    if missing is not None:
        there = ", ".join(table.column_names)
        raise wrong(f"{file}: there is no column {missing!r}, only {there}")
    return pa.table({name: _plain(table[name], file, wrong) for name in names})


def _plain(column: pa.ChunkedArray, file: Path, wrong: Wrong) -> pa.ChunkedArray:
    """The column as 64-bit integers or as strings."""
    type_ = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    try:
        return column.cast(type_).cast(pa.int64() if pa.types.is_integer(type_) else pa.string())
    except pa.ArrowException:
        raise wrong(
            f"{file}: a column holds {type_}, where texts or whole numbers are needed"
        ) from None


def _read_parquet(file: Path, names: Sequence[str]) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as source:
        schema = source.schema_arrow
        if not set(names) <= set(schema.names):
            return schema.empty_table()
        return source.read(columns=list(names))


def _read_json_lines(file: Path, names: Sequence[str]) -> pa.Table:
    from pyarrow import json as arrow_json

    options = arrow_json.ReadOptions(block_size=BLOCK)
    table = arrow_json.read_json(file, options)
    guessed = {name: table.schema.field(name).type for name in names if name in table.column_names}
    exact = {
        name: type_ if pa.types.is_integer(type_) else pa.string()
        for name, type_ in guessed.items()
    }
    if exact == guessed:
        return table
    # Arrow takes a string such as '2026-05-01' for a date, unless the schema says what it is.
    parsing = arrow_json.ParseOptions(explicit_schema=pa.schema(exact))
    return arrow_json.read_json(file, options, parsing)


def _read_csv(file: Path, names: Sequence[str]) -> pa.Table:
    from pyarrow import csv

    table = csv.read_csv(
        file,
        csv.ReadOptions(block_size=BLOCK),
        csv.ParseOptions(newlines_in_values=True),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    for place, name in enumerate(table.column_names):
        if name in names:
            table = table.set_column(place, name, _as_integers(table[name]))
    return table


def _as_integers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    written = pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,17})$")
    return texts.cast(pa.int64()) if pc.all(written).as_py() else texts


def _write_parquet(table: pa.Table, file: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file, compression="zstd")


def _write_json_lines(table: pa.Table, file: Path) -> None:
    write_lines(file, table.to_pylist())


def _write_csv(table: pa.Table, file: Path) -> None:
    from pyarrow import csv

    nested = next((field.name for field in table.schema if pa.types.is_nested(field.type)), None)
    if nested is not None:
        raise CaddisError(f"a CSV file cannot hold the column {nested!r}; end --out in .parquet")
    csv.write_csv(table, file)


def _in_json(value: object) -> str:
    """The text of a value that JSON has no type for, as Spark writes it: base64 for bytes."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
