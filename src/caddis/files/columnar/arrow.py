"""Arrow files, also called IPC or Feather: Spark's types of their columns, and their batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import pyarrow as pa

from caddis.files.columnar.values import BYTES_AT_A_TIME, ROWS_AT_A_TIME, Range
from caddis.files.schemas import spark_like


class ArrowGroups:
    """The record batches of an open file."""

    def __init__(self, source: pa.NativeFile, _: str, timezone: str) -> None:
        self._source, self._timezone = source, timezone
        self._file = pa.ipc.open_file(source)

    def __len__(self) -> int:
        return int(self._file.num_record_batches)

    def rows(self, group: int) -> int:
        """How many rows a record batch has."""
        return int(self._file.get_batch(group).num_rows)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, with the types that Spark gives them."""
        fields = [
            pa.field(one.name, spark_like(one.type, self._timezone)) for one in self._file.schema
        ]
        return pa.schema(fields)

    @property
    def spark_schema(self) -> str | None:
        """Spark writes no Arrow files."""
        return None

    def check(self, names: Sequence[str]) -> None:
        """Arrow's values mean one thing only."""

    def batches(self, groups: Sequence[int], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of some record batches, a bounded number of rows at a time."""
        places = sorted(map(self._file.schema.get_field_index, names))
        # Without any columns the batches would have no rows.
        options = pa.ipc.IpcReadOptions(included_fields=places or [0], use_threads=False)
        file = pa.ipc.open_file(self._source, options=options)
        for group in groups:
            batch = file.get_batch(group)
            per_row = max(1, batch.nbytes // max(1, batch.num_rows))
            rows = max(1, min(ROWS_AT_A_TIME, BYTES_AT_A_TIME // per_row))
            for begin in range(0, batch.num_rows, rows):
                yield batch.slice(begin, rows)

    def range_of(self, group: int, path: tuple[str, ...]) -> Range | None:  # noqa: ARG002
        """Arrow files keep no statistics."""
        return None
