"""Parquet files: Spark's types of their columns, their row groups and the statistics of these.

Types follow the Parquet types, as in Spark, and not the Arrow schema that pyarrow may have added.
Dates and times that Spark wrote with the calendar of its version 2 are refused, because pyarrow
would read them as other days.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from caddis.errors import EventError
from caddis.files.columnar.values import BYTES_AT_A_TIME, ROWS_AT_A_TIME, Range

_PLAIN = {
    "BOOLEAN": pa.bool_(),
    "INT32": pa.int32(),
    "INT64": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BYTE_ARRAY": pa.binary(),
    "FIXED_LEN_BYTE_ARRAY": pa.binary(),
}
_LOGICAL = {
    "STRING": pa.string(),
    "ENUM": pa.string(),
    "JSON": pa.string(),
    "BSON": pa.binary(),
    "DATE": pa.date32(),
}
_SIGNED = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_UNSIGNED = {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20, 0)}
_MOST_DIGITS = 38

ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"
_VERSION = b"org.apache.spark.version"
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


class ParquetGroups:
    """The row groups of an open file."""

    def __init__(self, source: pa.NativeFile, name: str, timezone: str) -> None:
        self._file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
        self._name, self._timezone = name, timezone

    def __len__(self) -> int:
        return int(self._file.metadata.num_row_groups)

    def rows(self, group: int) -> int:
        """How many rows a row group has."""
        return int(self._file.metadata.row_group(group).num_rows)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, with the types that Spark gives them."""
        leaves = (self._file.schema.column(at) for at in range(len(self._file.schema)))
        fields = [
            pa.field(field.name, self._spark_type(field.type, leaves))
            for field in self._file.schema_arrow
        ]
        return pa.schema(fields)

    @property
    def spark_schema(self) -> str | None:
        """The columns as Spark described them, in JSON, if it wrote the file."""
        noted = self._notes.get(ROW_METADATA)
        return None if noted is None else noted.decode()

    def check(self, names: Sequence[str]) -> None:
        """Refuse columns whose values pyarrow would read differently."""
        version = self._notes.get(_VERSION, b"9").split(b".")[0]
        if not (int(version) < 3 or any(mark in self._notes for mark in _OLD_CALENDAR)):
            return
        for name in names:
            if any(map(_is_moment, _leaves(self.schema.field(name).type))):
                raise EventError(
                    f"{self._name}: the column {name!r} was written with the calendar of Spark 2; "
                    "read the file with Spark, and call match"
                )

    def batches(self, groups: Sequence[int], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of some row groups, a bounded number of rows at a time."""
        if groups:
            yield from self._file.iter_batches(
                self._rows_at_a_time(groups, names), groups, list(names), use_threads=False
            )

    def range_of(self, group: int, path: tuple[str, ...]) -> Range | None:
        """What a row group's statistics say about a column that is no array; None if nothing."""
        at = self._places.get(".".join(path))
        if at is None or self._file.schema.column(at).max_repetition_level:
            return None
        column = self._file.metadata.row_group(group).column(at)
        statistics = column.statistics
        if statistics is None:
            return None
        nulls = not statistics.has_null_count or statistics.null_count > 0
        if nulls and statistics.has_null_count and statistics.null_count == column.num_values:
            return pa.array([], pa.null()), True
        if not statistics.has_min_max or column.physical_type == "INT96":
            return None
        try:
            lowest, highest = statistics.min, statistics.max
            # Some writers put NaN into their statistics, which then mean nothing.
            known = lowest == lowest and highest == highest
            return (pa.array([lowest, highest]), nulls) if known else None
        except (ValueError, OverflowError, pa.ArrowException):
            # Python has no value for some of them, such as years after 9999.
            return None

    @property
    def _notes(self) -> dict[bytes, bytes]:
        return self._file.metadata.metadata or {}

    @cached_property
    def _places(self) -> dict[str, int]:
        """The number of each column that is no struct, without those whose names are ambiguous."""
        names = [self._file.schema.column(at).path for at in range(len(self._file.schema))]
        return {name: at for at, name in enumerate(names) if names.count(name) == 1}

    def _rows_at_a_time(self, groups: Sequence[int], names: Sequence[str]) -> int:
        """ROWS_AT_A_TIME, or as many rows as have about BYTES_AT_A_TIME."""
        metadata = self._file.metadata
        size = sum(
            metadata.row_group(group).column(at).total_uncompressed_size
            for group in groups
            for name, at in self._places.items()
            if name.partition(".")[0] in names or name in names
        )
        rows = sum(map(self.rows, groups))
        return max(1, min(ROWS_AT_A_TIME, rows * BYTES_AT_A_TIME // max(1, int(size))))

    def _spark_type(self, type_: pa.DataType, leaves: Iterator[Any]) -> pa.DataType:
        """Spark's type: the nesting is Arrow's, and the leaves are those of Parquet, in order."""
        if isinstance(type_, pa.BaseExtensionType):
            type_ = type_.storage_type
        if pa.types.is_map(type_):
            key = self._spark_type(type_.key_type, leaves)
            return pa.map_(key, self._spark_type(type_.item_type, leaves))
        if pa.types.is_struct(type_):
            return pa.struct([(one.name, self._spark_type(one.type, leaves)) for one in type_])
        if pa.types.is_nested(type_):
            return pa.list_(self._spark_type(type_.value_type, leaves))
        return self._leaf_type(next(leaves))

    def _leaf_type(self, column: Any) -> pa.DataType:
        physical, kind = column.physical_type, column.logical_type.type
        words, found = str(column.logical_type), _LOGICAL.get(kind)
        if kind == "NONE" or words == "Null":
            instant = pa.timestamp("us", self._timezone)
            found = instant if physical == "INT96" else _PLAIN.get(physical)
        elif kind in ("INT", "DECIMAL", "TIMESTAMP"):
            found = self._with_parameters(kind, json.loads(column.logical_type.to_json()))
        if found is None:
            raise EventError(
                f"{self._name}: the column {column.path!r} is of a Parquet type that Spark cannot "
                f"read: {physical} ({words})"
            )
        return found

    def _with_parameters(self, kind: str, given: dict[str, Any]) -> pa.DataType | None:
        if kind == "INT":
            return (_SIGNED if given["isSigned"] else _UNSIGNED)[given["bitWidth"]]
        if kind == "DECIMAL":
            digits = given["precision"]
            return pa.decimal128(digits, given["scale"]) if digits <= _MOST_DIGITS else None
        if given["timeUnit"] == "nanoseconds":
            return None
        return pa.timestamp("us", self._timezone if given["isAdjustedToUTC"] else None)


def _is_moment(type_: pa.DataType) -> bool:
    return bool(pa.types.is_date(type_) or (pa.types.is_timestamp(type_) and type_.tz))


def _leaves(type_: pa.DataType) -> Iterator[pa.DataType]:
    if not pa.types.is_nested(type_):
        yield type_
    for at in range(type_.num_fields if pa.types.is_nested(type_) else 0):
        yield from _leaves(type_.field(at).type)
