"""What a broker found, as it wrote it: ids of events and of subscriptions.

All ids are taken as texts. Text files do not say whether '007' is a number, and the subscriber's
own files decide differently on a part of the ids than a broker on all of them.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from caddis.errors import EventError
from caddis.files import FileFormat, data_files, existing, format_of

MATCHED = ("event_id", "subscription_id")


def found_events(matches: Path, subscriptions: pa.Table) -> pa.Array:
    """The ids, as texts, of the events that were found for some of these subscriptions."""
    files = [file for file in data_files(existing(matches, EventError)) if file.stat().st_size]
    if not files:
        return pa.array([], pa.string())
    format_ = format_of(matches, EventError, option=None)
    events, owners = pa.concat_tables(_read(file, format_) for file in files).columns
    mine = pc.is_in(owners, subscriptions["subscription_id"].cast(pa.string()))
    return events.filter(mine).unique()


def _read(file: Path, format_: FileFormat) -> pa.Table:
    reader = {"parquet": _parquet, "jsonl": _json_lines, "csv": _csv}[format_]
    try:
        table = reader(file)
    except pa.ArrowException as error:
        raise EventError(f"{file} cannot be read: {str(error).partition(chr(10))[0]}") from None
    missing = [name for name in MATCHED if name not in table.column_names]
    if missing:
        raise EventError(f"{file}: matches have a column {missing[0]!r}, and these have not")
    try:
        return pa.table({name: table[name].cast(pa.string()) for name in MATCHED})
    except pa.ArrowException:
        raise EventError(f"{file}: ids of matches are texts or whole numbers") from None


def _parquet(file: Path) -> pa.Table:
    with pq.ParquetFile(file) as source:
        return source.read()


def _json_lines(file: Path) -> pa.Table:
    """Numbers are read as such; of texts, Arrow would take '2026-05-01' for a date."""
    from pyarrow import json

    table = json.read_json(file)
    names = [name for name in MATCHED if name in table.column_names]
    types = {name: table.schema.field(name).type for name in names}
    exact = {
        name: type_ if pa.types.is_integer(type_) else pa.string() for name, type_ in types.items()
    }
    if exact == types:
        return table
    parsing = json.ParseOptions(explicit_schema=pa.schema(exact))
    return json.read_json(file, parse_options=parsing)


def _csv(file: Path) -> pa.Table:
    from pyarrow import csv

    types = dict.fromkeys(MATCHED, pa.string())
    return csv.read_csv(
        file,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types=types),
    )
