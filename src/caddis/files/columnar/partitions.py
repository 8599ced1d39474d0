"""What the names of folders such as city=Galway say about all events below them.

Spark guesses the types of such columns. Whole numbers, dates and plain texts are taken as Spark
does; of anything else that Spark might read as a number or a time, the schema must give the type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import pyarrow as pa

from caddis.errors import EventError
from caddis.files.columnar.listing import DataFile

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PERHAPS_OTHER = re.compile(r"\s*[+-]?([0-9.]|NaN|Infinity)")
"""How fractions, exponents and times begin; some texts do, too, and nobody can be sure."""


def partition_schema(files: Sequence[DataFile]) -> pa.Schema:
    """The columns that the names of folders give, with their types."""
    names = {tuple(name for name, _ in file.partitions) for file in files}
    if len(names) > 1:
        some, others = sorted(names)[:2]
        raise EventError(
            f"the folders' names give {_listed(some)} to some files and {_listed(others)} to others"
        )
    columns = zip(*(file.partitions for file in files), strict=True)
    return pa.schema([_field(name, column) for name, column in zip(*names, columns, strict=False)])


def typed(name: str, text: str | None, type_: pa.DataType) -> pa.Scalar:
    """The value of a partition's column."""
    if text is None or pa.types.is_null(type_):
        return pa.scalar(None, type_)
    try:
        if pa.types.is_integer(type_):
            return pa.scalar(int(_whole(_WHOLE, text)), type_)
        if pa.types.is_date32(type_):
            return pa.scalar(date.fromisoformat(_whole(_DATE, text)), type_)
        return pa.scalar(text).cast(type_)
    except (ValueError, pa.ArrowException):
        raise EventError(
            f"the folder {name}={text} does not fit the column's type, {type_}"
        ) from None


def _field(name: str, column: Sequence[tuple[str, str | None]]) -> pa.Field:
    values = {value for _, value in column if value is not None}
    if not values:
        return pa.field(name, pa.null())
    if any(not _PERHAPS_OTHER.match(value) for value in values):
        return pa.field(name, pa.string())
    if all(_WHOLE.fullmatch(value) for value in values):
        largest = max(abs(2 * int(value) + 1) for value in values)
        if largest < 1 << 64:
            return pa.field(name, pa.int32() if largest < 1 << 32 else pa.int64())
    if all(map(_is_date, values)):
        return pa.field(name, pa.date32())
    shown = next(iter(sorted(values)))
    raise EventError(
        f"the type of the column {name!r} does not show in the names of folders such as "
        f"{name}={shown}; give the events' schema"
    )


def _whole(form: re.Pattern[str], text: str) -> str:
    """The text, if all of it is of a form: Python reads more than Spark does, such as 1_000."""
    if not form.fullmatch(text):
        raise ValueError(text)
    return text


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text) and date.fromisoformat(text))
    except ValueError:
        return False


def _listed(names: Sequence[str]) -> str:
    return f"the columns {', '.join(names)}" if names else "no columns"
