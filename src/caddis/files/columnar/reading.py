"""Pieces of files as batches of the columns that are asked for.

Columns are found by name, whatever its case, as in Spark. A column that a file lacks is null, and
one of another type must fit without a change of any value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from caddis.errors import EventError
from caddis.files.columnar.arrow import ArrowGroups
from caddis.files.columnar.listing import ColumnarFormat, DataFile, file_system
from caddis.files.columnar.parquet import ParquetGroups
from caddis.files.columnar.partitions import typed
from caddis.files.columnar.splitting import Piece
from caddis.files.columnar.values import Range, as_type, fits


class Groups(Protocol):
    """The groups of rows in an open file."""

    def __len__(self) -> int: ...

    @property
    def schema(self) -> pa.Schema:
        """The columns, with the types that Spark gives them."""

    @property
    def spark_schema(self) -> str | None:
        """The columns as Spark described them, in JSON, if it wrote the file."""

    def check(self, names: Sequence[str]) -> None:
        """Refuse columns whose values would be read differently."""

    def rows(self, group: int) -> int:
        """How many rows a group has."""

    def batches(self, groups: Sequence[int], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of some groups."""

    def range_of(self, group: int, path: tuple[str, ...]) -> Range | None:
        """What is known about a column's values in a group; None if nothing is."""


_OPENERS: dict[ColumnarFormat, Callable[[pa.NativeFile, str, str], Groups]] = {
    "parquet": ParquetGroups,
    "arrow": ArrowGroups,
}
_WORDS = {"parquet": "Parquet", "arrow": "Arrow"}


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of a group of rows before it is read."""

    rows: int
    _ranges: Callable[[tuple[str, ...], pa.DataType], Range | None]

    def range_of(self, path: tuple[str, ...], type_: pa.DataType) -> Range | None:
        """What is known of the values of a column, or of a field in it; None if nothing is."""
        return self._ranges(path, type_)


@dataclass(frozen=True, slots=True)
class Reading:
    """How workers read pieces of files.

    schema: the columns to read, with the types to give them.
    timezone: the session's time zone.
    coded: the columns that may be dictionaries of values of that type.
    """

    format: ColumnarFormat
    schema: pa.Schema
    timezone: str
    coded: frozenset[str] = frozenset()

    def batches(
        self, piece: Piece, wanted: Callable[[Statistics], bool]
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a piece.

        wanted: decides whether a group of rows is read, from what is known about it.
        """
        fields = {field.name.lower(): field for field in self.schema}
        given = [(fields.get(name.lower()), text) for name, text in piece.file.partitions]
        constants = {
            field.name: typed(field.name, text, field.type)
            for field, text in given
            if field is not None
        }
        with _opened(piece.file, self.format, self.timezone) as groups:
            names = self._names_in(groups, piece.file, constants)
            groups.check(list(names.values()))
            mine = piece.groups(len(groups))
            kept = [at for at in mine if wanted(self._statistics(groups, at, names, constants))]
            for batch in groups.batches(kept, list(names.values())):
                yield self._fitted(batch, names, constants)

    def _names_in(
        self, groups: Groups, file: DataFile, constants: Mapping[str, pa.Scalar]
    ) -> dict[str, str]:
        """The file's own names of the columns that it has."""
        own: dict[str, list[str]] = {}
        for name in groups.schema.names:
            own.setdefault(name.lower(), []).append(name)
        names = {}
        for field in self.schema:
            found = own.get(field.name.lower(), [])
            if field.name in constants or not found:
                continue
            if len(found) > 1:
                raise EventError(f"{file.name}: there are several columns named {field.name!r}")
            type_ = groups.schema.field(found[0]).type
            if not fits(type_, field.type):
                raise EventError(
                    f"{file.name}: the column {field.name!r} is {type_}, and not {field.type} as "
                    "expected"
                )
            names[field.name] = found[0]
        return names

    def _fitted(
        self, batch: pa.RecordBatch, names: Mapping[str, str], constants: Mapping[str, pa.Scalar]
    ) -> pa.RecordBatch:
        """The rows with exactly the columns of the schema."""
        columns = []
        for field in self.schema:
            if field.name in names:
                values = batch.column(names[field.name])
                coded = pa.types.is_dictionary(values.type) and field.name in self.coded
                columns.append(values if coded else as_type(values, field.type))
            else:
                value = constants.get(field.name, pa.scalar(None, field.type))
                columns.append(pa.repeat(value, batch.num_rows))
        return pa.RecordBatch.from_arrays(columns, names=self.schema.names)

    def _statistics(
        self,
        groups: Groups,
        at: int,
        names: Mapping[str, str],
        constants: Mapping[str, pa.Scalar],
    ) -> Statistics:
        def range_of(path: tuple[str, ...], type_: pa.DataType) -> Range | None:
            name, *fields = path
            if name in constants and not fields:
                value = constants[name]
                ends = [value.as_py()] * 2 if value.is_valid else []
                return pa.array(ends, type_), not ends
            if name not in names:
                return pa.array([], type_), True
            found = groups.range_of(at, (names[name], *fields))
            return None if found is None else _in_type(found, type_)

        return Statistics(groups.rows(at), range_of)


def first_schema(
    file: DataFile, format_: ColumnarFormat, timezone: str
) -> tuple[pa.Schema, str | None]:
    """A file's columns in Spark's types, and as Spark described them if it wrote the file."""
    with _opened(file, format_, timezone) as groups:
        return groups.schema, groups.spark_schema


@contextmanager
def _opened(file: DataFile, format_: ColumnarFormat, timezone: str) -> Iterator[Groups]:
    """The groups of a file; what goes wrong with them names the file."""
    try:
        with file_system(file.root).open_input_file(file.path) as source:
            yield _OPENERS[format_](source, file.name, timezone)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise EventError(f"{file.name}: cannot be read as {_WORDS[format_]}: {reason}") from error


def _in_type(range_: Range, type_: pa.DataType) -> Range | None:
    ends, nulls = range_
    try:
        return ends.cast(type_), nulls
    except pa.ArrowException:
        return None
