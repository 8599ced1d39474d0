"""What brokers compare of sealed events, as arrays: filters, tokens and points of many rows.

Rows are split by stream and epoch, as only what was sealed with the same keys can be compared.
Anybody may have written a row: one whose parts do not have the sizes of its stream is set aside,
with what is wrong with it, and the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Anys, Bools, Floats, Int32s, Int64s, Words, offsets_of
from caddis.errors import EventError
from caddis.sealed.clauses import members_of
from caddis.sealed.events import ROUTING
from caddis.sealed.matcher.kernels import rows_ascend
from caddis.sealed.prefilter import bytes_of, decode, read_only
from caddis.sealed.values import norms, point_lengths

NUMBER_BYTES = 8
COMPARED = ("stream", "epoch", *ROUTING)
"""The columns of sealed events that matching reads."""

Key = tuple[str, int]
"""Stream and epoch."""

FILTER, TOKENS, POINT, FINITE, LENGTH, UNSORTED = (
    "its filter is not well-formed, or of another size than its stream's",
    "its tokens are not whole numbers of 8 bytes",
    "its point has more or fewer coordinates than its stream's",
    "its point is not made of finite numbers",
    "its point is shorter or longer than any that is sealed",
    "its tokens do not ascend",
)


@dataclass(frozen=True, slots=True)
class EventParts:
    """The parts of rows that are well made: row i of each array is row `rows[i]` of the batch.

    Tokens of row i are tokens[token_starts[i]:token_starts[i + 1]].
    """

    rows: Int32s
    filters: Words
    token_starts: Int64s
    tokens: Words
    points: Floats


def checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns that are compared, in the types used here; EventError if one is missing."""
    names = batch.schema.names
    columns = []
    for name in COMPARED:
        if names.count(name) != 1:
            raise EventError(
                f"sealed events have one column {name!r}; these have {', '.join(names)}"
            )
        columns.append(_cast(name, batch.column(names.index(name))))
    return pa.record_batch(columns, list(COMPARED))


def _cast(name: str, column: pa.Array) -> pa.Array:
    wanted = pa.int64() if name == "epoch" else pa.binary()
    try:
        return column.cast(wanted)
    except pa.ArrowException:
        raise EventError(f"the column {name!r} of sealed events cannot be {column.type}") from None


def by_key(batch: pa.RecordBatch, rows: Int32s) -> Iterator[tuple[Key, Int32s]]:
    """Each stream and epoch with its rows; rows without one of the two are left out."""
    whole = pc.and_(batch.column("stream").is_valid(), batch.column("epoch").is_valid())
    rows = rows[whole.to_numpy(zero_copy_only=False)[rows]]
    taken = batch.select(["stream", "epoch"]).take(pa.array(rows))
    streams = taken.column("stream").dictionary_encode()
    epochs, epoch_of = np.unique(taken.column("epoch").to_numpy(), return_inverse=True)
    codes = streams.indices.to_numpy().astype(np.int64) * len(epochs) + epoch_of
    for code in np.unique(codes).tolist():
        stream, epoch = divmod(code, len(epochs))
        name = streams.dictionary[stream].as_py().decode(errors="surrogateescape")
        yield (name, int(epochs[epoch])), rows[codes == code]


def without_key(batch: pa.RecordBatch, rows: Int32s) -> Int32s:
    """The rows that have no stream or no epoch."""
    missing = pc.or_(batch.column("stream").is_null(), batch.column("epoch").is_null())
    found: Int32s = rows[missing.to_numpy(zero_copy_only=False)[rows]]
    return found


def parts_of(
    batch: pa.RecordBatch, rows: Int32s, bits: int, dimensions: int
) -> tuple[EventParts, dict[int, str]]:
    """The parts of those rows that are well made, and what is wrong with the others.

    batch: from `checked`.
    """
    taken = batch.select(list(ROUTING)).take(pa.array(rows))
    problems: dict[int, str] = {}
    filters, good = decode(taken.column("filter"), bits)
    _note(problems, rows, ~good, FILTER)
    lengths = {name: _lengths(taken.column(name)) for name in ROUTING}
    _note(problems, rows, lengths["tokens"] % NUMBER_BYTES != 0, TOKENS)
    _note(problems, rows, lengths["point"] != NUMBER_BYTES * dimensions, POINT)
    if problems:
        kept = np.array([row not in problems for row in rows.tolist()], bool)
        rows, filters, taken = rows[kept], filters[kept], taken.filter(pa.array(kept))
    parts = _as_arrays(rows, filters, taken, dimensions)
    return _sound(parts, problems)


def _as_arrays(rows: Int32s, filters: Words, taken: pa.RecordBatch, dimensions: int) -> EventParts:
    tokens = taken.column("tokens")
    counts = _lengths(tokens) // NUMBER_BYTES
    starts = offsets_of(counts)
    points = _numbers(taken.column("point"), "<f8").reshape(len(rows), dimensions)
    held = _numbers(tokens, "<u8")
    return EventParts(rows, filters, read_only(starts), read_only(held), read_only(points))


def _sound(parts: EventParts, problems: dict[int, str]) -> tuple[EventParts, dict[int, str]]:
    """The parts without the rows whose numbers are not what they must be."""
    finite = np.asarray(np.isfinite(parts.points).all(axis=1))
    least, most = point_lengths(parts.points.shape[1])
    lengths = norms(parts.points)
    possible = (least <= lengths) & (lengths <= most)
    ascend = rows_ascend(parts.token_starts, parts.tokens)
    if possible.all() and ascend.all():
        return parts, problems
    _note(problems, parts.rows, ~finite, FINITE)
    _note(problems, parts.rows, ~possible, LENGTH)
    _note(problems, parts.rows, ~ascend, UNSORTED)
    kept = np.flatnonzero(possible & ascend)
    tokens, starts = members_of(parts.token_starts, kept)
    return EventParts(
        parts.rows[kept],
        parts.filters[kept],
        read_only(starts),
        read_only(parts.tokens[tokens]),
        read_only(parts.points[kept]),
    ), problems


def _note(problems: dict[int, str], rows: Int32s, wrong: Bools, problem: str) -> None:
    for row in rows[wrong].tolist():
        problems.setdefault(row, problem)


def _lengths(column: pa.BinaryArray) -> Int64s:
    """The length of each row in bytes; -1 where it is missing."""
    lengths = pc.fill_null(pc.binary_length(column), -1).to_numpy(zero_copy_only=False)
    return np.asarray(lengths, np.int64)


def _numbers(column: pa.BinaryArray, dtype: str) -> Anys:
    """The numbers in all rows of a column that has no nulls."""
    data, offsets = bytes_of(column)
    return data[offsets[0] : offsets[-1]].view(dtype)
