"""Files of sealed and of opened events: read in batches, written whole or not at all."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from caddis.errors import CaddisError, EventError
from caddis.files import FileFormat, data_files, existing, named_format

ROWS_AT_A_TIME = 8_192

REASONS = {
    "TruncatedEvent": "cut short or damaged",
    "UnknownPublisher": "publisher not allowed",
    "WrongEpoch": "not of this epoch",
    "TamperedEvent": "changed on its way",
    "ReplayedEvent": "here before",
    "NotEntitled": "no key for it",
}


def reason(kind: str) -> str:
    """Why events are refused, by the name of the error."""
    return REASONS.get(kind, kind)


def check_free(out: Path, *, overwrite: bool) -> None:
    """Raise unless a file can be written there, or replaced as the user wished."""
    if out.is_dir():
        raise CaddisError(f"{out} is a folder; --out names a file")
    if out.exists() and not overwrite:
        raise CaddisError(
            f"{out} exists already; choose another --out, or replace it with --overwrite"
        )


def check_named(out: Path) -> FileFormat:
    """The format that a file's name tells."""
    format_ = named_format(out)
    if format_ is None:
        raise CaddisError(
            f"{out}: the name does not tell the format; end it in .parquet, .jsonl or .csv"
        )
    return format_


@contextmanager
def new_file(out: Path) -> Iterator[Path]:
    """A hidden file beside, which takes the name when everything is in it."""
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    staging = out.absolute().parent / f".{out.name}.writing-{os.getpid()}"
    try:
        yield staging
        staging.replace(out)
    finally:
        staging.unlink(missing_ok=True)


def write_table(table: pa.Table, out: Path) -> None:
    """As the name tells: Parquet, JSON lines or CSV."""
    format_ = check_named(out)
    with new_file(out) as staging:
        if format_ == "parquet":
            pq.write_table(table, staging, compression="zstd")
        elif format_ == "csv":
            _write_csv(table, staging)
        else:
            _write_json_lines(table, staging)


def check_parquet_named(out: Path) -> None:
    """Raise unless sealed events can be found again under this name."""
    if named_format(out) != "parquet":
        raise CaddisError(f"{out}: sealed events are Parquet files; end it in .parquet")


def sealed_event_files(path: Path) -> list[Path]:
    """The Parquet file, or all in a folder."""
    files = data_files(existing(path, EventError))
    if not files:
        raise EventError(f"{path} is empty; there are no sealed events in it")
    other = next((file for file in files if named_format(file) != "parquet"), None)
    if other is not None:
        raise EventError(f"{other}: sealed events are Parquet files, named so")
    return files


def check_id_types(files: list[Path]) -> None:
    """Raise if events are named by numbers in some files and by texts in others."""
    named: dict[str, Path] = {}
    for file in files:
        try:
            schema = pq.read_schema(file)
        except pa.ArrowException as error:
            raise EventError(f"{file} cannot be read: {str(error).partition(chr(10))[0]}") from None
        if "event_id" in schema.names:
            whole = pa.types.is_integer(schema.field("event_id").type)
            named.setdefault("numbers" if whole else "texts", file)
    if len(named) > 1:
        places = " and ".join(f"{kind} in {file}" for kind, file in named.items())
        raise EventError(f"ids of events are {places}; match these files in two runs")


def sealed_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The sealed events of a Parquet file, or of all in a folder; of an empty file, no rows."""
    for file in sealed_event_files(path):
        try:
            with pq.ParquetFile(file) as source:
                if not source.metadata.num_rows:
                    yield pa.RecordBatch.from_pylist([], schema=source.schema_arrow)
                yield from source.iter_batches(batch_size=ROWS_AT_A_TIME)
        except pa.ArrowException as error:
            raise EventError(f"{file} cannot be read: {str(error).partition(chr(10))[0]}") from None


def _write_csv(table: pa.Table, file: Path) -> None:
    from pyarrow import csv

    nested = next((field.name for field in table.schema if pa.types.is_nested(field.type)), None)
    if nested is not None:
        raise CaddisError(f"a CSV file cannot hold the column {nested!r}; end --out in .parquet")
    csv.write_csv(table, file)


def _write_json_lines(table: pa.Table, file: Path) -> None:
    import json

    with file.open("w", encoding="utf-8") as lines:
        for row in table.to_pylist():
            lines.write(json.dumps(row, ensure_ascii=False, default=_in_json) + "\n")


def _in_json(value: object) -> str:
    """What JSON has no type for, as Spark writes it: bytes as base64."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
